"""shown_steps: each step of a long command is told: as a line, or on a terminal as a live one with its seconds."""

from __future__ import annotations

import io
import re
import threading

import pytest

from penstock.cli import shown_steps
from penstock.cli.shown_steps import ShownSteps

WAIT = 30


class Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


def test_elsewhere_than_on_a_terminal_each_step_is_a_line():
    out = io.StringIO()
    with ShownSteps("penstock prepare", out) as steps:
        steps.begin("one")
        steps.begin("two")
    assert out.getvalue() == "penstock prepare: one\npenstock prepare: two\n"


def test_on_a_terminal_a_step_that_has_ended_says_how_long_it_took():
    out = Terminal()
    with ShownSteps("it", out) as steps:
        steps.begin("one")
        steps.begin("two")
    lines = [line.rpartition("\x1b[K")[2] for line in out.getvalue().split("\n")]
    assert [re.sub(r"\d+", "0", line) for line in lines] == ["it: one, 0 s", "it: two, 0 s", ""]


def test_on_a_terminal_the_seconds_of_a_step_are_counted(monkeypatch):
    ticked = threading.Event()

    class Watched(Terminal):
        def write(self, text: str) -> int:
            if "it: one ... 0 s" in text:
                ticked.set()
            return super().write(text)

    monkeypatch.setattr(shown_steps, "_TICK", 0.001)
    with ShownSteps("it", Watched()) as steps:
        steps.begin("one")
        assert ticked.wait(WAIT)


def test_a_step_that_fails_is_said_to_be_broken_off():
    out = Terminal()
    steps = ShownSteps("it", out)
    steps.begin("one")
    with pytest.raises(OSError, match="no room"), steps:
        raise OSError("no room")
    assert out.getvalue().endswith("it: one, 0 s, broken off\n")
