"""cold_paths: what every run does off its busy path: welcome a subscriber, reject one that raises, be interrupted, end.

A run that welcomes or ends by these does it the same way as all others, whatever its elements come from.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

from penstock.engine.words.dropped import drop
from penstock.engine.words.part import Part
from penstock.errors import CutOffError, InterruptionError
from penstock.spec.interfaces import Subscriber, Subscription


def welcome(subscriber: Subscriber[Any], subscription: Subscription, abandon: Callable[[], None]) -> bool:
    """Signal `on_subscribe`; abandon the run if the subscriber raises (rule 2.13). Tell whether it stays."""
    returned = False
    try:
        subscriber.on_subscribe(subscription)
        returned = True
    except Exception as error:  # noqa: BLE001  rule 2.13: the subscriber is out; the error must be reported
        rejected("on_subscribe", error)
    finally:
        if not returned:
            abandon()
    return returned


def rejected(signal: str, error: Exception) -> None:
    """Hand what a subscriber raised to the hook; it counts as one that has cancelled (rule 2.13)."""
    drop(f"rule 2.13: the subscriber raised in {signal}", error)


def too_late(error: Exception | None) -> None:
    """Hand an error to the hook, since no subscriber is left to be told of it.

    An interruption passes on its own way, and that a stream was cut off is no news once it was left: a loop that ends
    cancels all that is on it.
    """
    if error is not None and not isinstance(error, (InterruptionError, CutOffError)):
        drop("an error came after the end or the cancel", error)


def interruption(by: BaseException | None = None) -> InterruptionError:
    """Return what to tell who is below of a KeyboardInterrupt or its like: the one that passes here, unless given."""
    return InterruptionError(f"the stream was interrupted by {sys.exception() if by is None else by!r}")


class interrupts_told:  # noqa: N801  reads as a word: `with interrupts_told(self.fail):`
    """A context manager: it tells of a KeyboardInterrupt or its like, which passes; those below wait for an end."""

    __slots__ = ("_tell",)

    def __init__(self, tell: Callable[[InterruptionError], object]) -> None:
        self._tell = tell

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        if error is not None and not isinstance(error, Exception):
            self._tell(interruption(error))


def signal_end(subscriber: Subscriber[Any], error: BaseException | None) -> None:
    """Signal completion or a failure; what the subscriber raises then goes to the hook (rule 2.13)."""
    returned = False
    try:
        if error is None:
            subscriber.on_complete()
        else:
            subscriber.on_error(error)  # type: ignore[arg-type]
        returned = True
    except Exception as failure:  # noqa: BLE001
        returned = True
        rejected("on_complete" if error is None else "on_error", failure)
    finally:
        if not returned:
            left_alone(subscriber)


def left_alone(subscriber: object, by: BaseException | None = None) -> None:
    """Tell a part that it will hear no more, not even an end.

    It does hear of a KeyboardInterrupt or its like, the one that passes here unless given: a function that was called
    there may have raised it, and those behind wait for an end.
    """
    if not isinstance(subscriber, Part):
        return
    passing = sys.exception() if by is None else by
    behind = subscriber.stand_aside()
    if behind is not subscriber:
        left_alone(behind, passing)
    elif passing is None or isinstance(passing, Exception):
        subscriber.gone()
    else:
        signal_end(subscriber, interruption(passing))  # type: ignore[arg-type]


def nobody(_: Any, /) -> None:
    """Take an element that comes after the end (rule 2.8)."""
