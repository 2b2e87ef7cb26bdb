"""turn: one task after the other, on any kind of event loop."""

from __future__ import annotations

from penstock.engine.places.event_loops import AnyLoop, Future


class LoopTurn:
    """A lock between the tasks of one loop, whichever kind of loop it is."""

    def __init__(self, loop: AnyLoop) -> None:
        self._loop = loop
        self._taken = False
        self._waiting: list[Future] = []

    async def __aenter__(self) -> None:
        while self._taken:
            freed = self._loop.future()
            self._waiting.append(freed)
            await freed
        self._taken = True

    async def __aexit__(self, *exc: object) -> None:
        self._taken = False
        waiting, self._waiting = self._waiting, []
        for freed in waiting:
            if not freed.done():
                freed.set_result(None)


__all__ = ["LoopTurn"]
