"""whatever is raised arrives: no error is changed or lost on its way, and nobody waits for one that does not come."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

import pytest

from penstock import Dropped, Recorder, Stream, Subject, Subscription, assembly_trace, observe, thread
from penstock.errors import InterruptionError
from penstock.testing import Probe
from tests.engine.calling import CALLED, LOST, TOLD, Fn, parameters
from tests.engine.parts import FORMS, Items, Plain
from tests.engine.watch import PATIENCE


@dataclass(frozen=True)
class Frozen(Exception):
    """Refuse to be changed, notes and causes included."""

    key: int = 0


@dataclass
class Unhashable(Exception):
    """Be compared by value, and in no set."""

    key: int = 0


class Slotted(Exception):
    """Have a fixed set of attributes."""

    __slots__ = ("key",)

    def __setattr__(self, name: str, value: object) -> None:
        raise AttributeError(name)


class NotesRaise(Exception):
    """Refuse to show notes."""

    @property
    def __notes__(self) -> list[str]:
        raise LookupError("no notes")


class NotesAreNone(Exception):
    """Have something else in the place of notes."""

    __notes__ = 5


class AddNoteRaises(Exception):
    """Refuse to take notes."""

    def add_note(self, note: str, /) -> None:
        raise LookupError(note)


class CauseIsFixed(Exception):
    """Refuse to have a cause."""

    @property
    def __cause__(self) -> None:  # type: ignore[override]
        raise LookupError("no cause")


class TracebackIsFixed(Exception):
    """Show something else in the place of a traceback."""

    @property
    def __traceback__(self) -> Any:
        raise LookupError("no traceback")

    def with_traceback(self, tb: object, /) -> Any:
        raise LookupError("no traceback")


class Falsy(Exception):
    """Be false, and empty."""

    def __bool__(self) -> bool:
        return False

    def __len__(self) -> int:
        return 0


class Unspeakable(Exception):
    """Refuse to be printed and compared."""

    def __repr__(self) -> str:
        raise LookupError("no words")

    __str__ = __repr__

    def __eq__(self, other: object) -> bool:
        raise LookupError("no comparison")

    __hash__ = None  # type: ignore[assignment]


HOSTILE: dict[str, Callable[[], Exception]] = {
    kind.__name__: kind
    for kind in (
        Frozen, Unhashable, Slotted, NotesRaise, NotesAreNone, AddNoteRaises, CauseIsFixed, TracebackIsFixed, Falsy,
        Unspeakable,
    )
}  # fmt: skip
STOPS: dict[str, type[Exception]] = {"StopIteration": StopIteration, "StopAsyncIteration": StopAsyncIteration}
INTERRUPTIONS: dict[str, type[BaseException]] = {
    "GeneratorExit": GeneratorExit, "KeyboardInterrupt": KeyboardInterrupt, "SystemExit": SystemExit,
}  # fmt: skip


def raising(error: BaseException) -> Fn:
    def fn(*_: object) -> Any:
        raise error

    return fn


def iterated(stream: Stream[Any]) -> None:
    for _ in stream:
        pass


def iterated_async(stream: Stream[Any]) -> None:
    async def run() -> None:
        async for _ in stream:
            pass

    asyncio.run(run())


def subscribed(stream: Stream[Any]) -> None:
    probe: Probe[Any] = Probe(2**63 - 1, patience=PATIENCE)
    stream.subscribe(probe)
    probe.wait_for_end()
    assert probe.breaches == []
    if probe.error is not None:
        raise probe.error


WAYS: dict[str, Callable[[Stream[Any]], None]] = {"for": iterated, "async for": iterated_async, "subscribe": subscribed}


def raised_by(way: str, stream: Stream[Any]) -> BaseException | None:
    """Take all elements on a thread, within a bounded time; return what was raised there."""
    found: list[BaseException | None] = []

    def run() -> None:
        try:
            WAYS[way](stream)
        except BaseException as error:
            found.append(error)
        else:
            found.append(None)

    consumer = threading.Thread(target=run, name="consumer", daemon=True)
    consumer.start()
    consumer.join(2 * PATIENCE)
    assert found, f"{way}: nobody said anything"
    return found[0]


pytestmark = pytest.mark.filterwarnings(
    "ignore::pytest.PytestUnhandledThreadExceptionWarning"
)  # interruptions end threads
each_way = pytest.mark.parametrize("way", WAYS)
each_called = pytest.mark.parametrize("called", CALLED)


def test_the_tables_name_every_function_that_an_operator_takes() -> None:
    tabled = {name.partition(",")[0] for name in (*CALLED, *TOLD)}
    assert tabled == parameters()


@each_called
@each_way
@pytest.mark.parametrize("kind", HOSTILE)
def test_the_very_error_arrives(kind: str, way: str, called: str) -> None:
    error = HOSTILE[kind]()
    assert raised_by(way, CALLED[called](Stream.range(3), raising(error))) is error


class AnswersToAnyName:
    """A callable as a proxy of a remote one is: whatever attribute it is asked for is another proxy."""

    def __init__(self, error: BaseException) -> None:
        self._error = error

    def __getattr__(self, name: str) -> object:
        return AnswersToAnyName(self._error)

    def __call__(self, *_: object) -> Any:
        raise self._error


class AnswersToNoName(AnswersToAnyName):
    """A callable that cannot be asked for an attribute."""

    def __getattr__(self, name: str) -> object:
        raise LookupError(name)


@each_called
@pytest.mark.parametrize("kind", [AnswersToAnyName, AnswersToNoName])
def test_it_arrives_from_a_callable_of_any_make(kind: Callable[[Exception], Fn], called: str) -> None:
    error = LookupError("lost")
    assert raised_by("subscribe", CALLED[called](Stream.range(3), kind(error))) is error


@each_called
@pytest.mark.parametrize("form", [form for form in FORMS if form != "sync"])
def test_it_arrives_whatever_upstream_is(form: str, called: str) -> None:
    error, items = Frozen(), Items(3)
    assert raised_by("subscribe", CALLED[called](FORMS[form](items), raising(error))) is error
    if items.opened:
        assert items.was_closed.wait(PATIENCE)


@each_called
@pytest.mark.parametrize("kind", ["Frozen", "TracebackIsFixed"])
def test_it_arrives_where_places_are_noted_and_a_listener_looks(kind: str, called: str) -> None:
    error = HOSTILE[kind]()

    def run() -> Stream[Any]:
        with assembly_trace():
            stream = CALLED[called](Stream.range(3), raising(error)).checkpoint("here")
        with observe(Recorder()):
            return raised_by("for", stream)

    assert run() is error


@pytest.mark.parametrize("kind", HOSTILE)
def test_blocks_let_it_pass(kind: str) -> None:
    error = HOSTILE[kind]()
    with pytest.raises(type(error)) as caught, assembly_trace(), observe(Recorder()):
        raise error
    assert caught.value is error


@pytest.mark.parametrize("told", TOLD)
@each_way
@pytest.mark.parametrize("kind", HOSTILE)
def test_an_error_that_no_signal_is_left_for_goes_to_the_hook(
    kind: str, way: str, told: str, dropped: list[Dropped]
) -> None:
    error = HOSTILE[kind]()
    assert raised_by(way, TOLD[told](Stream.range(3), raising(error))) in (None, LOST)
    assert dropped != []
    assert all(one.error is error for one in dropped)
    dropped.clear()


@each_called
@each_way
@pytest.mark.parametrize("kind", STOPS)
def test_a_stop_is_an_error(kind: str, way: str, called: str) -> None:
    stop = STOPS[kind]("leaked")
    error = raised_by(way, CALLED[called](Stream.range(3), raising(stop)))
    assert type(error) is RuntimeError
    assert error.__cause__ is stop


@each_called
@each_way
@pytest.mark.parametrize("kind", INTERRUPTIONS)
def test_an_interruption_is_heard(kind: str, way: str, called: str) -> None:
    interruption = INTERRUPTIONS[kind]("now")
    error = raised_by(way, CALLED[called](Stream.range(3), raising(interruption)))
    assert error is interruption or type(error) is InterruptionError


@each_called
@each_way
@pytest.mark.parametrize("kind", INTERRUPTIONS)
def test_an_interruption_on_another_thread_is_heard(kind: str, way: str, called: str) -> None:
    interruption = INTERRUPTIONS[kind]("now")
    stream = CALLED[called](Stream.range(3).publish_on(thread()), raising(interruption)).publish_on(thread())
    error = raised_by(way, stream)
    assert error is interruption or type(error) is InterruptionError


@each_called
@each_way
@pytest.mark.parametrize("kind", INTERRUPTIONS)
def test_an_interruption_behind_an_asynchronous_source_is_heard(kind: str, way: str, called: str) -> None:
    interruption = INTERRUPTIONS[kind]("now")
    error = raised_by(way, CALLED[called](Stream.from_async_iterable(Items(3)), raising(interruption)))
    assert error is interruption or type(error) is InterruptionError


@each_called
@each_way
def test_an_interruption_where_it_is_subscribed_on_another_thread_is_heard(way: str, called: str) -> None:
    interruption = SystemExit("now")
    error = raised_by(way, CALLED[called](Stream.range(3), raising(interruption)).subscribe_on(thread()))
    assert error is interruption or type(error) is InterruptionError


LATER: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "publish_on": lambda stream: stream.publish_on(thread(), prefetch=2),
    "map, publish_on": lambda stream: stream.map(str).publish_on(thread(), prefetch=2),
    "publish_on, publish_on": lambda stream: stream.publish_on(thread(), prefetch=2).publish_on(thread(), prefetch=2),
    "buffer_timeout": lambda stream: stream.buffer_timeout(2, 1.0).publish_on(thread(), prefetch=1),
    "parallel": lambda stream: stream.parallel(2, lambda rail: rail.map(str), prefetch=2),
    "delay": lambda stream: stream.delay(0.0001, size=2),
}


def one_by_one(stream: Stream[Any]) -> list[Any]:
    """Take all elements as a subscriber of another library that asks for each; return the signals."""
    ended = threading.Event()
    signals: list[Any] = []

    class OneByOne(Plain):
        def on_next(self, element: Any, /) -> None:
            signals.append(element)
            assert self.subscription is not None
            self.subscription.request(1)

        def on_error(self, error: Exception, /) -> None:
            signals.append(error)
            ended.set()

    with suppress(SystemExit):  # it passes through the thread that reads, which may be this one
        stream.subscribe(OneByOne(1))
    assert ended.wait(PATIENCE)
    return signals


@pytest.mark.parametrize("later", LATER)
@pytest.mark.parametrize("place", [3, 5])
def test_an_interruption_of_a_later_request_is_heard_by_any_subscriber(place: int, later: str) -> None:
    def numbers() -> Iterator[int]:
        yield from range(place)
        raise SystemExit("now")

    assert type(one_by_one(LATER[later](Stream.defer(numbers)))[-1]) is InterruptionError


WAITING: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "subject": lambda stream: stream,
    "conflate": lambda stream: stream.conflate(str, lambda some, _: some),
    "merge_sorted": lambda stream: stream.merge_sorted(Stream.just(0)).skip(1),
    "zip": lambda stream: stream.zip(Stream.never().start_with(1)),
    "on_backpressure_buffer": lambda stream: stream.on_backpressure_buffer(9),
    "checked": lambda stream: stream.checked(),
    "buffer_timeout": lambda stream: stream.buffer_timeout(9, 1.0),
    "debounce": lambda stream: stream.debounce(1.0),
}


@pytest.mark.parametrize("name", WAITING)
def test_a_failure_behind_an_element_that_the_subscriber_raised_at_goes_to_the_hook(
    name: str, dropped: list[Dropped]
) -> None:
    failure, raised = ValueError("upstream"), KeyError("subscriber")
    subject: Subject[int] = Stream.subject()
    subscriber = Plain(on_next=raising(raised))
    WAITING[name](subject).subscribe(subscriber)
    assert subscriber.subscription is not None
    subject.emit(1)
    subject.fail(failure)
    subscriber.subscription.request(1)
    assert [one.error for one in dropped] in ([failure, raised], [raised, failure])
    dropped.clear()


def test_a_failure_before_the_subscription_that_the_subscriber_raised_at_goes_to_the_hook(
    dropped: list[Dropped],
) -> None:
    failure, raised = ValueError("upstream"), KeyError("subscriber")

    class Raises(Plain):
        def on_subscribe(self, subscription: Subscription, /) -> None:
            raise raised

    Stream.never().with_latest_from(Stream.error(failure)).subscribe(Raises())
    assert [one.error for one in dropped] in ([failure, raised], [raised, failure])
    dropped.clear()


def fails(_: object) -> Any:
    raise KeyError("first")


OPENED: dict[str, Callable[[Callable[[], Iterator[int]]], Stream[Any]]] = {
    "from_iterable": lambda opened: Stream.from_iterable(opened()),
    "defer": lambda opened: Stream.defer(opened),
    "flat_map": lambda opened: Stream.just(0).flat_map(lambda _: opened()),
    "flat_map, concurrently": lambda opened: Stream.just(0).flat_map(lambda _: opened(), concurrency=2),
    "concat_map": lambda opened: Stream.just(0).concat_map(lambda _: opened()),
    "switch_map": lambda opened: Stream.just(0).switch_map(lambda _: opened()),
    "expand": lambda opened: Stream.just(0).expand(lambda n: opened() if n == 0 else ()).skip(1),
    "zip": lambda opened: Stream.from_iterable(opened()).zip(Stream.range(9)),
    "concat": lambda opened: Stream.from_iterable(opened()).concat(Stream.empty()),
    "merge": lambda opened: Stream.from_iterable(opened()).merge(Stream.empty()),
    "publish_on": lambda opened: Stream.from_iterable(opened()).publish_on(thread()),
    "using": lambda opened: Stream.using(opened, lambda items: items, lambda items: items.close()),  # type: ignore[attr-defined]
}


@pytest.mark.parametrize("name", OPENED)
@each_way
@pytest.mark.parametrize("kind", [*HOSTILE, "StopIteration", "RuntimeError"])
def test_an_error_of_closing_does_not_hide_the_first(kind: str, way: str, name: str, dropped: list[Dropped]) -> None:
    closing: Exception = {**HOSTILE, "StopIteration": StopIteration, "RuntimeError": RuntimeError}[kind]()
    closed: list[str] = []

    class Opened(Iterator[int]):
        def __next__(self) -> int:
            return 1

        def close(self) -> None:
            closed.append(name)
            raise closing

    error = raised_by(way, OPENED[name](Opened).map(fails))
    assert type(error) is KeyError
    assert name in closed
    assert all(one.error is closing or one.error.__cause__ is closing for one in dropped)  # type: ignore[union-attr]
    dropped.clear()
