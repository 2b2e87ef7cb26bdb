"""`penstock run`: a pipeline of a file, its result, its exit status, and how SIGINT and SIGTERM end it."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from penstock.cli import main
from tests.spark.processes import QUICK_JVM

GOOD = """
from penstock import Sink, Stream, flow

@flow
def shouted(words: Stream[str]) -> Stream[str]:
    return words.map(str.upper)

pipeline = Stream.just("a", "b") | shouted | Sink.to_list()
other = Stream.range(3) | Sink.count()
failing = Stream.range(3).map(lambda n: 1 // n) | Sink.count()
number = 5
"""
ENDLESS = """
import atexit, itertools
from penstock import Sink, Stream, flow

taken, ended = [0], [0]

def numbers():
    try:
        for n in itertools.count():
            taken[0] += 1
            yield n
    finally:
        atexit.register(lambda: print(taken[0], ended[0]))

@flow
def same(numbers: Stream[int]) -> Stream[int]:
    return numbers.map(lambda n: n)

def seen(n):
    if n == 0:
        print("first", flush=True)
    ended[0] += 1

pipeline = Stream.from_iterable(numbers()) | same | Sink.for_each(seen)
"""


NEEDS_SPARK = """
from penstock import Sink, Stream, flow
from penstock.spark import frame

rows = Stream.from_iterable([(n,) for n in range(10)])
pipeline = rows | frame(lambda df: df.where("n % 2 = 0"), schema="n long") | Sink.count()
no_column = rows | frame(lambda df: df.where("m = 0"), schema="n long") | Sink.count()

@flow
def halved(numbers: Stream[int]) -> Stream[int]:
    return numbers.map(lambda n: n // 0)

executors = Stream.range(10) | halved | Sink.count()
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "good.py"
    path.write_text(GOOD)
    return path


def test_it_runs_the_pipeline_and_prints_the_result(file, capsys):
    assert main(["run", str(file), "--quiet"]) == 0
    assert capsys.readouterr().out == "['A', 'B']\n"


def test_a_pipeline_is_chosen_by_name(file, capsys):
    assert main(["run", str(file), "--name", "other"]) == 0
    out, err = capsys.readouterr()
    assert out == "3\n"
    assert err.splitlines()[-1].startswith("in 3  rows/s ")


def test_a_failure_is_shown_and_is_status_1(file, capsys):
    assert main(["run", str(file), "--name", "failing", "--quiet"]) == 1
    assert capsys.readouterr().err == (
        "penstock run: the pipeline failed: ZeroDivisionError: integer division or modulo by zero;"
        " in map(<lambda>), step 1 of 2, good.py:10\n"
    )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--name", "none"], "{file} has no 'none'; its pipelines are: failing, other, pipeline; say --name"),
        (["--name", "number"], "'number' in {file} must be a Pipeline (source | ... | sink), got 5"),
        (["--conf", "nothing"], "--conf must be KEY=VALUE, got 'nothing'"),
    ],
)
def test_what_cannot_be_started_is_status_2(file, capsys, arguments, message):
    assert main(["run", str(file), *arguments]) == 2
    assert capsys.readouterr().err == f"penstock run: {message.format(file=file)}\n"


def test_a_file_that_is_not_there_is_status_2(tmp_path, capsys):
    assert main(["run", str(tmp_path / "no.py")]) == 2
    assert capsys.readouterr().err == f"penstock run: there is no file {str(tmp_path / 'no.py')!r}\n"


def test_a_file_that_fails_is_status_2(tmp_path, capsys):
    path = tmp_path / "bad.py"
    path.write_text("1 / 0")
    assert main(["run", str(path)]) == 2
    assert capsys.readouterr().err == f"penstock run: {path}, line 1, failed: ZeroDivisionError: division by zero\n"


def test_it_explains(file, capsys):
    assert main(["run", str(file), "--explain"]) == 0
    assert capsys.readouterr().out.startswith("in this process\n  source ├─ just\n")


QUICK = ["--conf", f"spark.driver.extraJavaOptions={QUICK_JVM}"]


ON_SPARK = ["--master", "local[1]", "--conf", "spark.driver.memory=512m", *QUICK]


@pytest.mark.parametrize(
    ("number", "status", "options"),
    [(signal.SIGINT, 130, []), (signal.SIGINT, 130, ON_SPARK), (signal.SIGTERM, 143, ON_SPARK)],
    ids=["SIGINT here", "SIGINT on Spark", "SIGTERM on Spark"],
)
def test_a_signal_stops_cleanly(tmp_path, number, status, options):
    path = tmp_path / "endless.py"
    path.write_text(ENDLESS)
    process = subprocess.Popen(
        [sys.executable, "-m", "penstock", "run", str(path), *options],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path)},
    )
    assert process.stdout is not None
    try:
        assert process.stdout.readline() == "first\n"
        if number == signal.SIGINT:
            os.killpg(process.pid, number)  # as a terminal does: Spark's processes get it too
        else:
            process.send_signal(number)  # as docker and Kubernetes do
        out, err = process.communicate(timeout=1000)
    finally:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)  # it has no end of its own
    assert process.returncode == status, err
    assert "penstock run: stopped" in err
    assert "/penstock/" not in err  # no traceback of ours; a daemon of Spark may say that its pipe is broken
    assert "incubator" not in err
    taken, ended = map(int, out.split())
    assert taken == ended  # rows inside have come to their end


def run_on_spark(folder, *arguments):
    path = folder / "needs.py"
    path.write_text(NEEDS_SPARK)
    return subprocess.run(
        [sys.executable, "-m", "penstock", "run", str(path), *arguments],
        capture_output=True,
        text=True,
        env=os.environ | {"PYTHONPATH": os.pathsep.join(sys.path), "JDK_JAVA_OPTIONS": QUICK_JVM},
        timeout=1000,
        check=False,
    )


@pytest.mark.parametrize(
    ("arguments", "told"),
    [
        (
            ["--name", "executors", "--master", "local[1]"],
            r"ZeroDivisionError: integer division or modulo by zero; in map\(halved.<lambda>\), step 2 of 2, .*",
        ),
        (["--name", "no_column"], r"AnalysisException: \[UNRESOLVED_COLUMN.WITH_SUGGESTION\] A column, .*"),
    ],
    ids=["an executor", "Spark"],
)
def test_a_failure_on_spark_is_one_line_without_a_trace_of_the_jvm(tmp_path, arguments, told):
    done = run_on_spark(tmp_path, "--quiet", *arguments)
    assert (done.returncode, done.stdout) == (1, ""), done.stderr
    lines = [line for line in done.stderr.splitlines() if line != f"NOTE: Picked up JDK_JAVA_OPTIONS: {QUICK_JVM}"]
    assert len(lines) == 1, done.stderr
    assert re.fullmatch(f"penstock run: the pipeline failed: {told}", lines[0]), done.stderr


def test_a_part_that_needs_spark_starts_it_and_ends_it(tmp_path):
    done = run_on_spark(tmp_path)
    assert (done.returncode, done.stdout) == (0, "5\n"), done.stderr
    last = done.stderr.splitlines()[-1]
    assert last.startswith("in 10  out 5  rows/s "), done.stderr
    assert "lag 0" in last
