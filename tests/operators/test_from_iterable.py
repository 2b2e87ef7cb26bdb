"""from_iterable: the items of an iterable; an iterator serves one subscriber, anything else a fresh run to each."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock import PenstockError, Stream
from penstock.testing import Tracked, check_source, subscribed
from tests.operators.subjects import failure_of, notes


@pytest.mark.parametrize("items", [[1, 2, 3], (1, 2, 3), range(1, 4), {1: 0, 2: 0, 3: 0}, Tracked([1, 2, 3])])
def test_laws(items: object) -> None:
    check_source(lambda: Stream.from_iterable(items), [1, 2, 3], examples=10)  # type: ignore[arg-type]


def test_refuses_what_is_not_iterable() -> None:
    with pytest.raises(TypeError, match=r"^from_iterable: items must be an iterable, got 5$"):
        Stream.from_iterable(5)  # type: ignore[arg-type]


@pytest.mark.parametrize("items", [[1, 2], (1, 2), range(1, 3), "ab", b"ab", {1, 2}, {1: 1, 2: 2}])
def test_a_sized_source_completes_with_its_last_element(items: object) -> None:
    probe = subscribed(Stream.from_iterable(items), 2)  # type: ignore[arg-type]
    assert len(probe.elements) == 2
    assert probe.completed


def test_an_empty_collection_completes_without_a_request() -> None:
    assert subscribed(Stream.from_iterable([])).completed


def test_what_is_not_sized_is_not_asked_for_more_than_was_requested() -> None:
    items = Tracked([1, 2])
    probe = subscribed(Stream.from_iterable(items), 2)
    assert probe.elements == [1, 2]
    assert not probe.ended
    probe.request(1)
    assert probe.completed


def test_nothing_is_opened_before_the_first_request() -> None:
    items = Tracked([1])
    subscribed(Stream.from_iterable(items)).cancel()
    assert items.opened == 0


def test_an_iterator_refuses_a_second_subscriber() -> None:
    stream = Stream.from_iterable(iter([1, 2]))
    assert list(stream) == [1, 2]
    message = (
        "from_iterable: this iterator was taken by an earlier subscriber; pass a collection, or make one per run with "
        "Stream.defer"
    )
    error = failure_of(stream)
    assert type(error) is PenstockError
    assert str(error) == message


class Faulty:
    """Fail in one of the three places where an iterable can."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.closed = 0

    def __iter__(self) -> Iterator[int]:
        self._fail("iter")
        return self

    def __next__(self) -> int:
        self._fail("next")
        return 1

    def close(self) -> None:
        self.closed += 1
        self._fail("close")

    def _fail(self, where: str) -> None:
        if where == self.where:
            raise LookupError(f"failed in {where}")


class FaultyCollection:
    """Give out faulty iterators."""

    def __init__(self, where: str) -> None:
        self.where = where
        self.given: list[Faulty] = []

    def __iter__(self) -> Iterator[int]:
        self.given.append(Faulty(self.where))
        return iter(self.given[-1])


@pytest.mark.parametrize("where", ["iter", "next"])
def test_a_source_that_raises_fails_the_stream(where: str) -> None:
    error = failure_of(Stream.from_iterable(FaultyCollection(where)).map(str))
    assert repr(error) == f"LookupError('failed in {where}')"
    assert notes(error) == ["in the source"]


def test_a_source_that_raises_while_iterated_is_closed() -> None:
    items = FaultyCollection("next")
    failure_of(Stream.from_iterable(items))
    assert [one.closed for one in items.given] == [1]


def test_a_source_that_fails_to_close_after_a_cancel_is_reported(dropped: list[object]) -> None:
    probe = subscribed(Stream.from_iterable(FaultyCollection("close")), 1)
    probe.cancel()
    assert probe.elements == [1]
    assert [(one.what, repr(one.error)) for one in dropped] == [  # type: ignore[attr-defined]
        ("the source failed to close", "LookupError('failed in close')")
    ]
    dropped.clear()


def test_none_among_the_items_is_refused() -> None:
    error = failure_of(Stream.from_iterable([1, None]))
    assert type(error) is TypeError
    assert str(error).startswith("rule 2.13: None is not an element; ")


def test_a_generator_is_closed_on_cancel() -> None:
    log: list[str] = []

    def letters() -> Iterator[str]:
        try:
            yield "a"
            yield "b"
        finally:
            log.append("closed")

    probe = subscribed(Stream.from_iterable(letters()), 1)
    assert log == []
    probe.cancel()
    assert log == ["closed"]


def test_a_stream_is_given_back_so_that_a_thousand_in_each_other_are_one():
    stream: Stream[int] = Stream.just(1, 2)
    nested = stream
    for _ in range(1_000):
        nested = Stream.from_iterable(nested)
    assert nested is stream
    assert list(nested) == [1, 2]
