"""map_async: the results of awaitables, so many of them under way at a time, in order unless told otherwise."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Coroutine
from typing import Any

import pytest
from hypothesis import strategies as st

from penstock import Dropped, Stream
from penstock.engine.words.demand import UNBOUNDED
from penstock.testing import Form, ManualPublisher, Probe, check_joint, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


async def double(n: int) -> int:
    return n * 2


async def late_double(n: int) -> int:
    await asyncio.sleep(0)
    return n * 2


def doubled(elements: list[int]) -> list[int]:
    return [n * 2 for n in elements]


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize("fn", [double, late_double])
def test_laws(fn: Callable[[int], Coroutine[Any, Any, int]], concurrency: int) -> None:
    check_joint(lambda stream: stream.map_async(fn, concurrency=concurrency), doubled, st.integers(), examples=6)


def test_laws_of_results_as_they_finish() -> None:
    check_joint(
        lambda stream: stream.map_async(late_double, concurrency=3, ordered=False),
        doubled,
        st.integers(),
        ordered=False,
        examples=6,
    )


def test_laws_with_a_key() -> None:
    check_joint(
        lambda stream: stream.map_async(late_double, concurrency=3, key=lambda n: n % 2),
        doubled,
        st.integers(0, 9),
        examples=6,
    )


@pytest.mark.parametrize(
    ("arguments", "kind", "message"),
    [
        ({"fn": 1}, TypeError, "map_async: fn must be callable, got 1"),
        ({"fn": double, "concurrency": 0}, ValueError, "map_async: concurrency must be >= 1, got 0"),
        ({"fn": double, "concurrency": "2"}, TypeError, "map_async: concurrency must be a whole number, got '2'"),
        ({"fn": double, "key": 3}, TypeError, "map_async: key must be callable, got 3"),
    ],
)
def test_refuses_wrong_arguments(arguments: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=f"^{message}$"):
        Stream.range(3).map_async(**arguments)


class Work:
    """Be a function whose results are given by hand, on the loop it runs on."""

    def __init__(self) -> None:
        self.begun: list[int] = []
        self.cancelled: list[int] = []
        self.most = 0
        self._under_way: dict[int, asyncio.Future[int]] = {}
        self._changed = asyncio.Condition()

    async def __call__(self, n: int) -> int:
        future: asyncio.Future[int] = asyncio.get_running_loop().create_future()
        self._under_way[n] = future
        self.begun.append(n)
        self.most = max(self.most, len(self._under_way))
        await self._tell()
        try:
            return await future
        except asyncio.CancelledError:
            self.cancelled.append(n)
            raise
        finally:
            del self._under_way[n]
            await self._tell()

    async def _tell(self) -> None:
        async with self._changed:
            self._changed.notify_all()

    async def until(self, reached: Callable[[], bool]) -> None:
        async with self._changed:
            await asyncio.wait_for(self._changed.wait_for(reached), 5)

    def finish(self, *numbers: int) -> None:
        for n in numbers:
            self._under_way[n].set_result(n * 10)

    def fail(self, n: int) -> None:
        self._under_way[n].set_exception(ValueError(f"failed {n}"))


async def until(reached: Callable[[], bool]) -> None:
    """Let the loop run until something is true."""

    async def look() -> None:
        while not reached():
            await asyncio.sleep(0)

    await asyncio.wait_for(look(), 5)


async def ended(probe: Probe[Any]) -> None:
    await until(lambda: probe.ended)


def on_a_loop(test: Callable[[Work], Coroutine[Any, Any, None]]) -> None:
    async def main() -> None:
        await test(Work())

    asyncio.run(main())


def test_no_more_than_concurrency_are_under_way() -> None:
    async def test(work: Work) -> None:
        probe = subscribed(Stream.range(6).map_async(work, concurrency=3), UNBOUNDED)
        await work.until(lambda: len(work.begun) == 3)
        for n in range(6):
            await work.until(lambda n=n: n in work.begun)  # type: ignore[misc]
            work.finish(n)
        await ended(probe)
        assert probe.elements == [0, 10, 20, 30, 40, 50]
        assert work.begun == [0, 1, 2, 3, 4, 5]
        assert work.most == 3

    on_a_loop(test)


def test_upstream_is_asked_for_no_more_than_twice_concurrency() -> None:
    async def test(work: Work) -> None:
        upstream: ManualPublisher[int] = ManualPublisher()
        probe = subscribed(Stream.from_publisher(upstream).map_async(work, concurrency=2), 1)
        assert upstream.requested == 4
        upstream.next(1, 2, 3, 4)
        await work.until(lambda: work.begun == [1, 2])
        work.finish(1, 2)
        await work.until(lambda: work.begun == [1, 2, 3, 4])
        await until(lambda: probe.elements == [10])
        assert upstream.requested == 5
        probe.cancel()

    on_a_loop(test)


def test_results_come_in_order() -> None:
    async def test(work: Work) -> None:
        probe = subscribed(Stream.range(3).map_async(work, concurrency=3), UNBOUNDED)
        await work.until(lambda: len(work.begun) == 3)
        work.finish(2, 1)
        await work.until(lambda: len(work._under_way) == 1)
        assert probe.elements == []
        work.finish(0)
        await ended(probe)
        assert probe.elements == [0, 10, 20]

    on_a_loop(test)


def test_results_come_as_they_finish_if_told() -> None:
    async def test(work: Work) -> None:
        probe = subscribed(Stream.range(3).map_async(work, concurrency=3, ordered=False), UNBOUNDED)
        await work.until(lambda: len(work.begun) == 3)
        for n in (2, 0, 1):
            work.finish(n)
            await work.until(lambda n=n: n not in work._under_way)  # type: ignore[misc]
        await ended(probe)
        assert probe.elements == [20, 0, 10]

    on_a_loop(test)


def test_elements_with_the_same_key_are_worked_on_one_after_the_other() -> None:
    async def test(work: Work) -> None:
        probe = subscribed(
            Stream.just(1, 3, 2, 5).map_async(work, concurrency=4, ordered=False, key=lambda n: n % 2), UNBOUNDED
        )
        await work.until(lambda: len(work.begun) == 2)
        await asyncio.sleep(0)
        assert work.begun == [1, 2]
        work.finish(1)
        await work.until(lambda: 3 in work.begun)
        work.finish(3)
        await work.until(lambda: 5 in work.begun)
        work.finish(5, 2)
        await ended(probe)
        assert sorted(probe.elements) == [10, 20, 30, 50]
        assert [n for n in probe.elements if n != 20] == [10, 30, 50]

    on_a_loop(test)


def test_a_cancel_cancels_what_is_under_way() -> None:
    async def test(work: Work) -> None:
        upstream: ManualPublisher[int] = ManualPublisher()
        probe = subscribed(Stream.from_publisher(upstream).map_async(work, concurrency=2), 9)
        upstream.next(1, 2)
        await work.until(lambda: work.begun == [1, 2])
        probe.cancel()
        assert upstream.cancelled
        await work.until(lambda: not work._under_way)
        assert sorted(work.cancelled) == [1, 2]
        assert probe.signals == []

    on_a_loop(test)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_failure_cancels_the_rest(ordered: bool) -> None:
    async def test(work: Work) -> None:
        upstream: ManualPublisher[int] = ManualPublisher()
        probe = subscribed(Stream.from_publisher(upstream).map_async(work, concurrency=3, ordered=ordered), 9)
        upstream.next(1, 2, 3)
        await work.until(lambda: len(work.begun) == 3)
        work.finish(1)
        await work.until(lambda: len(work._under_way) == 2)
        work.fail(2)
        await ended(probe)
        assert probe.elements == [10]
        assert repr(probe.error) == "ValueError('failed 2')"
        await work.until(lambda: not work._under_way)
        assert work.cancelled == [3]
        assert upstream.cancelled

    on_a_loop(test)


def test_in_order_a_failure_waits_for_those_before_it() -> None:
    async def test(work: Work) -> None:
        probe = subscribed(Stream.range(2).map_async(work, concurrency=2), 9)
        await work.until(lambda: len(work.begun) == 2)
        work.fail(1)
        await work.until(lambda: len(work._under_way) == 1)
        assert not probe.ended
        work.finish(0)
        await ended(probe)
        assert probe.elements == [0]
        assert repr(probe.error) == "ValueError('failed 1')"

    on_a_loop(test)


def test_out_of_order_a_failure_comes_at_once() -> None:
    async def test(work: Work) -> None:
        probe = subscribed(Stream.range(2).map_async(work, concurrency=2, ordered=False), 9)
        await work.until(lambda: len(work.begun) == 2)
        work.fail(1)
        await ended(probe)
        assert probe.elements == []
        await work.until(lambda: not work._under_way)
        assert work.cancelled == [0]

    on_a_loop(test)


@pytest.mark.parametrize("ordered", [True, False])
def test_a_failure_of_upstream_comes_after_the_results_before_it(ordered: bool) -> None:
    async def test(work: Work) -> None:
        upstream: ManualPublisher[int] = ManualPublisher()
        probe = subscribed(Stream.from_publisher(upstream).map_async(work, concurrency=2, ordered=ordered), 9)
        upstream.next(1, 2)
        await work.until(lambda: work.begun == [1, 2])
        upstream.fail(KeyError("lost"))
        work.finish(1)
        await work.until(lambda: len(work._under_way) == 1)
        assert not probe.ended
        work.finish(2)
        await ended(probe)
        assert probe.elements == [10, 20]
        assert repr(probe.error) == "KeyError('lost')"

    on_a_loop(test)


@pytest.mark.parametrize(
    "arguments", [{}, {"ordered": False}, {"key": lambda n: n % 2}], ids=["ordered", "unordered", "by_key"]
)
@pytest.mark.parametrize("late", [False, True])
def test_nothing_behind_a_failure_is_begun(late: bool, arguments: dict[str, Any]) -> None:
    begun: list[int] = []

    async def fail_at_one(n: int) -> int:
        begun.append(n)
        if late:
            await asyncio.sleep(0)
        return 1 // (n - 1)

    error = failure_of(Stream.range(9).map_async(fail_at_one, concurrency=1, **arguments))
    assert isinstance(error, ZeroDivisionError)
    assert begun == [0, 1]


def test_nothing_behind_a_key_that_fails_is_begun() -> None:
    begun: list[int] = []

    async def note(n: int) -> int:
        begun.append(n)
        return n

    error = failure_of(Stream.range(9).map_async(note, concurrency=9, key=lambda n: 1 // (n - 2)))
    assert isinstance(error, ZeroDivisionError)
    assert begun == [0, 1]


def test_before_a_failure_all_work_is_done_that_waits_for_its_key() -> None:
    async def test(work: Work) -> None:
        probe = subscribed(Stream.just(1, 3, 2, 5).map_async(work, concurrency=4, key=lambda n: n % 2), 9)
        await work.until(lambda: work.begun == [1, 2])
        work.fail(2)
        work.finish(1)
        await work.until(lambda: work.begun == [1, 2, 3])
        work.finish(3)
        await ended(probe)
        assert probe.elements == [10, 30]
        assert repr(probe.error) == "ValueError('failed 2')"
        assert work.begun == [1, 2, 3]

    on_a_loop(test)


# What fails where no subscriber is left to be told goes to the hook: nothing is swallowed.

WORKED: dict[str, Callable[[Stream[int], Work], Stream[int]]] = {
    "map_async": lambda stream, work: stream.map_async(work, concurrency=3),
    "map_async as they finish": lambda stream, work: stream.map_async(work, concurrency=3, ordered=False),
    "map_async by a key": lambda stream, work: stream.map_async(work, concurrency=3, key=str),
    "filter": lambda stream, work: stream.filter(work, concurrency=3),
    "for_each": lambda stream, work: stream.for_each(work, concurrency=3),
}
each_work = pytest.mark.parametrize("name", WORKED)


@each_work
def test_a_failure_of_upstream_that_waits_is_told_where_the_work_is_cancelled(
    name: str, dropped: list[Dropped]
) -> None:
    async def test(work: Work) -> None:
        upstream: ManualPublisher[int] = ManualPublisher()
        probe = subscribed(WORKED[name](Stream.from_publisher(upstream), work), 1)
        upstream.next(1, 2)
        await work.until(lambda: work.begun == [1, 2])
        upstream.fail(KeyError("lost"))
        probe.cancel()
        await until(lambda: bool(dropped))

    on_a_loop(test)
    assert [repr(one.error) for one in dropped] == ["KeyError('lost')"]
    dropped.clear()


@each_work
def test_a_failure_of_upstream_that_waits_is_told_where_the_work_fails(name: str, dropped: list[Dropped]) -> None:
    async def test(work: Work) -> None:
        upstream: ManualPublisher[int] = ManualPublisher()
        probe = subscribed(WORKED[name](Stream.from_publisher(upstream), work), 1)
        upstream.next(1, 2)
        await work.until(lambda: work.begun == [1, 2])
        upstream.fail(KeyError("lost"))
        work.fail(1)
        await ended(probe)
        assert repr(probe.error) == "ValueError('failed 1')"

    on_a_loop(test)
    assert [repr(one.error) for one in dropped] == ["KeyError('lost')"]
    dropped.clear()


@each_work
def test_what_fails_with_the_first_failure_is_told(name: str, dropped: list[Dropped]) -> None:
    async def test(work: Work) -> None:
        probe = subscribed(WORKED[name](Stream.range(3), work), 1)
        await work.until(lambda: len(work.begun) == 3)
        for n in range(3):
            work.fail(n)
        await ended(probe)
        assert repr(probe.error) == "ValueError('failed 0')"

    on_a_loop(test)
    assert sorted(repr(one.error) for one in dropped) == ["ValueError('failed 1')", "ValueError('failed 2')"]
    dropped.clear()


@pytest.mark.parametrize("name", ["map_async", "map_async by a key", "filter", "for_each"])
def test_a_failure_behind_what_is_under_way_is_told_where_that_is_cancelled(name: str, dropped: list[Dropped]) -> None:
    async def test(work: Work) -> None:
        probe = subscribed(WORKED[name](Stream.range(2), work), 1)
        await work.until(lambda: len(work.begun) == 2)
        work.fail(1)
        await work.until(lambda: len(work._under_way) == 1)
        probe.cancel()
        await work.until(lambda: not work._under_way)

    on_a_loop(test)
    assert [repr(one.error) for one in dropped] == ["ValueError('failed 1')"]
    dropped.clear()


@each_work
def test_what_a_function_raises_while_it_is_cancelled_is_told(name: str, dropped: list[Dropped]) -> None:
    class Closing(Work):
        async def __call__(self, n: int) -> int:
            try:
                return await super().__call__(n)
            finally:
                raise OSError(f"closing {n}")

    async def main() -> None:
        work = Closing()
        probe = subscribed(WORKED[name](Stream.range(2), work), 1)
        await work.until(lambda: len(work.begun) == 2)
        probe.cancel()
        await until(lambda: len(dropped) == 2)

    asyncio.run(main())
    assert sorted(repr(one.error) for one in dropped) == ["OSError('closing 0')", "OSError('closing 1')"]
    dropped.clear()


async def refuse(n: int) -> int:
    raise ValueError("no")


@each_form
def test_a_function_that_raises_is_named(form: Form) -> None:
    error = failure_of(over(form, 1).map_async(refuse))
    assert notes(error) == [f"in map_async(refuse), {place(refuse)}"]


def test_a_function_that_is_not_asynchronous_is_refused() -> None:
    error = failure_of(Stream.just(1).map_async(lambda n: n))  # type: ignore[arg-type,return-value]
    assert type(error) is TypeError
    assert str(error) == "map_async: fn must return an awaitable, got 1"


def test_none_is_not_an_element() -> None:
    async def nothing(n: int) -> None:
        return None

    assert str(failure_of(Stream.just(1).map_async(nothing))) == (
        "rule 2.13: None is not an element; let the function return something, or say for_each(fn, concurrency=n) "
        "where there is nothing to return"
    )


def test_sixteen_are_under_way_where_nothing_else_is_said() -> None:
    under_way = most = 0

    async def work(n: int) -> int:
        nonlocal under_way, most
        under_way += 1
        most = max(most, under_way)
        for _ in range(20):
            await asyncio.sleep(0)
        under_way -= 1
        return n

    assert list(Stream.range(100).map_async(work)) == list(range(100))
    assert most == 16


def test_a_leaked_stop_iteration_is_an_error_not_an_end() -> None:
    async def leak(n: int) -> int:
        return next(iter(()))

    error = failure_of(Stream.just(1).map_async(leak))
    assert type(error) is RuntimeError
    assert str(error) == "coroutine raised StopIteration"


def bad_key(n: int) -> int:
    raise LookupError("no key")


def test_a_key_that_raises_is_named() -> None:
    error = failure_of(Stream.just(1).map_async(double, key=bad_key))
    assert repr(error) == "LookupError('no key')"
    assert notes(error) == [f"in map_async(double), key bad_key, {place(bad_key)}"]


def test_a_key_that_cannot_be_hashed_is_refused() -> None:
    error = failure_of(Stream.just(1).map_async(double, key=lambda n: [n]))  # type: ignore[arg-type,return-value]
    assert str(error) == "unhashable type: 'list'"


def test_a_function_that_is_cancelled_from_outside_fails_the_stream() -> None:
    async def give_up(n: int) -> int:
        raise asyncio.CancelledError

    assert isinstance(failure_of(Stream.just(1).map_async(give_up)), Exception)


def test_runs_on_the_running_loop() -> None:
    async def where(n: int) -> str:
        return threading.current_thread().name

    async def main() -> list[str]:
        return [name async for name in Stream.range(2).map_async(where)]

    assert asyncio.run(main()) == [threading.current_thread().name] * 2


def test_runs_on_a_loop_of_its_own_where_none_runs() -> None:
    async def where(n: int) -> str:
        return threading.current_thread().name

    assert set(Stream.range(2).map_async(where)) == {"penstock-loop"}


def test_any_awaitable_will_do() -> None:
    class Soon:
        def __await__(self) -> Any:
            return asyncio.sleep(0, "here").__await__()

    assert list(Stream.just(1).map_async(lambda n: Soon())) == ["here"]


def test_thousands_of_elements_do_not_deepen_the_stack() -> None:
    assert Stream.range(3000).map_async(double, concurrency=2).count().get() == 3000
