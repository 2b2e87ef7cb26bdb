"""sinks: what each end gives, what it holds, and what it leaves behind after a failure."""

from __future__ import annotations

import asyncio
import pickle
import queue
from collections.abc import Callable
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from penstock import Completed, EmptyError, Failed, Pipeline, RunCancelledError, Sink, Stream, subscriber
from penstock.testing import ManualPublisher
from tests.engine.watch import PATIENCE


class Lost(Exception):
    """The failure of a source."""


def add(total: int, n: int) -> int:
    return total + n


def failing(*elements: Any) -> Stream[Any]:
    return Stream.from_iterable(elements).concat(Stream.error(Lost("the source")))


def appended(some: list[int], n: int) -> list[int]:
    return [*some, n]


RESULTS: dict[str, tuple[Sink[Any, Any], Any]] = {
    "first": (Sink.first(), 0),
    "first of some": (Sink.first(lambda n: n > 2), 3),
    "first or a default": (Sink.first(lambda n: n > 9, default=-1), -1),
    "last": (Sink.last(), 4),
    "last of some": (Sink.last(lambda n: n < 2), 1),
    "last or a default": (Sink.last(lambda n: n > 9, default=-1), -1),
    "fold": (Sink.fold(add, 10), 20),
    "fold from what is made": (Sink.fold(appended, create=list), [0, 1, 2, 3, 4]),
    "to_list": (Sink.to_list(), [0, 1, 2, 3, 4]),
    "to_set": (Sink.to_set(), {0, 1, 2, 3, 4}),
    "to_dict": (Sink.to_dict(str), {"0": 0, "1": 1, "2": 2, "3": 3, "4": 4}),
    "to_dict with values": (Sink.to_dict(lambda n: n % 2, str), {0: "4", 1: "3"}),
    "count": (Sink.count(), 5),
    "for_each": (Sink.for_each(bool), 5),
    "foreach_batch": (Sink.foreach_batch(len, 2), 5),
}


@pytest.mark.parametrize("name", RESULTS)
def test_the_result_of(name: str) -> None:
    sink, expected = RESULTS[name]
    assert (Stream.range(5) | sink).run().wait() == expected
    assert (Stream.range(5) | sink).run().wait() == expected  # a sink is a value: runs share nothing


def test_pairs_become_a_dictionary() -> None:
    assert (Stream.just("a", "b").enumerate() | Sink.to_dict()).run().wait() == {0: "a", 1: "b"}


@pytest.mark.parametrize("name", ["first", "last"])
def test_without_an_element_there_is_no_result(name: str) -> None:
    pipeline: Pipeline[Any] = Stream.empty() | getattr(Sink, name)()
    with pytest.raises(EmptyError, match=rf"^empty \| {name}: the stream completed without an element$"):
        pipeline.run().wait()


@pytest.mark.parametrize("name", ["first", "last", "fold", "to_list", "to_set", "to_dict", "count"])
def test_a_failure_is_the_outcome(name: str) -> None:
    made = {"fold": lambda: Sink.fold(add, 0), "to_dict": lambda: Sink.to_dict(str)}.get(name, getattr(Sink, name))
    stream = failing() if name == "first" else failing(1, 2)
    with pytest.raises(Lost, match=r"^the source$"):
        (stream | made()).run().wait()


def test_the_first_asks_for_one_and_ends_the_source() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    end = subscriber(Sink.first())
    Stream.from_publisher(upstream).subscribe(end)
    assert upstream.requested == 1
    upstream.next(7)
    assert end.get() == 7
    assert upstream.cancelled


def test_a_sink_of_several_elements_is_refused() -> None:
    message = (
        r"^Sink\.of: '<lambda>' must come down to one result, got hole \| map\(str\); end it with first\(\), "
        r"reduce\(\), to_list\(\) or another operator that gives one$"
    )
    with pytest.raises(TypeError, match=message):
        Sink.of(lambda stream: stream.map(str))


@pytest.mark.parametrize(
    ("make", "kind", "message"),
    [
        (lambda: Sink.fold(add), TypeError, "fold: one of initial and create must be given"),
        (lambda: Sink.for_each(3), TypeError, "for_each: fn must be callable, got 3"),
        (lambda: Sink.foreach_batch(print, 0), ValueError, "foreach_batch: size must be >= 1, got 0"),
        (lambda: Sink.foreach_batch(5, 1), TypeError, "foreach_batch: fn must be callable, got 5"),
        (lambda: Sink.foreach_batch(len, 1, concurrency=0), ValueError,
         "foreach_batch: concurrency must be >= 1, got 0"),
        (lambda: Sink.fold(5, 0), TypeError, "fold: fn must be callable, got 5"),
        (lambda: Sink.foreach_batch(print, 2, 0), ValueError, "foreach_batch: seconds must be > 0 and finite, got 0"),
        (lambda: Sink.to_file(3), TypeError,
         "to_file: path must be a path, got 3; penstock.bridges.files has open files"),
        (lambda: Sink.to_file("a", form="text"), ValueError, "to_file: form must be 'lines' or 'bytes', got 'text'"),
        (lambda: Sink.to_queue(3), TypeError, "to_queue: queue must have put, got 3"),
    ],
)  # fmt: skip
def test_refuses(make: Callable[[], Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind) as failure:
        make()
    assert str(failure.value) == message


# Work for each element.


@pytest.mark.parametrize("concurrency", [None, 3])
def test_a_coroutine_function_is_awaited_for_each(concurrency: int | None) -> None:
    seen: list[int] = []

    async def note(n: int) -> None:
        await asyncio.sleep(0)
        seen.append(n)

    assert (Stream.range(9) | Sink.for_each(note, concurrency=concurrency)).run().wait() == 9
    assert sorted(seen) == list(range(9))


@pytest.mark.parametrize("concurrency", [None, 2])
def test_a_coroutine_function_is_awaited_for_each_batch(concurrency: int | None) -> None:
    seen: list[list[int]] = []

    async def note(batch: list[int]) -> None:
        await asyncio.sleep(0)
        seen.append(batch)

    assert (Stream.range(5) | Sink.foreach_batch(note, 2, concurrency=concurrency)).run().wait() == 5
    assert sorted(seen) == [[0, 1], [2, 3], [4]]


def test_a_batch_is_handed_over_when_its_time_has_come() -> None:
    seen: list[list[int]] = []
    came = Event()

    def note(batch: list[int]) -> None:
        seen.append(batch)
        came.set()

    run = (Stream.just(1).concat(Stream.never()) | Sink.foreach_batch(note, 100, 0.01)).run()
    assert came.wait(PATIENCE)
    assert seen == [[1]]
    run.stop()
    assert run.wait(PATIENCE) == 1


def test_a_batch_whose_work_fails_fails_the_run() -> None:
    def refuse(batch: list[int]) -> None:
        raise Lost(str(batch))

    with pytest.raises(Lost, match=r"^\[0, 1\]\nin foreach_batch\("):
        (Stream.range(9) | Sink.foreach_batch(refuse, 2)).run().wait()


# Files.


def left_in(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def test_lines_are_written_with_their_ends(tmp_path: Path) -> None:
    assert (Stream.just("one", "two\n", "drei ä") | Sink.to_file(tmp_path / "lines")).run().wait() == 3
    assert left_in(tmp_path) == {"lines": "one\ntwo\ndrei ä\n".encode()}


def test_lines_are_written_in_another_encoding(tmp_path: Path) -> None:
    assert (Stream.just("ä") | Sink.to_file(str(tmp_path / "lines"), encoding="latin-1")).run().wait() == 1
    assert left_in(tmp_path) == {"lines": b"\xe4\n"}


def test_bytes_are_written_as_they_are(tmp_path: Path) -> None:
    pipeline = Stream.just(b"one", b"\n", b"two") | Sink.to_file(tmp_path / "bytes", form="bytes")
    assert pipeline.run().wait() == 3
    assert left_in(tmp_path) == {"bytes": b"one\ntwo"}


def test_a_whole_file_takes_the_place_of_another_and_its_rights(tmp_path: Path) -> None:
    path = tmp_path / "lines"
    path.write_text("old")
    path.chmod(0o640)
    (Stream.just("new") | Sink.to_file(path)).run().wait()
    assert left_in(tmp_path) == {"lines": b"new\n"}
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_file_is_as_it_was_after_a_failure(tmp_path: Path) -> None:
    (tmp_path / "lines").write_text("old")
    with pytest.raises(Lost):
        (failing("new") | Sink.to_file(tmp_path / "lines")).run().wait()
    assert left_in(tmp_path) == {"lines": b"old"}


@pytest.mark.parametrize(
    ("form", "element", "message"),
    [
        ("lines", 3, "to_file: lines of text are written, got 3; put map(str) before it"),
        ("bytes", "3", "to_file: bytes are written, got '3'; say form='lines' for text"),
    ],
)
def test_what_cannot_be_written_is_refused_and_nothing_is_left(
    tmp_path: Path, form: Any, element: Any, message: str
) -> None:
    with pytest.raises(TypeError) as failure:
        (Stream.just(element) | Sink.to_file(tmp_path / "file", form=form)).run().wait()
    assert str(failure.value) == message
    assert left_in(tmp_path) == {}


def test_a_cancel_leaves_nothing(tmp_path: Path) -> None:
    written = Event()
    source = Stream.just("one").tap(lambda _: written.set()).concat(Stream.never())
    run = (source | Sink.to_file(tmp_path / "lines")).run()
    assert written.wait(PATIENCE)
    run.cancel()
    with pytest.raises(RunCancelledError):
        run.wait(PATIENCE)
    while left_in(tmp_path):
        written.wait(0.001)


# Queues.


def test_a_full_queue_makes_the_run_wait() -> None:
    asked: list[int] = []
    waiting: queue.Queue[Any] = queue.Queue(2)
    run = (Stream.range(1000).tap(asked.append) | Sink.to_queue(waiting)).run()
    got = [waiting.get(timeout=PATIENCE) for _ in range(3)]
    assert len(asked) <= 3 + 2 + 16 + 16  # taken, in the queue, ahead, and half of that asked for again
    got += [waiting.get(timeout=PATIENCE) for _ in range(998)]
    assert got == [*range(1000), Completed()]
    assert run.wait(PATIENCE) == 1000


def test_a_failure_goes_through_the_queue_too() -> None:
    waiting: queue.Queue[Any] = queue.Queue()
    with pytest.raises(Lost):
        (failing(1) | Sink.to_queue(waiting)).run().wait()
    assert waiting.get() == 1
    end = waiting.get()
    assert isinstance(end, Failed)
    assert str(end.error) == "the source"


def test_no_end_is_put_where_none_is_wanted() -> None:
    waiting: queue.Queue[Any] = queue.Queue()
    assert (Stream.just(1) | Sink.to_queue(waiting, end=False)).run().wait() == 1
    assert list(waiting.queue) == [1]


def test_a_queue_of_asyncio_is_filled_on_its_loop() -> None:
    async def main() -> list[Any]:
        waiting: asyncio.Queue[Any] = asyncio.Queue(1)
        run = asyncio.ensure_future(_awaited(Stream.range(3) | Sink.to_queue(waiting)))
        got = [await waiting.get() for _ in range(4)]
        return [*got, await run]

    assert asyncio.run(main()) == [0, 1, 2, Completed(), 3]


async def _awaited(pipeline: Pipeline[Any]) -> Any:
    return await pipeline


def test_a_sink_is_pickled_if_what_is_in_it_can_be(tmp_path: Path) -> None:
    for sink in (Sink.fold(add, 1), Sink.first(), Sink.to_file(tmp_path / "lines"), Sink.foreach_batch(len, 2, 1.0)):
        assert pickle.loads(pickle.dumps(sink)) == sink
