"""working: throughs that work on values in their own time, one or several at once: async_map, para_map.

The function may be asynchronous, and is then awaited on the running event loop; or it takes a value and a function to
be called once, from any thread, with an error or None and the result. Such a function may return another one, which
cancels the work. An abort is passed on at once; work that cannot be cancelled is waited for.
"""

from __future__ import annotations

import inspect
from collections import deque
from collections.abc import Awaitable, Callable
from functools import partial
from threading import get_ident
from typing import Any, TypeVar, overload

from penstock.engine.words.arguments import count_given
from penstock.engine.words.dropped import drop
from penstock.pull.ground.between import Between
from penstock.pull.ground.desk import Confirm
from penstock.pull.ground.protocol import End, Read, at_fault, worst
from penstock.pull.module import PullThrough

A = TypeVar("A")
B = TypeVar("B")

Finished = Callable[..., object]
Work = Callable[[Any], Awaitable[Any]] | Callable[[Any, Finished], object]
Cancel = Callable[[], object]
Start = Callable[[Any, Finished], Cancel | None]
"""Begin to work on a value; what is returned cancels that, if anything can."""


def _by_callback(fn: Callable[[Any, Finished], object]) -> Start:
    def start(value: Any, finished: Finished) -> Cancel | None:
        cancel = fn(value, finished)
        if not callable(cancel):
            return None

        def stop() -> None:
            cancel()
            finished()

        return stop

    return start


def _by_await(name: str, fn: Callable[[Any], Awaitable[Any]]) -> Start:
    import asyncio  # noqa: PLC0415  only programs that use it pay for it

    async def work(value: Any) -> Any:
        return await fn(value)

    def ended(finished: Finished, task: asyncio.Task[Any]) -> None:
        if task.cancelled():
            finished(RuntimeError(f"{name}: the work under way was cancelled"))
            return
        error = task.exception()
        if error is None:
            finished(None, task.result())
        elif isinstance(error, Exception):
            finished(error)
        else:
            finished(RuntimeError(f"{name}: the work under way was ended by {error!r}"))

    def start(value: Any, finished: Finished) -> Cancel:
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:
            raise RuntimeError(f"{name}: it must be read on a running event loop") from None
        task = loop.create_task(work(value))
        task.add_done_callback(partial(ended, finished))
        return lambda: loop.call_soon_threadsafe(task.cancel)  # an abort may come from another thread

    return start


def _start_of(name: str, fn: Any) -> Start:
    if not callable(fn):
        raise TypeError(f"{name}: fn must be callable, got {fn!r}")
    asynchronous = inspect.iscoroutinefunction(fn) or inspect.iscoroutinefunction(type(fn).__call__) or _takes_one(fn)
    given: Any = fn
    return _by_await(name, given) if asynchronous else _by_callback(given)


def _takes_one(fn: Any) -> bool:
    """Tell whether a function cannot take a second argument, so that what it returns is to be awaited."""
    try:
        inspect.signature(fn).bind(None, None)
    except ValueError:
        return False  # some builtins tell no signature
    except TypeError:
        return True
    return False


class _Job:
    """The work on one value, and what came of it."""

    __slots__ = ("cancel", "done", "error", "result")

    def __init__(self) -> None:
        self.cancel: Cancel | None = None
        self.done = False
        self.error: Exception | None = None
        self.result: Any = None


class _Working(Between):
    """A pool of up to `width` values that are at work, or finished and not yet given."""

    def __init__(
        self, name: str, fn: Work, start: Start, width: int | None, *, in_order: bool, ahead: bool, read: Read
    ) -> None:
        super().__init__(read)
        self._name = name
        self._fn = fn
        self._start = start
        self._width = width
        self._in_order = in_order
        self._ahead = ahead
        self._jobs: deque[_Job] = deque()
        self._left: set[_Job] = set()
        """The work under way when it was closed, which is waited for."""
        self._failure: Exception | None = None
        self._failing = False
        """Whether work has failed, be its turn yet to come; nothing more is asked for."""
        self._confirms: list[Confirm] = []
        self._confirmation: End | None = None
        self._pumping = False

    def wanted(self) -> bool:
        if self._ahead:
            self._pump()
            return True
        if self._jobs or self._failing:
            return True
        return self.reader.ask() or bool(self._jobs)

    def _pump(self) -> None:
        """Ask for more as long as there is room and answers come at once."""
        if self._pumping:
            return
        self._pumping = True
        try:
            while self._has_room() and not self._failing and not self.desk.over and self.reader.end is None:
                if self.desk.turn.queue:
                    self.desk.turn.let_in()
                if self.reader.ask() or not (self._ahead or self._must_go_on()):
                    break
        finally:
            self._pumping = False

    def _must_go_on(self) -> bool:
        return bool(self.desk.waiting) and not self.desk.ready

    def _has_room(self) -> bool:
        if self._width is None:
            return not self.desk.ready  # without a bound, but not while results wait to be asked for
        return len(self._jobs) + len(self.desk.ready) < self._width

    def arrived(self, value: Any) -> None:
        job = _Job()
        self._jobs.append(job)
        try:
            job.cancel = self._start(value, partial(self._report, job))
        except Exception as error:  # noqa: BLE001  property F5
            self._finished(job, error, None)
        if self._ahead:
            self._pump()

    def _report(self, job: _Job, error: Exception | None = None, result: Any = None) -> None:
        if self.desk.turn.owner == get_ident():
            self._finished(job, error, result)
        else:
            self.desk.turn.run(self._finished, job, error, result)

    def _finished(self, job: _Job, error: Exception | None, result: Any) -> None:
        if job.done:
            return  # told twice
        if error is not None and not isinstance(error, Exception):
            error = TypeError(f"{self._name}: the error must be an exception or None, got {error!r}")
        job.done, job.error, job.result = True, error, result
        if error is None and len(self._jobs) == 1 and self._jobs[0] is job:  # the common case, spelt out
            self._jobs.clear()
            self.desk.give(result)
            if self.reader.end is not None:
                self._settle()
            if not self._pumping and (self._ahead or self.desk.waiting):
                self._pump()
            return
        self._failing = self._failing or error is not None
        if job in self._left:
            self._left.discard(job)
            self._settle_shut()
            return
        if not self._in_order:
            self._jobs.remove(job)
            self._jobs.appendleft(job)
        while self._jobs and self._jobs[0].done:
            first = self._jobs.popleft()
            if first.error is not None:
                self._fail(at_fault(first.error, self._name, self._fn))
                return
            self.desk.give(first.result)
        self._settle()
        if self._ahead or self.desk.waiting:
            self._pump()

    def ended(self, end: End) -> None:
        self._settle()

    def _settle(self) -> None:
        if self.reader.end is not None and not self._jobs and self._failure is None:
            self.desk.finish(self.reader.end)

    def _fail(self, error: Exception) -> None:
        """Shut everything, then end; what was finished before is given first."""
        self._failure = error
        self._shut(error, lambda confirmation: self.desk.finish(error))

    def close(self, end: End, confirm: Confirm) -> None:
        self._shut(end, lambda confirmation: confirm(worst(self._failure, confirmation)))

    def _shut(self, end: End, confirm: Confirm) -> None:
        # Property A11: upstream is aborted at once, and the work under way cancelled, or waited for.
        self._left |= {job for job in self._jobs if not job.done}
        self._jobs.clear()
        self._confirms.append(confirm)
        self.reader.abort(end, self._upstream_shut)
        for job in list(self._left):
            self._cancel(job)

    def _cancel(self, job: _Job) -> None:
        if job.cancel is None:
            return
        try:
            job.cancel()
        except Exception as error:  # noqa: BLE001  the others are cancelled all the same
            drop("pull: a function that cancels work raised", error)
            self._finished(job, None, None)

    def _upstream_shut(self, confirmation: bool | Exception | None) -> None:
        self._confirmation = worst(confirmation)
        self._settle_shut()

    def _settle_shut(self) -> None:
        if self._confirmation is not None and not self._left:
            confirms, self._confirms = self._confirms, []
            for confirm in confirms:
                confirm(self._confirmation)


@overload
def async_map(fn: Callable[[A], Awaitable[B]]) -> PullThrough[A, B]: ...
@overload
def async_map(fn: Callable[[A, Finished], object]) -> PullThrough[A, Any]: ...
def async_map(fn: Work) -> PullThrough[Any, Any]:
    """Give what a function makes of each value in its own time, one at a time and only when asked."""
    start = _start_of("async_map", fn)
    return PullThrough(
        lambda read: _Working("async_map", fn, start, 1, in_order=True, ahead=False, read=read).desk.read,
        name="async_map",
    )


@overload
def para_map(
    fn: Callable[[A], Awaitable[B]], width: int | None = None, *, in_order: bool = True
) -> PullThrough[A, B]: ...
@overload
def para_map(
    fn: Callable[[A, Finished], object], width: int | None = None, *, in_order: bool = True
) -> PullThrough[A, Any]: ...
def para_map(fn: Work, width: int | None = None, *, in_order: bool = True) -> PullThrough[Any, Any]:
    """Give what a function makes of each value, working on up to `width` at once, without bound if None.

    Once asked it reads ahead: up to `width` values are at work or finished and not yet given.
    """
    start = _start_of("para_map", fn)
    if width is not None:
        count_given("para_map", "width", width, 1)
    return PullThrough(
        lambda read: _Working("para_map", fn, start, width, in_order=in_order, ahead=True, read=read).desk.read,
        name="para_map",
    )


__all__ = ["async_map", "para_map"]
