"""arguments: refuse a wrong argument at the call, with a message that names operator, parameter and value."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from enum import Enum
from functools import partial
from types import CodeType, FunctionType
from typing import TypeVar

U = TypeVar("U")

_CO_COROUTINE = 0x80  # inspect.CO_COROUTINE, without importing inspect
_CO_YIELDS = 0x220  # inspect.CO_GENERATOR | inspect.CO_ASYNC_GENERATOR


class Missing(Enum):
    """The value of an argument that was not given; an enum, so that it survives pickling."""

    MISSING = "missing"


def function_given(operator: str, name: str, value: object, cure: str = "map_async awaits one") -> None:
    """Refuse what cannot be called, and what would give a coroutine that is never awaited."""
    async_function_given(operator, name, value)
    if awaits(value):
        raise TypeError(f"{operator}: {name} must not be a coroutine function, got {value!r}; {cure}")


def effect_given(operator: str, name: str, value: object) -> None:
    """Refuse what cannot be called for its effect, too: a generator function, whose body would never run."""
    function_given(operator, name, value)
    code = code_of(value)
    if code is not None and code.co_flags & _CO_YIELDS:
        raise TypeError(f"{operator}: {name} must not be a generator function, got {value!r}; flat_map() takes one")


def awaits(value: object) -> bool:
    """Tell whether calling this would give a coroutine, as of an `async def`, a part of one, or an object with one."""
    if type(value) is FunctionType:  # most are, and chains may be built by the million
        return bool(value.__code__.co_flags & _CO_COROUTINE)
    code = code_of(value) or code_of(said_by(type(whole(value)), "__call__"))
    return code is not None and bool(code.co_flags & _CO_COROUTINE)


def whole(fn: object) -> object:
    """Return what a partial function is a part of, or what was given."""
    while isinstance(fn, partial):
        fn = fn.func
    return fn


def code_of(fn: object) -> CodeType | None:
    """Return the code of a function that is written in Python, else None."""
    code = said_by(whole(fn), "__code__")
    return code if isinstance(code, CodeType) else None


def said_by(fn: object, name: str) -> object:
    """Return an attribute of a user's callable; a proxy may answer to any name, or raise what it likes: then None."""
    try:
        return getattr(fn, name, None)
    except Exception:  # noqa: BLE001  it is asked for a name to show, and called all the same
        return None


def of_class(value: object) -> str:
    """Return what to do with a class that stands where one of its objects is due, as the end of a sentence."""
    return f"; that is a class: make one of it, as {value.__name__}(...)" if isinstance(value, type) else ""


def async_function_given(operator: str, name: str, value: object) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise TypeError(f"{operator}: {name} must be callable, got {value!r}")


def functions_given(operator: str, name: str, values: Iterable[Callable[..., U]]) -> tuple[Callable[..., U], ...]:
    """Return several functions; refuse one that is not in a list, and what is none."""
    if callable(values) or not isinstance(values, Iterable):
        raise TypeError(f"{operator}: {name} must be functions in a list, got {values!r}")
    found = tuple(values)
    for each in found:
        function_given(operator, name, each)
    return found


def count_given(operator: str, name: str, value: object, least: int) -> None:
    """Refuse what is not a whole number, or is below `least`."""
    if isinstance(value, bool) or not isinstance(value, int):
        cure = "; int() makes one of it" if not isinstance(value, bool) and hasattr(type(value), "__index__") else ""
        raise TypeError(f"{operator}: {name} must be a whole number, got {value!r}{cure}")
    if value < least:
        raise ValueError(f"{operator}: {name} must be >= {least}, got {value!r}")


def elements_given(operator: str, *values: object) -> None:
    """Refuse None where elements are given."""
    if any(value is None for value in values):
        raise TypeError(f"{operator}: None is not an element (rule 2.13)")


def initial_given(operator: str, name: str, value: object, create: object, *, needed: bool = True) -> None:
    """Refuse a value that every run begins with and one of them may change; `create` makes one for each run."""
    if create is not None:
        function_given(operator, "create", create)
    if (value is Missing.MISSING) == (create is None) and (needed or create is not None):
        raise TypeError(f"{operator}: one of {name} and create must be given")
    if type(value).__hash__ is None:  # as dataclasses tell what can be changed
        raise TypeError(
            f"{operator}: {name} must be hashable, since all runs begin with it, got {value!r}; "
            "give create=, a function that makes one for each run"
        )


def type_given(operator: str, name: str, value: object) -> None:
    """Refuse what cannot be asked about an element."""
    try:
        isinstance(0, value)  # type: ignore[arg-type]
    except TypeError:
        raise TypeError(f"{operator}: {name} must be a type, got {value!r}") from None


def name_given(operator: str, value: object) -> None:
    """Refuse what is no name."""
    if not isinstance(value, str):
        raise TypeError(f"{operator}: name must be a text, got {value!r}")
    if not value:
        raise ValueError(f"{operator}: name must not be empty, got {value!r}")


def stays_here(operator: str, what: str, why: str) -> TypeError:
    """Return the error of what can be neither pickled nor copied."""
    return TypeError(f"{operator}: {what} can be neither pickled nor copied: {why}")
