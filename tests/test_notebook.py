"""notebooks: they run from top to bottom, say what is stored in them, and are pages of the site."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import nbformat
import pytest

from scripts.notebook import executed, said, tidied
from scripts.notebook_pages import notebooks, page_of, with_pages

DOCS = Path(__file__).parent.parent / "docs"
NOTEBOOKS = dict(notebooks(DOCS))


def cell(source: str, *outputs: dict[str, Any], tags: tuple[str, ...] = ()) -> dict[str, Any]:
    return {
        "cell_type": "code",
        "id": "a",
        "metadata": {"tags": list(tags)} if tags else {},
        "execution_count": 3,
        "source": source,
        "outputs": list(outputs),
    }


def result(**forms: str) -> dict[str, Any]:
    data = {{"html": "text/html", "plain": "text/plain"}[form]: text for form, text in forms.items()}
    return {"output_type": "execute_result", "execution_count": 3, "metadata": {}, "data": data}


def stored(*cells: dict[str, Any]) -> dict[str, Any]:
    return {"cells": list(cells), "metadata": {}, "nbformat": 4, "nbformat_minor": 5}


def test_there_is_a_notebook() -> None:
    assert "notebooks/tour.md" in NOTEBOOKS


@pytest.mark.slow
@pytest.mark.parametrize("address", NOTEBOOKS)
def test_a_run_says_what_is_stored(address: str) -> None:
    """If it does not, and should: python -m scripts.notebook."""
    file = NOTEBOOKS[address]
    assert said(executed(file)) == said(nbformat.read(file, as_version=4))


def test_what_differs_from_run_to_run_is_left_out() -> None:
    notebook = nbformat.from_dict(stored(cell("1", result(plain="1")), cell("2", result(plain="2"), tags=("varies",))))
    tidy = tidied(notebook)
    assert [each.execution_count for each in tidy.cells] == [None, None]
    assert said(tidy) == ["1"]
    assert tidied(tidy) == tidy


def test_a_page_has_the_text_the_code_and_the_best_form_of_each_output(tmp_path: Path) -> None:
    file = tmp_path / "small.ipynb"
    cells = (
        {"cell_type": "markdown", "metadata": {}, "id": "t", "source": ["# Title\n", "Words."]},
        cell("1 + 1", result(plain="2")),
        cell("graph", result(plain="Graph()", html="<p>a\n\n</p>")),
        cell("print(3)", {"output_type": "stream", "name": "stdout", "text": ["3\n"]}),
    )
    file.write_text(json.dumps(stored(*cells)), encoding="utf-8")
    assert page_of(file).split("\n\n") == [
        "# Title\nWords.",
        *("```python\n1 + 1\n```", '<div class="cell-output" markdown>', "```text\n2\n```", "</div>"),
        *("```python\ngraph\n```", '<div class="cell-output">\n<p>a\n</p>\n</div>'),
        *("```python\nprint(3)\n```", '<div class="cell-output" markdown>', "```text\n3\n```", "</div>\n"),
    ]


def test_links_to_notebooks_lead_to_their_pages() -> None:
    assert with_pages("[a](notebooks/tour.ipynb#demand) `tour.ipynb`") == "[a](notebooks/tour.md#demand) `tour.ipynb`"
