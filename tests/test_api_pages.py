"""api_pages: every public name is in the API reference, once, with its examples as code."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

import penstock
from scripts.api_pages import NamesError, names_on, public_names, with_fences, with_names

ROOT = Path(__file__).parent.parent
PAGES = sorted((ROOT / "docs" / "api").glob("*.md"))
LISTED = Counter(
    f"{module}.{name}"
    for page in PAGES
    for module, names in names_on(page.read_text(encoding="utf-8")).items()
    for name in names
)
WHOLE = ("connectors", "extend", "otel", "pull", "spark", "tck", "testing")
APART = {
    "__init__", "__pycache__", "opened", "reading", "reading_commits", "reading_run", "shared", "telling", "turn",
    "writing",
}  # fmt: skip
ROOMS = [
    f"{room}.{file.stem}"
    for room in ("bridges", "connectors")
    for file in sorted((ROOT / "src" / "penstock" / room).iterdir())
    if file.stem not in APART
]


def test_every_name_of_penstock_is_on_one_page() -> None:
    assert {name: count for name, count in LISTED.items() if count != 1} == {}
    assert set(penstock.__all__) - {name.rpartition(".")[2] for name in LISTED} == set()


@pytest.mark.parametrize("module", [*WHOLE, *ROOMS])
def test_every_name_of_a_module_is_on_a_page(module: str) -> None:
    names = public_names(f"penstock.{module}")
    assert names
    assert [name for name in names if f"penstock.{module}.{name}" not in LISTED] == []


def test_names_become_directives_in_the_order_of_the_page() -> None:
    text = "# Ends\n\n<!-- names: penstock: Sink,\nFlow -->\n\nMore.\n"
    assert with_names(text) == "# Ends\n\n::: penstock.Sink\n\n::: penstock.Flow\n\nMore.\n"


def test_a_module_is_shown_whole_types_first() -> None:
    assert (
        with_names("<!-- names: penstock.otel -->")
        == "::: penstock.otel.Telemetry\n\n::: penstock.otel.export_registry"
    )
    assert public_names("penstock.bridges.files") == ["from_file", "to_file"]


def test_a_function_with_the_name_of_its_module_is_not_taken_for_it() -> None:
    assert with_names("<!-- names: penstock: flow, branch -->") == "::: penstock.flow.flow\n\n::: penstock.branch"


def test_a_name_that_is_not_there_is_refused() -> None:
    with pytest.raises(NamesError, match=r"^there is no 'Sea' in penstock.otel, only Telemetry, export_registry$"):
        with_names("<!-- names: penstock.otel: Sea -->")


def test_examples_of_docstrings_become_blocks_of_code() -> None:
    text = "Add.\n\n>>> add(1,\n...     2)\n3\n\nArgs:\n    n: A number.\n\n    >>> n\n"
    assert with_fences(text).splitlines() == [
        *("Add.", "", "```pycon", ">>> add(1,", "...     2)", "3", "```", ""),
        *("Args:", "    n: A number.", "", "    ```pycon", "    >>> n", "    ```"),
    ]
