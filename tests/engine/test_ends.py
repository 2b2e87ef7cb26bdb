"""ends: the end comes with the last element where it is known, the source is closed once, iterators serve once."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterable
from typing import Any

import pytest

from penstock import PenstockError, Stream, inline, thread
from penstock.testing import Probe, subscribed
from tests.engine.parts import FORMS, Items, ended, noop

SIZED: dict[str, Iterable[Any]] = {
    "list": [0, 1, 2],
    "tuple": (0, 1, 2),
    "range": range(3),
    "string": "012",
    "bytes": b"012",
    "dict": {0: "a", 1: "b", 2: "c"},
    "set": {0, 1, 2},
}
ONE_FOR_ONE: dict[str, Callable[[Stream[Any]], Stream[Any]]] = {
    "nothing": lambda stream: stream,
    "map": lambda stream: stream.map(lambda n: n),
    "a filter that lets it pass": lambda stream: stream.filter(lambda _: True),
    "many stages": lambda stream: stream.map(lambda n: n).enumerate().skip(0).tap(noop).scan(lambda _, n: n, 0),
    "a joint": lambda stream: stream.do_finally(noop),
    "joints and stages": lambda stream: stream.map(lambda n: n).do_finally(noop).map(lambda n: n).do_finally(noop),
    "an inline boundary": lambda stream: stream.publish_on(inline()),
    "merge": lambda stream: stream.do_finally(noop).merge(Stream.empty()),
}


@pytest.mark.parametrize("after", ONE_FOR_ONE)
@pytest.mark.parametrize("kind", SIZED)
def test_a_sized_source_completes_with_its_last_element(kind: str, after: str) -> None:
    probe = subscribed(ONE_FOR_ONE[after](Stream.from_iterable(SIZED[kind])), 3)
    assert len(probe.elements) == 3
    assert probe.completed


@pytest.mark.parametrize("after", ONE_FOR_ONE)
def test_it_completes_as_well_when_asked_one_by_one(after: str) -> None:
    probe = subscribed(ONE_FOR_ONE[after](Stream.range(3)))
    for seen in (1, 2, 3):
        assert not probe.ended
        probe.request(1)
        assert len(probe.elements) == seen
    assert probe.completed


@pytest.mark.parametrize("after", ONE_FOR_ONE)
@pytest.mark.parametrize("form", FORMS)
def test_take_completes_with_its_last_element(form: str, after: str) -> None:
    items = Items()
    probe = subscribed(ONE_FOR_ONE[after](FORMS[form](items).take(3)), 3)
    assert probe.wait_for_end() == probe.elements
    assert len(probe.elements) == 3
    assert items.closed == 1
    if form in {"sync", "fed", "nested"}:
        assert items.taken == 3


@pytest.mark.parametrize("form", FORMS)
def test_take_none_completes_without_a_request_and_without_the_source(form: str) -> None:
    items = Items()
    probe = subscribed(FORMS[form](items).take(0))
    probe.wait_for_end()
    assert probe.completed
    if form != "chunked":
        assert items.taken == 0


@pytest.mark.parametrize("form", FORMS)
def test_first_completes_with_its_element(form: str) -> None:
    items = Items()
    probe = subscribed(FORMS[form](items).first(), 1)
    assert probe.wait_for_end() == [0]
    assert items.closed == 1


@pytest.mark.parametrize("end", ["empty", "error"])
@pytest.mark.parametrize("after", ONE_FOR_ONE)
def test_a_source_without_elements_ends_without_a_request(after: str, end: str) -> None:
    probe = subscribed(ONE_FOR_ONE[after](Stream.empty() if end == "empty" else Stream.error(KeyError("lost"))))
    assert probe.completed is (end == "empty")
    assert repr(probe.error) == ("None" if end == "empty" else "KeyError('lost')")


def test_a_list_that_grows_while_it_is_read_is_read_to_its_end() -> None:
    items = [0]
    probe = subscribed(Stream.from_iterable(items).tap(lambda n: items.append(n + 1) if n < 3 else None), 4)
    assert probe.elements == [0, 1, 2, 3]
    assert probe.completed


def test_a_dict_that_changes_while_it_is_read_fails() -> None:
    numbers = {0: "a", 1: "b"}
    probe = ended(Stream.from_iterable(numbers).tap(lambda _: numbers.update({len(numbers): "c"})))
    assert repr(probe.error) == "RuntimeError('dictionary changed size during iteration')"


def test_what_is_left_when_the_source_ends_waits_for_demand() -> None:
    probe = subscribed(Stream.range(5).buffer(2), 2)
    assert probe.elements == [[0, 1], [2, 3]]
    assert not probe.ended
    probe.request(1)
    assert probe.elements[2:] == [[4]]
    assert probe.completed


ENOUGH: dict[str, Callable[[Stream[Any]], Stream[Any]]] = {
    "all": lambda stream: stream.all(lambda _: False),
    "any": lambda stream: stream.any(lambda _: True),
    "contains": lambda stream: stream.contains(0, equal=lambda *_: True),
    "is_empty": lambda stream: stream.is_empty(),
    "first": lambda stream: stream.first(),
    "element_at": lambda stream: stream.element_at(1),
    "take": lambda stream: stream.take(2),
    "take_while": lambda stream: stream.take_while(lambda _: False),
}


@pytest.mark.parametrize("enough", ENOUGH)
@pytest.mark.parametrize("form", FORMS)
def test_who_has_enough_of_what_is_added_at_the_end_hides_no_end(form: str, enough: str) -> None:
    """What is left of it is read no more, so a result of one value comes with the end."""
    probe = subscribed(ENOUGH[enough](FORMS[form](Items(3)).take_last(3)).count(), 1)
    probe.wait_for_end()
    assert len(probe.elements) == 1
    assert probe.completed


@pytest.mark.parametrize("form", FORMS)
def test_one_value_comes_with_the_end(form: str) -> None:
    probe = subscribed(FORMS[form](Items(5)).count(), 1)
    assert probe.wait_for_end() == [5]


def test_a_long_tail_is_held_one_by_one_on_a_flat_stack() -> None:
    """What is found when the end is looked for is put back; that must not nest."""
    probe = subscribed(many_buffers(Stream.range(1), 40))
    for _ in range(3):
        probe.request(1)
    assert probe.completed


def many_buffers(stream: Stream[Any], count: int) -> Stream[Any]:
    for _ in range(count):
        stream = stream.buffer(2)
    return stream


# Closing.

EXITS = ("completion", "error in the source", "error in a function", "cancel", "end below", "subscriber raises")


@pytest.mark.parametrize("way", EXITS)
@pytest.mark.parametrize("form", FORMS)
def test_the_source_is_closed_exactly_once(form: str, way: str, dropped: list[Any]) -> None:
    items = Items(5, **({"next": KeyError("lost")} if way == "error in the source" else {}))
    stream: Stream[Any] = FORMS[form](items)
    if way == "error in a function":
        stream = stream.map(lambda n: 1 // (n - 2))
    if way == "end below":
        stream = stream.take(2)
    probe: Probe[int] = Probe(2)
    if way == "subscriber raises":
        probe._on_signal = raises
    stream.subscribe(probe)
    if way == "subscriber raises":
        probe.wait_for(1)
    elif way == "cancel":
        probe.wait_for(2)
        probe.cancel()
        probe.cancel()
    else:
        if not probe.ended:
            probe.request(10)
        probe.wait_for_end()
    wait_for_close(items)
    assert (items.opened, items.closed) == (1, 1)
    if way == "subscriber raises":
        assert [entry.what for entry in dropped] == ["rule 2.13: the subscriber raised in on_next"]
        dropped.clear()


def raises(_: object) -> None:
    raise ArithmeticError("subscriber")


def wait_for_close(items: Items) -> None:
    """Come back once the event loop has closed what it has to close: its thread ends after that."""
    import threading

    for each in threading.enumerate():
        if each.name == "penstock-loop" and not items.closed:
            each.join(10.0)


@pytest.mark.parametrize("way", ["to the end", "break", "error"])
@pytest.mark.parametrize("form", FORMS)
def test_the_source_of_a_loop_is_closed_exactly_once(form: str, way: str) -> None:
    items = Items(5)
    try:
        for n in FORMS[form](items).map(lambda n: n):
            if way == "break":
                break
            if way == "error":
                1 // n
    except ZeroDivisionError:
        assert way == "error"
    wait_for_close(items)
    assert (items.opened, items.closed) == (1, 1)


def test_a_source_that_was_never_asked_is_never_opened() -> None:
    items = Items(5)
    probe = subscribed(Stream.from_iterable(items).map(str))
    probe.cancel()
    assert (items.opened, items.closed) == (0, 0)


@pytest.mark.parametrize("form", ["sync", "fed", "nested"])
def test_the_source_is_closed_before_the_end_is_signalled(form: str) -> None:
    items = Items(2)
    closed: list[int] = []
    probe: Probe[int] = Probe(5, on_signal=lambda _: closed.append(items.closed))
    FORMS[form](items).subscribe(probe)
    assert probe.completed
    assert closed[-1] == 1


@pytest.mark.parametrize("way", ["completion", "cancel", "error"])
def test_a_source_that_fails_to_close(way: str, dropped: list[Any]) -> None:
    items = Items(2, close=OSError("stuck"))
    stream = Stream.from_iterable(items).map(lambda n: 1 // (1 - n) if way == "error" else n)
    probe = subscribed(stream, 1)
    if way == "cancel":
        probe.cancel()
        assert not probe.ended
    else:
        probe.request(5)
        expected = "OSError('stuck')" if way == "completion" else "ZeroDivisionError"
        assert repr(probe.error).startswith(expected)
    assert items.closed == 1
    if way != "completion":
        assert [(entry.what, repr(entry.error)) for entry in dropped] == [
            ("the source failed to close", "OSError('stuck')")
        ]
        dropped.clear()


# One-shot iterators.


async def letters() -> AsyncIterator[str]:
    yield "a"


ONE_SHOT: dict[str, Callable[[], Stream[Any]]] = {
    "from_iterable": lambda: Stream.from_iterable(iter(["a"])),
    "from_iterable ": lambda: Stream.from_iterable(letter for letter in "a"),
    "from_async_iterable": lambda: Stream.from_async_iterable(letters()),
}


@pytest.mark.parametrize("kind", ONE_SHOT)
def test_an_iterator_serves_one_subscriber(kind: str) -> None:
    stream = ONE_SHOT[kind]()
    assert ended(stream).elements == ["a"]
    second = ended(stream).error
    assert type(second) is PenstockError
    assert str(second) == (
        f"{kind.strip()}: this iterator was taken by an earlier subscriber; "
        "pass a collection, or make one per run with Stream.defer"
    )
    with pytest.raises(PenstockError, match=r"^\w+: this iterator was taken by an earlier subscriber; "):
        list(stream)


def test_a_subscriber_that_never_asked_has_not_taken_the_iterator() -> None:
    stream = Stream.from_iterable(iter([1]))
    subscribed(stream).cancel()
    assert list(stream) == [1]


def test_two_threads_cannot_take_the_same_iterator() -> None:
    stream = Stream.from_iterable(iter(range(100))).subscribe_on(thread())
    probes = [subscribed(stream, 100) for _ in range(8)]
    for probe in probes:
        probe.wait_for_end()
    assert sorted(len(probe.elements) for probe in probes) == [0] * 7 + [100]
