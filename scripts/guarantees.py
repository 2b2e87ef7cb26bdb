"""guarantees: what the tests of the connectors prove, as a table; `--write` puts it into the docs.

A test says it itself: `@pytest.mark.proves("nats.source", "cancel", "the connection is released")`. The page is written
from these marks and from nothing else, so that a sentence on it has a test behind it.
"""

from __future__ import annotations

import ast
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
TESTS = ROOT / "tests"
PAGE = ROOT / "docs" / "connectors" / "guarantees.md"

INTRODUCTION = """# What is guaranteed

Each line of these tables is shown by a test that runs against a real server, or real files, in every run of
`make test`. Where a line says "a model broker" or "mock cluster", it is that in the place of the server; see
[Kafka](kafka.md#what-the-tests-show-and-what-they-cannot). The page is written from the tests
(`python -m scripts.guarantees --write`): a line that no test proves cannot stand here.
"""


@dataclass(frozen=True, slots=True, order=True)
class Guarantee:
    """What a test proves: of which connector, in which situation, what holds."""

    connector: str
    situation: str
    outcome: str
    test: str
    """The file and the name of the test, below the folder of the tests."""


def guarantees(folder: Path = TESTS) -> list[Guarantee]:
    """Return what the tests in a folder say that they prove, in the order of the tests."""
    return [found for file in sorted(folder.rglob("test_*.py")) for found in _proven(file, folder)]


def _proven(file: Path, folder: Path) -> Iterator[Guarantee]:
    text = file.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "mark.proves(" in text else ():
        if not isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        for mark in node.decorator_list:
            if not isinstance(mark, ast.Call) or not ast.unparse(mark.func).endswith("mark.proves"):
                continue
            words = [ast.literal_eval(each) for each in mark.args]
            if len(words) != 3 or mark.keywords or not all(isinstance(word, str) and word for word in words):
                raise ValueError(
                    f"{file.name}, line {mark.lineno}: proves takes three texts: a connector, a situation, what holds"
                )
            yield Guarantee(*words, f"{file.relative_to(folder).as_posix()}::{node.name}")


def page(found: list[Guarantee]) -> str:
    """Return the page: a table for each connector, a row for each situation."""
    lines = [INTRODUCTION]
    for connector in dict.fromkeys(sorted(each.connector for each in found)):
        lines += [f"## {connector}", "", "| situation | what holds |", "|---|---|"]
        rows = {(each.situation, each.outcome) for each in found if each.connector == connector}
        lines += [f"| {situation} | {outcome} |" for situation, outcome in sorted(rows)]
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    made = page(guarantees())
    if "--write" in sys.argv[1:]:
        PAGE.write_text(made, encoding="utf-8")
    else:
        print(made)
