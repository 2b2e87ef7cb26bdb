"""pull_interfaces: what two pull-stream modules say to each other.

A module reads from the one before it by `read(abort, answer)`. With `abort` None (or False) it asks for a value; with
True it aborts; with an exception it aborts and says why. Without `answer` an abort is an indication: the reader does
not wait for it to be confirmed. Every request that has an answer function gets exactly one answer, in the order of the
requests:
`answer(None, value)`, or an end, which is `answer(True)` (done) or `answer(error)`. After its first end an interface
has nothing but ends. A value may be anything, None, 0 and False included, so requests and answers are told apart by
identity.
"""

from __future__ import annotations

from typing import Any, Literal, Protocol, TypeAlias

from penstock.spec.pull_error import PullError

End: TypeAlias = Literal[True] | Exception
"""Why there is nothing more: True is done."""
Abort: TypeAlias = bool | Exception | None
"""What a request wants: None or False asks, True aborts, an exception aborts and says why."""


class Answer(Protocol):
    """A function that is told the outcome of one request."""

    def __call__(self, end: bool | Exception | None, value: Any = None, /) -> object:
        """Take a value (`end` is None or False) or an end."""
        ...


class Read(Protocol):
    """A function that a module is read by."""

    def __call__(self, abort: Abort, answer: Answer | None = None, /) -> object:
        """Ask for a value, or abort."""
        ...


def asks(abort: Abort, /) -> bool:
    """Tell whether a request asks for a value."""
    return abort is None or abort is False


def cause(abort: Abort, /) -> End:
    """Return the end that an abort asks for."""
    return abort if isinstance(abort, BaseException) else True


def end_of(given: bool | Exception | None, /) -> End | None:
    """Return the end that an answer is, or None for a value; what is neither is a failure, and no good end."""
    if given is None or given is False:
        return None
    if given is True or isinstance(given, BaseException):
        return given
    return PullError("B6", f"a request was answered with {given!r}, which is neither a value nor an end")


def failure(end: bool | Exception | None, /) -> Exception | None:
    """Return the error that an end carries, if any."""
    return end if isinstance(end, BaseException) else None


def worst(*ends: bool | Exception | None) -> End:
    """Return the first error among ends, or True if there is none; an error may be false, so `or` will not do."""
    for end in ends:
        if isinstance(end, BaseException):
            return end
    return True
