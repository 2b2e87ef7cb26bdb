"""synchronous: every operator that can be iterated, beside the generator one would write in its place.

The list is made from the package: an operator is synchronous if it is a stage, or a source that can be iterated. Each
of them has a case here, or a reason in `LEFT_OUT`.
"""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections import Counter, deque
from collections.abc import Callable, Iterable, Iterator
from contextvars import ContextVar
from operator import add, gt, neg
from typing import Any

import penstock.operators
from benchmarks.functions import double, spread, step, wanted
from benchmarks.measure import WrongResultError, short
from benchmarks.operators import by_hand
from benchmarks.peers import DEMAND, IN_HAND
from benchmarks.workload import HAND, PENSTOCK, Contender, Target, Workload
from penstock import Next, Registry, Stream
from penstock.stage import Source, Stage

SIZE = 50_000
QUICK_SIZE = 10_000
AT_MOST = 1.5

LEFT_OUT = {
    "empty": "has no elements",
    "from_callable": "has one element",
    "is_empty": "looks at one element",
    "single": "looks at two elements",
    "observed": "is measured by the workload `observed`",
}


def rarely(n: int) -> bool:
    return n % 10 == 9


def mostly(n: int) -> bool:
    return n % 10 != 9


def never(n: int) -> bool:
    return n < 0


def always(n: int) -> bool:
    return n >= 0


def few(n: int) -> int:
    return n % 100


def tens(n: int) -> int:
    return n // 10


def apart(one: int, other: int) -> bool:
    return other % 10 == 0


def two(n: int) -> tuple[int, ...]:
    return (2 * n + 1, 2 * n + 2) if n < 1000 else ()


def up(state: int, n: int) -> tuple[int, int]:
    return state + n, state


def doubled(batch: list[int]) -> list[int]:
    return [2 * n for n in batch]


def counting(size: int) -> Callable[[int], tuple[int, int] | None]:
    return lambda n: (n, n + 1) if n < size else None


def pairs(size: int) -> list[tuple[int, int]]:
    return [(n, 1) for n in range(size)]


def tuples(size: int) -> list[range]:
    return [range(10)] * (size // 10)


def signals(size: int) -> list[Next[int]]:
    return [Next(n) for n in range(size)]


def repeated(size: int) -> list[int]:
    return [n // 3 for n in range(size)]


def mixed(size: int) -> list[object]:
    return [n if n % 2 else str(n) for n in range(size)]


VARIABLE: ContextVar[int] = ContextVar("VARIABLE", default=0)


@dataclasses.dataclass(frozen=True, slots=True)
class Case:
    """Hold an operator and its generator, each over the items that `items` makes for a size."""

    chain: Callable[[Any], Stream[Any]]
    hand: Callable[[Any], Iterator[Any]]
    items: Callable[[int], Any] = range
    timed: bool = False
    """Whether a clock says what is emitted, so that only the number of elements can be compared."""


def of(items: Iterable[Any]) -> Stream[Any]:
    return Stream.from_iterable(items)


CASES: dict[str, Case] = {
    "all": Case(lambda xs: of(xs).all(always), lambda xs: by_hand.all_(xs, always)),
    "any": Case(lambda xs: of(xs).any(never), lambda xs: by_hand.any_(xs, never)),
    "average": Case(lambda xs: of(xs).average(), by_hand.average),
    "buffer": Case(lambda xs: of(xs).buffer(10), lambda xs: by_hand.buffer(xs, 10)),
    "buffer_until": Case(lambda xs: of(xs).buffer_until(rarely), lambda xs: by_hand.buffer_until(xs, rarely)),
    "buffer_while": Case(lambda xs: of(xs).buffer_while(mostly), lambda xs: by_hand.buffer_while(xs, mostly)),
    "cast": Case(lambda xs: of(xs).cast(int), lambda xs: by_hand.cast(xs, int)),
    "checkpoint": Case(lambda xs: of(xs).checkpoint("here"), by_hand.passed_on),
    "combine_latest": Case(lambda xs: of(xs).combine_latest(of(xs)), lambda xs: by_hand.combine_latest(xs, xs)),
    "concat": Case(lambda xs: of(xs).concat(of(xs)), lambda xs: by_hand.concat(xs, xs)),
    "contains": Case(lambda xs: of(xs).contains(-1), lambda xs: by_hand.contains(xs, -1)),
    "count": Case(lambda xs: of(xs).count(), by_hand.count),
    "default_if_empty": Case(lambda xs: of(xs).default_if_empty(0), lambda xs: by_hand.default_if_empty(xs, 0)),
    "dematerialize": Case(lambda xs: of(xs).dematerialize(), by_hand.dematerialize, signals),
    "distinct": Case(lambda xs: of(xs).distinct(), by_hand.distinct, repeated),
    "drop_repeats": Case(lambda xs: of(xs).drop_repeats(), by_hand.drop_repeats, repeated),
    "element_at": Case(lambda xs: of(xs).element_at(len(xs) - 1), lambda xs: by_hand.element_at(xs, len(xs) - 1)),
    "end_with": Case(lambda xs: of(xs).end_with(0), lambda xs: by_hand.end_with(xs, 0)),
    "enumerate": Case(lambda xs: of(xs).enumerate(), by_hand.enumerate_),
    "expand": Case(
        lambda xs: of(xs).expand(two), lambda xs: by_hand.expand(xs, two, 10_000), lambda size: [0] * (size // 2001)
    ),
    "filter": Case(lambda xs: of(xs).filter(wanted), lambda xs: by_hand.filter_(xs, wanted)),
    "first": Case(
        lambda xs: of(xs).first(never, default=-1), lambda xs: by_hand.end_with(by_hand.first(xs, never), -1)
    ),
    "flat_map": Case(
        lambda xs: of(xs).flat_map(spread), lambda xs: by_hand.flat_map(xs, spread), lambda n: range(n // 10)
    ),
    "flatten": Case(lambda xs: of(xs).flatten(), by_hand.flatten, tuples),
    "for_each": Case(lambda xs: of(xs).for_each(step), lambda xs: by_hand.for_each(xs, step)),
    "from_iterable": Case(of, by_hand.passed_on),
    "generate": Case(
        lambda size: Stream.generate(0, counting(size)), lambda size: by_hand.generate(0, counting(size)), int
    ),
    "ignore_elements": Case(lambda xs: of(xs).ignore_elements(), by_hand.ignore_elements),
    "interleave": Case(lambda xs: of(xs).interleave(of(xs)), lambda xs: by_hand.interleave(xs, xs)),
    "join": Case(lambda xs: of(xs).join(of(xs), neg, size=10**6), lambda xs: by_hand.join(xs, xs, neg)),
    "just": Case(lambda xs: Stream.just(*xs), lambda xs: by_hand.just(*xs)),
    "last": Case(lambda xs: of(xs).last(), by_hand.last),
    "map": Case(lambda xs: of(xs).map(step), lambda xs: by_hand.map_(xs, step)),
    "map_batches": Case(lambda xs: of(xs).map_batches(doubled, 100), lambda xs: by_hand.map_batches(xs, doubled, 100)),
    "materialize": Case(lambda xs: of(xs).materialize(), by_hand.materialize),
    "max": Case(lambda xs: of(xs).max(), by_hand.max_),
    "merge": Case(lambda xs: of(xs).merge(of(xs)), lambda xs: by_hand.interleave(xs, xs)),
    "merge_sorted": Case(lambda xs: of(xs).merge_sorted(of(xs)), lambda xs: by_hand.merge_sorted(xs, xs)),
    "metrics": Case(lambda xs: of(xs).metrics("here", registry=Registry()), lambda xs: by_hand.metrics(xs, Counter())),
    "min": Case(lambda xs: of(xs).min(), by_hand.min_),
    "of_type": Case(lambda xs: of(xs).of_type(int), lambda xs: by_hand.of_type(xs, int), mixed),
    "pairwise": Case(lambda xs: of(xs).pairwise(), by_hand.pairwise),
    "race": Case(lambda xs: of(xs).race(of(xs)), by_hand.passed_on),
    "range": Case(lambda xs: Stream.range(len(xs)), by_hand.passed_on),
    "reduce": Case(lambda xs: of(xs).reduce(add), lambda xs: by_hand.reduce_(xs, add)),
    "repeat": Case(lambda xs: of(xs).repeat(3), lambda xs: by_hand.repeat(xs, 3)),
    "scan": Case(lambda xs: of(xs).scan(add, 0), lambda xs: by_hand.scan(xs, add, 0)),
    "sequence_equal": Case(lambda xs: of(xs).sequence_equal(of(xs)), lambda xs: by_hand.sequence_equal(xs, xs)),
    "skip": Case(lambda xs: of(xs).skip(10), lambda xs: by_hand.skip(xs, 10)),
    "skip_last": Case(lambda xs: of(xs).skip_last(10), lambda xs: by_hand.skip_last(xs, 10)),
    "skip_while": Case(lambda xs: of(xs).skip_while(never), lambda xs: by_hand.skip_while(xs, never)),
    "sliding": Case(lambda xs: of(xs).sliding(3), lambda xs: by_hand.sliding(xs, 3)),
    "split_when": Case(lambda xs: of(xs).split_when(apart), lambda xs: by_hand.split_when(xs, apart)),
    "starmap": Case(lambda xs: of(xs).starmap(gt), lambda xs: by_hand.starmap(xs, gt), pairs),
    "start_with": Case(lambda xs: of(xs).start_with(-1), lambda xs: by_hand.start_with(xs, -1)),
    "stateful_map": Case(lambda xs: of(xs).stateful_map(up, int), lambda xs: by_hand.stateful_map(xs, up, int)),
    "sum": Case(lambda xs: of(xs).sum(), by_hand.sum_),
    "switch_if_empty": Case(lambda xs: of(xs).switch_if_empty(of(xs)), lambda xs: by_hand.switch_if_empty(xs, xs)),
    "take": Case(lambda xs: of(xs).take(len(xs)), lambda xs: by_hand.take(xs, len(xs))),
    "take_last": Case(lambda xs: of(xs).take_last(10), lambda xs: by_hand.take_last(xs, 10)),
    "take_while": Case(lambda xs: of(xs).take_while(always), lambda xs: by_hand.take_while(xs, always)),
    "tap": Case(lambda xs: of(xs).tap(double), lambda xs: by_hand.tap(xs, double)),
    "throttle_first": Case(lambda xs: of(xs).throttle_first(0), lambda xs: by_hand.throttle_first(xs, 0)),
    "time_interval": Case(lambda xs: of(xs).time_interval(), by_hand.time_interval, timed=True),
    "timestamp": Case(lambda xs: of(xs).timestamp(), by_hand.timestamp, timed=True),
    "to_dict": Case(lambda xs: of(xs).to_dict(neg), lambda xs: by_hand.to_dict(xs, neg)),
    "to_list": Case(lambda xs: of(xs).to_list(), by_hand.to_list),
    "to_set": Case(lambda xs: of(xs).to_set(), by_hand.to_set),
    "with_context": Case(
        lambda xs: of(xs).with_context({VARIABLE: 1}), lambda xs: by_hand.with_context(xs, VARIABLE, 1)
    ),
    "with_latest_from": Case(lambda xs: of(xs).with_latest_from(of(xs)), lambda xs: by_hand.with_latest_from(xs, xs)),
    "zip": Case(lambda xs: of(xs).zip(of(xs)), lambda xs: by_hand.zip_(xs, xs)),
}


def synchronous_operators() -> set[str]:
    """Return the names of all operators that are a stage or a source that can be iterated."""
    found = set()
    for module in pkgutil.iter_modules(penstock.operators.__path__):
        loaded = importlib.import_module(f"penstock.operators.{module.name}")
        own = [
            each
            for name, each in vars(loaded).items()
            if isinstance(each, type) and each.__module__ == loaded.__name__ and not name.startswith("_")
        ]
        if any(issubclass(each, Stage) or (issubclass(each, Source) and "opener" in vars(each)) for each in own):
            found.add(module.name)
    return found


def last_of(items: Iterable[Any]) -> Any:
    """Iterate to the end as fast as can be, and return the last item."""
    seen = deque(items, maxlen=1)
    return seen[0] if seen else None


def expected(name: str, case: Case, size: int) -> Any:
    """Return the last item, after a look at all of them."""
    items = case.items(size)
    hand, chain = list(case.hand(items)), list(case.chain(items))
    if (len(hand) != len(chain)) if case.timed else hand != chain:
        message = f"{name}: {PENSTOCK} must give {short(hand)}, got {short(chain)}"
        raise WrongResultError(message)
    return None if case.timed or not hand else hand[-1]


def runs(case: Case, make: Callable[[Any], Iterable[Any]]) -> Callable[[int], object]:
    """Return what is timed; the items are the same for all runs of a size, and made outside of them."""
    made: dict[int, Any] = {}

    def run(size: int) -> object:
        last = last_of(make(made[size]))
        return None if case.timed else last

    def warmed(size: int) -> object:
        if size not in made:
            made[size] = case.items(size)
        return run(size)

    return warmed


def workload_of(name: str, case: Case) -> Workload:
    """Return what measures an operator against its generator."""
    return Workload(
        name=name,
        title=f"{name} against a generator",
        size=SIZE,
        quick_size=QUICK_SIZE,
        expected=lambda size: expected(name, case, size),
        contenders=(
            Contender(HAND, runs(case, case.hand), IN_HAND),
            Contender(PENSTOCK, runs(case, case.chain), DEMAND),
        ),
        targets=(Target(at_most=AT_MOST),),
    )


def add_new_operators() -> None:
    """Take in the operators whose own test file says what one would write by hand in their place."""
    for name in sorted(synchronous_operators() - CASES.keys() - LEFT_OUT.keys()):
        # Only where it is needed: an older tree, measured beside this one, has not what the proofs import.
        from tests.operators.proof import proof_of  # noqa: PLC0415

        proof = proof_of(name)
        if proof.by_hand is None:
            raise LookupError(f"tests/operators/test_{name}.py: add to PROOF: by_hand=<the generator in place of it>")
        hand = proof.by_hand
        CASES[name] = Case(lambda xs, use=proof.use: use(of(xs)), lambda xs, hand=hand: iter(hand(xs)))  # type: ignore[misc]


add_new_operators()
WORKLOADS = tuple(workload_of(name, case) for name, case in sorted(CASES.items()))
