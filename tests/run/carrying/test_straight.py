"""straight: elements without marks are told of exactly as those with marks are, wherever a run ends."""

from __future__ import annotations

import asyncio
import random
import threading
from collections.abc import Callable, Sequence
from typing import Any

import pytest

from penstock import Recorder, Sink, Stream, observe, thread
from penstock.connectors import Positioned, reading
from penstock.operators.resumable import MadeWhenRead
from penstock.run.carrying import committing, straight
from penstock.run.carrying.committing import Committing
from penstock.run.carrying.straight import _Intake, _StraightRun
from penstock.run.valves.stopping import valved
from penstock.run.valves.valve import Valve
from penstock.testing import VerificationError, check_commits
from tests.engine.watch import dropped, left_alive, loop_apart, no_thread_is_left
from tests.operators.catalogue import ENTRIES
from tests.run.carrying.ledger import WAIT, Ledger

__all__ = ["dropped", "loop_apart", "no_thread_is_left"]

Use = Callable[[Stream[Any]], Stream[Any]]


def is_straight(stream: Stream[Any], sink: Sink[Any, Any]) -> bool:
    pipeline: Any = stream | sink
    return Committing(valved(pipeline._chain, Valve())).straight is not None


class Chunks:
    """A reader for tests: numbers from 1 on, their own positions, so many at a time."""

    def __init__(self, count: int, sizes: Sequence[int] = (1000,), *, form: str = "pairs") -> None:
        self.count = count
        self.sizes = sizes
        self.form = form
        self.given = 0
        self.told: list[int] = []
        self.fetches = 0

    def stream(self, window: int = 1000) -> Stream[int]:
        async def opened(after: int | None) -> Chunks:
            self.given = after or 0
            return self

        return reading(opened, window=window)

    async def fetch(self, most: int, /) -> Sequence[tuple[int, int]] | None:
        size = min(most, self.sizes[self.fetches % len(self.sizes)], self.count - self.given)
        self.fetches += 1
        if not size:
            return None
        numbers = range(self.given + 1, self.given + size + 1)
        self.given += size
        if self.form == "pairs":
            return [(number, number) for number in numbers]
        return Positioned(MadeWhenRead(int, numbers) if self.form == "made" else list(numbers), numbers)

    async def commit(self, position: int, /) -> None:
        self.told.append(position)

    async def close(self) -> None: ...

    @property
    def last(self) -> int:
        return self.told[-1] if self.told else 0


FORMS = pytest.mark.parametrize("form", ["pairs", "beside", "made"])


def test_stages_that_pass_elements_on_need_no_marks() -> None:
    def numbers() -> Stream[int]:
        return Ledger(3).stream()

    assert is_straight(numbers(), Sink.count())
    assert is_straight(numbers().map(str).filter(bool).take(2), Sink.for_each(print))
    assert is_straight(numbers().scan(max, 0).tap(print).distinct(), Sink.count())
    assert not is_straight(numbers().buffer(2), Sink.count())
    assert not is_straight(numbers().pairwise(), Sink.count())
    assert not is_straight(numbers().flat_map(lambda n: [n]), Sink.count())
    assert not is_straight(numbers().start_with(0), Sink.count())
    assert not is_straight(numbers().map_async(float), Sink.count())  # type: ignore[arg-type]
    assert not is_straight(numbers().merge(Stream.range(3)), Sink.count())
    assert not is_straight(numbers(), Sink.to_list())
    assert not is_straight(numbers(), Sink.first())
    assert not is_straight(numbers(), Sink.foreach_batch(print, 2))


def picky(number: int) -> int:
    if number == 5:
        raise ValueError("no five")
    return number


TAKEN: dict[str, Callable[[Stream[int], list[int]], object]] = {
    "straight": lambda numbers, seen: (numbers | Sink.for_each(seen.append)).run().wait(WAIT),
    "marked": lambda numbers, seen: (numbers.flat_map(lambda n: [n]) | Sink.for_each(seen.append)).run().wait(WAIT),
    "a loop": lambda numbers, seen: seen.extend(numbers),
    "pushed": lambda numbers, seen: seen.extend(numbers.map(lambda n: n)),
    "fed": lambda numbers, seen: seen.extend(numbers.flat_map(lambda n: [n])),
    "another thread": lambda numbers, seen: seen.extend(numbers.publish_on(thread())),
}


@pytest.mark.parametrize("use", TAKEN)
def test_an_element_that_cannot_be_made_is_an_error_behind_those_before(use: str) -> None:
    class Picky(Chunks):
        async def fetch(self, most: int, /) -> Any:
            numbers = await super().fetch(most)
            return numbers and Positioned(MadeWhenRead(picky, [n for n, _ in numbers]), [n for n, _ in numbers])

    seen: list[int] = []
    with pytest.raises(ValueError, match="no five"):
        TAKEN[use](Picky(9).stream(), seen)
    assert seen == [1, 2, 3, 4]


@pytest.mark.parametrize("use", TAKEN)
def test_none_is_no_element_however_it_comes(use: str) -> None:
    class Holey(Chunks):
        async def fetch(self, most: int, /) -> Any:
            numbers = await super().fetch(most)
            return numbers and Positioned([None if n == 5 else n for n, _ in numbers], [n for n, _ in numbers])

    seen: list[int] = []
    with pytest.raises(TypeError, match="None is not an element"):
        TAKEN[use](Holey(9).stream(), seen)
    assert seen == [1, 2, 3, 4]


USES: dict[str, Callable[[Stream[int], Callable[[int], int]], Any]] = {
    "straight": lambda numbers, fn: numbers | Sink.for_each(fn),
    "marked": lambda numbers, fn: numbers.flat_map(lambda n: [n]) | Sink.for_each(fn),
    "on a thread": lambda numbers, fn: numbers.publish_on(thread()).map(fn) | Sink.count(),
}


@pytest.mark.parametrize("use", USES)
@pytest.mark.parametrize("size", [4, 8, 40])
@pytest.mark.filterwarnings("ignore::pytest.PytestUnhandledThreadExceptionWarning")
@pytest.mark.usefixtures("loop_apart")
def test_an_interruption_commits_no_more_and_leaves_nothing_waiting(use: str, size: int) -> None:
    before, source = set(threading.enumerate()), Chunks(40, [size])

    def leave(number: int) -> int:
        if number == 7:
            raise SystemExit("enough")
        return number

    with pytest.raises(Exception, match=r"SystemExit\('enough'\)|the event loop ended before"):
        USES[use](source.stream(), leave).run().wait(WAIT)
    assert source.last < 7
    assert left_alive(before) == []


@FORMS
@pytest.mark.parametrize("bad", [1, 2, 7, 8, 9, 16, 40])
def test_all_before_the_element_that_fails_is_done_and_no_more(form: str, bad: int) -> None:
    source = Chunks(40, [8], form=form)

    def refuse(number: int) -> None:
        if number == bad:
            raise ValueError(f"no {number}")

    with pytest.raises(ValueError, match=rf"^no {bad}\nin for_each\(.*refuse\), step 1 of 1"):
        (source.stream() | Sink.for_each(refuse)).run().wait(WAIT)
    assert source.last == bad - 1


@FORMS
@pytest.mark.parametrize("most", [1, 5, 8, 11])
def test_an_end_in_the_middle_is_told_and_what_is_behind_it_is_not(form: str, most: int) -> None:
    source = Chunks(40, [8], form=form)
    assert (source.stream().take(most) | Sink.count()).run().wait(WAIT) == most
    assert source.last == source.given == most
    source = Chunks(40, [8], form=form)
    assert (source.stream().take_while(lambda n: n <= most) | Sink.count()).run().wait(WAIT) == most
    assert source.last == most + 1  # the one that ended it was looked at, and is dropped
    source = Chunks(40, [8], form=form)
    assert (source.stream().filter(lambda n: not n % 3).take(most) | Sink.count()).run().wait(WAIT) == most
    assert source.last == min(3 * most, 40)


def test_nothing_is_read_for_an_end_at_the_beginning() -> None:
    source = Chunks(40)
    assert (source.stream().take(0) | Sink.count()).run().wait(WAIT) == 0
    assert (source.fetches, source.told) == (0, [])


def test_only_the_last_position_of_what_was_fetched_is_asked_for() -> None:
    asked: list[int] = []

    class Positions(Sequence[int]):
        def __len__(self) -> int:
            return 500

        def __getitem__(self, at: Any) -> Any:
            if at >= 500:
                raise IndexError(at)
            asked.append(at)
            return at + 1

    class Once(Chunks):
        async def fetch(self, most: int, /) -> Sequence[tuple[int, int]] | None:
            self.fetches += 1
            return Positioned(list(range(500)), Positions()) if self.fetches == 1 else None

    for _ in range(
        50
    ):  # while the thread that began the run is still inside of it, what was fetched is queued in pairs
        asked.clear()
        source = Once(500)
        assert (source.stream() | Sink.count()).run().wait(WAIT) == 500
        assert source.last == 500
        assert 499 in asked
        if len(asked) < 20:
            return
    pytest.fail("every position was asked for in each of 50 runs")


def test_a_run_that_is_cancelled_in_the_middle_tells_nothing_more_and_calls_nothing_more() -> None:
    source, seen = Chunks(40, [20]), list[int]()
    at, go_on = threading.Event(), threading.Event()

    def take(number: int) -> None:
        seen.append(number)
        if number == 13:
            at.set()
            assert go_on.wait(WAIT)

    run = (source.stream() | Sink.for_each(take)).run()
    assert at.wait(WAIT)
    run.cancel()
    go_on.set()
    with pytest.raises(Exception, match="cancelled"):
        run.wait(WAIT)
    assert source.last < 13
    assert seen == list(range(1, 14))


@pytest.mark.parametrize("inside", [True, False])
def test_a_run_that_is_stopped_in_the_middle_is_done_with_all_that_it_took(inside: bool) -> None:
    source, seen = Chunks(10**6, [20]), list[int]()
    at, go_on = threading.Event(), threading.Event()

    def take(number: int) -> None:
        seen.append(number)
        if number == 13:
            at.set()
            assert go_on.wait(WAIT)
            if inside:
                run.stop()

    run = (source.stream() | Sink.for_each(take)).run()
    assert at.wait(WAIT)
    if not inside:
        run.stop()
    go_on.set()
    taken = run.wait(WAIT)
    assert taken == len(seen) == source.last == run.now().rows_in
    assert 20 <= taken < 10**6


def test_a_run_that_waits_for_its_source_is_stopped() -> None:
    waits, taken = threading.Event(), threading.Event()

    def take(number: int) -> None:
        if number == 7:
            taken.set()

    class Silent(Chunks):
        async def fetch(self, most: int, /) -> Sequence[tuple[int, int]] | None:
            if self.given == 7:
                waits.set()
                await asyncio.sleep(WAIT)
            return await super().fetch(most)

    source = Silent(10, [7])
    run = (source.stream() | Sink.for_each(take)).run()
    assert waits.wait(WAIT)
    assert taken.wait(WAIT)  # what was fetched may still be before the valve, where a stop lets nothing in
    run.stop()
    assert run.wait(WAIT) == source.last == 7


def test_what_is_done_is_told_now_and_then_while_much_is_handed_over(monkeypatch: pytest.MonkeyPatch) -> None:
    now = 0.0

    def monotonic() -> float:
        return now

    def take(_: int) -> None:
        nonlocal now
        now += 0.004

    monkeypatch.setattr(straight, "monotonic", monotonic)
    monkeypatch.setattr("penstock.run.carrying.marks.monotonic", monotonic)
    told: list[int] = []
    pairs = [(number, number) for number in range(1, 101)]
    (Stream.resumable(lambda _: pairs, told.append) | Sink.for_each(take)).run().wait(WAIT)
    steps = [after - before for before, after in zip([0, *told], told, strict=False)]
    assert told[-1] == 100
    assert max(steps) <= 8  # of 4 ms each, where 10 ms are meant


def test_none_fails_the_run_behind_what_came_before_it() -> None:
    class Holed(Chunks):
        async def fetch(self, most: int, /) -> Any:
            self.fetches += 1
            return Positioned([1, 2, None, 4], range(1, 5)) if self.fetches == 1 else None

    for make in (Sink.count, lambda: Sink.for_each(str)):
        source = Holed(4)
        with pytest.raises(TypeError, match=r"^rule 2.13: None is not an element"):
            (source.stream() | make()).run().wait(WAIT)
        assert source.last == 2


def test_a_position_that_is_none_is_refused() -> None:
    class Nowhere(Chunks):
        async def fetch(self, most: int, /) -> Any:
            return Positioned([1, 2], [1, None])

    source = Nowhere(2)
    with pytest.raises(TypeError, match=r"^resumable: None is the beginning and no position"):
        (source.stream() | Sink.count()).run().wait(WAIT)
    assert source.last <= 1


def test_elements_and_positions_are_as_many() -> None:
    with pytest.raises(
        ValueError, match=r"^Positioned: each element has one position, got 2 elements and 1 positions$"
    ):
        Positioned("ab", [1])


def test_a_listener_sees_the_steps() -> None:
    recorder, source = Recorder(), Chunks(40, [8])
    with observe(recorder):
        (source.stream().map(str).filter(bool) | Sink.for_each(len)).run().wait(WAIT)
    seen = [(reading.step, reading.delivered) for row in recorder.readings().values() for reading in row]
    assert ("map(str) | filter(bool) | for_each(len)", 1) in seen
    assert source.last == 40


def steps(draw: random.Random) -> list[Use]:
    count, factor, limit = draw.randint(1, 60), draw.randint(2, 5), draw.randint(1, 90)
    known: list[Use] = [
        lambda s: s.map(lambda n: n + 1),
        lambda s: s.filter(lambda n: n % factor),
        lambda s: s.take(count),
        lambda s: s.skip(factor),
        lambda s: s.take_while(lambda n: n < limit),
        lambda s: s.scan(max, 0),
        lambda s: s.distinct(),
        lambda s: s.default_if_empty(0),
    ]
    return draw.choices(known, k=draw.randint(0, 4))


@pytest.mark.parametrize("seed", range(150))
def test_the_same_is_told_as_with_marks(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(seed)
    uses = steps(draw)
    sizes = [draw.randint(1, 30) for _ in range(5)]
    bad, window = draw.choice([None, *range(1, 70)]), draw.choice([1, 2, 7, 1000])
    form = draw.choice(["pairs", "beside", "made"])

    def outcome() -> tuple[Any, ...]:
        source, seen = Chunks(80, sizes, form=form), list[int]()

        def take(number: int) -> None:
            if len(seen) == bad:
                raise ValueError("enough")
            seen.append(number)

        stream: Stream[Any] = source.stream(window)
        for use in uses:
            stream = use(stream)
        pipeline = stream | Sink.for_each(take)
        try:
            return pipeline.run().wait(WAIT), seen, source.last
        except ValueError:
            return "failed", seen, source.last

    without_marks = outcome()
    monkeypatch.setattr(committing, "is_straight", lambda *_: False)
    assert without_marks == outcome()


PASSING = {"map", "filter", "take", "tap", "distinct", "take_while", "skip_while"}


@pytest.mark.parametrize("name", sorted(PASSING & set(ENTRIES)))
def test_the_laws_hold_with_marks_as_well(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(committing, "is_straight", lambda *_: False)
    check_commits(ENTRIES[name].make, elements=10, window=7)


def test_an_element_that_has_failed_and_counts_as_done_is_lost(monkeypatch: pytest.MonkeyPatch) -> None:
    finish = _StraightRun._finish

    def wrong(self: _StraightRun, error: Exception | None) -> None:
        if error is not None and self._went:
            self._settle(self._went)
        finish(self, error)

    monkeypatch.setattr(_StraightRun, "_finish", wrong)
    with pytest.raises(VerificationError, match="law 'what was had and what follows the last commit is everything'"):
        check_commits(lambda numbers: numbers.map(lambda n: n))


def test_a_window_that_is_not_kept_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_Intake, "done", lambda *_: None)
    with pytest.raises(VerificationError, match="law 'a run comes to its end'"):
        check_commits(lambda numbers: numbers.map(lambda n: n), wait=0.5)


def test_asking_before_telling_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    granted = _Intake._granted

    def greedy(self: _Intake) -> int:
        self._under = 0
        return granted(self)

    monkeypatch.setattr(_Intake, "_granted", greedy)
    monkeypatch.setattr("penstock.run.carrying.marks.SourceMarks.all_told", lambda _: True)
    monkeypatch.setattr("penstock.run.carrying.marks.SourceMarks.tell", lambda _: None)
    with pytest.raises(VerificationError):
        check_commits(lambda numbers: numbers.map(lambda n: n), window=3, wait=0.5)
