"""cutting: a sink that tells the source gets all that was made of its elements up to a position, and nothing else."""

from __future__ import annotations

import asyncio
import random
from collections.abc import Callable
from typing import Any

import pytest

from penstock import NotCarriedError, Sink, Stream, branch
from penstock.connectors.reading import reading
from penstock.connectors.writing import telling
from penstock.run.carrying.cutting import Cut
from penstock.run.carrying.entrance import SourceRun
from penstock.run.carrying.marks import Carried

COUNT = 3000


class Numbers:
    """A reader of numbers, whose commits are made by the sink."""

    def __init__(self, after: int | None) -> None:
        self._next = after or 0

    async def fetch(self, most: int) -> list[tuple[int, int]] | None:
        first, self._next = self._next, min(COUNT, self._next + min(most, 37))
        return [(n + 1, n) for n in range(first, self._next)] or None

    async def commit(self, _: int) -> None:
        raise AssertionError("the sink tells what is done")

    async def close(self) -> None:
        pass


class Transactions:
    """A writer that keeps what it was given, each time with the position behind it."""

    def __init__(self) -> None:
        self.given: list[tuple[list[Any], int | None]] = []
        self.closed: list[BaseException | None] = []
        self.fails_at = -1

    async def write_done(self, batch: list[Any], reader: Any, position: int | None) -> None:
        assert isinstance(reader, Numbers)
        if len(self.given) == self.fails_at:
            raise OSError("full")
        await asyncio.sleep(0)
        self.given.append((list(batch), position))

    async def close(self, error: BaseException | None) -> None:
        self.closed.append(error)


def numbers(window: int = 500) -> Stream[int]:
    async def opened(after: int | None) -> Numbers:
        return Numbers(after)

    return reading(opened, window=window)


def into(writer: Transactions, size: int = 50, seconds: float = 0.05) -> Sink[Any, int]:
    async def opened() -> Transactions:
        return writer

    return telling(opened, size=size, seconds=seconds)


async def late(n: int) -> int:
    await asyncio.sleep(random.random() * 0.002)
    return n


CHAINS: dict[str, Callable[[Stream[int]], Stream[tuple[int, ...]]]] = {
    "one to one": lambda s: s.map(lambda n: (n,)),
    "some left out": lambda s: s.filter(lambda n: n % 3).map(lambda n: (n,)),
    "one to many": lambda s: s.flat_map(lambda n: [(n, k) for k in range(n % 5)]),
    "out of order": lambda s: s.map_async(late, concurrency=20, ordered=False).map(lambda n: (n,)),
    "out of order, one to many": lambda s: s.map_async(late, concurrency=20, ordered=False).flat_map(
        lambda n: [(n, k) for k in range(n % 5)]
    ),
    "in groups": lambda s: s.group_by(lambda n: n % 3).flat_map(
        lambda group: group.filter(lambda n: n % 7 > 0).map(lambda n: (n,)), concurrency=3
    ),
    "batches on the way": lambda s: (
        s.map_async(late, concurrency=20, ordered=False).buffer(10).flat_map(lambda some: [(n,) for n in some if n % 3])
    ),
}


@pytest.mark.parametrize("name", CHAINS)
def test_what_is_written_is_whole(name: str) -> None:
    build = CHAINS[name]
    expected = sorted(build(Stream.range(COUNT)).to_list().get())
    writer = Transactions()
    assert (build(numbers()) | into(writer)).run().wait() == len(expected)
    before = 0
    for batch, position in writer.given:
        reached = before if position is None else position
        assert sorted(batch) == [made for made in expected if before <= made[0] < reached]
        before = reached
    assert before == COUNT
    assert sorted(made for batch, _ in writer.given for made in batch) == expected
    assert writer.closed == [None]
    assert len(writer.given) > 3


def test_a_failure_of_the_writer_ends_the_run() -> None:
    writer = Transactions()
    writer.fails_at = 3
    with pytest.raises(OSError, match="full"):
        (numbers().map(lambda n: (n,)) | into(writer)).run().wait()
    assert [position for _, position in writer.given] == [50, 100, 150]
    assert len(writer.closed) == 1


def test_an_end_before_all_is_whole_is_an_error() -> None:
    async def fails(n: int) -> int:
        if n == 5:
            await asyncio.sleep(0.05)
            raise ValueError("poison")
        return n

    writer = Transactions()
    made = numbers().map_async(fails, concurrency=10, ordered=False).on_error_complete()
    with pytest.raises(RuntimeError, match=r"^writing: \d+ elements were not written, because others before them are "):
        (made | into(writer, size=1)).run().wait()
    assert max(position or 0 for _, position in writer.given) == 5
    assert [n for batch, _ in writer.given for n in batch] == [0, 1, 2, 3, 4]


def test_elements_that_overlap_for_ever_are_an_error_and_no_standstill() -> None:
    writer = Transactions()
    with pytest.raises(RuntimeError, match=r" keeps elements, and as many as may be are uncommitted, 100, so that no "):
        (numbers(100).sliding(3) | into(writer)).run().wait()
    assert not writer.given


def test_several_ends_are_refused() -> None:
    writer = Transactions()
    with pytest.raises(NotCarriedError, match=r"the run has several sources or ends; give it one of each$"):
        (numbers() | branch(into(writer), Sink.count())).run()


def test_a_run_without_a_source_that_is_told_is_refused() -> None:
    with pytest.raises(RuntimeError, match=r"over a connector, or over Stream\.resumable\(open_from, commit\)$"):
        (Stream.range(3) | into(Transactions())).run().wait()


def test_what_was_made_of_several_goes_with_all_of_them() -> None:
    run = SourceRun(numbers()._chain.source, 100, None)
    cut = Cut()
    cut.begin(run)
    one, two, three = (run.marks.enter(n) for n in (1, 2, 3))
    cut.add([Carried("a", (one, three))])
    assert cut.take() is None, "two is under way, which three is behind"
    cut.add([Carried("b", (two,))])
    taken = cut.take()
    assert taken is not None
    assert (taken.values, taken.position) == (["a", "b"], 3)
    cut.done(taken)
    assert run.marks.reached == 3
    assert cut.take() is None


@pytest.mark.parametrize("count", [0, 1, 2])
def test_what_is_dropped_elsewhere_is_counted_in(count: int) -> None:
    run = SourceRun(numbers()._chain.source, 100, None)
    cut = Cut()
    cut.begin(run)
    marks = [run.marks.enter(n) for n in (1, 2, 3)]
    cut.add([Carried("c", (marks[2],))])
    for mark in marks[:count]:
        run.marks.drop(mark)
    taken = cut.take()
    if count == 2:
        assert taken is not None
        assert (taken.values, taken.position) == (["c"], 3)
    elif count:
        assert taken is not None
        assert (taken.values, taken.position) == ([], 1)
    else:
        assert taken is None


def test_the_sink_is_opened_before_the_source() -> None:
    order: list[str] = []
    writer = Transactions()

    async def source(after: int | None) -> Numbers:
        order.append("source")
        return Numbers(after)

    async def sink() -> Transactions:
        order.append("sink")
        await asyncio.sleep(0.01)
        order.append("sink is open")
        return writer

    assert (reading(source) | telling(sink, size=500)).run().wait() == COUNT
    assert order == ["sink", "sink is open", "source"]
