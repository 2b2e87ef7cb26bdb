"""for_each: a function is called with each element, and their number is the result."""

from __future__ import annotations

import asyncio

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.operators.for_each import ForEach
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def test_laws() -> None:
    check_stage(ForEach(str), lambda xs: [len(xs)], st.integers())


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^for_each: fn must be callable, got 0$"):
        Stream.range(3).for_each(0)  # type: ignore[arg-type]


def test_asks_for_everything() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).for_each(str))
    assert upstream.requests == []
    probe.request(1)
    assert upstream.requests == [UNBOUNDED]


@each_form
def test_completes_with_its_element_without_another_request(form: Form) -> None:
    probe = subscribed(over(form, 1, 2, 3).for_each(str))
    probe.request(1)
    assert probe.wait_for_end() == [3]
    assert probe.completed


@each_form
def test_the_function_is_called_in_order_once_the_stream_is_run(form: Form) -> None:
    seen: list[int] = []
    stream = over(form, 1, 2, 3).for_each(seen.append)
    assert seen == []
    assert stream.get() == 3
    assert seen == [1, 2, 3]


def test_it_may_be_awaited() -> None:
    seen: list[int] = []

    async def main() -> int:
        return await Stream.range(3).for_each(seen.append)

    assert asyncio.run(main()) == 3
    assert seen == [0, 1, 2]


def inverse(n: int) -> float:
    return 1 / n


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 2, 0).for_each(inverse))
    assert type(error) is ZeroDivisionError
    assert notes(error) == [f"in for_each(inverse), step 1 of 1, {place(inverse)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> object:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).for_each(leak))
    assert str(error) == f"for_each({name}): the function raised StopIteration; that is an error, not an end"


# A function that is awaited.


@pytest.mark.parametrize("concurrency", [None, 1, 3])
def test_an_asynchronous_function_is_awaited_for_each_element(concurrency: int | None) -> None:
    seen: list[int] = []

    async def note(n: int) -> None:
        await asyncio.sleep(0)
        seen.append(n)

    assert Stream.range(10).for_each(note, concurrency=concurrency).get() == 10
    assert sorted(seen) == list(range(10))


class NeitherTrueNorFalse:
    def __bool__(self) -> bool:
        raise ValueError("ambiguous")


def test_what_an_asynchronous_function_returns_is_left_alone() -> None:
    async def rows(n: int) -> NeitherTrueNorFalse:
        return NeitherTrueNorFalse()

    assert Stream.range(3).for_each(rows).get() == 3


def test_one_after_the_other_where_nothing_else_is_said() -> None:
    seen: list[str] = []

    async def note(n: int) -> None:
        seen.append(f"{n} begins")
        await asyncio.sleep(0)
        seen.append(f"{n} ends")

    assert Stream.range(2).for_each(note).get() == 2
    assert seen == ["0 begins", "0 ends", "1 begins", "1 ends"]


def test_what_it_works_on_is_bounded() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()

    async def never(n: int) -> None:
        await asyncio.Event().wait()

    async def main() -> int:
        probe = subscribed(Stream.from_publisher(upstream).for_each(never, concurrency=3), 1)
        upstream.next(*range(6))
        for _ in range(20):
            await asyncio.sleep(0)
        probe.cancel()
        return upstream.requested

    assert asyncio.run(main()) == 6


def test_an_asynchronous_function_that_raises_is_named() -> None:
    async def refuse(n: int) -> None:
        raise ValueError(f"not {n}")

    error = failure_of(Stream.just(1).for_each(refuse))
    assert notes(error) == [f"in for_each({refuse.__qualname__.replace('<locals>.', '')}), {place(refuse)}"]


def test_refuses_a_concurrency_below_one() -> None:
    with pytest.raises(ValueError, match=r"^for_each: concurrency must be >= 1, got 0$"):
        Stream.range(3).for_each(print, concurrency=0)
