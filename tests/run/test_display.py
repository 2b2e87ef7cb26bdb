"""display: a live panel on a terminal, lines on one without rich, a line every ten seconds elsewhere."""

from __future__ import annotations

import io
import re
import sys
import threading

import pytest

from penstock import Run, RunCancelledError, Sink, Stream
from penstock.run import Progress
from penstock.run.display import WIDE, Recent, display, line, panel

WAIT = 30
BUSY = Progress(
    rows_in=119_000,
    rows_out=3132,
    rows_per_second=13_930.2,
    demand=0,
    lag=50_000,
    batch_seconds=7.984,
    batches=14,
    elapsed=140.2,
)
CODES = re.compile(r"\x1b\[[0-9;?]*[A-Za-z]")


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def terminal(monkeypatch):
    for name in ("NO_COLOR", "FORCE_COLOR", "TTY_COMPATIBLE", "TTY_INTERACTIVE", "COLUMNS", "LINES"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    return Terminal()


@pytest.fixture
def no_rich(monkeypatch):
    monkeypatch.setitem(sys.modules, "rich", None)
    monkeypatch.setitem(sys.modules, "rich.console", None)


def three():
    return (Stream.range(3) | Sink.count()).run()


def shown(report: Progress, recent: Recent | None = None, width: int = 80) -> list[str]:
    from rich.console import Console

    console = Console(width=width, file=io.StringIO())
    with console.capture() as captured:
        console.print(panel(report, recent or Recent()))
    return [text.strip("│╭╰─╮╯ ") for text in captured.get().splitlines()]


# Text.


def test_a_line_says_what_is_known():
    assert line(BUSY) == ("in 119,000  out 3,132  rows/s 13,930  demand 0  lag 50,000  batch 7.98 s  time 140 s")
    assert line(Progress(rows_in=1, demand=2**63 - 1)) == "in 1  rows/s 0  demand all  time 0 s"


def test_elsewhere_than_on_a_terminal_there_is_a_line_now_and_then_and_one_at_the_end():
    seen, go_on = threading.Event(), threading.Event()

    class Watched(io.StringIO):
        def write(self, text):
            if len(self.getvalue().splitlines()) >= 2:
                go_on.set()
            return super().write(text)

    out = Watched()

    def held(n):
        seen.set()
        assert go_on.wait(WAIT)
        return n

    run = (Stream.range(3).map(held) | Sink.count()).run()
    assert seen.wait(WAIT)
    display(run, out, every=0.001)
    first, *_, last = out.getvalue().splitlines()
    assert first.startswith("in 1  rows/s ")
    assert last.startswith("in 3  rows/s ")
    assert run.wait(WAIT) == 3


def test_elsewhere_than_on_a_terminal_a_line_comes_every_ten_seconds(terminal, no_rich, monkeypatch):
    asked = []
    every = Run.progress_every
    monkeypatch.setattr(Run, "progress_every", lambda run, seconds: asked.append(seconds) or every(run, seconds))
    for out in (io.StringIO(), terminal):
        display(three(), out)
    assert asked == [10.0, 1.0]


def test_a_terminal_without_rich_gets_lines(terminal, no_rich):
    display(three(), terminal)
    assert terminal.getvalue().splitlines()[-1].startswith("in 3  rows/s ")
    assert "\x1b" not in terminal.getvalue()


def test_a_dumb_terminal_gets_lines(terminal, monkeypatch):
    monkeypatch.setenv("TERM", "dumb")
    display(three(), terminal)
    assert terminal.getvalue().splitlines()[-1].startswith("in 3  rows/s ")


# Panel.


def test_a_panel_shows_all_that_is_known():
    recent = Recent()
    recent.add(BUSY)
    assert [text.split() for text in shown(BUSY, recent)] == [
        ["penstock"],
        ["rows", "in", "119,000", "rows", "out", "3,132"],
        ["rows/s", "849", "█"],
        ["demand", "0", "lag", "50,000"],
        ["batch", "time", "7.98", "s", "batches", "14"],
        ["running", "for", "140", "s"],
    ]


def test_a_panel_leaves_out_what_is_not_known():
    report = Progress(rows_in=3, rows_per_second=1.5, elapsed=2.0, done=True)
    assert [text.split() for text in shown(report)] == [
        ["penstock"],
        ["rows", "in", "3"],
        ["rows/s", "2"],
        ["ended", "after", "2", "s"],
    ]


def test_a_narrow_terminal_loses_nothing():
    words = " ".join(shown(BUSY, width=32)).split()
    assert {"119,000", "3,132", "50,000", "7.98", "14"} <= set(words)


def test_rows_per_second_are_those_of_the_last_seconds():
    recent = Recent()
    for second in range(31):
        recent.add(Progress(rows_in=1000 * min(second, 25), elapsed=float(second)))
    assert recent.rate == 500.0  # five of the last ten seconds had rows


def test_sparks_are_the_rates_from_one_report_to_the_next():
    recent = Recent()
    assert recent.sparks == ""
    for rate in [0.0] * WIDE + [1.0, 4.0, 8.0, 0.0]:
        recent.add(Progress(rows_per_second=rate))
    assert recent.sparks == " " * (WIDE - 4) + "▂▅█ "


def test_a_terminal_gets_a_live_panel(terminal):
    display(three(), terminal)
    text = CODES.sub("", terminal.getvalue())
    assert "penstock" in text
    assert re.search(r"rows in +3 ", text)
    assert re.search(r"ended after \d+ s", text)
    assert terminal.getvalue().count("\x1b[?25h") == 1  # the cursor is back


def test_what_the_pipeline_prints_stays_on_stdout(terminal, monkeypatch):
    file = io.StringIO()
    monkeypatch.setattr(sys, "stdout", file)
    shown_first, go_on = threading.Event(), threading.Event()

    def show(number):
        shown_first.set()
        assert go_on.wait(WAIT)
        print(f"number {number}")

    run = (Stream.range(2) | Sink.for_each(show)).run()
    assert shown_first.wait(WAIT)
    terminal.write = lambda text, write=terminal.write: (go_on.set(), write(text))[1]  # once the panel is up
    display(run, terminal)
    assert file.getvalue() == "number 0\nnumber 1\n"
    assert "number" not in terminal.getvalue()


# Ending.


def test_a_run_that_fails_is_displayed_to_its_end():
    out = io.StringIO()
    run = (Stream.range(3).map(lambda n: 1 // n) | Sink.count()).run()
    display(run, out)
    assert out.getvalue().startswith("in 1  rows/s ")
    with pytest.raises(ZeroDivisionError):
        run.wait(WAIT)


def test_a_keyboard_interrupt_cancels_the_run(terminal):
    def interrupt(text):
        raise KeyboardInterrupt

    terminal.write = interrupt
    run = (Stream.never() | Sink.count()).run()
    with pytest.raises(KeyboardInterrupt):
        display(run, terminal, every=0.01)
    with pytest.raises(RunCancelledError):
        run.wait(WAIT)
