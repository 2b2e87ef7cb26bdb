"""daemon: PySpark's daemon of Python workers, with better manners at the end of a worker.

Spark hangs up on workers that were idle for a minute. Such a worker notices when it wants to say goodbye, and PySpark
would print the traceback of it into whatever else is on the terminal; here it ends without a word.

A worker whose function has raised swallows the rest of its input, so that Spark can hang up in peace; and as long as
its input is swallowed Spark goes on to write it, and reads of the exception only when the whole partition is through.
Here it just waits: Spark finds no more room to write, so it reads, and hangs up.

It is run by its path, never imported: workers are forked from it, so it must not bring in what starts threads.
"""

from __future__ import annotations

import os
import select
from typing import Any

from pyspark import daemon

_worker = daemon.worker


def worker(sock: Any, authenticated: Any) -> Any:
    """Serve Spark until it hangs up."""
    try:
        code = _worker(sock, authenticated)
    except BrokenPipeError:
        os._exit(0)
    if code:
        hung_up(sock)
    return code


def hung_up(sock: Any) -> None:
    """Wait until the other end is closed, and leave what it sends unread."""
    if not hasattr(select, "POLLRDHUP"):
        return  # not on Linux: as PySpark does
    poller = select.poll()
    poller.register(sock.fileno(), select.POLLRDHUP)  # errors and hang-ups are told without being asked for
    poller.poll()


if __name__ == "__main__":
    daemon.worker = worker
    daemon.manager()
