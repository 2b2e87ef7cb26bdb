"""subjects: what the tests of operators start from and look at."""

from __future__ import annotations

import inspect
from pathlib import Path
from typing import Any

import pytest

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import Form, Tracked, subscribed
from penstock.testing.laws.forms import FIRST_FORMS

each_form = pytest.mark.parametrize("form", FIRST_FORMS, ids=lambda form: form.value)


def over(form: Form, *items: Any) -> Stream[Any]:
    """Return an upstream of this form."""
    return form.over(Tracked(items))


def failure_of(stream: Stream[Any]) -> Exception:
    """Ask for everything and return the error it ends with."""
    probe = subscribed(stream, UNBOUNDED)
    probe.wait_for_end()
    assert probe.error is not None, f"{stream} completed with {probe.elements}"
    assert probe.breaches == []
    return probe.error


def place(fn: Any) -> str:
    """Return `file.py:12` of a function, as notes have it."""
    code = inspect.unwrap(fn).__code__
    return f"{Path(code.co_filename).name}:{code.co_firstlineno}"


def notes(error: BaseException) -> list[str]:
    """Return the notes of an error."""
    return getattr(error, "__notes__", [])
