"""protocol: what every module of the package says and hears; the words themselves are in penstock.spec.pull_interfaces.

Failures are answers (property F10): an answer function that raises is a consumer's fault, goes to the hook for what
cannot be delivered and harms no other module; a read that raises is a producer's fault, and ends the stream.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.engine.weaving.blame import function_name, no_stop, note_on, place_of
from penstock.engine.words.dropped import drop
from penstock.spec.pull_error import PullError
from penstock.spec.pull_interfaces import Abort, Answer, End, Read, asks, cause, end_of, failure, worst

Done = Callable[[Exception | None], object]
"""Be told that something is over: None if well, else why."""


def answer_given(answer: Answer | None) -> Answer:
    """Refuse an ask that has no answer function."""
    if answer is None:
        raise PullError("B6", "an ask came without an answer function; only an abort may do without")
    return answer


def give(answer: Answer, end: bool | Exception | None, value: Any = None) -> None:
    """Answer; what the answer function raises is reported and harms no other module."""
    try:
        if end is None:
            answer(None, value)
        else:
            answer(end)
    except RecursionError:
        raise  # no module's fault: a read with more room on the stack ends the stream
    except Exception as error:  # noqa: BLE001  property F10
        drop("property F10: an answer function raised", error)


def told(hook: Done, end: End) -> None:
    """Tell a hook that it is over; what it raises is reported and harms no other module."""
    try:
        hook(failure(end))
    except Exception as error:  # noqa: BLE001  property F10
        drop("property F10: a function that was told of the end raised", error)


def unheard(reason: End) -> Answer:
    """Return the answer function of an abort whose confirmation no reader waits for; a failed close is reported."""

    def confirmed(end: bool | Exception | None, value: Any = None, /) -> None:
        error = failure(end)
        if error is not None and error is not reason:
            drop("pull: a source failed to close", error)

    return confirmed


def read_raised(error: Exception) -> None:
    """Report a read that raised though the stream was over; what was called too deep is no fault, and passes."""
    if isinstance(error, RecursionError):
        raise error
    drop("property F10: a read raised", error)


def twice(number: int) -> None:
    """Report an upstream that answers a request again; the second answer is ignored."""
    drop("pull: upstream broke the protocol", PullError("B2", f"request {number} was answered twice"))


def raised(error: Exception) -> Exception:
    """Note that an error was raised by a read instead of answered; it is the end all the same."""
    note_on(error, "in a read that raised instead of answering (property F10)")
    return error


def at_fault(error: Exception, name: str, fn: object) -> Exception:
    """Note which function of which module raised; a stop that leaks is made an error."""
    where = f"{name}({function_name(fn)})"
    error = no_stop(error, f"{where}: the function")
    note_on(error, f"in {where}{place_of(fn)}")
    return error


__all__ = [
    "Abort", "Answer", "Done", "End", "PullError", "Read", "answer_given", "asks", "at_fault", "cause", "end_of",
    "failure", "give", "raised", "read_raised", "told", "twice", "unheard", "worst",
]  # fmt: skip
