"""handled_errors: the errors an operator handles: those of one or several types, or those a function says yes to."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.engine.weaving.blame import blamed, caused_by
from penstock.engine.words.arguments import function_given
from penstock.stage import Joint, Source

When = type[Exception] | tuple[type[Exception], ...] | Callable[[Exception], object]


def when_given(operator: str, when: object) -> None:
    """Refuse what does not say which errors are meant; None means all."""
    if when is None:
        return
    kinds = when if isinstance(when, tuple) else (when,)
    if all(isinstance(kind, type) and issubclass(kind, Exception) for kind in kinds):
        return
    if isinstance(when, tuple | type) or not callable(when):
        raise TypeError(
            f"{operator}: when must be an exception type, a tuple of them or a function of the error, got {when!r}"
        )
    function_given(operator, "when", when)


def caught(step: Joint[Any, Any] | Source[Any], when: When | None, error: Exception) -> tuple[bool, Exception]:
    """Tell whether an error is meant; if the function that says so raises, that is the error to go on with."""
    if when is None:
        return True, error
    if isinstance(when, type | tuple):
        return isinstance(error, when), error
    try:
        return bool(when(error)), error
    except Exception as failure:  # noqa: BLE001  rule 1.4
        return False, blamed(caused_by(failure, error), step, when)
