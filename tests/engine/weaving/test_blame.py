"""blame: an error keeps its type and says which operator, which function and which line it came from."""

from __future__ import annotations

import traceback
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from penstock import Stream
from penstock.engine.weaving.segment import no_element
from tests.engine.parts import FORMS, Items, ended, noop


class Lost(Exception):
    """Be an error that only these tests raise."""


def lose(*_: object) -> Any:
    raise Lost("lost")


LINE = lose.__code__.co_firstlineno
WHERE = f"test_blame.py:{LINE}"

STAGES: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "map": lambda stream: stream.map(lose),
    "filter": lambda stream: stream.filter(lose),
    "flat_map": lambda stream: stream.flat_map(lose),
    "scan": lambda stream: stream.scan(lose, 0),
    "stateful_map": lambda stream: stream.stateful_map(lose, int),
    "take_while": lambda stream: stream.take_while(lose),
    "drop_repeats": lambda stream: stream.drop_repeats(lose),
    "tap": lambda stream: stream.tap(lose),
    "reduce": lambda stream: stream.reduce(lose),
}
JOINTS: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "flat_map": lambda stream: stream.flat_map(lose, concurrency=1),
    "map_async": lambda stream: stream.map_async(lose),
    "tap": lambda stream: stream.tap(lose, on_complete=noop),
    "on_error_resume": lambda _: Stream.error(KeyError("first")).on_error_resume(lose),
    "defer": lambda _: Stream.defer(lose),
    "create": lambda _: Stream.create(lose),
    "generate": lambda _: Stream.generate(0, lose),
}


def failure(stream: Stream[Any]) -> Exception:
    error = ended(stream).error
    assert error is not None
    return error


@pytest.mark.parametrize("form", ["sync", "async"])
@pytest.mark.parametrize("operator", STAGES)
def test_a_stage_over_a_source(operator: str, form: str) -> None:
    stream = FORMS[form](Items(3)).skip(1)
    error = failure(STAGES[operator](stream).take(5))
    assert repr(error) == "Lost('lost')"
    assert error.__notes__ == [f"in {operator}(lose), step 2 of 3, {WHERE}"]


@pytest.mark.parametrize("form", ["fed", "chunked", "fed async"])
@pytest.mark.parametrize("operator", STAGES)
def test_a_stage_behind_a_joint(operator: str, form: str) -> None:
    error = failure(STAGES[operator](FORMS[form](Items(3)).skip(1)).take(5))
    assert repr(error) == "Lost('lost')"
    assert error.__notes__ == [f"in {operator}(lose), step 3 of 4, {WHERE}"]


@pytest.mark.parametrize("operator", STAGES)
def test_a_stage_where_it_is_iterated(operator: str) -> None:
    with pytest.raises(Lost) as found:
        list(STAGES[operator](Stream.range(3)))
    assert found.value.__notes__ == [f"in {operator}(lose), step 1 of 1, {WHERE}"]


@pytest.mark.parametrize("operator", JOINTS)
def test_a_function_that_signals_need(operator: str) -> None:
    error = failure(JOINTS[operator](Stream.range(3)))
    assert repr(error) == "Lost('lost')"
    assert error.__notes__ == [f"in {operator}(lose), {WHERE}"]


@pytest.mark.parametrize("place", [1, 2, 249, 250, 251, 252, 500])
def test_one_of_many_stages(place: int) -> None:
    stream: Stream[Any] = Stream.range(3)
    for number in range(1, 501):
        stream = stream.map(lose if number == place else lambda n: n)
    assert failure(stream).__notes__ == [f"in map(lose), step {place} of 500, {WHERE}"]


@pytest.mark.parametrize("place", [1, 8, 9, 10, 20])
def test_one_of_many_nested_loops(place: int) -> None:
    stream: Stream[Any] = Stream.range(3)
    for number in range(1, 21):
        stream = stream.flat_map(lose if number == place else lambda n: (n,))
    assert failure(stream).__notes__ == [f"in flat_map(lose), step {place} of 20, {WHERE}"]


def test_an_element_of_an_inner_iterable_names_the_step_that_made_it() -> None:
    error = failure(Stream.range(3).flat_map(lambda _: (1, None)))
    assert repr(error) == repr(no_element())
    assert error.__notes__[0].startswith("in flat_map(test_an_element_of_an_inner_iterable_names_")


def test_the_source() -> None:
    error = failure(Stream.from_iterable(Items(2, next=Lost("source"))).map(str).take(5))
    assert repr(error) == "Lost('source')"
    assert error.__notes__ == ["in the source"]


def test_the_innermost_chain_is_named() -> None:
    inner = Stream.range(3).map(lose)
    error = failure(Stream.range(3).flat_map(lambda _: inner).map(str).do_finally(noop).map(str))
    assert error.__notes__ == [f"in map(lose), step 1 of 1, {WHERE}"]


def test_one_error_that_is_raised_twice_is_noted_once() -> None:
    error = Lost("again")

    def raise_it(_: object) -> object:
        raise error

    stream = Stream.range(3).map(raise_it)
    assert failure(stream) is error
    assert failure(stream) is error
    assert len(error.__notes__) == 1


class Parser:
    def __call__(self, _: object) -> object:
        raise Lost("called")

    def method(self, _: object) -> object:
        raise Lost("method")


@pytest.mark.parametrize(
    ("fn", "name"),
    [
        (partial(lose, 1), f"lose), step 1 of 1, {WHERE}"),
        (partial(partial(lose, 1), 2), f"lose), step 1 of 1, {WHERE}"),
        (Parser(), "Parser), step 1 of 1"),
        (Parser().method, f"Parser.method), step 1 of 1, test_blame.py:{Parser.method.__code__.co_firstlineno}"),
        (int, "int), step 1 of 1"),
    ],
)
def test_callables_of_all_kinds_have_names(fn: Any, name: str) -> None:
    error = failure(Stream.just("x").map(fn))
    assert error.__notes__ == [f"in map({name}"]


def test_the_traceback_shows_the_users_line_and_the_loops_line() -> None:
    error = failure(Stream.range(3).map(lose))
    text = "".join(traceback.format_exception(error))
    assert 'raise Lost("lost")' in text
    assert "v = c0_fn(v)" in text
    assert text.rstrip().endswith(f"in map(lose), step 1 of 1, {WHERE}")


def test_an_error_is_terminal_however_the_loop_was_made() -> None:
    """A map object could go on after an error and a generator could not; no run does."""
    seen: list[int] = []

    def fail_once(n: int) -> int:
        seen.append(n)
        if n == 1:
            raise Lost("once")
        return n

    for form in FORMS:
        seen.clear()
        probe = ended(FORMS[form](Items(5)).map(fail_once), 5)
        assert probe.elements == [0]
        assert repr(probe.error) == "Lost('once')"
        probe.request(5)
        assert seen == [0, 1]
