"""Depth: a run whose source is told what is done takes no more of the stack however deep its streams are nested."""

from __future__ import annotations

import gc
import sys
import tracemalloc
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import Sink, Stream, VirtualClock, branch, flow
from penstock.engine.runs.chain import Chain, from_the_inside, inner_chains
from penstock.operators.for_each import ForEachAsync
from penstock.run.carrying.committing import Committing
from penstock.run.carrying.joints import JOINTS
from penstock.run.carrying.lifting import NotCarriedError
from penstock.run.carrying.marks import Carried, SourceMarks, joined_list
from penstock.run.carrying.parts import PartMarks
from penstock.run.carrying.sources import SOURCES
from penstock.run.in_process import InProcess
from tests.engine.parts import in_thread
from tests.engine.test_depth import ALL, FLAT
from tests.engine.test_depth import JOINTS as ROWS
from tests.operators.catalogue import ENTRIES, INNER
from tests.run.carrying.ledger import WAIT, Ledger
from tests.run.carrying.test_every_operator import CANNOT_BE_ASKED, NO_NUMBERS

LEVELS = 1_000
ROW = 10_000
ELEMENTS = [0, 1, 2]
CLOCK = VirtualClock()
USES = [name for name in ENTRIES if name not in CANNOT_BE_ASKED]

REFUSED = {
    "cache", "combine_latest", "expand", "from_publisher", "join", "partition", "repeat", "share", "skip_until",
    "switch_map", "using", "with_latest_from",
}  # fmt: skip
"""The kinds of steps that positions do not travel through, or that have the source inside of a function."""

Step = Callable[[Stream[Any]], Stream[Any]]


def numbers() -> Ledger:
    return Ledger(len(ELEMENTS), of=lambda number: number - 1)


def number_of(pair: tuple[int, Any]) -> int:
    return pair[0]


def level(name: str) -> Step:
    """Return a use of an operator that takes some numbers from zero on, and gives some, so that it can be nested."""
    make, turned = ENTRIES[name].make, NO_NUMBERS.get(name)
    use = make if turned is None else lambda stream: make(stream.map(turned))
    return lambda stream: use(stream).take(len(ELEMENTS)).enumerate().map(number_of)


def after(name: str, elements: list[int], levels: int) -> list[int]:
    """Say by the model of an operator what so many levels of it give."""
    turned: Callable[[int], Any] = NO_NUMBERS.get(name, int)
    for _ in range(levels):
        made = ENTRIES[name].model([turned(number) for number in elements])
        elements, before = list(range(min(len(made), len(ELEMENTS)))), elements
        if elements == before:
            break
    return elements


def nested(step: Step, stream: Stream[Any], levels: int = LEVELS) -> Stream[Any]:
    for _ in range(levels):
        stream = step(stream)
    return stream


def is_refused(stream: Stream[Any]) -> bool:
    try:
        Committing(stream._chain)
    except NotCarriedError:
        return True
    return False


@pytest.mark.parametrize("name", USES)
def test_a_thousand_uses_inside_of_each_other_run_or_are_refused(name: str) -> None:
    INNER.clear()
    source = numbers()
    stream = nested(level(name), source.stream())
    if is_refused(level(name)(numbers().stream())):
        assert is_refused(stream)
        return
    assert (stream | Sink.to_list()).run().wait(WAIT) == after(name, ELEMENTS, LEVELS)
    assert source.told == sorted(source.told)
    for items in INNER:
        items.wait_until_closed()


async def later(_: Any) -> bool:
    return True


AWAITED: dict[str, Step] = {
    "filter": lambda stream: stream.filter(later),
    "for_each": lambda stream: stream.apply(ForEachAsync(later)),
}
"""The steps that a function makes asynchronous, which the catalogue does not have."""


@pytest.mark.parametrize("name", AWAITED)
def test_a_thousand_functions_that_are_awaited(name: str) -> None:
    source = numbers()
    assert (nested(AWAITED[name], source.stream()) | Sink.to_list()).run().wait(WAIT) == ELEMENTS
    assert source.last == len(ELEMENTS)


def test_every_operator_that_carries_positions_was_nested() -> None:
    met: set[type] = set()
    for name in USES:
        for chain in from_the_inside(level(name)(Stream.resumable(iter, print))._chain, inner_chains):
            met.update(map(type, (chain.source, *chain.steps)))
    for use in AWAITED.values():
        met.update(map(type, use(Stream.empty())._chain.steps))
    left_out = {kind.__name__ for kind in (*SOURCES, *JOINTS) if kind not in met}
    assert left_out == {"Pour", "PourAsync", "Valved"}, "which are no operators: the ends of a run, and its beginning"


@pytest.mark.parametrize("name", ALL)
def test_rows_and_nested_streams_of_every_kind_run_or_are_refused(name: str) -> None:
    source = numbers()
    stream = nested(ALL[name], source.stream(), LEVELS // (2 if " and " in name else 1))
    pipeline = stream | Sink.to_list()
    if name.partition(": ")[2] in REFUSED:
        with pytest.raises(NotCarriedError):
            pipeline.run().wait(WAIT)
    else:
        assert pipeline.run().wait(WAIT) == ELEMENTS
        assert source.last == len(ELEMENTS)


@pytest.mark.parametrize("name", [name for name in ROWS if name != "expand" and " and " not in name])
def test_ten_thousand_joints_in_a_row(name: str) -> None:
    source = numbers()
    chain = ROWS[name](source.stream())._chain
    stream: Stream[Any] = Stream(Chain(chain.source, chain.steps * ROW))
    assert (stream | Sink.to_list()).run().wait(WAIT) == ELEMENTS
    assert source.last == len(ELEMENTS)


# Parts: an arm of several, inside of a branch, of a group or of a window, each with marks of its own.


def arms(stream: Stream[Any]) -> Stream[Any]:
    return nested(lambda inner: inner.merge(Stream.empty(), prefetch=1).map(int), stream)


PARTS: dict[str, Callable[[Stream[Any]], Any]] = {
    "branch": lambda stream: stream | branch(flow(arms) | Sink.to_list(), Sink.count()),
    "both branches": lambda stream: stream | branch(flow(arms) | Sink.to_list(), flow(arms) | Sink.count()),
    "groups": lambda stream: stream.group_by(lambda _: 0, clock=CLOCK).flat_map(arms, concurrency=2) | Sink.to_list(),
    "windows": lambda stream: stream.window(2, clock=CLOCK).concat_map(arms) | Sink.to_list(),
    "function": lambda stream: stream.concat_map(lambda n: arms(Stream.just(n))) | Sink.to_list(),
    "buffered": lambda stream: (
        stream | branch(flow(lambda inner: arms(inner).buffer(2).flatten()) | Sink.to_list(), Sink.count())
    ),
}


@pytest.mark.parametrize("name", PARTS)
def test_a_thousand_arms_inside_of_each_other(name: str) -> None:
    source = numbers()
    result = PARTS[name](source.stream()).run().wait(WAIT)
    assert result == ((ELEMENTS, len(ELEMENTS)) if "branch" in name or name == "buffered" else ELEMENTS)
    assert source.last == len(ELEMENTS)


def branches(levels: int) -> Sink[Any, Any]:
    sink: Sink[Any, Any] = Sink.to_list()
    for _ in range(levels):
        sink = branch(sink, Sink.count())
    return sink


def test_a_thousand_branches_inside_of_each_other() -> None:
    source = numbers()
    result = (source.stream() | branches(LEVELS)).run().wait(WAIT)
    for _ in range(LEVELS):
        result, count = result
        assert count == len(ELEMENTS)
    assert result == ELEMENTS
    assert source.last == len(ELEMENTS)


def test_what_steps_keep_is_told_through_a_thousand_parts() -> None:
    told: list[int] = []
    marks = SourceMarks(told.append, window=1)
    still: list[str] = []
    marks.on_standstill = still.append
    marks.alone = marks.waits = True
    element = Carried("a", (marks.enter(1),))
    parts = [PartMarks()]
    for _ in range(LEVELS):
        parts.append(PartMarks(parts[-1]))
    for part in parts:
        element = part(element)
    (mark,) = element.marks
    mark.book.hold(mark, "buffer")
    assert still == ["buffer"]
    mark.book.unhold(mark)
    second = element.also("b")
    second.done()
    assert told == []
    element.done()
    assert told == [1]
    assert [len(part) for part in parts] == [0] * len(parts)


def test_a_part_that_ends_is_done_with_what_is_inside_of_a_thousand_others() -> None:
    told: list[int] = []
    marks = SourceMarks(told.append, window=None)
    outermost = innermost = PartMarks()
    element = outermost(Carried("a", (marks.enter(1),)))
    ended: list[int] = []
    for at in range(LEVELS):
        innermost = PartMarks(innermost)
        innermost.on_end.append(lambda at=at: ended.append(at))
        element = innermost(element)
    outermost.end()
    assert told == [1]
    assert ended == list(reversed(range(LEVELS))), "each when those inside of it have ended, and once"
    outermost.end()
    innermost.end()
    assert len(ended) == LEVELS


def test_what_is_divided_and_joined_again_carries_each_mark_once() -> None:
    told: list[int] = []
    marks = SourceMarks(told.append, window=None)
    elements = [Carried(n, (marks.enter(n),)) for n in (1, 2)]
    for _ in range(LEVELS):
        whole = joined_list(elements)
        assert len(whole.marks) <= 2
        elements = [whole.also(value) for value in whole.value]
        whole.done()
    elements[0].done()
    assert told == []
    elements[1].done()
    assert told == [2]


# What it costs.


NESTED: dict[str, Callable[[int], Any]] = {
    "retry": lambda levels: nested(lambda s: s.retry(0), numbers().stream(), levels),
    "merge": lambda levels: nested(lambda s: s.merge(Stream.empty()).map(int), numbers().stream(), levels),
    "zip": lambda levels: nested(lambda s: s.zip(Stream.range(3)).map(number_of), numbers().stream(), levels),
    "take_until": lambda levels: nested(lambda s: s.take_until(Stream.never()), numbers().stream(), levels),
    "buffer": lambda levels: nested(lambda s: s.retry(0).buffer(2).flatten(), numbers().stream(), levels),
    "arms of a branch": lambda levels: (
        numbers().stream()
        | branch(
            flow(lambda s: nested(lambda i: i.merge(Stream.empty()).map(int), s, levels)) | Sink.count(), Sink.count()
        )
    ),
    "branches": lambda levels: numbers().stream() | branches(levels),
}
each = pytest.mark.parametrize("name", NESTED)


class Calls:
    """How many calls were made, and how deep the deepest stood."""

    def __init__(self) -> None:
        self.count = self.depth = self.deepest = 0

    def __call__(self, _: Any, event: str, __: Any) -> None:
        if event == "call":
            self.count += 1
            self.depth += 1
            self.deepest = max(self.depth, self.deepest)
        elif event == "return":
            self.depth -= 1


def calls_of(chain: Chain) -> Calls:
    calls = Calls()
    sys.setprofile(calls)
    try:
        Committing(chain)
    finally:
        sys.setprofile(None)
    return calls


def memory_of(chain: Chain) -> int:
    gc.collect()
    tracemalloc.start()
    try:
        before, _ = tracemalloc.get_traced_memory()
        Committing(chain)
        return tracemalloc.get_traced_memory()[1] - before
    finally:
        tracemalloc.stop()


@each
def test_to_lift_a_chain_costs_what_it_has_and_a_flat_stack(name: str) -> None:
    small, large = (calls_of(NESTED[name](levels)._chain) for levels in (LEVELS // 4, LEVELS))
    assert large.count < 4.2 * small.count
    assert large.deepest == small.deepest < FLAT // 10


@each
def test_to_lift_a_chain_takes_memory_for_what_it_has(name: str) -> None:
    small, large = (memory_of(NESTED[name](levels)._chain) for levels in (LEVELS // 4, LEVELS))
    assert large < 5 * small


@pytest.mark.parametrize("name", [name for name in NESTED if name != "branches"])
def test_it_runs_on_a_small_stack(name: str) -> None:
    made = NESTED[name](LEVELS)
    pipeline = made | Sink.count() if isinstance(made, Stream) else made
    results: list[Any] = []

    def run() -> None:
        InProcess(pipeline._chain).start(lambda result, error: results.append(error or result))

    gc.disable()  # so that nothing as deep as the chain is freed there; see tests/engine/test_depth.py
    try:
        in_thread(run, stack=256 * 1024)
    finally:
        gc.enable()
    count = len(ELEMENTS)
    assert results == [(count, count) if "branch" in name else count]


def test_a_checkpoint_names_a_thousand_streams_and_a_run_goes_on_behind_it(tmp_path: Path) -> None:
    source = numbers()
    pipeline = nested(lambda s: s.retry(0), source.stream()) | Sink.to_list()
    assert pipeline.run(checkpoint=tmp_path).wait(WAIT) == ELEMENTS
    assert pipeline.run(checkpoint=tmp_path).wait(WAIT) == []
    assert source.opened == [None, len(ELEMENTS)]


def test_a_failure_passes_a_thousand_retries() -> None:
    source = numbers()
    tries: list[int] = []

    def fails(number: int) -> int:
        tries.append(number)
        if number == 1:
            raise LookupError("no")
        return number

    stream = nested(lambda s: s.retry(0), source.stream().map(fails))
    taken: list[int] = []
    with pytest.raises(LookupError, match=r"^no\n"):
        (stream | Sink.for_each(taken.append)).run().wait(WAIT)
    assert (taken, tries) == ([0], [0, 1])
    assert source.last == 1
