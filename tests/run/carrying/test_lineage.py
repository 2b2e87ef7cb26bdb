"""Lineage: an element of a source is done when everything that was made of it is, and not before."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import Overflow, Sink, Stream, Subscriber, branch, flow, inline, thread
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.extend import Source
from penstock.run import Run
from penstock.run.carrying.committing import Committing
from penstock.run.carrying.lifting import NotCarriedError
from tests.run.carrying.ledger import WAIT, Ledger


class Stopped(Exception):
    """The end of a run in the middle."""


def seen_until(results: list[Any], last: Any) -> Any:
    """Take results until one comes that fails the run."""

    def take(result: Any) -> None:
        if result == last:
            raise Stopped
        results.append(result)

    return Sink.for_each(take)


def broken_off(stream: Stream[Any], last: Any) -> list[Any]:
    results: list[Any] = []
    with pytest.raises(Stopped):
        (stream | seen_until(results, last)).run().wait(WAIT)
    return results


def test_a_dropped_element_is_done() -> None:
    source = Ledger(10)
    assert broken_off(source.stream().filter(lambda n: n in {3, 8}), 8) == [3]
    assert source.last == 7


def test_what_was_dropped_last_is_committed_at_the_end() -> None:
    source = Ledger(10)
    assert (source.stream().filter(lambda n: n == 3) | Sink.to_list()).run().wait(WAIT) == [3]
    assert source.last == 10


@pytest.mark.parametrize("overflow", [None, Overflow.DROP, Overflow.LATEST])
def test_one_that_overflowed_is_done_when_the_function_that_is_told_of_it_has_returned(
    overflow: Overflow | None,
) -> None:
    source, told = Ledger(10), list[int]()

    def tell(number: int) -> None:
        if len(told) == 2:
            raise Stopped
        told.append(number)

    stream = source.stream()
    if overflow is None:
        dropping = stream.on_backpressure_drop(tell)
    else:
        dropping = stream.on_backpressure_buffer(1, overflow=overflow, on_drop=tell)
    with pytest.raises(Stopped):
        # Nothing is asked for before the source has given all, on the same thread.
        (dropping.subscribe_on(thread()) | Sink.count()).run().wait(WAIT)
    assert told == ([2, 3] if overflow is Overflow.DROP else [1, 2])
    assert source.last == told[-1]  # with DROP the first one waited, and came before the failure


def test_one_that_became_many_is_done_when_all_are() -> None:
    source = Ledger(10)
    assert broken_off(source.stream().flat_map(lambda n: [(n, "a"), (n, "b")]), (4, "b"))[-1] == (4, "a")
    assert source.last == 3


def test_one_that_became_a_stream_is_done_when_all_of_it_is() -> None:
    source = Ledger(10)
    streams = source.stream().flat_map(lambda n: Stream.just((n, "a"), (n, "b")).publish_on(thread()), concurrency=1)
    assert broken_off(streams, (4, "b"))[-1] == (4, "a")
    assert source.last == 3


def test_one_that_became_nothing_is_done() -> None:
    source = Ledger(6)
    assert (source.stream().flat_map(lambda n: Stream.empty()) | Sink.count()).run().wait(WAIT) == 0
    assert source.last == 6


def test_several_that_became_one_are_done_with_it() -> None:
    source = Ledger(10)
    assert broken_off(source.stream().buffer(3), [7, 8, 9]) == [[1, 2, 3], [4, 5, 6]]
    assert source.last == 6


def test_an_element_of_two_lists_is_done_with_the_second() -> None:
    source = Ledger(10)
    assert broken_off(source.stream().buffer(3, 2), [5, 6, 7]) == [[1, 2, 3], [3, 4, 5]]
    assert source.last == 4  # 5 is in the next list as well


def test_an_element_between_two_lists_is_done_with_the_first() -> None:
    source = Ledger(10)
    assert broken_off(source.stream().buffer(2, 3), [7, 8]) == [[1, 2], [4, 5]]
    assert source.last in {5, 6}  # 6 is in no list


def test_sliding_keeps_what_the_next_one_needs() -> None:
    source = Ledger(10)
    assert broken_off(source.stream().sliding(3), (4, 5, 6)) == [(1, 2, 3), (2, 3, 4), (3, 4, 5)]
    assert source.last == 3
    source = Ledger(10)
    assert broken_off(source.stream().pairwise(), (4, 5)) == [(1, 2), (2, 3), (3, 4)]
    assert source.last == 3


def test_only_the_contiguous_beginning_of_what_is_done_is_committed() -> None:
    source, gates = Ledger(6), {n: threading.Event() for n in range(1, 7)}

    async def late(number: int) -> int:
        await asyncio.to_thread(gates[number].wait, WAIT)
        return number

    came: list[int] = []
    passed = threading.Semaphore(0)

    def take(number: int) -> None:
        came.append(number)
        passed.release()

    run = (source.stream().map_async(late, concurrency=6, ordered=False) | Sink.for_each(take)).run()
    for gate, told in ((2, 0), (4, 0), (1, 2), (3, 4), (6, 4), (5, 6)):
        gates[gate].set()
        assert passed.acquire(timeout=WAIT)
        source.wait_for(told)
    assert run.wait(WAIT) == 6
    assert came == [2, 4, 1, 3, 6, 5]


def test_positions_go_over_threads() -> None:
    source = Ledger(1000)
    assert broken_off(source.stream().publish_on(thread()).map(str).publish_on(thread()), "700")[-1] == "699"
    assert source.last == 699


def test_groups_carry_positions() -> None:
    source = Ledger(9)
    groups = (
        source.stream()
        .group_by(lambda n: n % 3)
        .flat_map(lambda group: group.map(lambda n: (group.key, n)), concurrency=3)
    )
    assert broken_off(groups, (2, 5))[-1] == (1, 4)
    assert source.last == 4


def test_two_sources_of_one_run_are_told_their_own() -> None:
    small, great = Ledger(5), Ledger(7, of=lambda n: 100 + n)
    merged = (small.stream().merge(great.stream()) | Sink.to_list()).run().wait(WAIT)
    assert sorted(merged) == [1, 2, 3, 4, 5, *range(101, 108)]
    assert (small.last, great.last) == (5, 7)


def test_a_pair_of_two_sources_is_done_for_both() -> None:
    left, right = Ledger(9), Ledger(9)
    assert broken_off(left.stream().zip(right.stream()), (4, 4)) == [(1, 1), (2, 2), (3, 3)]
    assert (left.last, right.last) == (3, 3)


def test_the_slowest_branch_counts() -> None:
    source = Ledger(4)
    came = threading.Event()

    def slow(number: int) -> None:
        if number == 3:
            assert came.wait(WAIT)
            raise Stopped

    def fast(number: int) -> None:
        if number == 3:
            came.set()

    hop = flow(lambda stream: stream.publish_on(thread()))
    with pytest.raises(Stopped):
        (source.stream() | branch(Sink.for_each(fast), hop | Sink.for_each(slow))).run().wait(WAIT)
    assert source.last == 2


def test_two_branches_commit_everything_at_the_end() -> None:
    source = Ledger(50)
    odd = flow(lambda stream: stream.filter(lambda n: n % 2))
    assert (source.stream(window=8) | branch(Sink.for_each(str), odd | Sink.for_each(str))).run().wait(WAIT) == (50, 25)
    assert source.last == 50


def test_a_row_of_stages_that_is_too_long_for_one_loop_is_carried_as_well() -> None:
    source = Ledger(9)
    numbers = source.stream()
    for _ in range(300):
        numbers = numbers.map(lambda n: n + 1)
    seen: list[int] = []
    run = (numbers.take(5).map(lambda n: n // (n != 304)) | Sink.for_each(seen.append)).run()
    with pytest.raises(ZeroDivisionError) as caught:
        run.wait(WAIT)
    assert caught.value.__notes__[0].startswith("in map(test_a_row_of_stages")
    assert "step 302 of 303" in caught.value.__notes__[0]
    assert seen == [301, 302, 303]
    assert source.last == 3


def test_a_failure_leaves_the_failing_element_and_all_behind_it() -> None:
    source = Ledger(10)
    with pytest.raises(ZeroDivisionError):
        (source.stream().map(lambda n: 1 // (n - 5)) | Sink.for_each(str)).run().wait(WAIT)
    assert source.last == 4


def test_a_cancelled_run_tells_no_more() -> None:
    source, inside, gate = Ledger(10), threading.Event(), threading.Event()

    def take(number: int) -> None:
        if number == 3:
            inside.set()
            assert gate.wait(WAIT)

    run = (source.stream().publish_on(thread()) | Sink.for_each(take)).run()
    assert inside.wait(WAIT)
    run.cancel()
    gate.set()
    ended(run)
    assert source.last == 2


def test_a_stopped_run_commits_what_was_inside() -> None:
    source, inside, gate = Ledger(10**9), threading.Event(), threading.Event()
    came: list[int] = []

    def take(number: int) -> None:
        came.append(number)
        if number == 3:
            inside.set()
            assert gate.wait(WAIT)

    run = (source.stream(window=20).publish_on(thread(), prefetch=8) | Sink.for_each(take)).run()
    assert inside.wait(WAIT)
    run.stop()
    gate.set()
    assert run.wait(WAIT) == len(came)
    assert came == list(range(1, len(came) + 1))
    assert source.last == came[-1] >= 3


def ended(run: Run[Any]) -> None:
    over = threading.Event()
    run.on_done(over.set)
    assert over.wait(WAIT)


def test_retry_goes_on_behind_what_is_done() -> None:
    source, failures = Ledger(10), [5, 8]

    def fragile(number: int) -> int:
        if number in failures:
            failures.remove(number)
            raise ConnectionError(number)
        return number

    assert (source.stream().map(fragile).retry(3) | Sink.for_each(came := [].append)).run().wait(WAIT) == 10
    assert came.__self__ == list(range(1, 11))
    assert source.opened == [None, 4, 7]
    assert source.told == sorted(set(source.told))
    assert source.last == 10


def test_retry_forgets_what_was_under_way_behind_it() -> None:
    source, failures = Ledger(10), [6]

    def fragile(number: int) -> int:
        if number in failures:
            failures.remove(number)
            raise ConnectionError(number)
        return number

    many = source.stream().map(fragile).retry(1).flat_map(lambda n: [n, n, n]).publish_on(thread()).buffer(4)
    came: list[int] = []
    (many | Sink.for_each(came.extend)).run().wait(WAIT)
    assert set(came) == set(range(1, 11))
    assert source.told == sorted(set(source.told))
    assert source.last == 10


def test_a_commit_that_raises_fails_the_run_with_it() -> None:
    source = Ledger(1000)

    def commit(position: int) -> None:
        if position >= 5:
            raise ConnectionError("the server has gone")

    with pytest.raises(ConnectionError, match=r"^the server has gone$"):
        (Stream.resumable(source.pairs, commit, window=4) | Sink.for_each(str)).run().wait(WAIT)
    assert source.given < 1000


@pytest.mark.parametrize("pair", [7, (1, 2, 3), [1, 2], (None, 1)], ids=str)
@pytest.mark.parametrize("chunks", [False, True])
def test_what_is_no_pair_fails_the_run(pair: Any, chunks: bool) -> None:
    told: list[int] = []

    def pairs(after: Any) -> Any:
        given = [(1, 1), (2, 2), pair, (4, 4)]
        return given if chunks else iter(given)

    came: list[int] = []
    with pytest.raises(TypeError, match=r"^resumable: "):
        (Stream.resumable(pairs, told.append) | Sink.for_each(came.append)).run().wait(WAIT)
    assert came == [1, 2]
    assert told[-1] == 2


class Unspeakable:
    """An element whose repr fails."""

    def __repr__(self) -> str:
        raise LookupError("no words")


def test_what_is_no_pair_and_cannot_be_shown_fails_the_run() -> None:
    with pytest.raises(LookupError, match=r"^no words$"):
        (Stream.resumable(lambda _: [(1, 1), Unspeakable()], print) | Sink.count()).run().wait(WAIT)


def test_one_source_twice_is_refused() -> None:
    stream = Ledger(3).stream()
    with pytest.raises(NotCarriedError, match=r"^resumable: this source is in the run twice"):
        (stream.merge(stream.map(str)) | Sink.count()).run()


def test_a_fold_commits_at_the_end() -> None:
    source = Ledger(30)
    assert (source.stream(window=4) | Sink.of(lambda stream: stream.sum())).run().wait(WAIT) == 465
    assert source.told == [30]


@pytest.mark.parametrize(
    ("use", "keeper"), [(lambda numbers: numbers.sliding(6), "sliding"), (lambda numbers: numbers.buffer(6), "buffer")]
)
def test_a_step_that_keeps_more_than_the_window_is_refused(use: Callable[[Any], Stream[Any]], keeper: str) -> None:
    words = rf"{keeper} keeps elements, and as many as may be are uncommitted, 4, so that no other can come; say "
    with pytest.raises(RuntimeError, match=rf"^{words}window=n with a greater n where the source is made, or"):
        (use(Ledger(30).stream(window=4)) | Sink.count()).run().wait(WAIT)


def test_what_many_elements_of_few_are_kept_by_is_not_refused() -> None:
    source = Ledger(6)
    lists = source.stream(window=2).flat_map(lambda n: [n] * 10).buffer(7, 6)
    assert sum(len(each[:6]) for each in (lists | Sink.to_list()).run().wait(WAIT)) == 60
    assert source.last == 6


def test_a_file_is_in_place_before_its_elements_are_committed(tmp_path: Path) -> None:
    path = tmp_path / "numbers.txt"
    there: list[bool] = []
    source = Ledger(10)

    def commit(position: int) -> None:
        there.append(path.exists())
        source.commit(position)

    stream: Stream[Any] = Stream.resumable(source.pairs, commit)
    (stream.map(str) | Sink.to_file(path)).run().wait(WAIT)
    assert source.told == [10]
    assert there == [True]
    assert path.read_text().split() == [str(n) for n in range(1, 11)]


def test_a_file_of_more_elements_than_the_window_is_written(tmp_path: Path) -> None:
    source = Ledger(10)
    (source.stream(window=4).map(str) | Sink.to_file(tmp_path / "all")).run().wait(WAIT)
    assert source.told == [10]


@pytest.mark.parametrize("concurrency", [None, 2])
def test_a_batch_is_done_when_the_work_on_it_is(concurrency: int | None) -> None:
    source, batches = Ledger(10), []

    async def later(batch: list[int]) -> None:
        now(batch)

    def now(batch: list[int]) -> None:
        if batch == [7, 8, 9]:
            raise Stopped
        batches.append(batch)

    end = Sink.foreach_batch(now, 3) if concurrency is None else Sink.foreach_batch(later, 3, concurrency=concurrency)
    with pytest.raises(Stopped):
        (source.stream() | end).run().wait(WAIT)
    assert batches[:2] == [[1, 2, 3], [4, 5, 6]]
    assert source.last in ({6} if concurrency is None else {0, 3, 6})


class Plain(Source[int]):
    """A source that is no dataclass."""

    def connect(self, downstream: Subscriber[int], /) -> None:
        connect(Stream.range(3)._chain, downstream)


def test_a_source_that_is_no_dataclass_runs() -> None:
    assert (Stream(Chain(Plain())) | Sink.to_list()).run().wait(WAIT) == [0, 1, 2]
    source = Ledger(5)
    assert (source.stream().merge(Stream(Chain(Plain()))) | Sink.count()).run().wait(WAIT) == 8
    assert source.last == 5


def test_a_chain_nested_deeper_than_the_stack_runs() -> None:
    stream: Stream[int] = Stream.range(1)
    for _ in range(3000):
        stream = stream.subscribe_on(inline())
    assert Committing.needed(stream._chain) is False


def test_it_works_on_the_loop_of_a_caller() -> None:
    asyncio.run(on_a_loop())


async def on_a_loop() -> None:
    source = Ledger(10)

    async def asynchronously(after: int | None) -> AsyncIterator[tuple[int, int]]:
        for pair in source.pairs(after):
            yield pair

    stream: Stream[int] = Stream.resumable(asynchronously, source.commit)
    assert await (stream.map(str) | Sink.to_list()).run() == [str(n) for n in range(1, 11)]
    assert source.last == 10
