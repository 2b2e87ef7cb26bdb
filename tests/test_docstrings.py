"""docstrings: what an editor shows of the public API: every parameter, every type, and what an operator bounds."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

import penstock
import penstock.spark
from penstock import Stream
from penstock.stage import Joint, Source, Stage
from scripts.operator_notes import NAMES
from tests.test_names import module_of

MODULES = (penstock, penstock.spark)


def calls() -> Iterator[tuple[str, Callable[..., Any]]]:
    """Return every function that users call, and every method of the classes that they use."""
    for module in MODULES:
        for name in module.__all__:
            found = getattr(module, name)
            if inspect.isclass(found) and not issubclass(found, BaseException):
                yield from methods(found)
            elif inspect.isfunction(found):
                yield name, found


def methods(kind: type) -> Iterator[tuple[str, Callable[..., Any]]]:
    for name, member in vars(kind).items():
        function = member.__func__ if isinstance(member, staticmethod | classmethod) else member
        if inspect.isfunction(function) and not name.startswith("_"):
            yield f"{kind.__name__}.{name}", function


CALLS = dict(calls())
each_call = pytest.mark.parametrize("name", CALLS)


@each_call
def test_every_parameter_is_named_in_the_docstring(name: str) -> None:
    text = (CALLS[name].__doc__ or "").split(">>>")[0]
    parameters = [each for each in inspect.signature(CALLS[name]).parameters if each not in ("self", "cls")]
    assert [each for each in parameters if not re.search(rf"\b{each}\b", text)] == []


@each_call
def test_every_type_is_said(name: str) -> None:
    function = CALLS[name]
    parameters = inspect.signature(function).parameters.values()
    assert "return" in function.__annotations__
    assert [each.name for each in parameters if each.name not in (*function.__annotations__, "self", "cls")] == []


@each_call
def test_no_options_are_hidden(name: str) -> None:
    kinds = [each.kind for each in inspect.signature(CALLS[name]).parameters.values()]
    assert inspect.Parameter.VAR_KEYWORD not in kinds


def bound_of(name: str) -> str:
    """Return the sentences of an operator's class that say what it holds and asks for."""
    module = module_of(name)
    own = [each for each in vars(module).values() if inspect.isclass(each) and each.__module__ == module.__name__]
    steps = [each for each in own if issubclass(each, Stage | Joint | Source) and not each.__name__.startswith("_")]
    text = " ".join((steps[0].__doc__ or "").split())
    found = re.search(r"Backpressures .*?(?= Completes )", text)
    assert found is not None, name
    return found[0]


@pytest.mark.parametrize("name", NAMES)
def test_what_an_operator_bounds_is_said_by_its_method_too(name: str) -> None:
    text = " ".join((getattr(Stream, name).__doc__ or "").split())
    assert bound_of(name) in text, f"Stream.{name}: add to its docstring what its class says: {bound_of(name)}"
