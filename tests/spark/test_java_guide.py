"""guide: the examples of the guide to Java's Flow run, and give what their comments say."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tests.engine.watch import no_thread_is_left
from tests.spark.java_peers import plain_gateway
from tests.test_docs import ROOT, run_page

__all__ = ["no_thread_is_left"]


def test_examples_of_the_guide(monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("java_guide")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    with plain_gateway() as gateway:
        vars(module)["gateway"] = gateway
        run_page(ROOT / "docs" / "guides" / "java-flow.md", vars(module))
