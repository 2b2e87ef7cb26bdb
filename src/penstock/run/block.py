"""block: a run that lasts as long as a `with` or an `async with` block, and no longer."""

from __future__ import annotations

from collections.abc import Callable
from types import TracebackType
from typing import Generic, TypeVar

from penstock.run.handle import Run

R = TypeVar("R")


class RunBlock(Generic[R]):
    """A run for a `with` or an `async with` block: leaving it waits for the result, an error in it cancels the run."""

    __slots__ = ("_run", "_start")

    def __init__(self, start: Callable[[], Run[R]]) -> None:
        self._start = start
        self._run: Run[R] | None = None

    def __enter__(self) -> Run[R]:
        run = self._run = self._start()
        run._leave_alone()
        return run

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        run = self._run
        assert run is not None  # it was entered
        if kind is None:
            run.wait()
        else:
            run.cancel()
            run._done.wait()

    async def __aenter__(self) -> Run[R]:
        run = self._run = self._start()
        _ = run.done  # begins it now, on this loop
        return run

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        run = self._run
        assert run is not None  # it was entered
        if kind is not None:
            run.cancel()
            if not issubclass(kind, GeneratorExit):  # where the coroutine is closed, nothing can be awaited any more
                await run.ended()
            return
        ended = False
        try:
            await run
            ended = True
        except GeneratorExit:
            ended = True
            raise
        finally:
            if not ended:
                await run.ended()


__all__ = ["RunBlock"]
