"""Errors of users are one sentence and an exit status, never a traceback: each by a process of the real command."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.cli.commands import NO_JAVA, penstock, without

SPARK = """
from penstock import Sink, Stream
from penstock.spark import frame

pipeline = Stream.just("a") | frame(lambda df: df, schema="{schema}") | Sink.to_list()
"""
TWO = """
from penstock import Sink, Stream

first = Stream.range(3) | Sink.count()
second = Stream.range(4) | Sink.count()
same = second
_hidden = Stream.range(5) | Sink.count()
"""
FILES = {
    "none": ("number = 5\n", "{file} has no pipeline; give one a name in it: pipeline = source | ... | sink"),
    "two": (TWO, "{file} has several pipelines: first, second; say which with --name"),
    "raises": ("x = 1\n\n1 / 0\n", "{file}, line 3, failed: ZeroDivisionError: division by zero"),
    "syntax": ("x = 1\ny = = 2\n", "{file}, line 2, failed: SyntaxError: invalid syntax"),
    "imports": ("import nothing_like_it\n", "{file}, line 1, failed: No module named 'nothing_like_it'"),
    "exits": ("import sys\nsys.exit(4)\n", "{file}, line 2, ended the program with sys.exit(4)"),
    "says nothing": (
        "class Mute(Exception):\n    def __str__(self): raise KeyError\n\nraise Mute\n",
        "{file}, line 4, failed: Mute: <exception str() failed>",
    ),
    "no stream": ("pipeline = 5\n", "'pipeline' in {file} must be a Pipeline (source | ... | sink), got 5"),
    "DDL": (
        SPARK.format(schema="value strin"),
        "schema: must be DDL like 'name string, age int', got 'value strin': expected a type of Spark's, found 'strin'",
    ),
}


def written(folder: Path, text: str) -> Path:
    file = folder / "mine.py"
    file.write_text(text)
    return file


@pytest.mark.parametrize("command", ["run", "explain"])
@pytest.mark.parametrize(("text", "message"), FILES.values(), ids=FILES)
def test_a_file_that_cannot_be_used_is_status_2_and_one_sentence(tmp_path, command, text, message):
    file = written(tmp_path, text)
    done = penstock(command, file)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == f"penstock {command}: {message.format(file=file)}\n"


def test_a_result_that_cannot_be_shown_is_one_sentence(tmp_path):
    text = (
        "from penstock import Sink, Stream\n\n\nclass Mute:\n    def __repr__(self): raise ValueError('no words')\n\n\n"
        "pipeline = Stream.just(1).map(lambda _: Mute()) | Sink.first()\n"
    )
    done = penstock("run", "--quiet", written(tmp_path, text))
    assert (done.returncode, done.stdout) == (1, "")
    said = "penstock run: the pipeline has ended, and its result cannot be shown: ValueError: no words"
    assert done.stderr.startswith(said)
    assert done.stderr.count("\n") == 1


def test_a_command_that_is_broken_off_says_so(tmp_path):
    done = penstock("explain", written(tmp_path, "import os, signal\n\nos.kill(os.getpid(), signal.SIGINT)\n"))
    assert (done.returncode, done.stdout, done.stderr) == (130, "", "penstock explain: broken off\n")


def test_a_file_that_is_not_there_is_named_with_what_is(tmp_path):
    file = written(tmp_path, TWO)
    for given, told in (
        (tmp_path / "other.py", ""),
        (tmp_path / "mine", f"; there is '{file}'"),
        (tmp_path, "; it is a folder"),
        (".", "; it is a folder"),
        ("/", "; it is a folder"),
    ):
        done = penstock("run", given)
        assert (done.returncode, done.stderr) == (2, f"penstock run: there is no file '{given}'{told}\n")


def test_a_traceback_is_there_for_those_who_ask(tmp_path):
    file = written(tmp_path, FILES["raises"][0])
    done = penstock("run", file, "--traceback")
    assert done.returncode == 2
    first, *_, last = done.stderr.splitlines()
    assert first == "Traceback (most recent call last):"
    assert last == f"penstock run: {file}, line 3, failed: ZeroDivisionError: division by zero"


def test_an_only_pipeline_needs_no_name(tmp_path):
    file = written(tmp_path, "from penstock import Sink, Stream\nmine = Stream.range(3) | Sink.count()\n")
    done = penstock("run", file, "--quiet")
    assert (done.returncode, done.stdout, done.stderr) == (0, "3\n", "")


def test_a_pipeline_that_fails_says_where_in_one_line(tmp_path):
    text = "from penstock import Sink, Stream\nmine = Stream.range(3).map(lambda n: 1 // n) | Sink.count()\n"
    done = penstock("run", written(tmp_path, text), "--quiet")
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == (
        "penstock run: the pipeline failed: ZeroDivisionError: integer division or modulo by zero;"
        " in map(<lambda>), step 1 of 2, mine.py:2\n"
    )


@pytest.mark.parametrize("command", ["run", "explain"])
def test_without_pyspark_it_says_how_to_get_it(tmp_path, command):
    file = written(tmp_path, SPARK.format(schema="value string"))
    done = penstock(command, file, first=without(tmp_path, "pyspark"))
    assert (done.returncode, done.stdout) == (2, "")
    needs = "penstock.spark needs PySpark and PyArrow, pyspark is missing: pip install penstock[spark]"
    assert done.stderr == f"penstock {command}: {file}, line 3, failed: {needs}\n"


def test_a_master_without_pyspark_says_how_to_get_it(tmp_path):
    file = written(tmp_path, "from penstock import Sink, Stream\npipeline = Stream.range(3) | Sink.count()\n")
    done = penstock("run", file, "--master", "local[1]", first=without(tmp_path, "pyspark"))
    needs = "penstock.spark needs PySpark and PyArrow, pyspark is missing: pip install penstock[spark]"
    assert (done.returncode, done.stderr) == (2, f"penstock run: Spark could not be started: {needs}\n")


@pytest.mark.parametrize("options", [[], ["--master", "local[1]"]], ids=["of its own", "given"])
def test_without_java_it_says_how_to_get_it(tmp_path, options):
    file = written(tmp_path, SPARK.format(schema="value string"))
    done = penstock("run", file, "--quiet", *options, code=NO_JAVA)
    needs = (
        "spark: Java 17 or newer must be installed, found none; install one with"
        " `apt-get install openjdk-17-jre-headless`, or set JAVA_HOME to one that is there"
    )
    before = "Spark could not be started: " if options else ""
    assert (done.returncode, done.stderr) == (2, f"penstock run: {before}{needs}\n")


def test_a_checkpoint_of_this_process_that_cannot_be_written_is_refused(tmp_path):
    file = written(tmp_path, "from penstock import Sink, Stream\n\npipeline = Stream.range(3) | Sink.count()\n")
    done = penstock("run", file, "--checkpoint", file / "inside")
    wanted = f"checkpoint must be a folder that can be written, got {file}/inside: Not a directory"
    assert (done.returncode, done.stdout, done.stderr) == (2, "", f"penstock run: {wanted}\n")


def test_a_checkpoint_that_cannot_be_written_is_refused_before_spark_starts(tmp_path):
    file = written(tmp_path, SPARK.format(schema="value string"))
    done = penstock("run", file, "--checkpoint", file / "inside", code=NO_JAVA)
    wanted = f"checkpoint must be a folder that can be written, got {file}/inside: Not a directory"
    assert (done.returncode, done.stderr) == (2, f"penstock run: {wanted}\n")


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["run"], "penstock run: error: the following arguments are required: file"),
        (["run", "x.py", "--nothing"], "penstock: error: unrecognized arguments: --nothing"),
        (["explain", "x.py", "--format", "gif"], "invalid choice: 'gif' (choose from 'text', 'mermaid', 'svg')"),
        (["fly"], "invalid choice: 'fly' (choose from 'verify', 'run', 'explain', 'prepare', 'doctor')"),
    ],
)
def test_a_wrong_command_line_is_status_2(arguments, message):
    done = penstock(*arguments)
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr.splitlines()[-1].endswith(message)
    assert "Traceback" not in done.stderr
