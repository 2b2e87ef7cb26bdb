"""metrics: count what passes, under a name.

Group: look on
Marble: a.metrics('orders', registry=Registry()) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, replace
from threading import Lock
from typing import Any, ClassVar, Literal

from penstock.engine.grounds.relay import Relay
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, pull
from penstock.engine.weaving.iterators import open_through
from penstock.engine.weaving.segment import close
from penstock.engine.words.arguments import name_given, of_class
from penstock.engine.words.demand import UNBOUNDED
from penstock.engine.words.resident import by_name
from penstock.spec.interfaces import Subscriber
from penstock.stage import Opener, Results, Source, Tie

Outcome = Literal["completed", "failed", "cancelled"]


@dataclass(frozen=True, slots=True)
class Counted:
    """What was counted under one name, in all runs together."""

    runs: int = 0
    running: int = 0
    requested: int = 0
    delivered: int = 0
    completed: int = 0
    failed: int = 0
    cancelled: int = 0


@dataclass(slots=True, eq=False)
class Tally:
    """The count of one run; only the run itself writes, so it needs no lock."""

    registry: Registry
    name: str
    requested: int = 0
    delivered: int = 0

    def end(self, outcome: Outcome) -> None:
        """Say that the run is over; only the first outcome that is said counts."""
        self.registry.end(self, outcome)


class Registry:
    """The numbers of every name; runs under way are counted as they go."""

    __slots__ = ("__weakref__", "_lock", "_over", "_running")

    def __init__(self) -> None:
        self._lock = Lock()
        self._over: dict[str, Counted] = {}
        self._running: dict[Tally, None] = {}

    def begin(self, name: str) -> Tally:
        """Return what counts one run.

        Args:
            name: The name under which it is counted.
        """
        tally = Tally(self, name)
        with self._lock:
            self._over.setdefault(name, Counted())
            self._running[tally] = None
        return tally

    def end(self, tally: Tally, outcome: Outcome) -> None:
        """Keep the numbers of a run that is over, once.

        Args:
            tally: What has counted the run.
            outcome: How it ended.
        """
        with self._lock:
            if tally in self._running:
                del self._running[tally]
                self._over[tally.name] = _with(self._over[tally.name], tally, outcome)

    def read(self) -> dict[str, Counted]:
        """Return the numbers of every name."""
        with self._lock:
            found = dict(self._over)
            for tally in self._running:
                found[tally.name] = _with(found[tally.name], tally, "running")
        return found

    def __getitem__(self, name: str) -> Counted:
        return self.read()[name]

    def __reduce__(self) -> str | tuple[Any, ...]:
        return "REGISTRY" if self is REGISTRY else by_name(self)


def _with(known: Counted, tally: Tally, state: str) -> Counted:
    return replace(
        known,
        runs=known.runs + 1,
        requested=min(known.requested + max(tally.requested, tally.delivered), UNBOUNDED),
        delivered=known.delivered + tally.delivered,
        **{state: getattr(known, state) + 1},
    )


REGISTRY = Registry()
"""The registry that `metrics` counts into unless another is given."""


@dataclass(frozen=True, slots=True)
class Metrics(Source[Any]):
    """Count runs, requests, elements and ends of the stream in a registry, under `name`.

    Emits when the stream does. Backpressures when downstream does. Completes when the stream completes. Cancels the
    stream.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.BOOKS
    stream: Chain
    name: str
    registry: Registry = REGISTRY
    passes: ClassVar[bool] = True
    follows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        name_given("metrics", self.name)
        if not isinstance(self.registry, Registry):
            raise TypeError(f"metrics: registry must be a Registry, got {self.registry!r}{of_class(self.registry)}")

    def opener(self) -> Opener[Any] | None:
        """Iterate, counting."""
        opener = pull(self.stream)
        return (
            None
            if opener is None
            else lambda gate: _counted(self.registry.begin(self.name), open_through(opener, gate))
        )

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe, counting."""
        run = _MetricsRun(downstream, self.registry.begin(self.name))
        run.attach(lambda leg: connect(self.stream, leg))


def _counted(tally: Tally, iterator: Iterator[Any]) -> Iterator[Any]:
    """Count what is iterated; an iterator that is left before its end was cancelled."""
    try:
        for element in iterator:
            tally.delivered += 1
            yield element
        tally.end("completed")
    except Exception:
        tally.end("failed")
        raise
    finally:
        close(iterator)
        tally.end("cancelled")


class _MetricsRun(Relay[Any]):
    def __init__(self, downstream: Subscriber[Any], tally: Tally) -> None:
        super().__init__(downstream)
        self._tally = tally

    def requested(self, n: int, first: bool) -> None:
        self._tally.requested += n

    def arrived(self, element: Any) -> None:
        self._tally.delivered += 1
        super().arrived(element)

    def failed(self, error: Exception) -> None:
        self._tally.end("failed")
        super().failed(error)

    def completed(self) -> None:
        self._tally.end("completed")
        super().completed()

    def released(self) -> None:
        self._tally.end("cancelled")  # unless it has ended before
