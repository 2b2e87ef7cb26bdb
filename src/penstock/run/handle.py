"""handle: Run, a pipeline that runs: to be waited for, awaited, stopped, cancelled and watched."""

from __future__ import annotations

import atexit
import importlib
import logging
import sys
from collections.abc import Callable, Generator
from contextvars import copy_context
from dataclasses import replace
from datetime import timedelta
from functools import partial
from threading import TIMEOUT_MAX, Event, Lock, Thread
from typing import TYPE_CHECKING, Any, Generic, NoReturn, Protocol, TypeVar
from weakref import WeakSet

from penstock.coming_from import Named
from penstock.engine.grounds.cold_paths import interruption
from penstock.engine.places.bell import Bell
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, seconds_of
from penstock.engine.places.event_loops import AnyLoop, Task, at_home, home_here, loop_here, running
from penstock.engine.places.home_loop import HomeLoop
from penstock.engine.places.noting import Tasks, spawning
from penstock.engine.runs.chain import Chain
from penstock.engine.words.arguments import stays_here
from penstock.engine.words.dropped import drop
from penstock.errors import RunCancelledError
from penstock.plan import Plan
from penstock.run.carrying.committing import CommitError
from penstock.run.in_process import InProcess
from penstock.run.progress import Progress, Reports
from penstock.run.result import Settle
from penstock.run.watchers import enter, tell_watchers
from penstock.stream import Stream

if TYPE_CHECKING:
    from penstock.page import Page

R = TypeVar("R")

_LOOK = 1.0  # seconds after which a thread that waits looks for signals
_RUNS: WeakSet[Run[Any]] = WeakSet()
_log = logging.getLogger("penstock")


@atexit.register
def _tell_what_is_lost() -> None:
    """Tell at the end of the program which runs it cuts off, and of which failures no caller has heard."""
    for run in tuple(_RUNS):
        run._tell_what_is_lost()


class Controls(Protocol):
    """What a run is controlled by: it can be started, stopped, cancelled, looked at and closed."""

    def start(self, settle: Settle, /) -> None:
        """Begin; the result or the failure goes to `settle`, now or later."""
        ...

    def stop(self) -> None:
        """Take nothing more in; what is inside goes on to the end."""
        ...

    def cancel(self) -> None:
        """End at once."""
        ...

    def progress(self) -> Progress:
        """Return how far it is."""
        ...

    def explain(self) -> Plan:
        """Return what runs where."""
        ...

    def close(self) -> None:
        """Let go of everything; called once, after the end."""
        ...


class Run(Named, Generic[R]):
    """A pipeline that runs on its own thread, and asynchronous parts of it on the event loop on which it was begun.

    `wait()` blocks for the result and `await run` awaits it; a failure is raised there. `stop()` takes nothing more in
    and lets what is inside come to the end; `cancel()` ends at once.

    Begun in a coroutine, it starts with the next turn of that loop, or as soon as it is awaited. Begun elsewhere, it
    starts at once, and its asynchronous parts run on a loop of penstock.
    """

    def __init__(self, controls: Controls, clock: Clock = SYSTEM_CLOCK) -> None:
        self.clock = clock
        self._controls = controls
        self._lock = Lock()
        self._settled = Event()
        self._done = Event()
        self._result: Any = None
        self._error: Exception | None = None
        self._told = False
        """Whether the failure has reached a caller."""
        self._on_done: list[Callable[[], None]] = []
        self._began = clock.now()
        self._last: Progress | None = None
        self.shown_on: Page | None = None
        """The live page that shows it."""
        self._begun = False
        self._context = copy_context()
        self._home = home_here()
        self._guard: Task | None = None
        """What hears on the loop that it was begun on whether that ends before it."""
        _RUNS.add(self)
        tell_watchers(self)
        if self._home is None or self._home.ours:
            self._begin(self._home)
        else:
            self._home.loop.call(partial(self._begin, self._home))

    def __repr__(self) -> str:
        if not self._done.is_set():
            return "Run(running)"
        return f"Run({self._result!r})" if self._error is None else f"Run(failed: {self._error!r})"

    def __reduce__(self) -> NoReturn:
        raise stays_here("run", "a run", "it is under way in this process; take the pipeline")

    def _repr_html_(self) -> str:
        from penstock.run.html import shown  # noqa: PLC0415  only a notebook shows it

        return shown(self.now(), self.failure, self.explain())

    def _ipython_display_(self) -> None:
        from penstock.run.notebook import show  # noqa: PLC0415  only a notebook shows it

        show(self)

    @property
    def done(self) -> bool:
        """Tell whether it has ended, well or not."""
        self._begin_here()
        return self._done.is_set()

    def wait(self, timeout: float | timedelta | None = None) -> R:
        """Block for the result; a KeyboardInterrupt meanwhile cancels the run.

        Args:
            timeout: How many seconds, or how long, to wait at most; the run goes on afterwards.

        Returns:
            The result of the pipeline's sink.

        Raises:
            TimeoutError: There was no result in that time.
            RunCancelledError: The run was cancelled.
            RuntimeError: The caller is on the event loop that the run uses, and would block it; `await` the run there.
            TypeError: `timeout` is no duration.
            ValueError: `timeout` is below 0 or not finite.
        """
        seconds = None if timeout is None else min(seconds_of("wait", "timeout", timeout), TIMEOUT_MAX)
        if not self._done.is_set() and not self._leave_alone():
            raise RuntimeError("run: wait() would block the event loop that this run uses; say `await run` here")
        try:
            if seconds is None:
                # Python may miss a signal that comes as it begins to wait, and sees it when it wakes up.
                while not self._done.wait(_LOOK):
                    pass
            elif not self._done.wait(seconds):
                raise TimeoutError(f"run: no result within {seconds:g} seconds; it goes on")
        except KeyboardInterrupt:
            self.cancel()
            raise
        return self._outcome()

    def __await__(self) -> Generator[Any, None, R]:
        bell = Bell("run")
        self.on_done(bell.ring)
        ended = closed = False
        try:
            yield from bell.__await__()
            ended = True
        except GeneratorExit:  # the coroutine that awaits it was closed, and can wait for nothing any more
            closed = True
            raise
        finally:
            if not ended:
                self.cancel()  # the task that awaits it was cancelled
            if not closed:
                yield from self._tasks_ended().__await__()  # no task of the run is left behind
        return self._outcome()

    async def ended(self) -> None:
        """Wait until it has ended, well or not, and raise nothing of it; also where the task that waits is cancelled.

        Raises:
            RuntimeError: No event loop is running here.
        """
        tasks: Tasks = {}
        with spawning(tasks):
            loop = loop_here()
        if loop is None:
            raise RuntimeError("run: no event loop is running here to wait on")
        if not self.done or self._home is not None:
            loop.spawn(self._left(loop))
            await loop.ended(tasks)

    def stop(self) -> None:
        """Take nothing more from the source and let what is inside come to the end; does not wait for it."""
        if not self._settled.is_set():
            self._controls.stop()

    def cancel(self) -> None:
        """End at once; a caller that waits gets RunCancelledError."""
        if self._settle(None, RunCancelledError("run: cancelled before there was a result")):
            self._controls.cancel()

    @property
    def progress(self) -> Stream[Progress]:
        """Return reports of the progress, one per second and a last one at the end."""
        return self.progress_every(1.0)

    def progress_every(self, seconds: float | timedelta) -> Stream[Progress]:
        """Return reports of the progress, at a pace of one's own; one that is not asked for is left out.

        Args:
            seconds: How long it is from one report to the next.

        Raises:
            TypeError: `seconds` is no duration.
            ValueError: `seconds` is not above 0, or not finite.
        """
        return Stream(Chain(Reports(self, seconds_of("progress", "seconds", seconds, zero=False))))

    @property
    def failure(self) -> Exception | None:
        """Return what it has failed with, which is a RunCancelledError if it was cancelled; else None."""
        self._told = self._error is not None
        return self._error

    @property
    def plan(self) -> Plan | None:
        """Return the plan that it follows; None for a run of this process, which follows its chain."""
        return None if isinstance(self._controls, InProcess) else self._controls.explain()

    @property
    def chain(self) -> Chain | None:
        """Return the chain that runs in this process; None for a run that follows a plan."""
        return self._controls.chain if isinstance(self._controls, InProcess) else None

    def page(self, *, browser: bool = False) -> Page:
        """Serve a live page of it on loopback and print the address, with its token; `browser` opens it.

        Every step is on it if the run began inside `penstock.page.observe_page()`; else what the run reports by itself.
        It needs `pip install penstock[page]`.
        """
        page: Page = importlib.import_module("penstock.page").page_of(self, browser=browser)
        return page

    def now(self) -> Progress:
        """Return how far it is."""
        return self._last or replace(self._controls.progress(), elapsed=self.clock.now() - self._began)

    def explain(self) -> Plan:
        """Return what of it runs where, and what bounds it."""
        return self._controls.explain()

    def on_done(self, fn: Callable[[], None], /) -> None:
        """Call a function when the run has ended, at once if it has.

        Args:
            fn: Called without arguments, on the thread of the run or on this one; what it raises is dropped.
        """
        self._begin_here()
        with self._lock:
            ended = self._done.is_set()
            if not ended:
                self._on_done.append(fn)
        if ended:
            fn()

    # The run itself.

    def _begin_here(self) -> None:
        """Begin on the loop of this thread, if the run waits for its turn; without it if the thread will be blocked."""
        if not running():
            self._leave_alone()
        elif not self._begun and self._home is not None and self._home.loop.current:
            self._begin(self._home)

    def _leave_alone(self) -> bool:
        """Begin without the loop of this thread, which is going to wait; tell whether that can be."""
        home = self._home
        if home is None or not home.loop.current:
            return True
        self._begin(None)
        return home.forgo()

    def _begin(self, home: HomeLoop | None) -> None:
        """Start the thread, once; with a home on the thread of its loop."""
        with self._lock:
            begun, self._begun = self._begun, True
        if begun:
            return
        if home is not None and not home.ours:  # one of ours lasts as long as what the run has there
            self._guard = home.loop.spawn(self._over(home.loop))
            self._guard.add_done_callback(partial(self._unguarded, home))
        self._context.run(at_home, home)
        Thread(target=self._context.run, args=(self._work,), name="penstock-run", daemon=True).start()

    async def _over(self, loop: AnyLoop) -> None:
        over = loop.future()

        def tell() -> None:
            if not over.done():
                over.set_result(None)

        self.on_done(partial(loop.call, tell))
        await over

    async def _left(self, loop: AnyLoop) -> None:
        """Wait until it has ended and no task of it is left on the loop that it was begun on, if that is this one."""
        await self._over(loop)
        await self._tasks_ended()

    async def _tasks_ended(self) -> None:
        """Wait until no task of it is left on the loop that it was begun on, once its outcome is known."""
        home = self._home
        if home is not None and home.loop.current:
            if self._guard is not None:
                self._guard.cancel()  # a thread of the run may be busy for long
            await home.loop.ended(home.tasks)

    def _unguarded(self, home: HomeLoop, _: object) -> None:
        """Fail the run if the loop that it uses has ended before it: a loop that ends cancels its tasks."""
        gone = home.used and not self._done.is_set()
        if gone and self._settle(None, RuntimeError("run: the event loop that it uses has ended before it did")):
            self._controls.cancel()

    def _outcome(self) -> R:
        if self.failure is not None:
            raise self.failure
        return self._result  # type: ignore[no-any-return]

    def _settle(self, result: Any, error: Exception | None) -> bool:
        """Keep the result or the failure, the first one only; tell whether it was."""
        with self._lock:
            if self._settled.is_set():
                return False
            self._result, self._error = result, error
            self._settled.set()
            return True

    def __del__(self) -> None:
        if self._settled.is_set():  # else it has not begun, and has nothing to tell
            self._tell_what_is_lost()

    def _tell_what_is_lost(self) -> None:
        if not self._settled.is_set():
            what = "a run" if self.chain is None else f"the run of {self.chain}"
            _log.warning("run: the program ends before %s; say run.wait() to let it come to its end", what)
        elif not (self._error is None or self._told or isinstance(self._error, RunCancelledError)):
            self._told = True
            drop("run: it failed, and no caller has asked for its result", self._error)

    def _work(self) -> None:
        enter(self)
        try:
            self._controls.start(self._settle)
        except Exception as error:  # noqa: BLE001  a caller that waits gets it
            self._settle(None, error)
        finally:
            if sys.exception() is not None and self._settle(None, interruption()):
                self._controls.cancel()  # a KeyboardInterrupt or its like passes, and a caller that waits is told
            self._settled.wait()
            self._close()

    def _close(self) -> None:
        last = None
        try:
            last = replace(self._controls.progress(), elapsed=self.clock.now() - self._began, done=True)
            self._controls.close()
        except CommitError as error:
            self._error = self._error or error  # no caller that waits has been told of an outcome yet
        except Exception as error:  # noqa: BLE001  the outcome is known
            drop("run: it did not end cleanly", error)
        finally:
            self._tell(last or Progress(done=True))

    def _tell(self, last: Progress) -> None:
        """Tell all who wait that it has ended."""
        with self._lock:
            self._last = last
            self._done.set()
            waiting, self._on_done = self._on_done, []
        for fn in waiting:
            try:
                fn()
            except Exception as error:  # noqa: BLE001  the others must be called as well
                drop("run: a function of on_done raised", error)
