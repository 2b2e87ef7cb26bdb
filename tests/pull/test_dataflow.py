"""The dataflow form asks by awaiting; async iterables are sources; sources are async iterables; no task is left."""

from __future__ import annotations

import asyncio
import threading

import pytest

from penstock import pull
from tests.pull.parts import Asker, Upstream, refuses, values_of

ERROR = ValueError("bad")


def on_loop(main):
    """Run a coroutine function and see no task left behind."""

    async def guarded():
        found = await main()
        await asyncio.sleep(0)
        assert asyncio.all_tasks() == {asyncio.current_task()}
        return found

    return asyncio.run(guarded())


async def turns(count=5):
    for _ in range(count):
        await asyncio.sleep(0)


# ask and abort


def test_values_are_awaited_and_the_end_is_raised_again_and_again():
    async def main():
        asked = pull.dataflow(pull.values([1, None]))
        assert [await asked.ask(), await asked.ask()] == [1, None]
        for _ in range(2):
            with refuses(pull.StreamEnd, "pull: the stream is done"):
                await asked.ask()
        await asked.abort()

    on_loop(main)


def test_an_error_is_raised_as_it_is():
    async def main():
        asked = pull.dataflow(pull.error(ERROR))
        for _ in range(2):
            with pytest.raises(ValueError) as caught:
                await asked.ask()
            assert caught.value is ERROR

    on_loop(main)


def test_several_asks_are_answered_in_their_order():
    async def main():
        upstream = Upstream()
        asked = pull.dataflow(upstream)
        asks = [asyncio.ensure_future(asked.ask()) for _ in range(20)]
        await turns()
        assert len(upstream.waiting) == 20
        for value in range(19):
            upstream.give(value)
        upstream.end()
        found = await asyncio.gather(*asks, return_exceptions=True)
        assert found[:19] == list(range(19))
        assert isinstance(found[19], pull.StreamEnd)

    on_loop(main)


@pytest.mark.parametrize("error", [None, ERROR])
def test_an_abort_is_awaited_and_ends_the_asks_that_wait(error):
    async def main():
        upstream = Upstream()
        asked = pull.dataflow(upstream)
        ask = asyncio.ensure_future(asked.ask())
        await turns()
        abort = asyncio.ensure_future(asked.abort(error))
        await turns()
        assert not ask.done()
        assert not abort.done()
        upstream.confirm(True if error is None else error)
        await abort
        with pytest.raises(pull.StreamEnd if error is None else ValueError):
            await ask

    on_loop(main)


def test_a_failed_close_is_raised():
    async def main():
        def read(abort, answer=None):
            answer(ERROR)

        with refuses(ValueError, "bad"):
            await pull.dataflow(read).abort()

    on_loop(main)


def test_an_ask_that_is_cancelled_leaves_its_value_to_the_next():
    async def main():
        upstream = Upstream()
        asked = pull.dataflow(upstream)
        with pytest.raises(asyncio.TimeoutError):
            await asyncio.wait_for(asked.ask(), 0)
        ask = asyncio.ensure_future(asked.ask())
        await turns()
        count = len(upstream.waiting)
        assert count <= 1 + (count == 0)
        while upstream.waiting:
            upstream.give("kept")
        assert await ask == "kept"

    on_loop(main)


def test_of_several_asks_one_that_is_cancelled_loses_nothing_and_changes_no_order():
    async def main():
        upstream = Upstream()
        asked = pull.dataflow(upstream)
        asks = [asyncio.ensure_future(asked.ask()) for _ in range(3)]
        await turns()
        for value in (1, 2, 3):
            upstream.give(value)
        asks[0].cancel()  # its answer has come, and it has not yet seen it
        await turns()
        assert [await asks[1], await asks[2], await asked.ask()] == [1, 2, 3]
        assert upstream.waiting == []

    on_loop(main)


def test_what_nobody_has_taken_is_dropped_by_an_abort():
    async def main():
        upstream = Upstream()
        asked = pull.dataflow(upstream)
        asks = [asyncio.ensure_future(asked.ask()) for _ in range(2)]
        await turns()
        abort = asyncio.ensure_future(asked.abort())
        upstream.give(1)
        upstream.give(2)
        asks[0].cancel()
        await turns(1)  # the abort comes before who waits has seen the values
        upstream.confirm()
        await abort
        found = await asyncio.gather(*asks, return_exceptions=True)
        assert [type(each) for each in found] == [asyncio.CancelledError, pull.StreamEnd]

    on_loop(main)


def test_answers_may_come_from_another_thread():
    async def main():
        source = pull.pushable()
        asked = pull.dataflow(source)

        def push():
            for value in range(100):
                source.push(value)

        thread = threading.Thread(target=push)
        thread.start()
        found = [await asked.ask() for _ in range(100)]
        thread.join()
        return found

    assert on_loop(main) == list(range(100))


def test_a_second_answer_is_reported_and_ignored():
    from tests.pull.parts import dropped

    async def main():
        def read(abort, answer=None):
            answer(None, 1)
            answer(None, 2)

        asked = pull.dataflow(read)
        return [await asked.ask(), await asked.ask()]

    with dropped() as reported:
        assert on_loop(main) == [1, 1]
    assert [each.error.property_id for each in reported] == ["B2", "B2"]


def test_a_read_that_raises_is_raised_and_says_so():
    async def main():
        def read(abort, answer=None):
            raise ERROR

        with pytest.raises(ValueError) as caught:
            await pull.dataflow(read).ask()
        assert "in a read that raised instead of answering (property F10)" in caught.value.__notes__

    on_loop(main)


# Sources as async iterables


def test_a_source_is_iterated_over():
    async def main():
        return [value async for value in pull.to_async_iter(pull.count(2))]

    assert on_loop(main) == [0, 1, 2]


def test_a_dataflow_is_iterated_over():
    async def main():
        return [value async for value in pull.dataflow(pull.count(2))]

    assert on_loop(main) == [0, 1, 2]


def test_leaving_the_iteration_aborts_and_waits():
    async def main():
        told = []
        items = pull.to_async_iter(pull.values([1, 2], told.append))
        assert await anext(items) == 1
        await items.aclose()
        assert told == [None]

    on_loop(main)


def test_cancelling_who_iterates_aborts():
    async def main():
        upstream = Upstream()

        async def iterate():
            async for _ in pull.to_async_iter(upstream):
                pass

        task = asyncio.ensure_future(iterate())
        await turns()
        task.cancel()
        await turns()
        assert upstream.aborts == [True]
        assert not task.done()
        upstream.confirm()
        with pytest.raises(asyncio.CancelledError):
            await task

    on_loop(main)


def test_an_error_is_raised_by_the_iteration_and_nothing_is_aborted():
    async def main():
        upstream = Upstream()
        items = pull.to_async_iter(upstream)
        step = asyncio.ensure_future(anext(items))
        await turns()
        upstream.end(ERROR)
        with refuses(ValueError, "bad"):
            await step
        assert upstream.aborts == []

    on_loop(main)


# Async iterables as sources


class Items:
    """Be an async iterator that can be closed."""

    def __init__(self, count, error=None, close_error=None):
        self.left, self.error, self.close_error = count, error, close_error
        self.closed = 0
        self.given = 0

    def __aiter__(self):
        return self

    async def __anext__(self):
        await asyncio.sleep(0)
        if not self.left:
            raise self.error or StopAsyncIteration
        self.left -= 1
        self.given += 1
        return self.given

    async def aclose(self):
        await asyncio.sleep(0)
        self.closed += 1
        if self.close_error is not None:
            raise self.close_error


def test_an_async_iterable_is_a_source():
    async def main():
        items = Items(3)
        found = [value async for value in pull.to_async_iter(pull.pull(pull.from_async_iter(items), pull.map(str)))]
        assert items.closed == 1
        return found

    assert on_loop(main) == ["1", "2", "3"]


def test_it_is_asked_for_nothing_unasked_and_for_one_value_at_a_time():
    async def main():
        items = Items(9)
        asker = Asker(pull.from_async_iter(items)).ask(2)
        await turns(20)
        assert (asker.values, items.given) == ([1, 2], 2)

    on_loop(main)


def test_an_error_of_the_iterable_is_the_end():
    async def main():
        asker = Asker(pull.from_async_iter(Items(1, ERROR))).ask(3)
        await turns(10)
        assert asker.answers == [(None, 1), (ERROR, None), (ERROR, None)]

    on_loop(main)


@pytest.mark.parametrize("reason", [True, ERROR])
def test_an_abort_cancels_what_is_awaited_and_closes(reason):
    cancelled = []

    async def waits():
        try:
            await asyncio.get_running_loop().create_future()
        except asyncio.CancelledError:
            cancelled.append(True)
            raise
        yield 1

    async def main():
        asker = Asker(pull.from_async_iter(waits())).ask(2)
        await turns()
        asker.abort(reason)
        assert asker.answers == []
        await turns(10)
        assert asker.ends == [reason] * 3
        assert cancelled == [True]

    on_loop(main)


def test_a_failed_close_is_told_in_the_answer_of_an_abort():
    async def main():
        asker = Asker(pull.from_async_iter(Items(3, close_error=ERROR))).ask()
        await turns()
        asker.abort()
        await turns(10)
        assert asker.ends == [ERROR]

    on_loop(main)


def test_what_was_never_asked_is_aborted_without_a_loop():
    assert Asker(pull.from_async_iter(Items(1))).abort().ends == [True]


def test_it_must_be_read_on_a_loop():
    asker = Asker(pull.from_async_iter(Items(1))).ask()
    assert str(asker.ends[0]) == "from_async_iter: it must be read on a running event loop"
    source = pull.from_async_iter(Items(5))

    async def main():
        Asker(source).ask()
        await turns()

    asyncio.run(main())
    asker = Asker(source).abort()
    assert str(asker.ends[0]) == "from_async_iter: it must be aborted on a running event loop"


def test_whoever_waits_is_told_when_the_loop_comes_to_its_end():
    async def waits():
        await asyncio.get_running_loop().create_future()
        yield 1

    asker = Asker(pull.from_async_iter(waits()))

    async def main():
        asker.ask()
        await turns()

    asyncio.run(main())
    assert str(asker.ends[0]) == "from_async_iter: the work under way was cancelled"


def test_the_dataflow_form_is_a_source():
    class Counter:
        count = 0
        aborted: list = []

        async def ask(self):
            self.count += 1
            if self.count == 3:
                raise pull.StreamEnd("enough")
            return self.count

        async def abort(self, error=None):
            self.aborted.append(error)

    async def main():
        found = [value async for value in pull.to_async_iter(pull.from_dataflow(Counter()))]
        asker = Asker(pull.from_dataflow(counter := Counter())).ask()
        await turns()
        asker.abort(ERROR)
        await turns()
        assert (asker.ends, counter.aborted) == ([ERROR], [ERROR])
        return found

    assert on_loop(main) == [1, 2]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pull.from_async_iter([1]), "from_async_iter: items must be an async iterable, got [1]"),
        (lambda: pull.from_dataflow(5), "from_dataflow: source must have ask, got 5"),
        (lambda: pull.dataflow(5), "dataflow: source must be a source, got 5"),
        (lambda: pull.to_async_iter(5), "to_async_iter: source must be a source, got 5"),
    ],
)
def test_refuses_what_makes_no_sense(make, message):
    with refuses(TypeError, message):
        make()


def test_a_sink_may_run_on_where_a_loop_answers():
    async def main():
        over = asyncio.get_running_loop().create_future()
        found = []
        pull.pull(
            pull.from_async_iter(Items(3)),
            pull.map(lambda n: n * n),
            pull.drain(found.append, over.set_result),
        )
        assert await over is None
        return found

    assert on_loop(main) == [1, 4, 9]
    assert values_of(pull.values([1])) == [1]
