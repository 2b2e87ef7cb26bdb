"""laws planted: each law of the contract refuses an operator with a fault that breaks it, and says its name."""

from __future__ import annotations

import contextlib
import threading
from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Stream, Subscriber, Subscription
from penstock.stage import Body, Joint, Stage
from penstock.testing import Form, Promise, VerificationError, check_contract
from penstock.testing.laws import LAWS, Law

BY_NAME = {law.name: law for law in LAWS}
AT_REST = threading.Event()


@pytest.fixture(autouse=True)
def threads_end() -> Iterator[None]:
    """Let go of what a planted fault has left waiting."""
    AT_REST.clear()
    yield
    AT_REST.set()


class Sound:
    """Pass every signal on, and every request and cancel."""

    def __init__(self, downstream: Subscriber[Any]) -> None:
        self.downstream = downstream
        self.upstream: Any = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.upstream = subscription
        self.downstream.on_subscribe(self)

    def request(self, n: int, /) -> None:
        self.upstream.request(n)

    def cancel(self) -> None:
        self.upstream.cancel()

    def on_next(self, element: Any, /) -> None:
        self.downstream.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        self.downstream.on_error(error)

    def on_complete(self) -> None:
        self.downstream.on_complete()


class Holding(Sound):
    """Keep an end until the next request if nothing is requested when it comes."""

    def __init__(self, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self.demand = 0
        self.held: Callable[[], None] | None = None

    def request(self, n: int, /) -> None:
        self.demand += n
        if self.held is not None:
            held, self.held = self.held, None
            held()
        else:
            super().request(n)

    def on_next(self, element: Any, /) -> None:
        self.demand -= 1
        super().on_next(element)

    def hold(self, end: Callable[[], None]) -> None:
        if self.demand > 0:
            end()
        else:
            self.held = end


class HoldsTheErrorBack(Holding):
    def on_error(self, error: Exception, /) -> None:
        self.hold(lambda: self.downstream.on_error(error))


class HoldsTheCompletionBack(Holding):
    def on_complete(self) -> None:
        self.hold(self.downstream.on_complete)


class ReadsAhead(Sound):
    """Ask for one element more than is asked for, and keep it."""

    def __init__(self, downstream: Subscriber[Any]) -> None:
        super().__init__(downstream)
        self.demand = self.asked = 0
        self.queue: deque[Any] = deque()
        self.completed = self.working = False

    def request(self, n: int, /) -> None:
        self.demand += n
        ahead = 1 if not self.asked else 0
        self.asked += n + ahead
        super().request(n + ahead)
        self.drain()

    def on_next(self, element: Any, /) -> None:
        self.queue.append(element)
        self.drain()

    def on_complete(self) -> None:
        self.completed = True
        self.drain()

    def drain(self) -> None:
        if self.working:
            return
        self.working = True
        while self.demand > 0 and self.queue:
            self.demand -= 1
            self.downstream.on_next(self.queue.popleft())
        self.working = False
        if self.completed and not self.queue:
            self.completed = False
            self.downstream.on_complete()


class ReadsEarly(ReadsAhead):
    """Ask for an element before anybody has asked."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        super().on_subscribe(subscription)
        self.asked = 1
        subscription.request(1)


class LosesWhatItHolds(ReadsAhead):
    """Let a failure overtake the element that was read ahead (ReadsAhead), which is lost then."""

    def on_error(self, error: Exception, /) -> None:
        self.queue.clear()
        super().on_error(error)

    def on_next(self, element: Any, /) -> None:
        self.queue.append(element)
        if len(self.queue) > 1:
            self.drain()

    def on_complete(self) -> None:
        self.completed = True
        self.drain()


class CallsOnChunk(Sound):
    """Take a name that a subscriber happens to have for its own."""

    def on_next(self, element: Any, /) -> None:
        on_chunk = getattr(self.downstream, "on_chunk", None)
        if on_chunk is None:
            super().on_next(element)
        else:
            on_chunk([element])


class ComparesHeights(Sound):
    """Take an attribute that a subscriber happens to have for a number."""

    def on_subscribe(self, subscription: Subscription, /) -> None:
        assert getattr(self.downstream, "height", 0) >= 0
        super().on_subscribe(subscription)


class Swallows(Sound):
    """Catch what a subscriber raises, and go on."""

    def on_next(self, element: Any, /) -> None:
        with contextlib.suppress(Exception):
            super().on_next(element)

    def on_complete(self) -> None:
        with contextlib.suppress(Exception):
            super().on_complete()


class AddsNotes(Sound):
    """Change an error that refuses to be changed into another one."""

    def on_error(self, error: Exception, /) -> None:
        try:
            error.add_note("seen here")
        except Exception as refusal:
            error = refusal
        super().on_error(error)


class DeafToCancel(Sound):
    def cancel(self) -> None:
        pass


class LeavesAThread(Sound):
    def on_complete(self) -> None:
        threading.Thread(target=AT_REST.wait, name="penstock-left", daemon=True).start()
        super().on_complete()


class Doubles(Sound):
    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        super().on_next(element)


@dataclass(frozen=True)
class Planted(Joint[Any, Any]):
    run: type[Sound]

    def open(self, downstream: Subscriber[Any], /) -> Subscriber[Any]:
        return self.run(downstream)


@dataclass(frozen=True)
class SharesState(Stage[Any, Any]):
    """Keep its state in the description: a second run goes on counting."""

    seen: list[int] = field(default_factory=list)
    loop = Body("{seen}.append(v)\nv = len({seen})")


def behind(step: Any) -> Callable[[Stream[Any]], Stream[Any]]:
    return lambda stream: Stream(stream._chain.then(step))


def same(elements: list[Any]) -> list[Any]:
    return elements


FAULTS: dict[str, list[tuple[type[Sound], str]]] = {
    "agrees however it is taken": [(Doubles, "for [9] taken one by one: rule 1.1: 2 elements came, 1 were requested")],
    "an end needs no demand": [
        (HoldsTheErrorBack, "for [] upstream has failed and nothing is requested: expected the end, got nothing"),
        (HoldsTheCompletionBack, "for [] upstream is empty and nothing is requested: expected the end, got nothing"),
    ],
    "the end comes with the last element": [
        (HoldsTheCompletionBack, "expected completion with the last of them, got next("),
    ],
    "reads no more than it states": [
        (ReadsAhead, "[1] were requested and 2 elements asked for; 1 are needed or stated"),
        (ReadsEarly, "elements were asked for and 0 read before the first request"),
    ],
    "a failure comes behind what was produced": [(LosesWhatItHolds, "taken one by one expected [")],
    "makes the four calls and no other": [
        (CallsOnChunk, "['on_chunk'] of the subscriber were called"),
        (ComparesHeights, "expected the end, got nothing"),
    ],
    "a subscriber that raises is let go": [(Swallows, "raised in on_complete: the on_dropped hook was not told")],
    "whatever is raised arrives": [(AddsNotes, "and FrozenError(number=7): got FrozenInstanceError(")],
    "everything is let go": [
        (DeafToCancel, "1 runs of upstream were left open after a cancel inside on_subscribe"),
        (LeavesAThread, "the threads ['penstock-left'] were left running after completion"),
    ],
}


def found(law: Law, make: Any, model: Any, **options: Any) -> str:
    with pytest.raises(VerificationError) as caught:
        check_contract(make, model, st.integers(0, 9), forms=[Form.FOREIGN], laws=[law], patience=0.2, **options)
    return str(caught.value)


@pytest.mark.parametrize(
    ("name", "run", "message"),
    [pytest.param(name, *fault, id=f"{name}: {fault[0].__name__}") for name, some in FAULTS.items() for fault in some],
)
def test_a_law_refuses_what_breaks_it_by_its_name(name: str, run: type[Sound], message: str) -> None:
    text = found(BY_NAME[name], behind(Planted(run)), same)
    assert text.startswith(f"check_contract: law '{name}', upstream foreign: ")
    assert message in text


def test_a_law_refuses_runs_that_share_state() -> None:
    def counted(elements: list[Any]) -> list[int]:
        return [*range(1, len(elements) + 1)]

    shared = SharesState()
    text = found(BY_NAME["two runs share nothing"], behind(shared), counted)
    assert text.startswith("check_contract: law 'two runs share nothing', upstream foreign: for [")


def test_no_law_is_without_a_planted_fault() -> None:
    assert FAULTS.keys() | {"two runs share nothing"} == BY_NAME.keys()


@pytest.mark.parametrize("form", Form, ids=lambda form: form.name.lower())
def test_a_sound_operator_passes(form: Form) -> None:
    check_contract(behind(Planted(Sound)), same, st.integers(0, 9), forms=[form])


def test_what_is_stated_is_allowed() -> None:
    check_contract(
        behind(Planted(ReadsAhead)),
        same,
        st.integers(0, 9),
        Promise(ahead=1),
        forms=[Form.FOREIGN],
        laws=[BY_NAME["reads no more than it states"]],
    )


def test_all_laws_and_paths_that_fail_are_said() -> None:
    with pytest.raises(VerificationError) as caught:
        check_contract(
            behind(Planted(HoldsTheCompletionBack)),
            same,
            st.integers(0, 9),
            forms=[Form.FOREIGN, Form.SUBJECT],
            laws=[BY_NAME["an end needs no demand"], BY_NAME["the end comes with the last element"]],
            patience=0.2,
        )
    lines = str(caught.value).splitlines()
    assert [line.split(":")[1] for line in lines] == [
        " law 'an end needs no demand', upstream foreign",
        " law 'the end comes with the last element', upstream foreign",
        " law 'an end needs no demand', upstream a subject",
        " law 'the end comes with the last element', upstream a subject",
    ]


def test_elements_that_are_all_the_same_show_nothing() -> None:
    with pytest.raises(ValueError, match=r"^check_contract: elements must have several values, got \[1\]$"):
        check_contract(same, same, st.just(1))  # type: ignore[arg-type]
