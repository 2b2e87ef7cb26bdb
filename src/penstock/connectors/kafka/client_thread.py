"""client_thread: a separate thread for a client whose calls block, so that a run's event loop does not.

What a call has returned is held by nothing but its caller: a `concurrent.futures.Future` that asyncio waits for is part
of a cycle, so that a thousand messages would stay until the garbage collector comes for them, and make it come often.
"""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from queue import SimpleQueue
from typing import Any, ParamSpec, TypeVar

from penstock.connectors.kafka.link import LOGGER
from penstock.engine.places.threads import started, work_off

P = ParamSpec("P")
T = TypeVar("T")


class ClientThread:
    """A thread that makes one call after the other; it begins with the first."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._calls: SimpleQueue[Callable[[], object] | None] = SimpleQueue()
        self._begun = False

    @property
    def awaited(self) -> bool:
        """Tell whether another call waits for the one that is made."""
        return not self._calls.empty()

    async def do(self, fn: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
        """Have a call made behind those before, and wait for what it returns."""
        loop = asyncio.get_running_loop()
        answer: asyncio.Future[T] = loop.create_future()
        self._put(partial(_answer, loop, answer, partial(fn, *args, **kwargs)))
        return await answer

    def soon(self, fn: Callable[[], object]) -> None:
        """Have a call made behind those before; does not wait."""
        self._put(fn)

    def end(self, *last: Callable[[], object]) -> None:
        """Have some last calls made, and let the thread go behind them; does not wait."""
        for call in last:
            self._put(call)
        if self._begun:
            self._calls.put(None)

    def _put(self, call: Callable[[], object]) -> None:
        self._calls.put(call)
        if not self._begun:
            self._begun = True
            started(self._make_calls, self._name)

    def _make_calls(self) -> None:
        work_off(self._make_call, self._start)

    def _start(self, work: Callable[[], None]) -> None:
        started(work, self._name)

    def _make_call(self) -> bool:
        """Make the next call; tell whether there are more to come."""
        call = self._calls.get()
        if call is None:
            return False
        try:
            call()
        except Exception as error:  # noqa: BLE001  it has no caller that waits, and the next is to be made
            LOGGER.warning("a call of the client failed: %r", error)
        return True


def _answer(loop: asyncio.AbstractEventLoop, answer: asyncio.Future[Any], call: Callable[[], Any]) -> None:
    """Make a call, unless its caller does not wait any more, and tell the caller."""
    if answer.cancelled():
        return
    settle = partial(_raised, answer, RuntimeError("a call of the client was interrupted"))
    try:
        settle = partial(_returned, answer, call())
    except Exception as error:  # noqa: BLE001  the caller's, whatever it is
        settle = partial(_raised, answer, error)
    finally:
        _tell(loop, settle)


def _tell(loop: asyncio.AbstractEventLoop, settle: Callable[[], None]) -> None:
    try:
        loop.call_soon_threadsafe(settle)
    except RuntimeError:
        if not loop.is_closed():  # else its owner has ended all that ran on it
            raise


def _returned(answer: asyncio.Future[Any], result: Any) -> None:
    if not answer.done():
        answer.set_result(result)


def _raised(answer: asyncio.Future[Any], error: Exception) -> None:
    if not answer.done():
        answer.set_exception(error)


__all__ = ["ClientThread"]
