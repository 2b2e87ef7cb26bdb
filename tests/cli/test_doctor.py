"""`penstock doctor`: what works, what is missing and how to get it, also where little is installed."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import venv
from pathlib import Path
from typing import Any

import pytest

import penstock as package
from penstock.cli import checks, main
from penstock.cli.checks import State, checked
from tests.cli.commands import penstock

SOURCE = Path(package.__file__).parents[1]


def found(checkpoint: str | None = None) -> dict[str, Any]:
    return {each.name: each for each in checked(checkpoint)}


def test_it_says_what_works_here(capsys):
    assert main(["doctor"]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0] == "in this process: all that is needed is there"
    assert "on Spark: all that is needed is there" in lines
    told = dict(re.findall(r"^ +(?:ok|hint)  (\w[\w ]*\w) {2,}(.*)$", "\n".join(lines), re.MULTILINE))
    assert list(told) == [
        "penstock", "Python", "memory", "loopback", "temporary folder", "working folder",
        "Java", "PySpark", "Arrow", "pandas", "class archive",
    ]  # fmt: skip
    assert told["Python"].endswith(sys.executable)


def test_json_holds_the_same(capsys):
    assert main(["doctor", "--json"]) == 0
    told = json.loads(capsys.readouterr().out)
    assert told["ok"] is True
    assert [each["name"] for each in told["findings"]] == list(found())
    assert {each["state"] for each in told["findings"]} <= {"ok", "hint"}
    assert set(told["findings"][0]) == {"name", "part", "state", "what", "cure"}


def test_a_checkpoint_that_cannot_be_written_is_missing(tmp_path, capsys):
    there = tmp_path / "file"
    there.write_text("")
    assert main(["doctor", "--checkpoint", str(there / "inside")]) == 1
    told = capsys.readouterr().out
    assert f"MISSING  checkpoint        {there}/inside cannot be written: Not a directory\n" in told
    assert f"-> mkdir -p {there}/inside && chmod u+rwx {there}/inside, or name another folder\n" in told
    assert found(str(tmp_path / "new"))["checkpoint"].what.endswith("; it will be made")


def test_without_java_it_says_what_to_install(monkeypatch):
    def run_path(file: str) -> dict[str, Any]:
        known = runpy_run_path(file)
        known["find_java"].__defaults__ = ({}, ())
        return known

    runpy_run_path = checks.runpy.run_path
    monkeypatch.setattr(checks.runpy, "run_path", run_path)
    java = found()["Java"]
    assert (java.state, java.what) == (State.MISSING, "Java 17 or newer must be installed, found none")
    assert java.cure == (
        "install one with `apt-get install openjdk-17-jre-headless`, or set JAVA_HOME to one that is there"
    )


def test_a_library_of_another_version_is_missing(monkeypatch):
    monkeypatch.setattr(checks, "_range", lambda name: ">=9.1,<10")
    spark = found()["PySpark"]
    assert spark.state is State.MISSING
    assert spark.what.endswith(" is installed, and >=9.1,<10 is needed")
    assert spark.cure == f'{sys.executable} -m pip install "penstock[spark]"'


def test_the_versions_that_are_needed_are_those_of_the_package():
    assert re.fullmatch(r">=4\.\d+,<4\.\d+|<4\.\d+,>=4\.\d+", checks._range("pyspark"))
    assert checks._fits("4.3.0", ">=4.0,<4.4")
    assert not checks._fits("4.4.0", ">=4.0,<4.4")
    assert not checks._fits("3.5.1", ">=4.0,<4.4")


def test_little_memory_is_a_hint(monkeypatch):
    monkeypatch.setattr(checks, "_available", lambda: 1024**3)
    memory = found()["memory"]
    assert (memory.state, memory.what) == (State.HINT, "1.0 GB free; Spark in this process wants 2 GB")


def test_a_check_that_fails_by_itself_is_a_finding(monkeypatch):
    def broken() -> int:
        raise RuntimeError("no such luck")

    monkeypatch.setattr(checks, "_available", broken)
    memory = found()["memory"]
    assert (memory.state, memory.what) == (State.MISSING, "cannot be looked at: RuntimeError: no such luck")


@pytest.mark.slow
def test_it_works_where_nothing_else_is_installed(tmp_path):
    venv.create(tmp_path / "venv", with_pip=False)
    done = subprocess.run(
        [tmp_path / "venv" / "bin" / "python", "-m", "penstock", "doctor"],
        capture_output=True,
        text=True,
        env={"PYTHONPATH": str(SOURCE), "HOME": str(tmp_path), "PATH": "/usr/bin:/bin"},
        check=False,
    )
    assert (done.returncode, done.stderr) == (1, "")
    lines = done.stdout.splitlines()
    assert lines[0] == "in this process: all that is needed is there"
    assert "on Spark: missing: PySpark, Arrow, pandas" in lines
    assert f'-> {tmp_path}/venv/bin/python -m pip install "penstock[spark]"' in done.stdout


def test_the_version_is_told():
    done = penstock("--version")
    assert done.returncode == 0
    assert re.fullmatch(r"penstock \d+\.\d+\.\d+\n", done.stdout)
