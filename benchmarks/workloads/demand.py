"""demand: one element asked for at a time, against everything asked for at once."""

from __future__ import annotations

from benchmarks.functions import double, step, wanted
from benchmarks.peers import DEMAND
from benchmarks.workload import AIOSTREAM, PENSTOCK, REACTIVEX, STREAMABLE, Contender, Missing, Target, Workload
from penstock import Stream, Subscription

UNBOUNDED = 2**63 - 1
ALL_AT_ONCE = "penstock, unbounded"


class OneByOne:
    """Sum what arrives and ask for the next element only then."""

    def __init__(self) -> None:
        self.total = 0
        self.ended: object = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscription = subscription
        subscription.request(1)

    def on_next(self, element: int, /) -> None:
        self.total += element
        self.subscription.request(1)

    def on_error(self, error: Exception, /) -> None:
        self.ended = error

    def on_complete(self) -> None:
        self.ended = "complete"


class AllAtOnce:
    """Sum what arrives, all of it asked for at the start."""

    def __init__(self) -> None:
        self.total = 0
        self.ended: object = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        subscription.request(UNBOUNDED)

    def on_next(self, element: int, /) -> None:
        self.total += element

    def on_error(self, error: Exception, /) -> None:
        self.ended = error

    def on_complete(self) -> None:
        self.ended = "complete"


def chain(size: int) -> Stream[int]:
    return Stream.range(size).map(step).filter(wanted).map(double)


def expected(size: int) -> tuple[int, object]:
    return sum(2 * (x + 1) for x in range(size) if (x + 1) % 3), "complete"


def one_by_one(size: int) -> tuple[int, object]:
    subscriber = OneByOne()
    chain(size).subscribe(subscriber)
    return subscriber.total, subscriber.ended


def all_at_once(size: int) -> tuple[int, object]:
    subscriber = AllAtOnce()
    chain(size).subscribe(subscriber)
    return subscriber.total, subscriber.ended


NO_DEMAND = "has no demand to ask with"

WORKLOAD = Workload(
    name="demand",
    title="request(1) in on_next, against unbounded",
    size=50_000,
    quick_size=10_000,
    expected=expected,
    contenders=(Contender(ALL_AT_ONCE, all_at_once, DEMAND), Contender(PENSTOCK, one_by_one, DEMAND)),
    missing=tuple(Missing(peer, NO_DEMAND) for peer in (REACTIVEX, AIOSTREAM, STREAMABLE)),
    baseline=ALL_AT_ONCE,
    targets=(Target(at_most=5.0, against=ALL_AT_ONCE),),
)
