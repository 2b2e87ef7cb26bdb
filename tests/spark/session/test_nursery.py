"""nursery: what Spark's Python processes are when they are forked, and what becomes of them."""

from __future__ import annotations

import json
import os
import select
import signal
import subprocess
import sys
import tempfile
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any

import pytest

from penstock.spark.session.interpreter import start_nursery
from tests.spark.processes import command, wait_gone

WAIT = 60
SPARKS = {"PYTHONHASHSEED": os.environ.get("PYTHONHASHSEED", "0"), "SPARK_BUFFER_SIZE": "4096"}
"""What Spark gives its processes besides its own environment."""

TELL = """
import json, os, random, sys
import numpy
print(json.dumps({
    "arguments": sys.argv[1:], "folder": os.getcwd(), "parent": os.getppid(), "path": sys.path,
    "variable": os.environ.get("SPARK_TOLD"), "mine": os.environ.get("MINE"), "input": sys.stdin.readline(),
    "numbers": [random.random(), float(numpy.random.random())], "threads": len(os.listdir("/proc/self/task")),
    "main": __name__, "arrow": "pyarrow" in sys.modules,
}))
print("to the terminal", file=sys.stderr)
"""


@contextmanager
def nursery() -> Iterator[tuple[list[str], Path]]:
    """Start a nursery in a folder with a short path; give its command and the folder."""
    with tempfile.TemporaryDirectory() as name, ExitStack() as on_close:
        call = start_nursery(Path(name) / "nursery", on_close)
        assert call is not None
        yield call, Path(name)


def told(call: list[str], folder: Path, *arguments: str, **variables: str) -> dict[str, Any]:
    """Run a file that tells what it is."""
    file = folder / "tell.py"
    file.write_text(TELL)
    done = subprocess.run(
        [*call, str(file), *arguments],
        input="a line\n",
        capture_output=True,
        text=True,
        cwd=folder,
        env=os.environ | SPARKS | variables,
        timeout=WAIT,
        check=True,
    )
    assert done.stderr == "to the terminal\n"
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def test_a_child_has_what_its_caller_was_given():
    with nursery() as (call, folder):
        found = told(call, folder, "one", "two words", SPARK_TOLD="so", PYTHONPATH=f"/nowhere{os.pathsep}/else")
    assert found["arrow"]
    assert (found["arguments"], found["folder"]) == (["one", "two words"], str(folder.resolve()))
    assert (found["variable"], found["input"], found["main"]) == ("so", "a line\n", "__main__")
    assert found["path"][:2] == ["/nowhere", "/else"]
    assert found["threads"] == 1


def test_children_have_random_numbers_of_their_own():
    with nursery() as (call, folder):
        one, two = told(call, folder), told(call, folder)
    assert one["arrow"]
    assert one["numbers"][0] != two["numbers"][0]
    assert one["numbers"][1] != two["numbers"][1]


@pytest.mark.parametrize("variables", [{"MINE": "1"}, {"PYTHONHASHSEED": "7"}, {"OMP_NUM_THREADS": "31"}])
def test_what_counts_while_modules_are_imported_is_never_another_than_the_callers(variables):
    """Such a call is declined, and the caller runs Python itself."""
    with nursery() as (call, folder):
        found = told(call, folder, "one", **variables)
    assert not found["arrow"]
    assert (found["arguments"], found["mine"]) == (["one"], variables.get("MINE"))


def test_without_a_nursery_the_caller_runs_python_itself():
    with nursery() as (call, _):
        pass
    with tempfile.TemporaryDirectory() as name:
        found = told(call, Path(name), "one")
    assert not found["arrow"]
    assert found["arguments"] == ["one"]


@pytest.mark.parametrize(
    ("text", "status"),
    [
        ("raise SystemExit(3)", 3),
        ("import os, signal; os.kill(os.getpid(), signal.SIGKILL)", -signal.SIGKILL),
        ("raise ValueError('no')", 1),
        ("import atexit; atexit.register(print, 'at the end')", 0),
    ],
)
def test_the_caller_ends_as_its_child_does(text, status):
    with nursery() as (call, folder):
        (folder / "ends.py").write_text(text)
        done = subprocess.run(
            [*call, str(folder / "ends.py")],
            capture_output=True,
            text=True,
            env=os.environ | SPARKS,
            timeout=WAIT,
            check=False,
        )
    assert done.returncode == status
    assert (done.stdout == "at the end\n") is (status == 0)
    assert ("ValueError: no" in done.stderr) is (status == 1)


@contextmanager
def waiting(call: list[str], folder: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Start a child that waits for the end of its input; give its caller and its number."""
    file = folder / "wait.py"
    file.write_text("import os, sys; print(os.getpid(), flush=True); sys.stdin.read()")
    with subprocess.Popen(
        [*call, str(file)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=os.environ | SPARKS
    ) as caller:
        assert caller.stdout is not None
        yield caller, int(caller.stdout.readline())
        assert caller.stdin is not None
        caller.stdin.close()


def _terminate(caller: subprocess.Popen[bytes]) -> None:
    caller.terminate()


def _kill(caller: subprocess.Popen[bytes]) -> None:
    caller.kill()


@pytest.mark.parametrize("end", [_terminate, _kill])
def test_a_child_is_ended_with_its_caller(end: Callable[[subprocess.Popen[bytes]], None]):
    with nursery() as (call, folder), waiting(call, folder) as (caller, child):
        ended = os.pidfd_open(child)
        end(caller)
        assert select.select([ended], [], [], WAIT)[0]
        os.close(ended)


def test_a_nursery_that_is_killed_leaves_its_children_at_work():
    with nursery() as (call, folder), waiting(call, folder) as (caller, child):
        parent = int(Path(f"/proc/{child}/stat").read_text().rpartition(")")[2].split()[1])
        os.kill(parent, signal.SIGKILL)
        caller.wait(WAIT)
        assert "nursery.py" in command(child)
        found = told(call, folder, "one")
        assert (found["arrow"], found["arguments"]) == (False, ["one"])
    wait_gone({child})


def test_a_nursery_ends_with_the_program_that_has_started_it():
    text = """
import sys, tempfile
from contextlib import ExitStack
from pathlib import Path
from penstock.spark.session.interpreter import start_nursery
with tempfile.TemporaryDirectory() as name, ExitStack() as on_close:
    print(*start_nursery(Path(name) / "nursery", on_close), flush=True)
    sys.stdin.read()
"""
    with subprocess.Popen([sys.executable, "-c", text], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as program:
        assert program.stdout is not None
        call = program.stdout.readline().decode().split()
        with tempfile.TemporaryDirectory() as folder:
            parent = told(call, Path(folder))["parent"]
        program.kill()
        program.wait(WAIT)
    wait_gone({parent})
