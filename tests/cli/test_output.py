"""What the command prints arrives: pipes closed early, full disks, no output at all, terminals without UTF-8."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.cli.commands import WAIT, environment

TEXT = """
from penstock import Sink, Stream

pipeline = Stream.just("é") | Sink.to_list()
many = Stream.range(100_000) | Sink.to_list()
printed = Stream.range(100_000) | Sink.for_each(print)
"""


@pytest.fixture
def file(tmp_path: Path) -> Path:
    path = tmp_path / "mine.py"
    path.write_text(TEXT, encoding="utf-8")
    return path


def shell(line: str, *arguments: object, **variables: str) -> subprocess.CompletedProcess[str]:
    """Run a line of a shell, in which `penstock` is the command."""
    defined = f'penstock() {{ "{sys.executable}" -m penstock "$@"; }}; {line}'
    return subprocess.run(
        ["bash", "-c", defined, "bash", *map(str, arguments)],
        capture_output=True,
        text=True,
        env=environment() | variables,
        timeout=WAIT,
        check=False,
    )


def test_a_reader_that_leaves_early_ends_the_command_without_a_word(file):
    done = shell('penstock run --quiet --name many "$1" | head -c 3; exit ${PIPESTATUS[0]}', file)
    assert (done.returncode, done.stdout, done.stderr) == (141, "[0,", "")


@pytest.mark.parametrize("unbuffered", ["", "1"])
def test_a_reader_of_what_the_pipeline_prints_may_leave_as_well(file, unbuffered):
    line = 'penstock run --quiet --name printed "$1" | head -n 1; exit ${PIPESTATUS[0]}'
    done = shell(line, file, PYTHONUNBUFFERED=unbuffered)
    assert (done.returncode, done.stdout, done.stderr) == (141, "0\n", "")


def test_a_run_is_about_its_result_and_not_about_showing_how_far_it_is(file):
    done = shell('penstock run "$1" 2> /dev/full', file)
    assert (done.returncode, done.stdout) == (0, "['é']\n")


@pytest.mark.parametrize("command", ["run --quiet", "explain"])
def test_a_full_disk_is_one_sentence(file, command):
    done = shell(f'penstock {command} "$1" > /dev/full', file)
    told = "penstock: the output cannot be written: No space left on device\n"
    assert (done.returncode, done.stderr) == (2, told)


def test_without_any_output_a_run_runs(file):
    assert shell('penstock run "$1" >&- 2>&-', file).returncode == 0
    done = shell('penstock run "$1" 2>&-', file)
    assert (done.returncode, done.stdout) == (0, "['é']\n")


def test_a_terminal_of_ascii_gets_what_it_can_show(file):
    done = shell('penstock run --quiet "$1"; penstock explain "$1"', file, PYTHONIOENCODING="ascii")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.splitlines()[:4] == [r"['\xe9']", "in this process", "  source |- just", "         |"]
