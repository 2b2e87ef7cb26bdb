"""lent: publish_on, subscribe_on and parallel run on executors that a user has already."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from typing import Any

import pytest

from penstock import Stream
from penstock.testing import Probe, subscribed
from tests.engine.watch import PATIENCE, dropped

__all__ = ["dropped"]


@pytest.fixture
def pool() -> Iterator[ThreadPoolExecutor]:
    with ThreadPoolExecutor(2, thread_name_prefix="lent") as executor:
        yield executor


@pytest.fixture
def loop() -> Iterator[asyncio.AbstractEventLoop]:
    made = asyncio.new_event_loop()
    running = threading.Thread(target=made.run_forever, name="lent-loop")
    running.start()
    yield made
    made.call_soon_threadsafe(made.stop)
    running.join(PATIENCE)
    made.close()


OPERATORS: dict[str, Callable[[Stream[int], Any, Callable[[int], str]], Stream[str]]] = {
    "publish_on": lambda numbers, executor, where: numbers.publish_on(executor, prefetch=4).map(where),
    "subscribe_on": lambda numbers, executor, where: numbers.map(where).subscribe_on(executor),
    "parallel": lambda numbers, executor, where: numbers.parallel(2, lambda part: part.map(where), executor=executor),
}


def where(_: int) -> str:
    return threading.current_thread().name.partition("_")[0]


@pytest.mark.parametrize("operator", OPERATORS)
def test_runs_on_a_pool_of_concurrent_futures(operator: str, pool: ThreadPoolExecutor) -> None:
    assert OPERATORS[operator](Stream.range(50), pool, where).to_list().get() == ["lent"] * 50


@pytest.mark.parametrize("operator", OPERATORS)
def test_runs_on_an_asyncio_loop(operator: str, loop: asyncio.AbstractEventLoop) -> None:
    assert OPERATORS[operator](Stream.range(50), loop, where).to_list().get() == ["lent-loop"] * 50


@pytest.mark.parametrize("operator", OPERATORS)
def test_two_runs_share_one_thread_and_keep_their_order(operator: str) -> None:
    with ThreadPoolExecutor(1) as executor:
        probes = [subscribed(OPERATORS[operator](Stream.range(200), executor, str), 200) for _ in range(2)]
        for probe in probes:
            assert probe.wait_for(200) == [str(n) for n in range(200)]


def test_runs_where_the_loop_of_the_moment_is_given() -> None:
    async def main() -> list[str]:
        stream = Stream.range(3).publish_on(asyncio.get_running_loop()).map(where)
        return await stream.to_list()

    assert asyncio.run(main()) == [threading.current_thread().name] * 3


@pytest.mark.parametrize("operator", OPERATORS)
def test_an_executor_that_was_shut_down_fails_the_run(operator: str, dropped: list[Any]) -> None:
    executor = ThreadPoolExecutor(1)
    executor.shutdown()
    probe: Probe[str] = Probe(5)
    OPERATORS[operator](Stream.range(3), executor, where).subscribe(probe)
    probe.wait_for_end()
    assert "cannot schedule new futures after shutdown" in str(probe.error)
    dropped.clear()


def test_work_that_a_shutdown_has_cancelled_is_done_elsewhere() -> None:
    """The run ends, since nobody would ever come for its elements otherwise."""
    busy, go = threading.Event(), threading.Event()
    executor = ThreadPoolExecutor(1)
    executor.submit(lambda: (busy.set(), go.wait(PATIENCE)))
    assert busy.wait(PATIENCE)
    probe = subscribed(Stream.just(1).publish_on(executor), 1)
    executor.shutdown(wait=False, cancel_futures=True)
    probe.wait_for(1)
    go.set()
    executor.shutdown()


def test_the_executor_stays_its_owners(pool: ThreadPoolExecutor) -> None:
    list(Stream.range(3).publish_on(pool))
    assert pool.submit(int, "3").result(PATIENCE) == 3


@pytest.mark.parametrize("operator", OPERATORS)
def test_a_pool_of_processes_is_refused_with_the_cure(operator: str) -> None:
    with (
        ProcessPoolExecutor(1) as executor,
        pytest.raises(TypeError, match=rf"^{operator}: executor must run in this process, got .*ThreadPoolExecutor"),
    ):
        OPERATORS[operator](Stream.range(3), executor, where)


def test_any_executor_of_that_library_will_do() -> None:
    class AtOnce(Executor):
        def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Any:
            from concurrent.futures import Future

            future: Future[Any] = Future()
            future.set_result(fn(*args, **kwargs))
            return future

    with pytest.raises(
        TypeError, match=r"^publish_on: executor must be an Executor, got 3; thread\(\), pool\(size\), "
    ):
        Stream.range(3).publish_on(3)  # type: ignore[arg-type]
    assert list(Stream.range(3).subscribe_on(AtOnce())) == [0, 1, 2]
