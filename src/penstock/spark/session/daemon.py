"""daemon: PySpark's daemon of Python workers, whose workers print no traceback and hold up no exception at their end.

Spark closes its connection to workers that were idle for a minute. Such a worker notices when it next writes to Spark,
and PySpark would print the traceback of that to the terminal; here the worker ends without printing.

With PySpark's own daemon a worker whose function has raised reads the rest of its input and throws it away. As long as
it does so, Spark goes on writing, and reads the exception only after the whole partition. Here the worker reads no
more: Spark finds no more room to write, so it reads the exception and closes the connection.

It is run by its path, never imported: workers are forked from it, so it must not bring in what starts threads.
"""

from __future__ import annotations

import os
import runpy
import select
from pathlib import Path
from typing import Any

from pyspark import daemon

_worker = daemon.worker


def worker(sock: Any, authenticated: Any) -> Any:
    """Serve Spark until it closes the connection."""
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
    poller.register(sock.fileno(), select.POLLRDHUP)  # errors and closed connections are always reported
    poller.poll()


if __name__ == "__main__":
    runpy.run_path(str(Path(__file__).with_name("light.py")))["lighten"](Path(__file__).parents[2])
    daemon.worker = worker
    daemon.manager()
