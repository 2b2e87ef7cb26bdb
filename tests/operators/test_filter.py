"""filter: the elements for which the predicate is true, in order."""

from __future__ import annotations

import asyncio
import pickle
from functools import partial
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.filter import Filter
from penstock.testing import Form, ManualPublisher, Probe, check_joint, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def odd(n: int) -> int:
    return n % 2


def test_laws() -> None:
    check_stage(Filter(odd), lambda xs: [x for x in xs if x % 2], st.integers(0, 9))


def test_refuses_what_cannot_be_called() -> None:
    with pytest.raises(TypeError, match=r"^filter: predicate must be callable, got 'odd'$"):
        Stream.range(3).filter("odd")  # type: ignore[arg-type]


@each_form
def test_any_true_value_counts(form: Form) -> None:
    assert list(over(form, "", "a", [], [0]).filter(lambda value: value)) == ["a", [0]]


@each_form
def test_a_predicate_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, "a").filter(odd))
    assert type(error) is TypeError
    assert notes(error) == [f"in filter(odd), step 1 of 1, {place(odd)}"]


@each_form
def test_a_leaked_stop_iteration_is_an_error_not_an_end(form: Form) -> None:
    def leak(n: int) -> bool:
        return next(iter(()))

    name = leak.__qualname__.replace("<locals>.", "")
    error = failure_of(over(form, 1, 2).filter(leak))
    assert str(error) == f"filter({name}): the function raised StopIteration; that is an error, not an end"


def test_replaces_a_rejected_element_by_asking_for_one_more() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).filter(odd), 2)
    assert upstream.requested == 2
    upstream.next(0, 2)
    assert upstream.requested == 4
    upstream.next(1, 3)
    assert probe.elements == [1, 3]
    assert upstream.requested == 4


def test_a_cancel_stops_a_run_that_rejects_everything() -> None:
    seen: list[int] = []

    def reject(n: int) -> bool:
        seen.append(n)
        if n == 5:
            probe.cancel()
        return False

    probe: Probe[Any] = Probe(1)
    Stream.generate(0, lambda n: (n, n + 1)).filter(reject).subscribe(probe)
    assert seen == [0, 1, 2, 3, 4, 5]
    assert probe.signals == []


# A predicate that is awaited.


async def oddly(n: int) -> int:
    await asyncio.sleep(0)
    return n % 2


async def above(least: int, n: int) -> bool:
    return n > least


class Even:
    """A predicate that is an object."""

    async def __call__(self, n: int) -> bool:
        return n % 2 == 0


@pytest.mark.parametrize("concurrency", [None, 1, 3])
def test_laws_of_an_asynchronous_predicate(concurrency: int | None) -> None:
    check_joint(
        lambda stream: stream.filter(oddly, concurrency=concurrency),
        lambda xs: [n for n in xs if n % 2],
        st.integers(),
        examples=6,
    )


def test_a_coroutine_function_is_known_in_every_form() -> None:
    assert list(Stream.range(5).filter(oddly)) == [1, 3]
    assert list(Stream.range(5).filter(partial(above, 2))) == [3, 4]
    assert list(Stream.range(5).filter(Even())) == [0, 2, 4]


def test_with_concurrency_any_function_is_awaited() -> None:
    assert list(Stream.range(5).filter(lambda n: oddly(n), concurrency=2)) == [1, 3]
    error = failure_of(Stream.range(1).filter(odd, concurrency=2))
    assert str(error) == "filter: fn must return an awaitable, got 0"


def test_a_rejected_element_is_replaced_when_it_is_awaited_too() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()

    async def main() -> list[int]:
        probe = subscribed(Stream.from_publisher(upstream).filter(oddly, concurrency=2), 1)
        upstream.next(0, 2, 4, 6)
        while upstream.requested < 8:
            await asyncio.sleep(0)
        upstream.next(1)
        while not probe.elements:
            await asyncio.sleep(0)
        probe.cancel()
        return probe.elements

    assert asyncio.run(main()) == [1]


def test_an_asynchronous_predicate_that_raises_is_named() -> None:
    async def refuse(n: int) -> bool:
        raise ValueError(f"not {n}")

    error = failure_of(Stream.just(1).filter(refuse))
    assert str(error) == "not 1"
    assert notes(error) == [
        f"in filter({refuse.__qualname__.replace('<locals>.', '')}), {place(refuse)}",
    ]


def test_refuses_a_concurrency_below_one() -> None:
    with pytest.raises(ValueError, match=r"^filter: concurrency must be >= 1, got 0$"):
        Stream.range(3).filter(oddly, concurrency=0)


def test_an_asynchronous_filter_is_pickled() -> None:
    stream = Stream.range(5).filter(oddly, concurrency=2)
    assert pickle.loads(pickle.dumps(stream)) == stream
