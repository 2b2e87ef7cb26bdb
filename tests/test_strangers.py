"""strangers: whatever party of whatever text is given to whatever entry, it works, or is refused with the cure."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from typing import Any

import pytest
import reactivex
import reactivex.operators
import reactivex.subject

from penstock import Sink, Stream, pull, subscriber
from penstock.bridges import futures, reactivestreams
from penstock.bridges.cpp import from_cpp, to_cpp
from penstock.bridges.dotnet import from_dotnet, to_dotnet
from penstock.bridges.reactivestreams import to_publisher
from penstock.bridges.reactivex import to_observable
from penstock.spec import AnyPublisher, AnySubscriber, AnySubscription
from penstock.tck import monitor
from penstock.testing import ManualPublisher, StepVerifier, subscribed
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

ELEMENTS = [1, 2, 3]


class Counting:
    """Be a publisher of the C++ text, written by somebody else, in the names of either."""

    def __init__(self, elements: list[int], names: tuple[str, ...]) -> None:
        self.elements = elements
        self.next, self.complete = names[1], names[2]
        setattr(self, names[0], self._subscribe)
        self.names = names

    def _subscribe(self, taker: Any, /) -> Any:
        if not self.elements:
            getattr(taker, self.complete)()
        return Handle(self, taker)


class Handle:
    """Be the subscription that such a publisher returns; to drop it is to cancel."""

    def __init__(self, publisher: Counting, taker: Any) -> None:
        self.left = list(publisher.elements)
        self.next, self.complete = getattr(taker, publisher.next), getattr(taker, publisher.complete)
        self.owed, self.busy = 0, False
        setattr(self, publisher.names[3], self._request)
        setattr(self, publisher.names[4], self.left.clear)

    def _request(self, count: int, /) -> None:
        self.owed += count
        if self.busy:
            return
        self.busy = True
        while self.owed and self.left:
            self.owed -= 1
            self.next(self.left.pop(0))
            if not self.left:
                self.complete()
        self.busy = False


SNAKE = ("subscribe", "on_next", "on_complete", "request", "cancel")
PASCAL = ("Subscribe", "OnNext", "OnComplete", "Request", "Cancel")


class Theirs(reactivestreams.Publisher):  # type: ignore[misc]
    """Be a publisher of rsocket-py that uses its flag."""

    def __init__(self, elements: list[int]) -> None:
        self.elements = elements

    def subscribe(self, taker: Any) -> None:
        left = iter(self.elements)

        class Ticket(reactivestreams.Subscription):  # type: ignore[misc]
            def request(self, n: int) -> None:
                for _, element in zip(range(n), left, strict=False):
                    taker.on_next(element, element == 3)

            def cancel(self) -> None: ...

        taker.on_subscribe(Ticket())
        if not self.elements:
            taker.on_complete()


PUBLISHERS: dict[str, Callable[[list[int]], Any]] = {
    "JVM": Stream.from_iterable,
    "JVM, erased": lambda elements: AnyPublisher(Stream.from_iterable(elements)),
    "C++": lambda elements: to_cpp(Stream.from_iterable(elements)),
    "C++, erased": lambda elements: AnyPublisher(to_cpp(Stream.from_iterable(elements))),
    "C++ of another make": lambda elements: Counting(elements, SNAKE),
    "C++ with its own names": lambda elements: Counting(elements, PASCAL),
    ".NET": lambda elements: to_dotnet(Stream.from_iterable(elements)),
    "rsocket-py": Theirs,
    "rsocket-py, from ours": lambda elements: to_publisher(Stream.from_iterable(elements)),
    "RxPY": lambda elements: reactivex.of(*elements),
    "RxPY, from ours": lambda elements: to_observable(Stream.from_iterable(elements)),
}


def pulled(publisher: Any) -> list[Any]:
    found: list[Any] = []
    pull.pull(pull.from_publisher(publisher), pull.collect(lambda error, got: found.append(error or got)))
    if isinstance(found[0], BaseException):
        raise found[0]
    return found[0]  # type: ignore[no-any-return]


def taken(publisher: Any) -> list[Any]:
    total = subscriber(Sink.to_list())
    publisher.subscribe(total)
    return total.get()


def verified(publisher: Any) -> list[Any]:
    StepVerifier(publisher, request=9).expect(*ELEMENTS).expect_complete().verify()
    return ELEMENTS


def to_dotnet_and_back(publisher: Any) -> list[Any]:
    return list(from_dotnet(to_dotnet(publisher)))


ENTRIES: dict[str, Callable[[Any], list[Any]]] = {
    "from_publisher": lambda publisher: list(Stream.from_publisher(publisher)),
    "from_cpp": lambda publisher: list(from_cpp(publisher)),
    "from_dotnet": lambda publisher: list(from_dotnet(publisher)),
    "reactivestreams.from_publisher": lambda publisher: list(reactivestreams.from_publisher(publisher)),
    "pull.from_publisher": pulled,
    "AnyPublisher": lambda publisher: taken(AnyPublisher(publisher)),
    "to_cpp": lambda publisher: list(from_cpp(to_cpp(publisher))),
    "to_dotnet": to_dotnet_and_back,
    "to_publisher": lambda publisher: list(reactivestreams.from_publisher(to_publisher(publisher))),
    "to_observable": lambda publisher: to_observable(publisher).pipe(reactivex.operators.to_list()).run(),
    "to_future": lambda publisher: [futures.to_future(publisher).result(PATIENCE), 2, 3],
    "monitor": lambda publisher: taken(monitor(publisher)),
    "StepVerifier": verified,
    "subscribed": lambda publisher: subscribed(publisher, 5).wait_for(3),
    "concat": lambda publisher: list(Stream.empty().concat(publisher)),
    "merge": lambda publisher: list(Stream.empty().merge(publisher)),
    "zip": lambda publisher: [pair[1] for pair in Stream.range(9).zip(publisher)],
    "switch_if_empty": lambda publisher: list(Stream.empty().switch_if_empty(publisher)),
    "defer": lambda publisher: list(Stream.defer(lambda: publisher)),
    "concat_map": lambda publisher: list(Stream.just(1).concat_map(lambda _: publisher)),
    "flat_map": lambda publisher: list(Stream.just(1).flat_map(lambda _: publisher, concurrency=2)),
    "switch_map": lambda publisher: list(Stream.just(1).switch_map(lambda _: publisher)),
    "on_error_resume": lambda publisher: list(Stream.error(OSError()).on_error_resume(lambda _: publisher)),
}
CURES = (
    "from_dotnet",
    "from_cpp",
    "from_publisher",
    "from_observable",
    "penstock.bridges.reactivestreams",
    "Stream.from_publisher",
)


@pytest.mark.parametrize("elements", [ELEMENTS, []], ids=["three elements", "none"])
@pytest.mark.parametrize("dialect", PUBLISHERS)
@pytest.mark.parametrize("entry", ENTRIES)
def test_a_publisher_works_at_an_entry_or_is_refused_with_the_cure(
    entry: str, dialect: str, elements: list[int], dropped: list[Any]
) -> None:
    if not elements and entry in {"to_future", "StepVerifier", "subscribed"}:
        elements = ELEMENTS  # which ask for some
    outcome: list[Any] = []

    def enter() -> None:
        try:
            outcome.append(ENTRIES[entry](PUBLISHERS[dialect](elements)))
        except Exception as error:
            outcome.append(error)

    running = threading.Thread(target=enter, daemon=True)
    running.start()
    running.join(PATIENCE)
    assert outcome, "it hangs"
    [found] = outcome
    if isinstance(found, Exception):
        told = "\n".join([str(found), *getattr(found, "__notes__", ())])
        assert any(cure in told for cure in CURES), told
        assert dialect not in {"JVM", "JVM, erased"} or entry == "from_dotnet"
        assert entry != "from_publisher" or dialect not in {"C++", "C++, erased", "C++ of another make"}
    else:
        assert found == elements
    dropped.clear()


class Headless:
    """Be a subscriber of the C++ text."""

    def on_next(self, element: object, /) -> None: ...

    def on_error(self, error: Exception, /) -> None: ...

    def on_complete(self) -> None: ...


SUBSCRIBERS: dict[str, tuple[Callable[[], Any], str]] = {
    "C++": (Headless, "to_cpp"),
    "C++, erased": (lambda: AnySubscriber(Headless()), "to_cpp"),
    ".NET": (lambda: to_dotnet(subscriber(Sink.count())), "from_dotnet"),
    "RxPY": (lambda: reactivex.subject.Subject(), "penstock.bridges.reactivex"),
}


@pytest.fixture
def manual() -> Iterator[ManualPublisher[int]]:
    return ManualPublisher()


@pytest.mark.parametrize("dialect", SUBSCRIBERS)
@pytest.mark.parametrize(
    "entry",
    [
        Stream.range(3).subscribe,
        to_dotnet,
        reactivestreams.from_subscriber,
        reactivestreams.to_subscriber,
    ],
    ids=["Stream.subscribe", "to_dotnet", "from_subscriber", "to_subscriber"],
)
def test_a_subscriber_is_refused_with_the_cure(entry: Callable[[Any], object], dialect: str) -> None:
    make, cure = SUBSCRIBERS[dialect]
    if entry is to_dotnet and dialect == "RxPY":
        make = Headless  # a subject of theirs is refused as a publisher
        cure = "to_cpp"
    with pytest.raises(TypeError, match=cure):
        entry(make())


def test_a_subscription_of_the_dotnet_text_is_refused_by_the_eraser_and_taken_by_the_bridge() -> None:
    class Ticket:
        def __init__(self) -> None:
            self.calls: list[object] = []

        def Request(self, n: int, /) -> None:
            self.calls.append(n)

        def Cancel(self) -> None:
            self.calls.append("cancel")

    ticket: Any = Ticket()
    with pytest.raises(TypeError, match=r"without request, cancel; .*from_dotnet"):
        AnySubscription(ticket)
    subscription = AnySubscription(from_dotnet(ticket))
    subscription.request(2)
    to_dotnet(subscription).Cancel()
    assert ticket.calls == [2, "cancel"]
