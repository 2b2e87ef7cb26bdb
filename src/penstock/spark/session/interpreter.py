"""interpreter: the Python that Spark starts beside the driver, with the driver's own path before Spark's.

Spark puts an archive of PySpark first on the path of every Python it starts. Nothing of an archive is kept compiled, so
each process compiles most of PySpark anew: a second or more, and every streaming query has a planner in a separate
process, for which the JVM waits no longer than ten seconds. From the installed package the same import takes a third,
and forked from a nursery (`nursery.py`) next to nothing.
"""

from __future__ import annotations

import os
import shlex
import socket
import stat
import subprocess
import sys
import tempfile
from contextlib import ExitStack
from pathlib import Path

_QUIETER = {
    "pyspark.daemon": "daemon.py",
    "pyspark.sql.streaming.python_streaming_source_runner": "planner.py",
    "pyspark.sql.streaming.transform_with_state_driver_worker": "state_looker.py",
}
"""Which file of this folder is run instead of a module of PySpark, because it prints less to the terminal."""
_PATIENCE = 10.0  # seconds for a nursery that was told to end


def search_path() -> str:
    """Return this interpreter's path, so that others on this machine find every module that this one finds."""
    known = [os.environ.get("PYTHONPATH", ""), *(str(Path(entry).absolute()) for entry in sys.path if entry)]
    return os.pathsep.join(dict.fromkeys(filter(None, known)))


_own: set[str] = set()


def is_own(program: str) -> bool:
    """Return whether a program is one that `interpreter` has made."""
    return program in _own


def interpreter(on_close: ExitStack) -> str:
    """Return a program that runs this Python with this path first; it is gone after `on_close`."""
    folder = Path(on_close.enter_context(tempfile.TemporaryDirectory(prefix="penstock-")))
    if os.statvfs(folder).f_flag & os.ST_NOEXEC:
        return sys.executable  # slower, but it runs
    program = folder / "python"
    python, path = shlex.quote(sys.executable), shlex.quote(search_path())
    run = shlex.join(start_nursery(folder / "nursery", on_close) or [sys.executable, "-P"])
    lines = ["#!/bin/sh", f'export PYTHONPATH={path}:"$PYTHONPATH"']
    for module, own in _QUIETER.items():
        file = shlex.quote(_beside(own))
        lines.append(f'if [ "$1 $2" = "-m {module}" ]; then shift 2; exec {run} {file} "$@"; fi')
    program.write_text("\n".join([*lines, f'exec {python} "$@"\n']))
    program.chmod(stat.S_IRWXU)
    _own.add(str(program))
    on_close.callback(_own.discard, str(program))
    return str(program)


def _beside(name: str) -> str:
    return str(Path(__file__).with_name(name))


def start_nursery(place: Path, on_close: ExitStack) -> list[str] | None:
    """Start a nursery; return the command that runs a file as a child of it, or None if none can be started.

    It is gone after `on_close`.
    """
    if sys.platform != "linux":
        return None  # a fork of a process with more than Python in it is safe there alone
    ours = {
        "PYTHONPATH": search_path(),
        "PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"),  # as PySpark has it
        "PYTHONUNBUFFERED": "YES",  # as Spark has it
        "OMP_NUM_THREADS": os.environ.get("OMP_NUM_THREADS", "1"),
        "JE_ARROW_MALLOC_CONF": "background_thread:false",
    }
    with socket.socket(socket.AF_UNIX) as listener:
        try:
            listener.bind(str(place))
            listener.listen()
            nursery = subprocess.Popen(
                [sys.executable, "-P", _beside("nursery.py"), str(listener.fileno())],
                stdin=subprocess.PIPE,
                pass_fds=(listener.fileno(),),
                env=os.environ | ours,
            )
        except OSError:  # its path is too long, or there is no room for another process: slower, but it runs
            return None
    on_close.callback(_ended, nursery)
    return [sys.executable, "-I", "-S", _beside("nursery_call.py"), str(place), sys.executable]


def _ended(nursery: subprocess.Popen[bytes]) -> None:
    """End a nursery, by the end of its input."""
    assert nursery.stdin is not None
    nursery.stdin.close()
    try:
        nursery.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        nursery.kill()
        nursery.wait()
