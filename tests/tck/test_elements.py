"""Elements of any kind are compared where they can be, and a sound subject passes whatever its elements are."""

from __future__ import annotations

import random
from collections.abc import Callable
from typing import Any

import pytest

from penstock.tck import Report, Status, verify_processor, verify_publisher, verify_pull_source, verify_subscriber
from penstock.tck.elements import alike, same
from penstock.tck.environment import NotApplicable
from tests.tck.processor.broken_processors_sound import Relay
from tests.tck.publisher.correct_publishers import SyncPublisher, SyncRun, numbers
from tests.tck.pull.broken_pull_sound import Supply
from tests.tck.subscriber.broken_subscribers import PROMPT
from tests.tck.subscriber.broken_subscribers_sound import Sound


class Odd:
    def __init__(self, number: int) -> None:
        self.number = number


class Incomparable(Odd):
    def __eq__(self, other: object) -> bool:
        raise RuntimeError("cannot be compared")

    __hash__ = None  # type: ignore[assignment]


class EqualByElement(Odd):
    """What is equal to another one in a way that is neither true nor false, as an array."""

    def __eq__(self, other: object) -> Any:
        return self

    def __bool__(self) -> bool:
        raise ValueError("neither true nor false")

    __hash__ = None  # type: ignore[assignment]


class EqualToNothing(Odd):
    def __eq__(self, other: object) -> bool:
        return False

    __hash__ = None  # type: ignore[assignment]


class Unspeakable(Odd):
    def __repr__(self) -> str:
        raise RuntimeError("cannot be shown")


ODD = [Incomparable, EqualByElement, EqualToNothing, Unspeakable, lambda number: float("nan")]


def test_an_element_is_the_same_as_itself_however_it_compares() -> None:
    for make in ODD:
        element = make(1)
        assert same(element, element)
    assert same(1, 1.0)
    assert not same(1, 2)


def test_what_cannot_be_compared_is_said() -> None:
    with pytest.raises(NotApplicable, match=r"^its elements cannot be compared: RuntimeError\('cannot be compared'\)$"):
        alike([Incomparable(1)], [Incomparable(1)])


def test_lists_are_alike_that_hold_the_same() -> None:
    assert alike([1, 2], [1, 2])
    assert not alike([1, 2], [1])
    assert not alike([1, 2], [2, 1])


def publisher_of(make: Callable[[int], Any]) -> Report:
    class Made(SyncRun):
        def send(self, element: int) -> None:
            super().send(make(element))

    class Publisher(SyncPublisher):
        run = Made

    return verify_publisher(lambda count: Publisher(numbers(count)), limits=PROMPT)


def pull_source_of(make: Callable[[int], Any]) -> Report:
    class Source(Supply):
        def next(self) -> None:
            if self.waiting and self.end is None and self.given != self.count:
                answer = self.waiting.popleft()
                self.waiting.appendleft(lambda end, value=None: answer(end, make(value)))
            super().next()

    return verify_pull_source(Source, limits=PROMPT)


SOUND = {
    "publisher": publisher_of,
    "subscriber": lambda make: verify_subscriber(Sound, element=make, limits=PROMPT),
    "processor": lambda make: verify_processor(Relay, element=make, limits=PROMPT),
    "pull source": pull_source_of,
}


@pytest.mark.parametrize("make", ODD, ids=lambda make: make.__name__)
@pytest.mark.parametrize("kind", SOUND)
def test_a_sound_subject_passes_whatever_its_elements_are(kind: str, make: Callable[[int], Any]) -> None:
    assert SOUND[kind](make).failed == ()


def test_a_pull_source_passes_whose_values_are_drawn_by_chance() -> None:
    chance = random.Random(7)
    report = pull_source_of(lambda number: chance.random())
    assert report.failed == ()
    values = report.outcome("pull_source.values_do_not_depend_on_asking")
    assert (values.status, values.detail) == (Status.NOT_APPLICABLE, "its values differ from run to run")
