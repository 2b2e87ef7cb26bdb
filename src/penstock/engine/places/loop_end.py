"""loop_end: bring a loop of asyncio to its end, whatever is still under way on it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import asyncio

TURNS = 4
"""How many turns of a loop without a task mean that none will come: a task that has ended may have made a call, and
that one another, which starts a task to close something."""


def wind_up(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the tasks of a loop that has stopped, wait for them and for those that they leave behind, and close it."""
    import asyncio  # noqa: PLC0415  the core does not load it

    async def end() -> None:
        idle = 0
        while idle < TURNS:
            tasks = asyncio.all_tasks() - {asyncio.current_task()}
            idle = 0 if tasks else idle + 1
            await (asyncio.gather(*tasks, return_exceptions=True) if tasks else asyncio.sleep(0))
        await loop.shutdown_asyncgens()

    try:
        for task in asyncio.all_tasks(loop):
            task.cancel()
        ending = loop.create_task(end())
        while not ending.done():
            # Each SystemExit of another task or call stops the loop once more, as does a `stop` that was on its way.
            with suppress(KeyboardInterrupt, SystemExit, RuntimeError):
                loop.run_until_complete(ending)
    finally:
        asyncio.set_event_loop(None)
        loop.close()
