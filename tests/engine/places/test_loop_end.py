"""loop_end: a loop that ends waits for what its tasks leave behind."""

from __future__ import annotations

import asyncio
from typing import Any

from penstock.engine.places.loop_end import wind_up


def test_what_is_started_to_close_something_comes_to_its_end() -> None:
    loop = asyncio.new_event_loop()
    closed: list[str] = []
    tasks: list[Any] = []

    async def close(what: str) -> None:
        await asyncio.sleep(0)
        closed.append(what)

    def later(what: str) -> None:
        loop.call_soon(lambda: tasks.append(loop.create_task(close(what))))

    async def leave() -> None:
        raise SystemExit("enough")

    def left(task: Any) -> None:
        task.exception()
        tasks.append(loop.create_task(close("at once")))
        later("later")

    task = loop.create_task(leave())
    task.add_done_callback(left)
    waiting = loop.create_task(asyncio.sleep(1e6))
    waiting.add_done_callback(lambda _: later("behind a task that was cancelled"))
    try:
        loop.run_forever()
    except SystemExit:
        wind_up(loop)
    assert waiting.cancelled()
    assert sorted(closed) == ["at once", "behind a task that was cancelled", "later"]
    assert loop.is_closed()
