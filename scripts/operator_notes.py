"""operator_notes: what an operator's module says about its place in the docs, read from the module's docstring.

Below the first line of its docstring a module has notes, one to a line; a long one goes on in indented lines:

    Group: let some through
    Marble: a.skip_last(2) over -1-2-3-4-|
    Choose: I want fewer elements / all but the last ones
    Elsewhere: RxPY skip_last, Reactor skipLast

`Group` is a row of the table on `docs/operators/index.md`. `Marble` is the code of the picture and its inputs, `a` and
`b`: `over A and B`, then, where they are needed, `, asked 1--1` for demand by the second and `, late 6` for when a
second subscriber comes. `Choose` adds a row to a section of `choosing.md`, and `Elsewhere` to the tables of
`coming-from.md`; an operator that these pages name already needs neither.
"""

from __future__ import annotations

import importlib
import pkgutil
import re
from collections.abc import Mapping
from functools import cache
from pathlib import Path

import penstock.operators
from scripts.marbles import Marble

ROOT = Path(__file__).parent.parent
NAMES = tuple(sorted(found.name for found in pkgutil.iter_modules(penstock.operators.__path__)))
GROUPS = (
    "make a stream",
    "change each element",
    "let some through",
    "collect",
    "ask one thing of all",
    "bring streams together",
    "share one run",
    "handle failure",
    "look on",
    "change where it runs",
    "mind the time",
    "deal with what comes too fast",
    "split a stream",
)
TABLE = "<!-- every operator, by what it is for -->"
_KEYS = ("Group", "Marble", "Choose", "Elsewhere")
_NOTE = re.compile(rf"^({'|'.join(_KEYS)}): (.*(?:\n    .*)*)$", re.MULTILINE)
_MARBLE = re.compile(r"(.*?)(?: over (\S+?)(?: and (\S+?))?)?(?:, asked (\S+?))?(?:, late (\d+))?", re.DOTALL)
_NAMED = re.compile(r"`(\w+)`")


class NoteError(ValueError):
    """The error of an operator's module whose notes are missing or cannot be read; it names the file and the line."""


@cache
def notes_of(name: str) -> Mapping[str, str]:
    """Read the notes in the docstring of an operator's module."""
    doc = importlib.import_module(f"penstock.operators.{name}").__doc__ or ""
    return {key: " ".join(text.split()) for key, text in _NOTE.findall(doc)}


def _note(name: str, key: str, example: str) -> str:
    if key not in notes_of(name):
        raise NoteError(
            f"src/penstock/operators/{name}.py: add to its docstring, below the first line: {key}: {example}"
        )
    return notes_of(name)[key]


def group_of(name: str) -> str:
    """Return what an operator is for, in the words of the table."""
    group = _note(name, "Group", f"one of {', '.join(GROUPS)}")
    if group not in GROUPS:
        raise NoteError(f"src/penstock/operators/{name}.py: Group must be one of {', '.join(GROUPS)}, got {group}")
    return group


def marble_of(name: str) -> Marble:
    """Return the code of an operator's picture, and its inputs."""
    found = _MARBLE.fullmatch(_note(name, "Marble", f"a.{name}() over -1-2-3-4-|"))
    assert found is not None, name  # the code takes in whatever is no input
    code, a, b, asks, late = found.groups()
    return Marble(code, a or "", b or "", asks or "", None if late is None else int(late))


def table() -> str:
    """Write the table of all operators, by what they are for."""
    rows = [
        f"| **{group}** | {' '.join(f'`{name}`' for name in NAMES if group_of(name) == group)} |" for group in GROUPS
    ]
    return "\n".join(["| to | use |", "|---|---|", *rows])


def with_rows(page: str, text: str) -> str:
    """Add to a page what operators say about themselves: the table of all, a choice, a name elsewhere."""
    if page == "index.md":
        return text.replace(TABLE, _linked(table()))
    for name in NAMES:
        notes = notes_of(name)
        if page == "choosing.md" and "Choose" in notes:
            section, _, want = notes["Choose"].partition(" / ")
            text = _with_row(text, section, f"| {want} | `{name}` |", name)
        if page == "coming-from.md" and "Elsewhere" in notes:
            for there in notes["Elsewhere"].split(", "):
                library, _, theirs = there.rpartition(" ")
                text = _with_row(text, library, f"| {theirs} | `{name}` |", name)
    return _linked(text) if page == "choosing.md" else text


def _linked(text: str) -> str:
    """Let the name of each operator in a table lead to the reference."""
    lines = text.splitlines(keepends=True)
    return "".join(_NAMED.sub(_link, line) if line.startswith("|") else line for line in lines)


def _link(found: re.Match[str]) -> str:
    return f"[{found[0]}](reference.md#{found[1]})" if found[1] in NAMES else found[0]


def _with_row(text: str, section: str, row: str, name: str) -> str:
    """Put a row at the end of the first table of a section."""
    found = re.search(rf"^## {re.escape(section)}\n(?:.*\n)*?(?:\|.*\n)+", text, re.MULTILINE)
    if found is None:
        sections = ", ".join(re.findall(r"^## (.*)$", text, re.MULTILINE))
        raise NoteError(f"src/penstock/operators/{name}.py: there is no section {section!r}, only {sections}")
    return f"{text[: found.end()]}{row}\n{text[found.end() :]}"


def page(name: str) -> str:
    """Return a page of the operators as it is published."""
    return with_rows(name, (ROOT / "docs" / "operators" / name).read_text(encoding="utf-8"))
