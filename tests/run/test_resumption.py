"""Resumption: whatever can go on behind a position does so exactly, and what cannot says why."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import NotResumableError, Resumption, Stream, thread
from penstock.extend import Again, Body, Stage
from penstock.run.resumption import Reckoning
from penstock.testing import check_resumable

ROWS = list(range(1, 13))


def told(after: int | None) -> Iterator[tuple[int, int]]:
    return ((row, row) for row in ROWS[after or 0 :])


def pushed(after: int | None) -> Stream[tuple[int, int]]:
    """Give chunks across threads."""
    return Stream.from_iterable(list(told(after))).publish_on(thread())


def counted(count: int) -> list[int]:
    return ROWS[count:]


async def doubled(row: int) -> int:
    return 2 * row


SOURCES: dict[str, Callable[[], Stream[int]]] = {
    "told": lambda: Stream.resumable(told),
    "told, in chunks": lambda: Stream.resumable(pushed),
    "counted": lambda: Stream.resumable(counted, counted=True),
    "a list": lambda: Stream.from_iterable(ROWS),
    "a range": lambda: Stream.range(1, 13),
    "just": lambda: Stream.just(*ROWS),
    "a collection made anew": lambda: Stream.defer(lambda: ROWS),
    "a stream made anew": lambda: Stream.defer(lambda: Stream.range(1, 13)),
    "a function of a state": lambda: Stream.generate(1, lambda n: (n, n + 1) if n <= 12 else None),
    "two streams": lambda: Stream.range(1, 6).concat(Stream.range(6, 13)),
}
STEPS: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "map": lambda s: s.map(str),
    "filter": lambda s: s.filter(lambda n: n % 3),
    "flat_map": lambda s: s.flat_map(lambda n: [n] * (n % 4)),
    "tap": lambda s: s.tap(lambda _: None),
    "several": lambda s: s.flat_map(lambda n: [n] * (n % 4)).filter(lambda n: n % 3).map(str),
    "scan": lambda s: s.scan(lambda total, n: total + n, 0),
    "take": lambda s: s.take(7),
    "buffer": lambda s: s.buffer(4),
    "distinct": lambda s: s.map(lambda n: n % 5).distinct(),
    "enumerate": lambda s: s.enumerate(),
    "map_async": lambda s: s.map_async(doubled, concurrency=4),
    "zip": lambda s: s.zip(Stream.range(100)),
    "many": lambda s: [s := s.flat_map(lambda n: [n] * (1 + n % 2 * (n > 9))) for _ in range(4)][-1],
}


@pytest.mark.parametrize("source", SOURCES)
@pytest.mark.parametrize("steps", STEPS)
def test_every_source_goes_on_exactly_behind_all_steps(source: str, steps: str) -> None:
    check_resumable(lambda: STEPS[steps](SOURCES[source]()), most=40)


@pytest.mark.parametrize("source", SOURCES)
def test_every_source_goes_on_exactly(source: str) -> None:
    check_resumable(SOURCES[source])


@settings(max_examples=20)
@given(st.lists(st.integers(0, 3), max_size=8), st.sampled_from(["filter", "flat_map", "several"]))
def test_results_of_one_element_may_be_cut_anywhere(sizes: list[int], steps: str) -> None:
    def open_from(after: int | None) -> Iterator[tuple[int, int]]:
        return ((at, sizes[at]) for at in range(0 if after is None else after + 1, len(sizes)))

    check_resumable(lambda: STEPS[steps](Stream.resumable(open_from)))


@pytest.mark.parametrize(
    ("way", "make"),
    [
        (Reckoning.TOLD, lambda: Stream.resumable(told).filter(bool)),
        (Reckoning.TOLD, lambda: Stream.resumable(counted, counted=True).filter(bool)),
        (Reckoning.COUNTED, lambda: Stream.resumable(counted, counted=True).map(str)),
        (Reckoning.COUNTED, lambda: Stream.from_iterable(ROWS).map(str)),
        (Reckoning.REPLAYED, lambda: Stream.from_iterable(ROWS).filter(bool)),
        (Reckoning.REPLAYED, lambda: Stream.resumable(told).take(3)),
    ],
)
def test_the_way_follows_from_the_source_and_the_steps(way: Reckoning, make: Callable[[], Stream[Any]]) -> None:
    assert Resumption.of(make()).way is way


def test_functions_are_not_called_again_for_what_is_left_out_at_the_source() -> None:
    seen: list[int] = []
    source = Stream.from_iterable(ROWS).map(lambda row: seen.append(row) or row)  # type: ignore[func-returns-value]
    assert len(list(Resumption.of(source).open([7, 0]))) == 5
    assert seen == ROWS[7:]


def test_a_huge_range_is_not_counted_through() -> None:
    first = next(iter(Resumption.of(Stream.range(10**15)).elements([10**14, 0])))
    assert first == 10**14


def test_a_source_is_told_the_position_up_to_which_all_is_done() -> None:
    commits: list[int] = []
    stream = Resumption.of(Stream.resumable(told, commits.append).flat_map(lambda row: [row, row]))
    for position, _ in list(stream.open())[:4]:
        stream.commit(position)
    assert commits == [1, 1]  # nothing before row 1 is to be told, and row 2 is not done before row 3 is seen
    stream.commit([None, 0])
    assert commits == [1, 1]


HOT: dict[str, tuple[Again, Stream[Any], str]] = {
    "subject": (Again.LATER, Stream.subject(), "subject gives what comes from then on"),
    "create": (Again.LATER, Stream.create(lambda _: None).map(str), "create gives what comes from then on"),
    "interval": (Again.LATER, Stream.interval(1), "interval gives what comes from then on"),
    "two hot ones": (Again.LATER, Stream.interval(1).merge(Stream.subject()), "merge gives what comes from then on"),
    "an iterator": (Again.UNSAID, Stream.from_iterable(iter("ab")), "from_iterable may give something else"),
    "a set": (Again.UNSAID, Stream.from_iterable({"a", "b"}), "from_iterable may give something else"),
    "a generator made anew": (Again.UNSAID, Stream.defer(lambda: iter("ab")), "defer may give something else"),
    "threads race": (Again.UNSAID, Stream.range(3).merge(Stream.range(3)), "merge may give something else"),
    "time decides": (Again.UNSAID, Stream.range(3).debounce(1), "debounce may give something else"),
    "as they finish": (
        Again.UNSAID,
        Stream.range(3).map_async(doubled, concurrency=2, ordered=False),
        "map_async(doubled) may give something else",
    ),
    "inside another": (Again.UNSAID, Stream.range(3).concat(Stream.subject()), "subject may give something else"),
}


@pytest.mark.parametrize("name", HOT)
def test_what_gives_something_else_in_another_run_is_refused(name: str) -> None:
    again, stream, reason = HOT[name]
    words = f"{stream!r} cannot go on behind a position: {reason} in another run"
    with pytest.raises(NotResumableError, match=f"^{re.escape(words)}$") as refused:
        Resumption.of(stream)
    assert refused.value.again is again


def test_a_step_that_remembers_what_is_committed_is_refused() -> None:
    words = (
        "Stream(resumable | take) cannot go on behind a position: take may need elements from before, which are"
        " committed and gone; put it into a @flow behind the source, or do its work in open_from"
    )
    with pytest.raises(NotResumableError, match=f"^{re.escape(words)}$"):
        Resumption.of(Stream.resumable(told, print).take(3))


def test_steps_that_do_not_run_as_one_loop_are_replayed() -> None:
    stream: Stream[Any] = Stream.resumable(told).take_while(bool)
    for _ in range(400):
        stream = stream.flat_map(lambda row: [row])
    assert Resumption.of(stream).way is Reckoning.REPLAYED
    check_resumable(lambda: stream, most=3)


class Twice(Stage[Any, Any]):
    """A step of a user, who says nothing about it."""

    loop = Body(each="(v, v)")


def test_a_step_of_a_user_is_replayed_unless_it_says_more() -> None:
    make = lambda: Stream.resumable(told).apply(Twice())  # noqa: E731
    assert Resumption.of(make()).way is Reckoning.REPLAYED
    check_resumable(make, most=20)


@pytest.mark.parametrize("position", [3, "x", [1], [1, -1], {"row": 1}])
def test_what_is_no_position_is_refused(position: Any) -> None:
    with pytest.raises(ValueError, match=r"^resume: a position is a pair \[position of the source, count\], got "):
        Resumption.of(Stream.range(3)).open(position)


def test_a_position_of_another_stream_is_refused() -> None:
    with pytest.raises(ValueError, match=r"^resume: \['x', 0\] is no position of Stream\(range\), whose results are"):
        Resumption.of(Stream.range(3)).open(["x", 0])


@pytest.mark.parametrize(
    "stream", [Stream.just(1, 2), Stream.from_iterable(dict.fromkeys((1, 2))), Stream.range(9).take(2), Stream.range(2)]
)
def test_a_stream_that_ends_before_a_position_is_refused(stream: Stream[int]) -> None:
    found = Resumption.of(stream)
    assert list(found.elements(found.position(2))) == []
    with pytest.raises(ValueError, match=r"^resume: the position is behind 5 elements, and the stream has 2 now"):
        list(found.elements(found.position(5)))
