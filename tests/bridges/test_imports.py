"""Each bridge loads its own library and no other."""

from __future__ import annotations

import subprocess
import sys

import pytest

HEAVY = {"anyio", "asyncio", "concurrent.futures", "multiprocessing", "pyarrow", "reactivex", "trio"}
LOADS: dict[str, set[str]] = {
    "anyio": {"anyio", "asyncio", "concurrent.futures"},
    "asyncio": {"asyncio", "concurrent.futures"},
    "cpp": set(),
    "dotnet": set(),
    "files": set(),
    "futures": {"concurrent.futures"},
    "reactivex": {"asyncio", "concurrent.futures", "reactivex"},
    "threads": set(),
}


@pytest.mark.parametrize("module", LOADS)
def test_a_bridge_loads_no_more_than_it_needs(module: str) -> None:
    code = f"import sys, penstock.bridges.{module}; print(*({HEAVY!r} & set(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert set(found.stdout.split()) <= LOADS[module]
