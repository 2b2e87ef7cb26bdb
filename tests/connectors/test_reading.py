"""reading, feeding: as many elements are fetched as are asked for, and the reader is told what is done, in order."""

from __future__ import annotations

import asyncio
import threading
from typing import Any

import pytest

from penstock import Dropped, Sink, Stream, thread
from penstock.connectors import feeding, reading
from penstock.run.carrying.committing import CommitError
from penstock.testing import Probe, check_resumable
from tests.connectors.server import WAIT, Connection, Server
from tests.engine.watch import dropped, loop_apart, no_thread_is_left

__all__ = ["dropped", "loop_apart", "no_thread_is_left"]

BOTH = pytest.mark.parametrize("kind", ["stream", "plain"])
LOST = ConnectionError("the server has gone")


def test_no_more_is_fetched_than_is_asked_for() -> None:
    server = Server(None)
    probe = Probe[int]()
    server.plain().subscribe(probe)
    for asked, total in ((1, 1), (3, 4), (2, 6), (5, 11)):
        probe.request(asked)
        probe.wait_for(total)
    probe.cancel()
    assert server.closed.wait(WAIT)
    assert server.asked == [1, 3, 2, 5]
    assert probe.elements == list(range(1, 12))
    assert probe.breaches == []


def test_what_is_asked_for_while_a_fetch_waits_is_fetched_next() -> None:
    server = Server(9)
    server.gate = threading.Event()
    probe = Probe[int](2)
    server.plain().subscribe(probe)
    assert server.waits.wait(WAIT)
    probe.request(3)
    probe.request(4)
    server.gate.set()
    assert probe.wait_for(9) == list(range(1, 10))
    probe.request(1)
    probe.wait_for_end()
    assert server.asked == [2, 7, 1]


class Ahead:
    """A reader that notes what it is told of the demand behind each fetch."""

    def __init__(self) -> None:
        self.told: list[tuple[int, int]] = []
        self._more = -1
        self._next = 1

    def ahead(self, more: int) -> None:
        self._more = more

    async def fetch(self, most: int) -> list[int]:
        self.told.append((most, self._more))
        first, self._next = self._next, self._next + most
        return list(range(first, self._next))

    async def close(self) -> None:
        pass


def test_a_reader_is_told_what_is_asked_for_behind_a_fetch() -> None:
    reader = Ahead()

    async def opened() -> Ahead:
        return reader

    probe = Probe[int](25)
    feeding(opened, most=10).subscribe(probe)
    assert probe.wait_for(25) == list(range(1, 26))
    probe.cancel()
    assert reader.told == [(10, 10), (10, 5), (5, 0)]


def test_where_everything_is_asked_for_a_batch_may_be_ahead() -> None:
    reader = Ahead()

    async def opened() -> Ahead:
        return reader

    assert feeding(opened, most=10).take_while(lambda n: n <= 30).count().get() == 30
    assert reader.told[:3] == [(10, 10)] * 3


@BOTH
def test_at_most_so_many_are_fetched_at_a_time(kind: str) -> None:
    server = Server(25)
    assert list(getattr(server, kind)(most=10)) == list(range(1, 26))
    assert max(server.asked) == 10


def test_nothing_is_opened_before_the_first_request() -> None:
    server = Server(5)
    probe = Probe[int]()
    server.stream().subscribe(probe)
    probe.cancel()
    assert server.words == []


def test_a_reader_that_gives_too_many_is_refused() -> None:
    server = Server(None)
    server.most = lambda n: n + 1
    probe = Probe[int](2)
    server.plain().subscribe(probe)
    probe.wait_for_end()
    assert str(probe.error) == "rule 1.1: feeding: fetch(2) gave 3 elements"
    assert server.closed.wait(WAIT)


def test_an_empty_fetch_is_asked_again() -> None:
    server = Server(5)
    turns = iter([0, 2, 0, 0, 3])
    server.most = lambda n: min(n, next(turns, 1))
    assert list(server.plain()) == [1, 2, 3, 4, 5]


@BOTH
def test_a_cancel_ends_a_fetch_that_waits(kind: str) -> None:
    server = Server(5)
    server.gate = threading.Event()
    probe = Probe[int](1)
    getattr(server, kind)().subscribe(probe)
    assert server.waits.wait(WAIT)
    probe.cancel()
    assert server.closed.wait(WAIT)
    assert server.fetching == 0
    assert server.words[1:] == ["close"]


def test_a_reader_that_keeps_a_cancel_to_itself_is_closed() -> None:
    server = Server(None)
    inside = threading.Event()

    class Stubborn(Connection):
        async def fetch(self, most: int) -> Any:
            try:
                inside.set()
                await asyncio.sleep(WAIT)
            except asyncio.CancelledError:
                return [(1, 1)]

    async def stubborn(after: int | None) -> Connection:
        return Stubborn(server, 0)

    probe = Probe[int](1)
    reading(stubborn).subscribe(probe)
    assert inside.wait(WAIT)
    probe.cancel()
    assert server.closed.wait(WAIT)
    assert probe.elements == []


def test_a_pipeline_tells_the_reader_and_closes_it_behind_the_last_commit() -> None:
    server = Server(100)
    assert (server.stream(window=10) | Sink.for_each(str)).run().wait(WAIT) == 100
    assert server.words[0] == "open None"
    assert server.words[-2:] == ["commit 100", "close"]
    assert server.told == sorted(set(server.told))


def test_commits_that_wait_for_one_another_are_told_as_one() -> None:
    server = Server(40)
    server.committing = threading.Event()
    came = threading.Event()
    run = (server.stream(most=4, window=100) | Sink.for_each(lambda n: came.set() if n == 40 else None)).run()
    assert came.wait(WAIT)  # all of it, while the first commit waits
    server.committing.set()
    assert run.wait(WAIT) == 40
    assert len(server.told) in {1, 2}  # one if the loop looked for the first time when all had come
    assert server.told == sorted(set(server.told))
    assert server.told[-1] == 40


def test_a_commit_that_took_long_is_followed_by_a_rest(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("penstock.connectors.reading_commits.LONGEST_REST", float(WAIT))
    monkeypatch.setattr("penstock.connectors.reading_commits.REST", 1e9)
    server = Server(1000)
    server.committing = threading.Event()
    ends = threading.Event()

    def take(number: int) -> None:
        server.committing.set()  # type: ignore[union-attr]
        if number == 1000:
            assert ends.wait(WAIT)

    run = (server.stream(most=10, window=400) | Sink.for_each(take)).run()
    ends.set()
    assert run.wait(WAIT) == 1000
    assert server.told[-1] == 1000  # the last one does not rest
    assert len(server.told) <= 7  # all others do, until half of the window has come since


@pytest.mark.parametrize("behind", ["straight", "on a thread", "in batches"])
def test_no_more_than_the_window_is_uncommitted_however_long_a_commit_takes(behind: str) -> None:
    server = Server(3000)
    ahead: list[int] = []

    class Slow(Connection):
        async def commit(self, position: int) -> None:
            await asyncio.sleep(0.003)
            await super().commit(position)

    async def slow(after: int | None) -> Connection:
        return Slow(server, after or 0)

    def take(number: int) -> None:
        ahead.append(number - max(server.told, default=0))

    stream = reading(slow, most=30, window=100)
    ends = {
        "straight": stream | Sink.for_each(take),
        "on a thread": stream.publish_on(thread()) | Sink.for_each(take),
        "in batches": stream | Sink.foreach_batch(lambda some: [take(number) for number in some], 7, 0.001),
    }
    ends[behind].run().wait(WAIT)
    assert len(ahead) == 3000
    assert max(ahead) <= 100
    assert server.told[-1] == 3000


def test_a_commit_that_hangs_holds_up_what_is_beyond_the_window() -> None:
    server = Server(None)
    server.committing = threading.Event()
    run = (server.stream(most=10, window=100) | Sink.for_each(str)).run()
    wait_until(lambda: sum(server.asked) == 100)
    server.committing.set()
    wait_until(lambda: sum(server.asked) > 1000)
    run.cancel()
    assert server.closed.wait(WAIT)


def test_a_rest_ends_by_itself() -> None:
    server = Server(None)
    server.most = lambda n: 1
    server.gate = threading.Event()
    server.gate.set()
    run = (server.stream() | Sink.for_each(str)).run()
    wait_until(lambda: len(server.told) > 3)
    run.cancel()
    assert server.closed.wait(WAIT)


@BOTH
def test_an_open_that_raises_fails_the_stream(kind: str) -> None:
    server = Server(5, open=LOST)
    with pytest.raises(ConnectionError, match=r"^the server has gone"):
        list(getattr(server, kind)())
    with pytest.raises(ConnectionError, match=r"^the server has gone"):
        (getattr(server, kind)() | Sink.count()).run().wait(WAIT)
    assert "close" not in server.words


@BOTH
def test_a_fetch_that_raises_fails_the_stream_and_closes_it(kind: str) -> None:
    server = Server(5, fetch=LOST)
    with pytest.raises(ConnectionError, match=r"^the server has gone"):
        (getattr(server, kind)() | Sink.count()).run().wait(WAIT)
    assert server.closed.wait(WAIT)
    assert server.words[1:] == ["close"]


def test_a_commit_that_raises_in_the_middle_fails_the_run() -> None:
    server = Server(None, commit=LOST)
    with pytest.raises(ConnectionError, match=r"^the server has gone"):
        (server.stream(window=10) | Sink.for_each(str)).run().wait(WAIT)
    assert server.words[-1] == "close"


def test_a_commit_that_raises_while_a_fetch_waits_fails_the_run() -> None:
    server = Server(None, commit=LOST)
    came = threading.Event()

    def take(number: int) -> None:
        server.gate = threading.Event()  # the next fetch waits for ever
        came.set()

    with pytest.raises(ConnectionError, match=r"^the server has gone"):
        (server.stream(most=1, window=10) | Sink.for_each(take)).run().wait(WAIT)
    assert came.is_set()
    assert server.words[-1] == "close"


def test_a_commit_that_raises_after_the_elements_fails_the_run() -> None:
    server = Server(3, commit=LOST)
    with pytest.raises(CommitError, match=r"^run: a source could not be told what is done at the end: .*the server"):
        (server.stream().buffer(10) | Sink.for_each(lambda _: None)).run().wait(WAIT)
    assert server.words[-1] == "close"


@BOTH
def test_a_close_that_raises_changes_nothing(kind: str, dropped: list[Dropped]) -> None:
    server = Server(5, close=LOST)
    assert (getattr(server, kind)() | Sink.to_list()).run().wait(WAIT) == [1, 2, 3, 4, 5]
    assert server.closed.wait(WAIT)
    wait_until(lambda: bool(dropped))
    assert dropped.pop().error is LOST


def wait_until(holds: Any) -> None:
    tick = threading.Event()
    for _ in range(WAIT * 100):
        if holds():
            return
        tick.wait(0.01)
    raise AssertionError("it did not happen")


@BOTH
def test_it_is_iterated_and_over_threads(kind: str) -> None:
    server = Server(300)
    assert list(getattr(server, kind)()) == list(range(1, 301))
    assert list(getattr(server, kind)().publish_on(thread(), prefetch=16)) == list(range(1, 301))
    assert (getattr(server, kind)().publish_on(thread()) | Sink.count()).run().wait(WAIT) == 300


@BOTH
def test_it_works_on_the_loop_of_a_caller_and_leaves_no_task(kind: str) -> None:
    server = Server(300)

    async def main() -> None:
        stream: Stream[int] = getattr(server, kind)()
        assert [number async for number in stream] == list(range(1, 301))
        assert await (stream | Sink.count()).run() == 300
        async for number in stream:
            if number == 7:
                break
        while len(asyncio.all_tasks()) > 1:
            await asyncio.sleep(0)

    asyncio.run(main())


def test_a_plain_read_commits_nothing() -> None:
    server = Server(5)
    assert list(server.stream()) == [1, 2, 3, 4, 5]
    assert server.closed.wait(WAIT)
    assert server.words == ["open None", "close"]


def test_retry_opens_another_connection_behind_what_is_done() -> None:
    server = Server(20)
    failures = [12]

    def fragile(number: int) -> int:
        if number in failures:
            failures.remove(number)
            raise LOST
        return number

    came: list[int] = []
    (server.stream(most=5).map(fragile).retry(1) | Sink.for_each(came.append)).run().wait(WAIT)
    assert came == list(range(1, 21))
    assert [word for word in server.words if word.startswith("open")] == ["open None", "open 11"]
    assert server.words.count("close") == 2
    assert server.told == sorted(set(server.told))
    assert server.told[-1] == 20


def test_it_resumes_behind_every_position() -> None:
    check_resumable(lambda: Server(12).stream())


@pytest.mark.parametrize("size", [1, 4])
def test_a_window_is_kept(size: int) -> None:
    server = Server(None)
    inside, gate = threading.Event(), threading.Event()

    def take(number: int) -> None:
        if number == 3:
            inside.set()
            assert gate.wait(WAIT)

    run = (server.stream(window=size).publish_on(thread()) | Sink.for_each(take)).run()
    assert inside.wait(WAIT)
    assert sum(server.asked) <= 2 + size
    run.cancel()
    gate.set()
    assert server.closed.wait(WAIT)


class _Waits:
    """A reader that gives one element, and then waits for ever."""

    async def fetch(self, most: int) -> list[tuple[int, int]]:
        if most > 1:
            await asyncio.Event().wait()
        return [(1, 1)]

    async def commit(self, position: int) -> None:
        """Do nothing."""

    async def close(self) -> None:
        """Do nothing."""


@pytest.mark.parametrize(("first", "turns", "later"), [(0, 0, 1), (1, 9, 0), (1, 9, 1), (2, 9, 0)])
def test_a_loop_that_is_closed_with_a_fetch_under_way_fails_the_stream(first: int, turns: int, later: int) -> None:
    probe = Probe[int]()

    async def opened(_: int | None) -> _Waits:
        return _Waits()

    async def begun() -> None:
        reading(opened).subscribe(probe)
        if first:
            probe.request(first)
        for _ in range(turns):
            await asyncio.sleep(0)

    loop = asyncio.new_event_loop()
    loop.set_exception_handler(lambda *_: None)  # asyncio tells it of a task that has not ended
    loop.run_until_complete(begun())
    loop.close()
    if later:
        probe.request(later)
    probe.wait_for_end()
    assert str(probe.error) == "reading: the event loop ended before the stream did"


def test_who_leaves_a_reader_that_others_share_does_not_wait_for_them() -> None:
    server = Server(None)

    async def main() -> None:
        shared = server.plain().share()
        async with shared.open() as first, shared.open() as second:
            await anext(first)
            await anext(second)
            await first.aclose()  # type: ignore[attr-defined]
            assert await anext(second)
        await asyncio.sleep(0)

    asyncio.run(asyncio.wait_for(main(), WAIT))
    assert server.closed.wait(WAIT)


def plain(_: object) -> Any:
    return 3


async def reads_nothing(_: object) -> Any:
    return 3


@pytest.mark.parametrize(
    ("open", "message"),
    [
        (plain, r"^reading: open must be a coroutine function, got 3 from it$"),
        (reads_nothing, r"^reading: what open connects must have fetch and commit and close, got 3$"),
    ],
)
def test_what_is_no_reader_is_refused(open: Any, message: str, dropped: list[Dropped]) -> None:
    with pytest.raises(TypeError, match=message):
        list(reading(open))


class Plain:
    """A reader whose methods are asynchronous but for one."""

    def __init__(self, plain: str) -> None:
        self.plain = plain
        self.given = 0

    def __getattr__(self, name: str) -> Any:
        if name not in {"fetch", "commit", "close"}:
            raise AttributeError(name)

        def answer(*_: object) -> Any:
            self.given += name == "fetch"
            return [(self.given, self.given)] if name == "fetch" and self.given < 3 else None

        async def later(*_: object) -> Any:
            return answer()

        return answer if name == self.plain else later


@pytest.mark.parametrize("name", ["fetch", "commit"])
def test_a_plain_function_where_one_is_awaited_is_named(name: str) -> None:
    async def connect(_: object) -> Any:
        return Plain(name)

    with pytest.raises(
        (TypeError, CommitError), match=rf"reading: {name} must be a coroutine function, got .* from it"
    ):
        (reading(connect) | Sink.count()).run().wait(WAIT)


def test_what_is_no_feed_is_refused(dropped: list[Dropped]) -> None:
    async def feeds_nothing() -> Any:
        return Server  # the class of connections, and not one of them

    with pytest.raises(TypeError, match=r"^feeding: what open connects must have fetch and close, got <class "):
        list(feeding(feeds_nothing))
