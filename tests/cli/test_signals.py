"""SIGTERM stops a run as SIGINT does: the source is closed, what is inside comes to its end; a second one cancels."""

from __future__ import annotations

import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import Any, cast

import pytest

from penstock.cli import main
from penstock.cli.signals import Signals
from tests.cli.commands import WAIT, environment

ENDLESS = """
import atexit, itertools
from penstock import Sink, Stream, thread

taken, ended = [0], [0]

def numbers():
    try:
        for n in itertools.count():
            taken[0] += 1
            yield n
    finally:
        atexit.register(lambda: print("closed", taken[0] == ended[0]))

def seen(n):
    if n == 1000:
        print("many", flush=True)
    ended[0] += 1

pipeline = Stream.from_iterable(numbers()).publish_on(thread()) | Sink.for_each(seen)
"""
BEGUN = """
import sys, threading, time

def begun():  # until signals act on the run, since the command waits for it
    def calls():
        frame = sys._current_frames()[threading.main_thread().ident]
        while frame is not None:
            yield frame.f_code.co_qualname
            frame = frame.f_back
    while "Run.wait" not in calls():
        time.sleep(0.01)
"""
STUCK = f"""{BEGUN}
from penstock import Sink, Stream

def stuck(n):
    begun()
    print("stuck", flush=True)
    threading.Event().wait()

pipeline = Stream.range(10).tap(stuck) | Sink.count()
"""
WAITING = f"""{BEGUN}
import asyncio
from penstock import Sink, Stream

async def waiting(n):
    try:
        begun()
        print("waiting", flush=True)
        await asyncio.Event().wait()
    finally:
        await asyncio.sleep(0.2)  # the command waits for what a coroutine does at its end
        print("let go", flush=True)

pipeline = Stream.range(1).map_async(waiting) | Sink.count()
"""
STARTING = """
import threading
print("starting", flush=True)
threading.Event().wait()
"""

each_signal = pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM], ids=["SIGINT", "SIGTERM"])


def started(folder: Path, text: str, said: str) -> subprocess.Popen[str]:
    """Run the pipeline of a file until it has said something."""
    (folder / "mine.py").write_text(text)
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock", "run", folder / "mine.py", "--quiet"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=environment(),
    )
    assert process.stdout is not None
    assert process.stdout.readline() == f"{said}\n"
    return process


def finished(process: subprocess.Popen[str]) -> tuple[str, str]:
    try:
        return process.communicate(timeout=WAIT)
    finally:
        process.kill()


@each_signal
def test_a_signal_stops_the_run_and_what_is_inside_comes_to_its_end(tmp_path, number):
    process = started(tmp_path, ENDLESS, "many")
    process.send_signal(number)
    out, err = finished(process)
    assert (process.returncode, out) == (128 + number, "closed True\n")
    assert err == "penstock run: stopping; once more to cancel\npenstock run: stopped\n"


@each_signal
def test_a_function_that_does_not_return_holds_no_second_signal_up(tmp_path, number):
    process = started(tmp_path, STUCK, "stuck")
    process.send_signal(number)
    assert process.stderr is not None
    assert process.stderr.readline() == "penstock run: stopping; once more to cancel\n"
    process.send_signal(signal.SIGTERM)
    if number == signal.SIGINT:
        process.send_signal(signal.SIGINT)  # else it is ended some seconds later
    out, err = finished(process)
    left = "penstock run: cancelled, before a function of the pipeline, or Spark, had returned\n"
    assert (process.returncode, out, err) == (128 + number, "", left)


def test_a_second_signal_cancels_what_would_not_stop(tmp_path):
    process = started(tmp_path, WAITING, "waiting")
    process.send_signal(signal.SIGTERM)
    assert process.stderr is not None
    assert process.stderr.readline() == "penstock run: stopping; once more to cancel\n"
    process.send_signal(signal.SIGTERM)
    out, err = finished(process)
    assert (process.returncode, out, err) == (143, "let go\n", "penstock run: cancelled\n")


@each_signal
def test_two_signals_before_there_is_a_run_end_the_command(tmp_path, number):
    process = started(tmp_path, STARTING, "starting")
    process.send_signal(number)
    assert process.stderr is not None
    assert process.stderr.readline() == "penstock run: stopping; once more to cancel\n"
    process.send_signal(number)
    _, err = finished(process)
    assert (process.returncode, err) == (128 + number, "penstock run: cancelled\n")


class Held:
    """What a command controls, whose `stop` takes a lock that the main thread may hold."""

    done = False

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.stopped = threading.Event()

    def stop(self) -> None:
        with self.lock:
            self.stopped.set()


@each_signal
def test_a_signal_in_the_middle_of_what_holds_a_lock_acts_when_the_lock_is_free(number, capfd):
    held = Held()
    with Signals() as signals:
        signals.control(cast("Any", held))
        with held.lock:
            signal.raise_signal(number)  # a handler that waited for the lock would wait for ever
        assert held.stopped.wait(WAIT)
        assert signals.status == 128 + number
    assert capfd.readouterr().err == "penstock run: stopping; once more to cancel\n"


def test_a_command_that_heard_late_of_its_end_is_not_ended_once_more(monkeypatch):
    ends: list[int] = []
    monkeypatch.setattr("os._exit", ends.append)
    signals = Signals()

    class Ear:
        """Hears nothing in time, and meanwhile the main thread is interrupted."""

        heard = 0

        def settimeout(self, seconds: float | None) -> None:
            assert seconds is not None or self.heard == 1

        def recv(self, count: int) -> bytes:
            self.heard += 1
            if self.heard == 1:
                signals._leaving = False
                raise TimeoutError
            return b"\xff"

    signals._leaving = True
    signals._ear = cast("Any", Ear())
    signals._serve()
    assert ends == []


class Interrupted:
    """A module that is being imported when a signal comes."""

    def __getattr__(self, name: str) -> object:
        raise KeyboardInterrupt


def test_a_signal_while_the_modules_are_imported_breaks_the_command_off(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setitem(sys.modules, "penstock.cli.command", cast("Any", Interrupted()))
    assert main(["doctor"]) == 130
    assert capsys.readouterr().err == "penstock: broken off\n"
