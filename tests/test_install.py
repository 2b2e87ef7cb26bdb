"""install: what `make` shows while pip installs: that it works, how far it is, and all that pip said if it fails."""

from __future__ import annotations

import io
import sys

import pytest

from scripts.install import CLEAR, Install, shown

LINES = """\
Obtaining file:///somewhere/penstock
  Installing build dependencies: started
Collecting pyspark<4.4,>=4.0 (from penstock==0.1.0)
  Downloading pyspark-4.3.0.tar.gz (455.7 MB)
Collecting rich
  Using cached rich-15.0.0-py3-none-any.whl.metadata (18 kB)
  Using cached rich-15.0.0-py3-none-any.whl (300 kB)
Requirement already satisfied: py4j in ./somewhere
Installing collected packages: py4j, pyspark, rich, penstock
Successfully installed penstock-0.1.0
"""


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def program(text: str, status: int = 0) -> list[str]:
    return [sys.executable, "-c", f"import sys; print({text!r}, end=''); sys.exit({status})"]


def test_it_counts_what_pip_says():
    state = Install()
    told = [str(state)]
    for line in LINES.splitlines():
        state.heard(line)
        told.append(str(state))
    assert list(dict.fromkeys(told)) == [
        "asking pip",
        "1 packages found",
        "2 packages found",
        "2 packages found, 1 fetched: pyspark (455.7 MB)",
        "3 packages found, 1 fetched: pyspark (455.7 MB)",
        "3 packages found, 2 fetched: rich (300 kB)",
        "4 packages found, 2 fetched: rich (300 kB)",
        "unpacking 4 packages",
    ]


@pytest.mark.parametrize("out", [io.StringIO(), Terminal()], ids=["elsewhere", "terminal"])
def test_it_says_what_it_does_and_when_it_is_done(out):
    assert shown("Installing it", program(LINES), out) == 0
    first, last = out.getvalue().replace(CLEAR, "\n").splitlines()
    assert first == "Installing it"
    assert last.startswith("Installing it: done in ")


def test_a_failure_shows_all_that_pip_said():
    out = io.StringIO()
    assert shown("Installing it", program("Collecting nothing\nERROR: none\n", 3), out) == 3
    lines = out.getvalue().splitlines()
    assert lines[1].startswith("Installing it: failed in ")
    assert lines[2:] == ["Collecting nothing", "ERROR: none"]


def test_a_terminal_sees_the_state_while_pip_works(monkeypatch, tmp_path):
    seen = tmp_path / "seen"

    class Watched(Terminal):
        def write(self, text: str) -> int:
            if text.startswith(f"{CLEAR}It: 1 packages found, "):
                seen.touch()
            return super().write(text)

    monkeypatch.setattr("scripts.install.TICK", 0.001)
    waits = f"import os; print('Collecting one', flush=True)\nwhile not os.path.exists({str(seen)!r}): pass"
    assert shown("It", [sys.executable, "-c", waits], Watched()) == 0
    assert seen.exists()
