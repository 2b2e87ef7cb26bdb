"""daemon: PySpark's daemon of Python workers, whose workers print no traceback and hold up no exception at their end.

Spark closes its connection to workers that were idle for a minute. Such a worker notices when it next writes to Spark,
and PySpark would print the traceback of that to the terminal; here the worker ends without printing.

With PySpark's own daemon a worker whose function has raised reads the rest of its input and throws it away. As long as
it does so, Spark goes on writing, and reads the exception only after the whole partition. Here the worker reads no
more: Spark finds no more room to write, so it reads the exception and closes the connection.

After every task PySpark looks through all objects for garbage, most of which belong to modules: that takes as long as
to read a hundred thousand rows. Here the objects that are left after a task which has imported something are set aside.

It is run by its path, never imported: workers are forked from it, so it must not bring in what starts threads.
"""

from __future__ import annotations

import gc
import os
import runpy
import select
import sys
from pathlib import Path
from typing import Any

from pyspark import daemon

_worker = daemon.worker
_modules = 0
"""How many modules there were when objects were last set aside."""


def worker(sock: Any, authenticated: Any) -> Any:
    """Serve Spark until it closes the connection."""
    try:
        code = _worker(sock, authenticated)
    except BrokenPipeError:
        os._exit(0)
    if code:
        hung_up(sock)
    set_aside()
    return code


def set_aside() -> None:
    """Hide from the garbage collector what is here to stay, if there are more modules than the last time.

    What was hidden before is looked through once more, so that garbage among it does not stay.
    """
    global _modules  # noqa: PLW0603  one for the process
    if len(sys.modules) != _modules:
        _modules = len(sys.modules)
        gc.unfreeze()
        gc.collect()
        gc.freeze()


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
    _modules = len(sys.modules)  # forked from the nursery, it has all that its workers need, set aside already
    daemon.manager()
