"""arguments: refuse a wrong argument at the call, with a message that names operator, parameter and value."""

from __future__ import annotations

_CO_COROUTINE = 0x80  # inspect.CO_COROUTINE, without importing inspect


def function_given(operator: str, name: str, value: object) -> None:
    """Refuse what cannot be called, and what would give a coroutine that nobody awaits."""
    if not callable(value):
        raise TypeError(f"{operator}: {name} must be callable, got {value!r}")
    code = getattr(value, "__code__", None)
    if code is not None and code.co_flags & _CO_COROUTINE:
        raise TypeError(f"{operator}: {name} must not be a coroutine function, got {value!r}; map_async awaits one")


def async_function_given(operator: str, name: str, value: object) -> None:
    """Refuse what cannot be called."""
    if not callable(value):
        raise TypeError(f"{operator}: {name} must be callable, got {value!r}")


def count_given(operator: str, name: str, value: object, least: int) -> None:
    """Refuse what is not a whole number, or is below `least`."""
    if isinstance(value, bool) or not isinstance(value, int):
        raise TypeError(f"{operator}: {name} must be a whole number, got {value!r}")
    if value < least:
        raise ValueError(f"{operator}: {name} must be >= {least}, got {value!r}")
