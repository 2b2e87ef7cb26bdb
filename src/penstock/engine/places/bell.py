"""bell: a task waits on its event loop for what another thread says."""

from __future__ import annotations

from collections.abc import Generator
from typing import Any

from penstock.engine.places.event_loops import AnyLoop, Future, loop_here


class Bell:
    """A bell that any thread may ring, for one task that waits for it on the loop running here."""

    __slots__ = ("_future", "_loop")

    def __init__(self, who: str) -> None:
        loop = loop_here()
        if loop is None:
            raise RuntimeError(f"{who}: no event loop is running here to wait on")
        self._loop: AnyLoop = loop
        self._future: Future = loop.future()

    def ring(self) -> None:
        """Let the task go on."""
        self._loop.call(self._set)

    def _set(self) -> None:
        if not self._future.done():
            self._future.set_result(None)

    def __await__(self) -> Generator[Any, None, None]:
        yield from self._future.__await__()
