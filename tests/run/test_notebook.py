"""notebook: a run that a notebook shows while it goes on."""

from __future__ import annotations

import re

import nbclient
import nbformat
import pytest

BEGUN = """
from threading import Event
from penstock import Sink, Stream

let_go = Event()
run = (Stream.just(1, 2).tap(lambda n: let_go.wait()) | Sink.{end}).run()
run
"""
ENDED = """
let_go.set()
try:
    await run
except Exception as error:
    print(type(error).__name__)
import threading
for each in threading.enumerate():
    if each.name == "penstock-notebook":
        each.join()
"""


def panel_after(end: str) -> tuple[str, str]:
    """Return what a cell shows of a run, as text and as HTML without its marks, when a later cell has waited for it."""
    cells = [nbformat.v4.new_code_cell(source) for source in (BEGUN.format(end=end), ENDED)]
    notebook = nbformat.v4.new_notebook(cells=cells)
    nbclient.NotebookClient(notebook, timeout=120).execute()
    (output,) = notebook.cells[0].outputs
    return output.data["text/plain"], re.sub(r"<[^>]*>", " ", output.data["text/html"])


@pytest.mark.slow
def test_the_panel_of_a_cell_follows_the_run_to_its_end() -> None:
    text, panel = panel_after("count()")
    assert text == "Run(2)"
    assert re.search(r"penstock\s+ended after ", panel)
    assert re.search(r"rows in\s+2\b", panel)


@pytest.mark.slow
def test_the_panel_of_a_cell_says_that_the_run_has_failed() -> None:
    text, panel = panel_after("for_each(lambda n: 1 / 0)")
    assert text == "Run(failed: ZeroDivisionError('division by zero'))"
    assert re.search(r"penstock\s+failed after .*: ZeroDivisionError: division by zero", panel)
