"""tap: look at the signals that pass by.

Group: look on
Marble: a.tap(seen.append) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, fields
from typing import Any, ClassVar, TypeVar

from penstock.engine.grounds.cold_paths import interruption
from penstock.engine.grounds.relay import Leg, Relay
from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import effect_given
from penstock.engine.words.dropped import drop
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Body, Gives, Joint, Sight, Stage, Tie

T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Tap(Stage[T, T]):
    """Call the function with each element and pass the element on.

    Emits when upstream emits; fails if the function raises. Backpressures when downstream does. Completes when upstream
    completes. Cancels when downstream cancels.
    """

    on_next: Callable[[T], object]
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.ONE
    loop: ClassVar[Body] = Body("{on_next}(v)")

    def __post_init__(self) -> None:
        effect_given("tap", "on_next", self.on_next)


@dataclass(frozen=True, slots=True)
class TapSignals(Joint[T, T]):
    """Call a function for each kind of signal that passes, in both directions.

    Emits when upstream emits; fails if `on_next` raises. Backpressures when downstream does. Completes when upstream
    completes. Cancels when downstream cancels. What the other functions raise goes to the on_dropped hook.
    """

    tie: ClassVar[Tie] = Tie.RUN
    on_next: Callable[[T], object] | None = None
    on_error: Callable[[Exception], object] | None = None
    on_complete: Callable[[], object] | None = None
    on_cancel: Callable[[], object] | None = None
    on_request: Callable[[int], object] | None = None
    on_subscribe: Callable[[], object] | None = None
    gives: ClassVar[Gives] = Gives.ONE

    @property
    def steady(self) -> bool:
        """Tell that it changes neither the elements nor their order."""
        return True

    def __post_init__(self) -> None:
        for field in fields(self):
            fn = getattr(self, field.name)
            if fn is not None:
                effect_given("tap", field.name, fn)

    def open(self, downstream: Subscriber[T], /) -> Subscriber[T]:
        """Put a relay in front of what follows."""
        return _TapRun(self, downstream).entrance


class _TapRun(Relay[Any]):
    def __init__(self, step: TapSignals[Any], downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self._step = step

    def _tell(self, fn: Callable[..., object] | None, *args: object) -> None:
        if fn is not None:
            try:
                fn(*args)
            except Exception as error:  # noqa: BLE001  these signals cannot carry a failure
                drop("tap: a function raised", error)

    def subscribed(self, leg: Leg, subscription: Subscription) -> None:
        self._tell(self._step.on_subscribe)
        super().subscribed(leg, subscription)

    def requested(self, n: int, first: bool) -> None:
        self._tell(self._step.on_request, n)

    def arrived(self, element: Any) -> None:
        fn = self._step.on_next
        if fn is not None:
            returned = False
            try:
                fn(element)
                returned = True
            except Exception as error:  # noqa: BLE001  rule 1.4
                returned = True
                self.end(blamed(error, self._step, fn), cancel=True)
                return
            finally:
                if not returned:
                    self.end(interruption(), cancel=True)
        super().arrived(element)

    def failed(self, error: Exception) -> None:
        self._tell(self._step.on_error, error)
        super().failed(error)

    def completed(self) -> None:
        self._tell(self._step.on_complete)
        super().completed()

    def cancelled(self) -> None:
        self._tell(self._step.on_cancel)
