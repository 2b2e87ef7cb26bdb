"""nursery: a process from which Spark's Python processes are forked, with all that they need imported already.

Spark starts a Python for each streaming query, and five more before its first row; each of them imports PySpark and
Arrow anew, which takes longer than most of them work. A session that penstock starts has one nursery beside its JVM.
What Spark starts is `nursery_call.py`, which hands its arguments, environment and standard files over. The nursery
forks a child that goes on with them as if Spark had started it, and tells the caller how the child ended. If the caller
is ended, so is the child.

A child is as good as a process that was started alone only where nothing differs that counts while modules are
imported. So a call is declined, and the caller runs Python itself, where its environment says anything else than the
nursery's, apart from what Spark tells its processes (`OWN`, `SPARKS`).

The nursery has one thread, so that a fork leaves no lock behind that is taken. It ends with the driver, by the end of
its standard input. Callers reach it by a socket in a folder of the user's alone.

It is run by its path, never imported.
"""

from __future__ import annotations

import array
import gc
import importlib
import os
import runpy
import select
import signal
import socket
import struct
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import NamedTuple

TAKEN, DECLINED = b"+", b"-"
PATIENCE = 5.0
"""Seconds for a caller to say what it wants; others wait meanwhile."""
SPARKS = ("SPARK_", "PYSPARK_", "_PYSPARK_", "PYTHON_")
"""How the names of variables begin by which Spark tells its processes what to do."""
OWN = frozenset((
    "COLUMNS", "JAVA_HOME", "JE_ARROW_MALLOC_CONF", "LINES", "OLDPWD", "OMP_NUM_THREADS", "PWD", "PYTHONPATH",
    "PYTHONUNBUFFERED", "SHLVL", "_",
))  # fmt: skip
"""Variables that differ from those of a nursery without a consequence, or are seen to by `goes_on_as`."""
NEEDED = (
    "pyspark.worker",
    "pyspark.sql.worker.lookup_data_sources",
    "pyspark.sql.worker.create_data_source",
    "pyspark.sql.worker.plan_data_source_read",
    "pyspark.sql.streaming.python_streaming_source_runner",
    "pyarrow.flight",
    "penstock.spark.ingest.data_source",
    "penstock.spark.egress.delivery",
    "penstock.spark.stages.executing",
)
"""What most of the processes import; a version of PySpark may not have all of it.

Not `pyspark.daemon`: in PySpark 4.0 it looks at the arguments of its process when it is imported.
"""


class Call(NamedTuple):
    """What Spark's process was started with."""

    folder: str
    arguments: list[str]
    """The file to run, and what it is given."""
    environment: dict[str, str]


def read_call(line: socket.socket) -> tuple[Call, list[int]]:
    """Take a call off the line, with the standard files of the caller."""
    files = array.array("i")
    head, told, _, _ = line.recvmsg(8, socket.CMSG_SPACE(3 * files.itemsize))
    for level, kind, data in told:
        if (level, kind) == (socket.SOL_SOCKET, socket.SCM_RIGHTS):
            files.frombytes(data[: len(data) // files.itemsize * files.itemsize])
    size, count = struct.unpack("!ii", head)
    text = bytearray()
    while len(text) < size and (more := line.recv(size - len(text))):
        text += more
    folder, *words = os.fsdecode(bytes(text)).split("\0")
    variables = dict(word.split("=", 1) for word in words[count:])
    return Call(folder, words[:count], variables), list(files)


def fits(own: Mapping[str, str], asked: Mapping[str, str]) -> bool:
    """Tell whether a child of a process that began with one environment can stand for one that began with another."""
    differing = {name for name in own.keys() | asked.keys() if own.get(name) != asked.get(name)}
    if "OMP_NUM_THREADS" in differing & asked.keys():  # some are told nothing, and need no more threads than others
        return False
    return all(name in OWN or name.startswith(SPARKS) for name in differing)


def is_users(line: socket.socket) -> bool:
    """Tell whether a caller is a process of this user."""
    size = struct.calcsize("3i")
    _, user, _ = struct.unpack("3i", line.getsockopt(socket.SOL_SOCKET, socket.SO_PEERCRED, size))
    return bool(user == os.getuid())


class Nursery:
    """The children that live, and the lines to their callers."""

    def __init__(self, listener: socket.socket, began_with: Mapping[str, str]) -> None:
        self._listener = listener
        self._began_with = began_with
        self._lines: dict[int, tuple[socket.socket, int]] = {}
        """By the number of its file: a caller's line, and its child."""
        self._look, self._ended = os.pipe2(os.O_NONBLOCK | os.O_CLOEXEC)

    def serve(self) -> tuple[Call, list[int]] | None:
        """Fork children until the driver has gone; in a child, return its call and files."""
        signal.signal(signal.SIGCHLD, lambda *_: None)  # so that Python writes to the pipe
        signal.set_wakeup_fd(self._ended)
        while True:
            poller = select.poll()
            for file in (0, self._look, self._listener.fileno(), *self._lines):
                poller.register(file, select.POLLIN)
            ready = [file for file, _ in poller.poll()]
            if 0 in ready:
                return None  # the children notice the end of the JVM themselves
            if self._look in ready:
                os.read(self._look, 4096)
                self._tell_ends()
            for file in self._lines.keys() & ready:
                self._caller_gone(file)
            if self._listener.fileno() in ready:
                born = self._answered(self._listener.accept()[0])
                if born is not None:
                    return born

    def _answered(self, line: socket.socket) -> tuple[Call, list[int]] | None:
        """Answer one caller; return its call in the child alone."""
        call: Call | None = None
        files: list[int] = []
        try:
            line.settimeout(PATIENCE)
            call, files = read_call(line)
            line.settimeout(None)
            child = os.fork() if self._takes(line, call, files) else -1
        except (OSError, ValueError, struct.error):  # of a caller that was ended meanwhile, or where no fork can be had
            child = -1
        if child == 0:
            assert call is not None
            self._let_go()
            line.close()
            return call, files
        for file in files:
            os.close(file)
        with suppress(OSError):
            line.sendall(TAKEN if child > 0 else DECLINED)
        if child > 0:
            self._lines[line.fileno()] = line, child
        else:
            line.close()
        return None

    def _takes(self, line: socket.socket, call: Call, files: list[int]) -> bool:
        return is_users(line) and len(files) == 3 and fits(self._began_with, call.environment)

    def _let_go(self) -> None:
        """Keep nothing of the nursery's in a child."""
        signal.set_wakeup_fd(-1)
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        for file in (self._look, self._ended):
            os.close(file)
        for line, _ in self._lines.values():
            line.close()
        self._listener.close()

    def _tell_ends(self) -> None:
        """Tell the callers of children that have ended how they did."""
        with suppress(ChildProcessError):
            while (found := os.waitpid(-1, os.WNOHANG))[0]:
                for file, (line, child) in list(self._lines.items()):
                    if child == found[0]:
                        del self._lines[file]
                        with suppress(OSError), line:
                            line.sendall(struct.pack("!i", os.waitstatus_to_exitcode(found[1])))

    def _caller_gone(self, file: int) -> None:
        """End the child of a caller that was ended."""
        line, child = self._lines.pop(file)
        line.close()
        with suppress(ProcessLookupError):
            os.kill(child, signal.SIGTERM)


def import_needed() -> None:
    """Import what children need, and set it aside for the garbage collector."""
    runpy.run_path(str(Path(__file__).with_name("light.py")))["lighten"](Path(__file__).parents[2])
    for name in NEEDED:
        with suppress(ImportError):
            importlib.import_module(name)
    gc.collect()
    gc.freeze()


def goes_on_as(call: Call, files: list[int]) -> None:
    """Be the process that was called for, up to where its file is run."""
    for number, file in enumerate(files):
        os.dup2(file, number)
        os.close(file)
    os.chdir(call.folder)
    os.environ.clear()
    os.environ.update(call.environment)
    path = call.environment.get("PYTHONPATH", "").split(os.pathsep)
    sys.path[:] = dict.fromkeys([*filter(None, path), *sys.path])
    sys.argv[:] = call.arguments
    random = sys.modules.get("numpy.random")
    if random is not None:  # Python's own numbers differ in every fork, and these would not
        random.seed()


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # as the JVM has it, and its processes from it
    nursery = Nursery(socket.socket(fileno=int(sys.argv[1])), dict(os.environ))  # which imports may change
    import_needed()
    born = nursery.serve()
    if born is not None:
        goes_on_as(*born)
        runpy.run_path(sys.argv[0], run_name="__main__")
