"""table: every crossing there is, found in the modules `crossing_*.py` beside this one."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import tests.bridges
from tests.bridges.crossings import Crossing


def crossings() -> Iterator[Crossing]:
    """Find the crossings of all bridges."""
    for module in sorted(found.name for found in pkgutil.iter_modules(tests.bridges.__path__)):
        if module.startswith("crossing_"):
            yield from importlib.import_module(f"tests.bridges.{module}").CROSSINGS


def parameters() -> list[Any]:
    """Return the table as parameters of a test."""
    return [pytest.param(each, id=each.name, marks=each.marks) for each in crossings()]
