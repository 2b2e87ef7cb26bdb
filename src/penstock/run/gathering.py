"""gathering: know when all that will subscribe to a stream at the beginning of a run have done so.

Most sources subscribe to the streams inside of them at once. `subscribe_on` and `delay_subscription` do it later, on
another thread or by a clock, and `concat` and `switch_if_empty` when the stream before has ended; branches do when all
of them have come. Such a source is waited for from the moment it is subscribed itself until it has subscribed to the
stream, or has ended, or is cancelled. Sources that are nested deep subscribe behind those that they are in.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from typing import Any

from penstock.engine.grounds.bystander import Bystander
from penstock.engine.runs.chain import Chain, inner_chains, with_other_chains
from penstock.engine.runs.wiring import connect
from penstock.engine.words.trampoline import when_subscribed
from penstock.operators.concat import Concat
from penstock.operators.delay_subscription import DelaySubscription
from penstock.operators.subscribe_on import SubscribeOn
from penstock.operators.switch_if_empty import SwitchIfEmpty
from penstock.spec.interfaces import Subscriber
from penstock.stage import Source

_LATE = (Concat, DelaySubscription, SubscribeOn, SwitchIfEmpty)
"""The sources that may subscribe to what is inside of them later than they are subscribed."""


class Gathering:
    """The count of those that are still to come; it calls a function once, when all have come."""

    def __init__(
        self, is_entry: Callable[[Source[Any]], bool], on_all: Callable[[], None], *late: type[Source[Any]]
    ) -> None:
        self._is_entry = is_entry
        self._on_all = on_all
        self._late = _LATE + late
        self._lock = Lock()
        self._awaited = 1

    def expect(self) -> Callable[[], None]:
        """Wait for one more, and return what says that it has come, or never will."""
        with self._lock:
            self._awaited += 1
        return _Once(self.come)

    def come(self) -> None:
        """Know of one that has come; those who gather are the first to be waited for."""
        with self._lock:
            self._awaited -= 1
            all_came = not self._awaited
        if all_came:
            self._on_all()

    def begin(self) -> None:
        """Wait for the others alone, when all that subscribe at once have done so."""
        when_subscribed(self.come)

    def awaited(self, chain: Chain) -> Chain:
        """Return a chain whose late sources are waited for, where the stream is inside of them."""
        made: dict[int, tuple[Chain, bool]] = {}
        waiting = [chain]
        while waiting:  # from the inside out, in a loop: a thousand sources may be nested
            at = waiting[-1]
            inner = inner_chains(at.source)
            unknown = [each for each in inner if id(each) not in made]
            if unknown and not self._is_entry(at.source):
                waiting.extend(unknown)
                continue
            made[id(waiting.pop())] = self._seen(at, made)
        return made[id(chain)][0]

    def _seen(self, chain: Chain, made: dict[int, tuple[Chain, bool]]) -> tuple[Chain, bool]:
        source = chain.source
        if self._is_entry(source):
            return chain, True
        inside = [id(each) for each in inner_chains(source) if made[id(each)][1]]
        if not inside:
            return chain, False
        source = with_other_chains(source, lambda each: made[id(each)][0])
        if isinstance(source, self._late):
            places = frozenset(at for at, each in enumerate(inner_chains(chain.source)) if id(each) in inside)
            source = _Late(source, places, self)
        return Chain(source, chain.steps, chain.places, chain.watch), True


class _Once:
    """A function that is called once, however often it is called."""

    def __init__(self, fn: Callable[[], None]) -> None:
        self._fns = [fn]

    def __call__(self) -> None:
        try:
            fn = self._fns.pop()
        except IndexError:
            return
        fn()


@dataclass(frozen=True, eq=False, slots=True)
class _Late(Source[Any]):
    """A source that is waited for."""

    source: Source[Any]
    places: frozenset[int]
    """Which of the chains inside of it have the stream in them."""
    gathering: Gathering

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to the source, and wait for it."""
        came = self.gathering.expect()
        numbers = iter(range(len(inner_chains(self.source))))
        seen = with_other_chains(self.source, lambda inner: self._seen(inner, next(numbers), came))
        connect(Chain(seen), _Ending(downstream, came))

    def _seen(self, inner: Chain, number: int, came: Callable[[], None]) -> Chain:
        return Chain(_Coming(inner, came)) if number in self.places else inner


@dataclass(frozen=True, eq=False, slots=True)
class _Coming(Source[Any]):
    """A stream inside of a late source, which has come when it is subscribed."""

    stream: Chain
    came: Callable[[], None]

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe to it, and say so."""
        connect(self.stream, downstream)
        when_subscribed(self.came)


class _Ending(Bystander):
    """What sees that a late source has ended or was cancelled, so that it is waited for no more."""

    __slots__ = ("_came",)

    def __init__(self, downstream: Subscriber[Any], came: Callable[[], None]) -> None:
        super().__init__(downstream)
        self._came = came

    def _over(self, error: BaseException | None, *, whole: bool) -> Subscriber[Any] | None:
        self._came()
        return super()._over(error, whole=whole)


__all__ = ["Gathering"]
