"""async_map and para_map work on values in their own time, in order or not, cancel or wait for it at an abort."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import pull
from tests.pull.parts import Asker, Upstream, collected, dropped, raising, refuses, values_of


class Works:
    """Keep what is under way, to be finished by hand."""

    def __init__(self):
        self.under_way = {}

    def __call__(self, value, finished):
        self.under_way[value] = finished

    def finish(self, value, error=None):
        self.under_way.pop(value)(error, f"made {value}")


def at_once(value, finished):
    finished(None, value)


MAKES = {
    "async_map": lambda fn: pull.async_map(fn),
    "para_map 1": lambda fn: pull.para_map(fn, 1),
    "para_map 3": lambda fn: pull.para_map(fn, 3),
    "para_map": lambda fn: pull.para_map(fn),
    "para_map unordered": lambda fn: pull.para_map(fn, 2, in_order=False),
}
each_make = pytest.mark.parametrize("make", MAKES.values(), ids=MAKES)


@each_make
def test_gives_what_the_function_makes(make):
    assert values_of(pull.values([3, 1, 2]), make(lambda value, finished: finished(None, value * 2))) == [6, 2, 4]
    assert values_of(pull.empty(), make(at_once)) == []


@settings(max_examples=50)
@given(order=st.permutations(range(5)), width=st.integers(1, 5), in_order=st.booleans())
def test_order_is_kept_unless_told_otherwise_and_never_more_than_width_are_held(order, width, in_order):
    works, most = Works(), 0
    asker = Asker(pull.pull(pull.count(4), pull.para_map(works, width, in_order=in_order))).ask(6)
    finished = []
    while works.under_way:
        most = max(most, len(works.under_way))
        value = next(value for value in order if value in works.under_way)
        finished.append(value)
        works.finish(value)
    assert most <= width
    assert asker.values == [f"made {value}" for value in (range(5) if in_order else finished)]
    assert asker.ends == [True]


def test_async_map_works_on_one_at_a_time_and_only_when_asked():
    works, upstream = Works(), Upstream()
    asker = Asker(pull.pull(upstream, pull.async_map(works))).ask()
    upstream.give("a")
    works.finish("a")
    assert asker.values == ["made a"]
    assert (upstream.waiting, works.under_way) == ([], {})


def test_para_map_reads_ahead_up_to_its_width_and_no_further():
    works = Works()
    asker = Asker(pull.pull(pull.count(), pull.para_map(works, 3))).ask()
    assert sorted(works.under_way) == [0, 1, 2]
    works.finish(1)
    assert (asker.values, sorted(works.under_way)) == ([], [0, 2])
    works.finish(0)
    assert (asker.values, sorted(works.under_way)) == (["made 0"], [2, 3])


def test_para_map_without_a_bound_stops_when_results_wait():
    assert values_of(pull.count(), pull.para_map(at_once), pull.take(3)) == [0, 1, 2]


@each_make
def test_a_failure_aborts_upstream_and_waits_for_its_turn(make):
    bad, told = ValueError("bad"), []

    def work(value, finished):
        finished(bad if value == 2 else None, value)

    error, found = collected(pull.values([1, 2, 3], told.append), make(work))
    assert (error, found, told) == (bad, [1], [bad])
    assert "work), test_working.py:" in bad.__notes__[0]


def test_a_failure_does_not_overtake_earlier_values():
    works, bad = Works(), ValueError("bad")
    asker = Asker(pull.pull(pull.count(), pull.para_map(works, 3))).ask(4)
    works.finish(1, bad)
    assert asker.answers == []
    works.finish(0)
    works.finish(2)  # it was under way, and is waited for
    assert works.under_way == {}
    assert asker.answers == [(None, "made 0"), (bad, None), (bad, None), (bad, None)]


@each_make
def test_a_function_that_raises_fails_the_stream(make):
    bad = ValueError("bad")
    assert collected(pull.values([1, 2]), make(raising(bad)))[0] is bad


def test_a_second_result_is_ignored():
    def work(value, finished):
        finished(None, value)
        finished(None, "again")
        finished(ValueError("again"))

    assert values_of(pull.values([1, 2]), pull.async_map(work)) == [1, 2]


@pytest.mark.parametrize("reason", [True, ValueError("why")])
def test_an_abort_goes_up_at_once_and_waits_for_work_that_cannot_be_cancelled(reason):
    works, upstream = Works(), Upstream()
    asker = Asker(pull.pull(upstream, pull.async_map(works))).ask()
    upstream.give("a")
    asker.abort(reason)
    assert upstream.aborts == [reason]
    upstream.confirm(reason)
    assert asker.answers == []
    works.finish("a")
    assert asker.ends == [reason, reason]


def test_work_that_can_be_cancelled_is_cancelled():
    cancelled = []
    work = lambda value, finished: lambda: cancelled.append(value)  # noqa: E731
    asker = Asker(pull.pull(pull.count(), pull.para_map(work, 2))).ask().abort()
    assert sorted(cancelled) == [0, 1]
    assert asker.ends == [True, True]


def test_a_function_that_cancels_and_raises_harms_nobody():
    bad = ValueError("bad")
    with dropped() as reported:
        asker = Asker(pull.pull(pull.count(), pull.async_map(lambda value, finished: raising(bad)))).ask().abort()
    assert asker.ends == [True, True]
    assert [each.error for each in reported] == [bad]


def test_results_may_come_from_other_threads():
    with ThreadPoolExecutor(4) as pool:

        def work(value, finished):
            pool.submit(lambda: finished(None, value * 2))

        over, found = threading.Event(), []
        pull.pull(pull.count(199), pull.para_map(work, 8), pull.drain(found.append, lambda error: over.set() or error))
        assert over.wait(20)
    assert found == [n * 2 for n in range(200)]


# On an event loop


async def slow(value):
    await asyncio.sleep(0)
    return value * 2


class SlowObject:
    async def __call__(self, value):
        return await slow(value)


async def gathered(*modules):
    return [value async for value in pull.to_async_iter(pull.pull(*modules))]


@each_make
@pytest.mark.parametrize("fn", [slow, SlowObject()], ids=["function", "object"])
def test_a_coroutine_function_is_awaited(make, fn):
    assert asyncio.run(gathered(pull.values([3, 1, 2]), make(fn))) == [6, 2, 4]


def test_a_coroutine_function_needs_an_event_loop():
    error, _ = collected(pull.values([1]), pull.async_map(slow))
    assert isinstance(error, RuntimeError)
    assert str(error) == "async_map: it must be read on a running event loop"


def test_an_abort_cancels_the_tasks_under_way_and_leaves_none_behind():
    cleaned = []

    async def waits(value):
        try:
            await asyncio.get_running_loop().create_future()
        finally:
            cleaned.append(value)

    async def main():
        asked = pull.dataflow(pull.pull(pull.count(), pull.para_map(waits, 3)))
        ask = asyncio.ensure_future(asked.ask())
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        await asked.abort()
        assert sorted(cleaned) == [0, 1, 2]
        assert asyncio.all_tasks() <= {asyncio.current_task(), ask}
        with pytest.raises(pull.StreamEnd):
            await ask

    asyncio.run(main())


@pytest.mark.parametrize("how", ["cancelled", "interrupted"])
def test_a_task_that_somebody_else_ends_fails_the_stream(how):
    class Stop(BaseException):
        pass

    async def ends(value):
        if how == "cancelled":
            asyncio.current_task().cancel()
            await asyncio.sleep(0)
        raise Stop

    async def main():
        with pytest.raises(RuntimeError) as caught:
            await pull.dataflow(pull.pull(pull.values([1]), pull.async_map(ends))).ask()
        wanted = "was cancelled" if how == "cancelled" else "was ended by Stop()"
        assert str(caught.value) == f"async_map: the work under way {wanted}"

    asyncio.run(main())


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pull.async_map(5), TypeError, "async_map: fn must be callable, got 5"),
        (lambda: pull.para_map(5), TypeError, "para_map: fn must be callable, got 5"),
        (lambda: pull.para_map(print, 0), ValueError, "para_map: width must be >= 1, got 0"),
        (lambda: pull.para_map(print, 1.5), TypeError, "para_map: width must be a whole number, got 1.5"),
    ],
)
def test_refuses_what_makes_no_sense(make, error, message):
    with refuses(error, message):
        make()


@pytest.mark.parametrize("make", [pull.async_map, pull.para_map])
def test_an_error_that_is_no_exception_is_refused_and_does_not_hang(make):
    told = []
    pull.pull(pull.count(2), make(lambda value, finished: finished("bad")), pull.drain(None, told.append))
    assert [str(error) for error in told] == [f"{make.__name__}: the error must be an exception or None, got 'bad'"]


@pytest.mark.parametrize("make", [pull.async_map, pull.para_map])
def test_a_function_of_one_parameter_is_awaited(make):
    async def doubled(n):
        return n * 2

    async def main():
        return [n async for n in pull.to_async_iter(pull.count(3) | make(lambda n: doubled(n)))]

    assert asyncio.run(main()) == [0, 2, 4, 6]
