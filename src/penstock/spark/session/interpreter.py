"""interpreter: the Python that Spark starts beside the driver, with the driver's own path before Spark's.

Spark puts an archive of PySpark first on the path of every Python it starts. Nothing of an archive is kept compiled, so
each process compiles most of PySpark anew: a second or more, and every streaming query has a planner in a separate
process, for which the JVM waits no longer than ten seconds. From the installed package the same import takes a third.
"""

from __future__ import annotations

import os
import shlex
import stat
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
    lines = ["#!/bin/sh", f'export PYTHONPATH={path}:"$PYTHONPATH"']
    for module, own in _QUIETER.items():
        file = shlex.quote(str(Path(__file__).with_name(own)))
        lines.append(f'if [ "$1 $2" = "-m {module}" ]; then shift 2; exec {python} -P {file} "$@"; fi')
    program.write_text("\n".join([*lines, f'exec {python} "$@"\n']))
    program.chmod(stat.S_IRWXU)
    _own.add(str(program))
    on_close.callback(_own.discard, str(program))
    return str(program)
