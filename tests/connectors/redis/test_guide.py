"""guide: the page about a connector of your own runs, and its code is that of the example."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from tests.connectors.redis.server import RedisServer
from tests.test_docs import ROOT, blocks, run_page

PAGE = ROOT / "docs" / "connectors" / "your-own.md"


def test_the_page_runs(redis_server: RedisServer, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("redis_guide")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    vars(module)["url"] = redis_server.url
    run_page(PAGE, vars(module))


def test_the_page_shows_the_example() -> None:
    example = (ROOT / "examples" / "redis_streams.py").read_text(encoding="utf-8")
    code = example.partition("from __future__ import annotations\n")[2].lstrip()
    shown = [source for _, source in blocks(PAGE.read_text(encoding="utf-8")) if source in code]
    assert "\n\n".join(shown) == code
