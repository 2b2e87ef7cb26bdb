"""grammar: random chains as data, which print as penstock expressions; one generator for seeds and for hypothesis."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar

from hypothesis import strategies as st

from tests.fuzz.functions import (
    Add,
    Below,
    Breaks,
    Each,
    Key,
    Laps,
    Later,
    Leaps,
    Nothing,
    Only,
    Pieces,
    Plus,
    Same,
    Smaller,
    Tupled,
    Turned,
    Zero,
)

T = TypeVar("T")


# A chain as data.


@dataclass(frozen=True)
class Src:
    """Be a source: items, then an error by name or none; with `flaky` only the first so many runs fail."""

    number: int
    items: tuple[Any, ...]
    error: str = ""
    flaky: int = 0

    def fails(self, run: int) -> bool:
        """Tell whether a run, counted from one, fails."""
        return bool(self.error) and (not self.flaky or run <= self.flaky)


@dataclass(frozen=True)
class Step:
    """Be one call of a method of Stream, or of a macro of several."""

    name: str
    args: tuple[Any, ...] = ()
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Chain:
    """Be a source with steps behind it; `start` is "" for the source itself, else what it is wrapped in."""

    source: Src | Chain
    steps: tuple[Step, ...] = ()
    start: str = ""


@dataclass(frozen=True)
class Inner:
    """Be a function from an element to a chain, which it may shift by the element's weight."""

    chain: Chain
    shifted: bool = False


@dataclass(frozen=True)
class Made:
    """Name something that is made for each run: an executor, a clock, a registry, a listener."""

    what: str


def names(chain: Chain) -> set[str]:
    """Return the names of all steps, those of inner chains included."""
    return set(_names(chain))


def _names(value: object) -> list[str]:
    if isinstance(value, tuple):
        return [name for one in value for name in _names(one)]
    own: list[str] = []
    match value:
        case Chain():
            own = [value.start]
        case Src():
            own = [value.error]
        case Step() | Breaks() | Turned():
            own = [value.name]
    parts = [getattr(value, name) for name in getattr(value, "__dataclass_fields__", ())]
    return [*(name for name in own if name), *(name for part in parts for name in _names(part))]


# Draws: each is a whole number below a bound, and 0 is the simplest.


class Seeded:
    """Draw a path and then a chain, each from a seed, and keep what was drawn, so that hypothesis can go on there."""

    def __init__(self, chain: int, path: int) -> None:
        self._random = random.Random(chain << 16 | path).random
        self._chain = chain
        self.drawn: list[int] = []

    def settle(self) -> None:
        """Go over to the chain, which is the same for all paths."""
        self._random = random.Random(self._chain).random

    def below(self, bound: int) -> int:
        number = int(self._random() * bound)
        self.drawn.append(number)
        return number


class Drawn:
    """Draw from hypothesis."""

    def __init__(self, draw: Callable[[Any], Any]) -> None:
        self._draw = draw

    def settle(self) -> None:
        """Go over to the chain."""

    def below(self, bound: int) -> int:
        return int(self._draw(st.integers(0, bound - 1)))


Draws = Seeded | Drawn


class Grammar:
    """Make chains from draws."""

    def __init__(self, draws: Draws) -> None:
        self.below = draws.below
        self.settle = draws.settle
        self._sources = 0

    def one_of(self, some: Sequence[T]) -> T:
        return some[self.below(len(some))]

    def chance(self, one_in: int) -> bool:
        """Be true once in so many; the simplest is not."""
        return self.below(one_in) == one_in - 1

    def many(self, most: int, mean: int) -> Iterator[None]:
        """Go round so many times; hypothesis deletes a turn with the number that begins it."""
        for _ in range(most):
            if not self.below(mean + 1):
                return
            yield

    # Sources.

    def source(self) -> Src:
        self._sources += 1
        items = tuple(self.below(9) for _ in self.many(6, 4))
        if not self.chance(5):
            return Src(self._sources - 1, items)
        return Src(self._sources - 1, items, self.name(), self.below(4) if self.chance(3) else 0)

    def name(self) -> str:
        return self.one_of(("boom", "boom", "fizz", "fizz", "cold"))

    def chain(self, depth: int, longest: int) -> Chain:
        """Make a chain of at most so many steps, with inner chains to a depth."""
        start = self.one_of(("", "", "", "", "", "", "", "defer", "using")) if depth else ""
        inside: Src | Chain = self.chain(depth - 1, 2) if start else self.source()
        steps: list[Step] = []
        for _ in self.many(longest, longest):
            steps.extend(self.step(depth))
        return Chain(inside, tuple(steps), start)

    def root(self) -> Chain:
        """Make a chain as a whole; the last step of some leaves the order open."""
        chain = self.chain(2, self.one_of((3, 6, 12)))
        if self.chance(8):
            return Chain(chain.source, (*chain.steps, self.one_of(OPEN)(self)), chain.start)
        return chain

    def inner(self) -> Inner:
        return Inner(self.chain(0, 2), self.chance(2))

    # Functions.

    def breaking(self, fn: T) -> T:
        """Let a function fail somewhere, now and then."""
        if not self.chance(9):
            return fn
        name = self.one_of(("boom", "fizz", "cold", "stop"))
        return Breaks(fn, self.below(5), name)  # type: ignore[arg-type,return-value]

    def fn(self) -> Callable[[Any], Any]:
        return self.breaking(Add(self.below(4)))

    def predicate(self) -> Callable[[Any], Any]:
        return self.breaking(Below(self.below(5)))

    def key(self) -> Callable[[Any], Any]:
        return self.breaking(Key(1 + self.below(4)))

    def two(self) -> Callable[[Any, Any], Any]:
        return self.breaking(Plus())

    def when(self) -> tuple[tuple[str, Any], ...]:
        kind = self.below(3)
        return (("when", Made(("Fizz", "Boom")[kind - 1])),) if kind else ()

    # Steps.

    def step(self, depth: int) -> list[Step]:
        table = STEPS if depth else FLAT
        return table[self.below(len(table))](self, depth)

    def others(self, depth: int) -> tuple[Chain, ...]:
        return (self.chain(depth - 1, 2), *(self.chain(depth - 1, 2) for _ in self.many(1, 1)))


def _prefetch(g: Grammar) -> tuple[tuple[str, Any], ...]:
    return (("prefetch", 1 + g.below(3)),)


def _step(name: str, *draws: Callable[[Grammar], Any]) -> Callable[[Grammar, int], list[Step]]:
    return lambda g, _: [Step(name, tuple(draw(g) for draw in draws))]


def _on_numbers(name: str, *draws: Callable[[Grammar], Any]) -> Callable[[Grammar, int], list[Step]]:
    return lambda g, _: [Step("map", (Add(0),)), Step(name, tuple(draw(g) for draw in draws))]


def _optional(name: str, *draws: Callable[[Grammar], Any], **keywords: Callable[[Grammar], Any]) -> Any:
    """Make a step with some of its arguments, and some of its keywords."""

    def make(g: Grammar, _: int) -> list[Step]:
        args = tuple(draw(g) for draw in draws[: g.below(len(draws) + 1)])
        return [Step(name, args, tuple((key, draw(g)) for key, draw in keywords.items() if g.below(2)))]

    return make


def _number(bound: int, least: int = 0) -> Callable[[Grammar], int]:
    return lambda g: least + g.below(bound)


def _items(g: Grammar, most: int = 1) -> tuple[int, ...]:
    return (20, *(20 + g.below(5) for _ in g.many(most, 1)))


def _caught(name: str, *draws: Callable[[Grammar], Any]) -> Callable[[Grammar, int], list[Step]]:
    return lambda g, _: [Step(name, tuple(draw(g) for draw in draws), g.when())]


def _joined(name: str) -> Callable[[Grammar, int], list[Step]]:
    return lambda g, depth: [Step(name, g.others(depth))]


def _joined_ahead(name: str) -> Callable[[Grammar, int], list[Step]]:
    return lambda g, depth: [Step(name, g.others(depth), _prefetch(g))]


# What needs no chain inside.
FLAT: list[Callable[[Grammar, int], list[Step]]] = [
    _step("map", Grammar.fn),
    _step("filter", Grammar.predicate),
    _step("take", _number(5)),
    _step("skip", _number(4)),
    lambda g, _: [Step("flat_map", (g.breaking(Pieces(1 + g.below(2), bool(g.below(2)))),))],
    lambda g, _: [Step("map", (Pieces(1 + g.below(2), bool(g.below(2))),)), Step("flatten")],
    lambda g, _: [Step("map", (Tupled(),)), Step("starmap", (g.two(),))],
    _step("tap", lambda g: g.breaking(Nothing())),
    lambda g, _: [Step("tap", (), (("on_complete", Nothing()), ("on_request", Nothing()), ("on_error", Nothing())))],
    _step("scan", Grammar.two, _number(3)),
    lambda g, _: [Step("stateful_map", (g.breaking(Laps(g.below(3))), Zero()))],
    _step("take_while", Grammar.predicate),
    _step("take_last", _number(4)),
    _step("skip_while", Grammar.predicate),
    _step("skip_last", _number(3)),
    lambda g, _: [Step("start_with", _items(g))],
    lambda g, _: [Step("end_with", _items(g))],
    lambda g, _: [Step("default_if_empty", _items(g))],
    _step("enumerate", _number(3)),
    _optional("drop_repeats", Grammar.key),
    _optional("distinct", Grammar.key, size=_number(3, 1)),
    lambda g, _: [Step("buffer", _counts(g))],
    lambda g, _: [Step("sliding", _counts(g))],
    lambda g, _: [Step("buffer_until", (g.predicate(),), _size(g))],
    lambda g, _: [Step("buffer_while", (g.predicate(),), _size(g))],
    lambda g, _: [Step("split_when", (g.breaking(Leaps(g.below(4))),), _size(g))],
    _step("pairwise"),
    _step("ignore_elements"),
    lambda g, _: [Step("expand", (g.breaking(Smaller(1 + g.below(2))),))],
    lambda g, _: [
        Step("map_batches", (g.breaking(Each(Add(1))) if g.below(2) else Only(g.predicate()), 1 + g.below(3)))
    ],
    lambda g, _: [Step("reduce", (g.two(), 1) if g.below(2) else (g.two(),))],
    _step("count"),
    _step("to_list"),
    _on_numbers("to_set"),
    _step("to_dict", Grammar.key, Grammar.fn),
    lambda g, _: [Step("first", (g.predicate(),) if g.below(2) else (), _default(g))],
    lambda g, _: [Step("last", (g.predicate(),) if g.below(2) else (), _default(g))],
    lambda g, _: [Step("element_at", (g.below(4),), _default(g))],
    lambda g, _: [Step("single", (), _default(g))],
    _on_numbers("sum"),
    _on_numbers("average"),
    _on_numbers("min"),
    _step("max", Grammar.key),
    _step("contains", _number(6)),
    _step("is_empty"),
    _step("all", Grammar.predicate),
    _step("any", Grammar.predicate),
    _step("for_each", lambda g: g.breaking(Nothing())),
    _step("of_type", lambda g: Made("int")),
    _step("cast", lambda g: Made("int")),
    _step("materialize"),
    lambda g, _: [
        Step("materialize"),
        *([] if g.below(2) else [Step(*g.one_of((("take", (2,)), ("skip", (1,)), ("skip_last", (1,)))))]),
        Step("dematerialize"),
    ],
    _caught("on_error_complete"),
    _caught("on_error_return", _number(5, 30)),
    lambda g, _: [Step("on_error_return", (), (("fn", g.breaking(Add(40))), *g.when()))],
    _caught("map_error", lambda g: g.breaking(Turned(g.name()))),
    _step("retry", _number(3)),
    _step("repeat", _number(3, 1)),
    _step("do_finally", lambda g: Made("runs")),
    lambda g, _: [Step("limit_rate", (1 + g.below(3),))],
    lambda g, _: [Step("publish_on", (Made("inline"),), _prefetch(g))],
    _step("subscribe_on", lambda g: Made("inline")),
    _step("share"),
    _step("replay", _number(3, 1)),
    _step("cache"),
    _step("on_backpressure_buffer", lambda g: 1000),
    _step("checkpoint", lambda g: "here"),
    _step("checked"),
    _step("log", lambda g: "fuzz"),
    _step("with_context", lambda g: {}),
    lambda g, _: [Step("metrics", ("here",), (("registry", Made("registry")),))],
    lambda g, _: [Step("observed", (Made("recorder"),))],
    lambda g, _: [Step("timeout", (5.0,), (("clock", Made("clock")),))],
    lambda g, _: [Step("buffer_timeout", (1 + g.below(3), 5.0), (("clock", Made("clock")),))],
    lambda g, _: [Step("throttle", (1000,), (("clock", Made("clock")),))],
    lambda g, _: [Step("keep_alive", (5.0, 1), (("clock", Made("clock")),))],
    _step("take_until_never"),
    _step("skip_until_now"),
    _step("race_never"),
    _step("with_latest_from_one"),
    lambda g, _: [Step("windows_listed", (1 + g.below(3),))],
    lambda g, _: [Step("windows_whole", (1 + g.below(3),))],
    lambda g, _: [Step("windows_begun", (1 + g.below(3),))],
    lambda g, _: [Step("groups_listed", (g.key(),))],
    _step("partition_first", Grammar.predicate),
    _step("partition_second", Grammar.predicate),
    _step("partition_both", Grammar.predicate),
]


def _counts(g: Grammar) -> tuple[int, ...]:
    return (1 + g.below(3), 1 + g.below(4)) if g.below(2) else (1 + g.below(3),)


def _size(g: Grammar) -> tuple[tuple[str, Any], ...]:
    return (("size", 1 + g.below(3)),) if g.chance(3) else ()


def _default(g: Grammar) -> tuple[tuple[str, Any], ...]:
    return (("default", 50),) if g.below(2) else ()


# What waits: it runs on other threads or loops, and costs more.
WAITING: list[Callable[[Grammar, int], list[Step]]] = [
    lambda g, _: [Step("map_async", (Later(g.fn(), g.below(3)),), (("concurrency", 1 + g.below(3)),))],
    lambda g, _: [Step("map_async_unordered", (Later(g.fn(), g.below(3)), 1 + g.below(3)))],
    lambda g, _: [Step("publish_on", (Made("pool"),), _prefetch(g))],
    lambda g, _: [Step("subscribe_on", (Made("pool"),))],
    lambda g, _: [Step("parallel_mapped", (1 + g.below(3), g.fn(), g.predicate()))],
]

# What has chains inside.
NESTED: list[Callable[[Grammar, int], list[Step]]] = [
    lambda g, _: [Step("concat_map", (g.breaking(g.inner()),))],
    _joined("concat"),
    _joined_ahead("zip"),
    _joined_ahead("interleave"),
    lambda g, depth: [Step("interleave", g.others(depth), (("count", 2), *_prefetch(g)))],
    lambda g, depth: [Step("merge_sorted", g.others(depth), (("key", Add(0)), *_prefetch(g)))],
    lambda g, depth: [Step("switch_if_empty", (g.chain(depth - 1, 2),))],
    lambda g, depth: [Step("sequence_equal", (g.chain(depth - 1, 2), g.breaking(Same())), _prefetch(g))],
    lambda g, depth: [Step("combined_last", g.others(depth), _prefetch(g))],
    lambda g, depth: [Step("merged", g.others(depth), _prefetch(g))],
    lambda g, _: [Step("flat_mapped", (g.breaking(g.inner()),), (("concurrency", 1 + g.below(3)), *_prefetch(g)))],
    lambda g, depth: [
        Step("joined", (g.chain(depth - 1, 2), Key(1 + g.below(4)), g.one_of(("inner", "left", "right", "outer"))))
    ],
    lambda g, _: [Step("expanded", (g.breaking(Smaller(1 + g.below(2))), 1 + g.below(2)))],
    lambda g, _: [Step("switched_once", (g.breaking(g.inner()),))],
    lambda g, _: [Step("on_error_resume", (g.breaking(g.inner()),), g.when())],
    lambda g, _: [Step("on_error_resume", (g.breaking(g.inner()),), g.when())],
]

STEPS = [*FLAT, *NESTED, *NESTED, *WAITING]

# Last steps that leave the order open.
OPEN: list[Callable[[Grammar], Step]] = [
    lambda g: Step("merge", g.others(2), _prefetch(g)),
    lambda g: Step("flat_map", (g.breaking(g.inner()),), (("concurrency", 1 + g.below(3)), *_prefetch(g))),
]
