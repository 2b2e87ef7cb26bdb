"""names_elsewhere: what the names of other libraries are here, read off the docs for the errors of unknown names.

`python -m scripts.names_elsewhere --write` makes `src/penstock/coming_from.tsv` of the tables of
`docs/operators/coming-from.md`, with the rows that operators' modules add to them. A line is a name and, behind a tab,
what the error says after "Stream has no NAME".
"""

from __future__ import annotations

import re
import sys
from collections.abc import Iterator
from pathlib import Path

from penstock import Stream
from scripts.operator_notes import page

FILE = Path(__file__).parent.parent / "src" / "penstock" / "coming_from.tsv"
PYTHON = "Python"
LIBRARIES = {
    "RxPY": "reactivex",
    "Reactor": "Reactor",
    "Pekko Streams": "Pekko Streams",
    "aiostream": "aiostream",
    "pandas and PySpark": "pandas, PySpark",
    "Python": PYTHON,
}
"""The sections of the page, and what their readers type or say."""
_ROW = re.compile(r"^\| (?!-|:)(.+?) \| (.+) \|$", re.MULTILINE)
_LINK = re.compile(r"\[(.+?)\]\(.+?\)")
_ONE = re.compile(r"`(\w+)`")


def rows(section: str) -> list[tuple[str, str]]:
    """Return the rows of the table of a section, without its head."""
    text = page("coming-from.md").partition(f"\n## {section}\n")[2].partition("\n## ")[0]
    return _ROW.findall(text)[1:]


def pairs(left: str, right: str) -> Iterator[tuple[str, str]]:
    """Return each name of a row with what it is here: one of as many names, or all that the row says."""
    theirs = [name.strip() for name in left.split(",")]
    ours = [name.strip() for name in right.split(",")]
    apart = len(theirs) == len(ours) and all(_ONE.fullmatch(name) for name in ours)
    for at, each in enumerate(theirs):
        name = each.rpartition(".")[2]
        if name.isidentifier() and not name[0].isupper():
            yield name, ours[at] if apart else right


def spoken(cell: str) -> str:
    """Return what a cell of the docs says, for a message."""
    text = _LINK.sub(r"\1", cell)
    parts = [_ONE.fullmatch(part.strip()) for part in text.split(",")]
    if all(parts):
        return f"here it is {' or '.join(f'{part[1]}()' for part in parts if part)}"
    plain = text.replace("`", "")
    begins = re.match(r"`(\w+)`", text)
    return f"here it is {plain}" if begins and hasattr(Stream, begins[1]) else f"here: {plain}"


def snake(name: str) -> str:
    """Return a name as Python has it."""
    return re.sub(r"(?<=[a-z0-9])([A-Z])", r"_\1", name).lower()


def names() -> dict[str, str]:
    """Return what is said of each name that Stream does not have."""
    found: dict[str, dict[str, list[str]]] = {}
    for section, library in LIBRARIES.items():
        for left, right in rows(section):
            for theirs, ours in pairs(left, right):
                for name in dict.fromkeys((theirs, snake(theirs))):
                    if not hasattr(Stream, name):
                        libraries = found.setdefault(name, {}).setdefault(spoken(ours), [])
                        libraries.extend([library] if library not in libraries else [])
    return {name: _labelled(said) for name, said in sorted(found.items())}


def _labelled(said: dict[str, list[str]]) -> str:
    """Return what is said, with the libraries that have the name; words that anybody may try need none."""
    if len(said) > 1:
        return "; ".join(f"as in {', '.join(libraries)}: {text}" for text, libraries in said.items())
    [(text, libraries)] = said.items()
    return text if libraries == [PYTHON] else f"({', '.join(libraries)}); {text}"


def text() -> str:
    """Return the file as it is to be."""
    return "".join(f"{name}\t{said}\n" for name, said in names().items())


if __name__ == "__main__":
    if "--write" in sys.argv:
        FILE.write_text(text(), encoding="utf-8")
    else:
        print(text(), end="")
