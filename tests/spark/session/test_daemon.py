"""daemon and planner: Python that Spark has let go of ends without a word; PySpark's own prints a traceback."""

from __future__ import annotations

import os
import select
import socket
import struct
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from penstock.spark.session import interpreter

QUIET = [str(Path(interpreter.__file__).with_name("daemon.py"))]


@pytest.fixture
def folder() -> Iterator[Path]:
    """Return a folder with a path so short that a socket can be in it, which those of pytest need not be."""
    with tempfile.TemporaryDirectory() as name:
        yield Path(name)


def let_go(command: list[str], folder: Path) -> str:
    """Start a daemon as the JVM does, have it start a worker, hang up on that, and return what was said."""
    environment = os.environ | {
        "PYTHON_UNIX_DOMAIN_ENABLED": "true",
        "PYTHON_WORKER_FACTORY_SOCK_DIR": str(folder),
        "PYTHON_DAEMON_KILL_WORKER_ON_FLUSH_FAILURE": "1",
    }
    said = folder / "stderr"
    with (
        said.open("w") as stderr,
        subprocess.Popen(
            [*command, "pyspark.sql.worker.create_data_source"],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=stderr,
            env=environment,
        ) as daemon,
    ):
        assert daemon.stdin is not None
        assert daemon.stdout is not None
        (length,) = struct.unpack("!i", daemon.stdout.read(4))
        path = daemon.stdout.read(length).decode()
        with socket.socket(socket.AF_UNIX) as spark:
            spark.connect(path)
            (worker,) = struct.unpack("!i", spark.recv(4, socket.MSG_WAITALL))
            ended = os.pidfd_open(worker)
        assert select.select([ended], [], [], 60)[0]
        os.close(ended)
        daemon.stdin.close()  # the end of the daemon as well
        daemon.wait(60)
    return said.read_text()


@pytest.mark.parametrize("quiet", [True, False])
def test_a_worker_that_was_let_go_of_ends_without_a_word(folder, quiet):
    said = let_go([sys.executable, *(["-P", *QUIET] if quiet else ["-m", "pyspark.daemon"])], folder)
    assert (said == "") is quiet, said
    assert quiet or "BrokenPipeError" in said


def test_the_daemon_brings_in_nothing_that_starts_threads():
    text = (
        f"import runpy, sys; runpy.run_path({QUIET[0]!r}); print('pyarrow' in sys.modules, 'penstock' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-P", "-c", text], capture_output=True, text=True, check=True)
    assert done.stdout == "False False\n"


def test_the_interpreter_of_a_session_runs_it(folder):
    with ExitStack() as on_close:
        program = interpreter.interpreter(on_close)
        assert let_go([program, "-m", "pyspark.daemon"], folder) == ""
        done = subprocess.run([program, "-c", "print(5)"], capture_output=True, text=True, check=True)
        assert done.stdout == "5\n"


@pytest.mark.parametrize("quiet", [True, False])
def test_a_planner_that_was_let_go_of_ends_without_a_word(folder, quiet):
    said, path = folder / "stderr", str(folder / "socket")
    with ExitStack() as on_close, said.open("w") as stderr, socket.socket(socket.AF_UNIX) as spark:
        program = interpreter.interpreter(on_close) if quiet else sys.executable
        spark.bind(path)
        spark.listen()
        planner = subprocess.Popen(
            [program, "-m", "pyspark.sql.streaming.python_streaming_source_runner"],
            stderr=stderr,
            env=os.environ | {"PYTHON_WORKER_FACTORY_SOCK_PATH": path},
        )
        with spark.accept()[0] as connection:
            connection.recv(4, socket.MSG_WAITALL)
        planner.wait(60)
    assert (said.read_text() == "") is quiet, said.read_text()


LIGHT = """
import runpy, sys
from pathlib import Path
runpy.run_path(sys.argv[1])["lighten"](Path(sys.argv[1]).parents[2])
import penstock.spark.ingest.data_source, penstock.errors
print("penstock.stream" in sys.modules, "penstock.spark.facade" in sys.modules, hasattr(penstock, "__wrapped__"))
from penstock import Stream
from penstock.spark import Spark
import penstock
print(list(Stream.range(2)), Spark.__name__, penstock.spark.ingest.data_source.__name__, hasattr(penstock, "nothing"))
"""


def test_a_process_that_reads_a_stream_brings_in_no_operator_until_one_is_asked_for():
    file = Path(interpreter.__file__).with_name("light.py")
    done = subprocess.run([sys.executable, "-c", LIGHT, file], capture_output=True, text=True, check=False)
    assert done.stdout == "False False False\n[0, 1] Spark penstock.spark.ingest.data_source False\n", done.stderr


SET_ASIDE = """
import gc, runpy, sys
set_aside = runpy.run_path(sys.argv[1])["set_aside"]

class Ring:
    def __init__(self):
        self.itself = self
    def __del__(self):
        print("collected")

ring = Ring()
set_aside()
hidden = gc.get_freeze_count()
later = [Ring() for _ in range(3)]
set_aside()
print(hidden > 1000, gc.get_freeze_count() == hidden)
del ring
gc.collect()
print("still there")
import colorsys
set_aside()
print(gc.get_freeze_count() > hidden)
"""


def test_what_a_worker_keeps_is_looked_through_for_garbage_when_it_imports_something():
    done = subprocess.run([sys.executable, "-P", "-c", SET_ASIDE, *QUIET], capture_output=True, text=True, check=False)
    words = ["True True", "still there", "collected", "True"]
    assert done.stdout.splitlines()[:4] == words, done.stderr


def test_a_planner_that_is_not_waited_for_any_more_ends_without_a_word(folder):
    """The query was stopped before this process was up."""
    planner = subprocess.run(
        [sys.executable, str(Path(interpreter.__file__).with_name("planner.py"))],
        env=os.environ | {"PYTHON_WORKER_FACTORY_SOCK_PATH": str(folder / "gone")},
        capture_output=True,
        text=True,
        timeout=1000,
        check=False,
    )
    assert (planner.returncode, planner.stdout, planner.stderr) == (0, "", "")


KEYED = """
from penstock import Sink, Stream, flow
from penstock.spark import Spark, entry, keyed_by


@flow
def counted(words: Stream[str]) -> Stream[int]:
    return words.count()


with Spark(master="local[1]") as spark:
    words = Stream.just("a", "b", "a") | entry("word string")
    print((words | keyed_by(counted, "word") | Sink.to_list()).run(spark).wait())
"""


def test_a_state_for_each_key_prints_nothing():
    done = subprocess.run([sys.executable, "-c", KEYED], capture_output=True, text=True, timeout=1000, check=False)
    assert (done.returncode, sorted(done.stdout), done.stderr) == (0, sorted("[2, 1]\n"), "")
