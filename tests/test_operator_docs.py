"""operator_docs: the chooser and the tables for those who come from elsewhere name what exists, and miss nothing."""

from __future__ import annotations

import inspect
import re

import aiostream
import pytest
import reactivex
import reactivex.operators

import penstock
import penstock.operators
from penstock import Stream
from scripts import operator_notes

NAMES = set(operator_notes.NAMES)
ROW = re.compile(r"^\| (?!-|:)(.+?) \| (.+) \|$", re.MULTILINE)
CODE = re.compile(r"`(\w+)`")
# Words in the code font that are no names of operators: options, syntax, and what an operator is told.
OPTIONS = {
    "await", "async", "backoff", "concurrency", "flow", "jitter", "kept", "key", "max_delay", "ordered", "seconds",
    "until", "when", "while_",
}  # fmt: skip


def rows(page: str, section: str | None = None) -> list[tuple[str, str]]:
    """Return the rows of a page's tables, or of those of one section, without their heads."""
    text = operator_notes.page(page)
    if section is not None:
        text = text.partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    heads = {found[1] for found in re.finditer(r"^(\|.*\|)\n\|---", text, re.MULTILINE)}
    return [(found[1], found[2]) for found in ROW.finditer(text) if found[0] not in heads]


def names_in(cell: str) -> set[str]:
    return set(CODE.findall(cell)) - OPTIONS


@pytest.mark.parametrize(("page", "section"), [("choosing.md", None), ("coming-from.md", None), ("index.md", None)])
def test_every_row_names_what_exists(page: str, section: str | None) -> None:
    for left, right in rows(page, section):
        unknown = {name for name in names_in(right) if not hasattr(Stream, name) and not hasattr(penstock, name)}
        assert unknown == set(), left


@pytest.mark.parametrize("section", ["RxPY", "Reactor", "Pekko Streams", "aiostream"])
def test_every_row_says_something(section: str) -> None:
    found = rows("coming-from.md", section)
    assert len(found) > 30
    assert [left for left, right in found if not names_in(right) and len(right) < 12] == []
    lefts = [each.strip() for left, _ in found for each in left.split(",")]
    assert sorted(lefts) == sorted(set(lefts))


def test_the_chooser_leads_to_every_operator() -> None:
    named = {name for _, right in rows("choosing.md") for name in CODE.findall(right)}
    for name in sorted(NAMES - named):
        sections = re.findall(r"^## (.*)$", operator_notes.page("choosing.md"), re.MULTILINE)
        pytest.fail(f"src/penstock/operators/{name}.py: add to its docstring: Choose: one of {sections} / for what")


def public_functions(module: object) -> set[str]:
    return {
        name
        for name, member in vars(module).items()
        if inspect.isfunction(member) and not name.startswith("_") and member.__module__ == module.__name__  # type: ignore[attr-defined]
    }


def listed(section: str) -> set[str]:
    return {name.strip() for left, _ in rows("coming-from.md", section) for name in left.split(",")}


def test_all_of_rxpy_is_listed() -> None:
    theirs = public_functions(reactivex.operators) | public_functions(reactivex)
    assert listed("RxPY") == theirs - {"compose", "pipe"}


def test_all_of_aiostream_is_listed() -> None:
    families = {"advanced", "aggregate", "combine", "create", "misc", "select", "time", "transform"}
    theirs = {name for name in vars(aiostream.stream) if not name.startswith("_")}
    assert listed("aiostream") == theirs - families
