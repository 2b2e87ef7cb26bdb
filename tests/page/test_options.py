"""options: `penstock run --page` serves the page of the run, and says where it is."""

from __future__ import annotations

import os
import pty
import re
import signal
import subprocess
import sys
from pathlib import Path
from urllib.request import urlopen

import pytest

from penstock.cli import main

PIPELINE = """
from penstock import Sink, Stream

pipeline = Stream.range(3).map(str) | Sink.count()
"""
ADDRESS = re.compile(r"penstock page: (http://127\.0\.0\.1:\d+/\?token=[\w-]+)")


@pytest.fixture
def file(tmp_path: Path) -> Path:
    found = tmp_path / "pipeline.py"
    found.write_text(PIPELINE, encoding="utf-8")
    return found


def test_run_with_a_page_says_where_it_is_and_ends_as_without(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(file), "--page", "--quiet"]) == 0
    said = capsys.readouterr()
    assert said.out == "3\n"
    assert ADDRESS.fullmatch(said.err.strip())


def test_run_without_a_page_says_nothing_of_it(file: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["run", str(file), "--quiet"]) == 0
    assert capsys.readouterr().err == ""


def test_open_opens_a_browser(file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> None:
    opened: list[str] = []
    monkeypatch.setattr("webbrowser.open", opened.append)
    assert main(["run", str(file), "--open", "--quiet"]) == 0
    said = ADDRESS.search(capsys.readouterr().err)
    assert said is not None
    assert opened == [said[1]]


def test_page_that_cannot_be_served_starts_nothing(
    file: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "uvicorn", None)
    assert main(["run", str(file), "--page"]) == 2
    assert capsys.readouterr().err == (
        "penstock run: page: the live page needs uvicorn; say pip install 'penstock[page]'\n"
    )


def test_on_a_terminal_the_page_stays_until_it_is_interrupted(file: Path) -> None:
    ours, theirs = pty.openpty()
    program = [sys.executable, "-m", "penstock", "run", str(file), "--page", "--quiet"]
    process = subprocess.Popen(program, stdout=subprocess.PIPE, stdin=theirs, stderr=theirs)
    os.close(theirs)
    said = ""
    while "stays until Ctrl-C" not in said:
        said += os.read(ours, 1024).decode()
    found = ADDRESS.search(said)
    assert found is not None
    with urlopen(found[1]) as answer:
        assert answer.status == 200
    process.send_signal(signal.SIGINT)
    assert process.wait(60) == 0
    assert process.stdout is not None
    assert process.stdout.read() == b"3\n"
    process.stdout.close()
    os.close(ours)
