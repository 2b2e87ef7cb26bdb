"""loop_end: bring a loop of asyncio to its end, whatever is still under way on it."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import asyncio


def wind_up(loop: asyncio.AbstractEventLoop) -> None:
    """Cancel the tasks of a loop that has stopped, wait for them, and close it."""
    import asyncio  # noqa: PLC0415  the core does not load it

    async def end(tasks: set[asyncio.Task[Any]]) -> None:
        await asyncio.gather(*tasks, return_exceptions=True)
        await loop.shutdown_asyncgens()

    try:
        pending = asyncio.all_tasks(loop)
        for task in pending:
            task.cancel()
        ending = loop.create_task(end(pending))
        while not ending.done():
            with suppress(KeyboardInterrupt, SystemExit):  # each of another task or call stops the loop once more
                loop.run_until_complete(ending)
    finally:
        asyncio.set_event_loop(None)
        loop.close()
