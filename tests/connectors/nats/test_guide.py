"""guide: the page about NATS runs."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tests.connectors.nats.server import NatsServer
from tests.test_docs import ROOT, run_page


def test_the_page_runs(nats_server: NatsServer, monkeypatch: pytest.MonkeyPatch) -> None:
    nats_server.make("ORDERS", subjects=["orders.>"])
    module = ModuleType("nats_guide")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    vars(module)["url"] = nats_server.url
    run_page(ROOT / "docs" / "connectors" / "nats.md", vars(module))
    nats_server.ask(lambda js: js.delete_stream("ORDERS"))
