"""operators_on_spark: which operator runs where on Spark, and why not; `--write` puts the page into the docs.

Each class says what it is: a Stage, a Joint or a Source, its sight, and what ties it to a whole run. The table asks the
same function that refuses a Flow, `penstock.spark.stages.verdicts.refusal`, so they cannot differ.
"""

from __future__ import annotations

import dataclasses
import importlib
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import penstock.operators
from penstock.spark.stages.verdicts import Extent, manner, refusal
from penstock.stage import Joint, Source, Stage
from scripts.operator_notes import NAMES

PAGE = Path(__file__).parent.parent / "docs" / "operators" / "on-spark.md"
WIDTHS = (Extent.ALONE, Extent.PARTITION, Extent.KEY)
COLUMNS = tuple((kind, extent) for kind in ("batch", "stream") for extent in WIDTHS)

CODE = (
    "concat_map(lambda one: Stream.just(one).map(fn).…(...))", "per_partition(flow)", 'keyed_by(flow, "key")',
    "spark.frame", "stateful_map", "window(count)", "window(seconds=...)", "window(gap=...)", "group_by",
    "both(left, right)", "pair_with_latest", "pair_latest", "pair_within",
)  # fmt: skip
"""What stands between backquotes in a reason."""

INTRODUCTION = """# On Spark

A Flow runs inside Spark's executors with `spark.stage(flow, schema)`, on a DataFrame that is a batch or a stream. What
a step may see there is said with `per_partition(flow)` or `keyed_by(flow, "key")`, or it stands *alone*. This page is
written from the code (`python -m scripts.operators_on_spark --write`): what it says is refused is refused with that
reason before anything runs, and a test runs everything else.

- **stage**: it runs inside the executors, woven into one loop with its neighbours, and remembers nothing beyond the
  partition, or the key of a batch;
- **state**: Spark keeps what it remembers of each key, in the checkpoint, from one micro-batch to the next; what it has
  to say at the end comes when the live streams that feed the DataFrame have ended. A DataFrame that reads a source of
  Spark's never ends;
- **timer**: as with state, and it is woken when its time has come, which the query looks at a few times in the shortest
  time that a step waits, and once a second at least. The time is that of the driver, and part of the checkpoint: a
  micro-batch that is done again is done at the same time again;
- **parted**: the step behind it has to be `flat_map(fn, concurrency=n)` or `concat_map(fn)`. What the function makes of
  each stream runs with a state and timers, which are part of those of the key;
- any other word: it is refused, for a reason that stands below the table.

Per partition on a stream means a partition of one micro-batch.
"""


@dataclass(frozen=True)
class Row:
    """One class of an operator, and how it runs in each column: a word, and the whole reason where it is refused."""

    name: str
    kind: type
    cells: tuple[tuple[str, tuple[str, str] | None], ...]


def extent_of(kind: str, extent: Extent) -> Extent:
    """Return what is asked about a column."""
    return Extent.KEY_STREAM if (kind, extent) == ("stream", Extent.KEY) else extent


def classes_of(name: str) -> list[type]:
    """Return the classes that make up an operator."""
    module = importlib.import_module(f"{penstock.operators.__name__}.{name}")
    return [
        member
        for title, member in vars(module).items()
        if isinstance(member, type)
        and issubclass(member, Stage | Joint | Source)
        and dataclasses.is_dataclass(member)
        and member.__module__ == module.__name__
        and not title.startswith("_")
    ]


def rows() -> Iterator[Row]:
    """Return every operator of the catalogue, those of several classes several times if they differ."""
    for name in NAMES:
        found: dict[tuple[Any, ...], Row] = {}
        for kind in classes_of(name):
            step: Any = object.__new__(kind)  # what is asked depends on the class alone
            cells = []
            for column in COLUMNS:
                extent = extent_of(*column)
                why = refusal(step, extent, name)
                cells.append((manner(step, extent) if why is None else step.tie.name.lower(), why))
            found.setdefault(tuple(cells), Row(name, kind, tuple(cells)))
        yield from found.values()


def page() -> str:
    """Return the page as Markdown."""
    everything = list(rows())
    names = [row.name for row in everything]
    lines = [INTRODUCTION, "| | batch, alone | per partition | per key | stream, alone | per partition | per key |"]
    lines.append("|---|---|---|---|---|---|---|")
    for row in everything:
        kind = next(base.__name__.lower() for base in (Stage, Joint, Source) if issubclass(row.kind, base))
        title = f"`{row.name}`" if names.count(row.name) == 1 else f"`{row.name}` ({_told_apart(row, kind)})"
        words = (word if why is None else f"[{word}](#{word})" for word, why in row.cells)
        lines.append(f"| {title} | {' | '.join(words)} |")
    lines.append("\n## Why not\n")
    reasons: dict[str, dict[tuple[str, str], list[str]]] = {}
    for row in everything:
        for (kind, extent), (word, why) in zip(COLUMNS, row.cells, strict=True):
            if why is not None:
                text = why[0], why[1].replace(f".{row.name}(", ".…(")
                where = extent_of(kind, extent).value
                held = reasons.setdefault(word, {}).setdefault(text, [])
                if where not in held:
                    held.append(where)
    for word, texts in sorted(reasons.items()):
        lines.append(f"### {word}\n")
        for (why, cure), where in texts.items():
            lines.append(f"- *{'; '.join(where)}*: it {why}. The cure: {_quoted(cure)}.")
        lines.append("")
    return "\n".join(lines).rstrip() + "\n"


def _told_apart(row: Row, kind: str) -> str:
    """Return what a class of an operator is told apart by: what its name says beyond the operator's, or its kind."""
    whole = "".join(word.title() for word in row.name.split("_"))
    return row.kind.__name__.removeprefix(whole).lower() or kind


def _quoted(text: str) -> str:
    """Put code between backquotes."""
    for code in CODE:
        text = text.replace(code, f"`{code}`")
    return text


if __name__ == "__main__":
    if "--write" in sys.argv:
        PAGE.write_text(page())
    else:
        print(page())
