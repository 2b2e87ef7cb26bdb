"""extend: operators of the user: what `apply` and `from_source` take, and how one is measured."""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st

from penstock import Stream, set_on_dropped, thread
from penstock.extend import Body, Joint, JointRelay, LoopGate, Opener, Source, Stage
from penstock.spec.interfaces import Subscriber
from penstock.testing import (
    Probe,
    Speed,
    Tracked,
    VerificationError,
    check_contract,
    check_source,
    check_stage,
    compare_speed,
)


@dataclass(frozen=True, slots=True)
class Doubled(Stage[int, int]):
    """Double each number."""

    loop: ClassVar[Body] = Body("v = v * 2")


@dataclass(frozen=True, slots=True)
class WithoutOdd(Joint[int, int]):
    """Leave odd numbers out, and stop at a negative one."""

    def open(self, downstream: Subscriber[int], /) -> Subscriber[int]:
        return _WithoutOddRun(downstream).entrance


class _WithoutOddRun(JointRelay[int, int]):
    def on_element(self, element: int) -> None:
        if element < 0:
            self.end(cancel=True)
        elif element % 2:
            self.left_out()
        else:
            self.deliver(element)


@dataclass(frozen=True, slots=True)
class Twice(Source[str]):
    """Emit a word twice."""

    word: str

    def opener(self) -> Opener[str]:
        return self._open

    def _open(self, gate: LoopGate | None) -> Iterator[str]:
        yield self.word
        yield self.word


def test_a_stage_of_the_user_keeps_the_laws() -> None:
    check_stage(Doubled(), lambda numbers: [n * 2 for n in numbers], st.integers())
    check_contract(lambda numbers: numbers.apply(Doubled()), lambda numbers: [n * 2 for n in numbers], st.integers())


def test_a_joint_of_the_user_keeps_the_laws() -> None:
    check_contract(
        lambda numbers: numbers.apply(WithoutOdd()),
        lambda numbers: [n for n in numbers if not n % 2],
        st.integers(0, 9),
    )
    assert list(Stream.just(2, 3, 4, -1, 6).apply(WithoutOdd())) == [2, 4]


def test_a_source_of_the_user_keeps_the_laws() -> None:
    check_source(lambda: Stream.from_source(Twice("a")), ["a", "a"])
    assert list(Stream.from_source(Twice("b")).publish_on(thread())) == ["b", "b"]


def test_an_error_names_the_operator_of_the_user() -> None:
    with pytest.raises(TypeError) as caught:
        list(Stream.just(1, {}).apply(Doubled()))  # type: ignore[arg-type]
    assert any("doubled" in note for note in caught.value.__notes__)


@pytest.mark.parametrize("step", [None, abs, Twice("a")])
def test_apply_refuses_what_is_no_step(step: Any) -> None:
    message = f"apply: step must be a Stage or a Joint, got {step!r}; use via for"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        Stream.range(3).apply(step)


def test_apply_of_a_class_says_what_is_missing() -> None:
    with pytest.raises(TypeError, match=r"^apply: step must be .*, got the class Doubled; make one of it$"):
        Stream.range(3).apply(Doubled)  # type: ignore[arg-type]


def test_a_joint_that_opens_no_subscriber_is_named() -> None:
    @dataclass(frozen=True)
    class Wrong(Joint[int, int]):
        def open(self, downstream: Subscriber[int], /) -> Subscriber[int]:
            return _WithoutOddRun(downstream)  # type: ignore[return-value]

    with pytest.raises(
        TypeError, match=r"^Wrong\.open must return a Subscriber, got .*; of a relay it is its entrance$"
    ):
        list(Stream.range(3).apply(Wrong()))


def test_the_laws_say_that_a_joint_loses_an_element_in_place_of_waiting_for_ever() -> None:
    class Loses(JointRelay[int, int]):
        def on_element(self, element: int) -> None:
            pass

    @dataclass(frozen=True)
    class Losing(Joint[int, int]):
        def open(self, downstream: Subscriber[int], /) -> Subscriber[int]:
            return Loses(downstream).entrance

    with pytest.raises(VerificationError, match=r"more elements or the end"):
        check_contract(lambda s: s.apply(Losing()), lambda xs: xs, st.integers(), patience=0.05)


@pytest.mark.parametrize("source", [None, [1, 2], Doubled(), Twice])
def test_from_source_refuses_what_is_no_source(source: Any) -> None:
    message = f"from_source: source must be a Source, got {source!r}; use from_iterable"
    with pytest.raises(TypeError, match=f"^{re.escape(message)}"):
        Stream.from_source(source)


def test_a_comparison_says_what_an_element_costs() -> None:
    speed = compare_speed(
        lambda xs: Stream.from_iterable(xs).apply(Doubled()), lambda xs: (x * 2 for x in xs), range(100), rounds=2
    )
    assert speed.stream > 0
    assert speed.by_hand > 0
    assert str(Speed(3e-8, 2e-8)) == "30 ns an element, 1.50x of the 20 ns by hand"


@pytest.mark.parametrize(
    ("by_hand", "message"),
    [
        (lambda xs: (x * 3 for x in xs), "result 1 is 2 and 3"),
        (lambda xs: (x * 2 for x in xs[:2]), "3 and 2 results"),
    ],
)
def test_a_comparison_refuses_what_gives_something_else(by_hand: Any, message: str) -> None:
    with pytest.raises(VerificationError, match=message):
        compare_speed(lambda xs: Stream.from_iterable(xs).apply(Doubled()), by_hand, range(3))


def test_a_comparison_needs_items_and_rounds() -> None:
    with pytest.raises(ValueError, match="at least one item"):
        compare_speed(list, list, [])
    with pytest.raises(ValueError, match="rounds must be >= 1"):
        compare_speed(list, list, [1], rounds=0)


class _Faulty(JointRelay[int, int]):
    """A relay one of whose methods raises."""

    def __init__(self, where: str, downstream: Subscriber[int]) -> None:
        super().__init__(downstream)
        self._where = where

    def _look(self, where: str) -> None:
        if where == self._where:
            raise KeyError(where)

    def on_element(self, element: int) -> None:
        self._look("element")
        self.deliver(None if self._where == "none" else element)

    def on_end(self) -> None:
        self._look("end")
        super().on_end()

    def on_failure(self, error: Exception) -> None:
        self._look("failure")
        super().on_failure(error)

    def on_request(self, n: int) -> None:
        self._look("request")


@dataclass(frozen=True, slots=True)
class Faulty(Joint[int, int]):
    """Raise somewhere."""

    where: str

    def open(self, downstream: Subscriber[int], /) -> Subscriber[int]:
        return _Faulty(self.where, downstream).entrance


@pytest.mark.parametrize("where", ["element", "end", "request"])
@pytest.mark.parametrize("taken", [list, lambda stream: list(stream.publish_on(thread())), lambda s: s.count().get()])
def test_what_a_joint_of_the_user_raises_arrives(where: str, taken: Any) -> None:
    opened = Tracked([1, 2])
    with pytest.raises(KeyError, match=where):
        taken(Stream.from_iterable(opened).apply(Faulty(where)))
    opened.wait_until_closed()


def test_what_a_joint_of_the_user_raises_at_a_failure_arrives() -> None:
    with pytest.raises(KeyError, match="failure"):
        list(Stream.error(ValueError("first")).apply(Faulty("failure")))


def test_a_joint_of_the_user_cannot_deliver_none() -> None:
    with pytest.raises(TypeError, match=r"^rule 2\.13: _Faulty\.deliver\(None\): None is not an element$"):
        list(Stream.range(3).apply(Faulty("none")))


def test_a_subscriber_that_raises_behind_a_joint_of_the_user_is_let_go() -> None:
    class Raises(Probe[int]):
        def on_next(self, element: int, /) -> None:
            raise KeyError("mine")

    found: list[Any] = []
    before = set_on_dropped(found.append)
    probe = Raises(5)
    Stream.range(3).apply(WithoutOdd()).subscribe(probe)
    set_on_dropped(before)
    assert not probe.ended
    assert [str(one.error) for one in found] == ["'mine'"]


def test_a_joint_that_hides_an_error_of_the_subscriber_still_fails_by_its_own() -> None:
    class Hides(JointRelay[int, int]):
        def on_element(self, element: int) -> None:
            if element == 1:
                raise KeyError("own")
            with contextlib.suppress(LookupError):
                self.deliver(element)

    @dataclass(frozen=True)
    class Hiding(Joint[int, int]):
        def open(self, downstream: Subscriber[int], /) -> Subscriber[int]:
            return Hides(downstream).entrance

    class Raises(Probe[int]):
        def on_next(self, element: int, /) -> None:
            raise LookupError("below")

    probe = Raises(5)
    Stream.range(3).apply(Hiding()).subscribe(probe)
    assert repr(probe.error) == "KeyError('own')"


@dataclass(frozen=True, slots=True)
class Nothing(Joint[int, int]):
    """A joint that was begun and not finished."""


@dataclass(frozen=True, slots=True)
class Nowhere(Source[int]):
    """A source that was begun and not finished."""


def test_what_was_not_finished_says_what_it_lacks() -> None:
    with pytest.raises(NotImplementedError, match=r"^Nothing: a Joint must have open\(downstream\)$"):
        list(Stream.range(3).apply(Nothing()))
    with pytest.raises(NotImplementedError, match=r"^Nowhere: a Source must have opener, async_opener or connect$"):
        list(Stream.from_source(Nowhere()))
