"""arguments: refuse a wrong function at the call, and name the module that takes it."""

from __future__ import annotations

import inspect

from penstock.engine.words.arguments import function_given as plain_function_given


def function_given(name: str, parameter: str, value: object) -> None:
    """Refuse what cannot be called, and what would give a coroutine that is never awaited."""
    if inspect.iscoroutinefunction(value):
        raise TypeError(f"{name}: {parameter} must not be a coroutine function, got {value!r}; async_map awaits one")
    plain_function_given(name, parameter, value)
