"""consumer: a program that tails a log into files that roll, until it is killed; `python -m` this with three paths."""

from __future__ import annotations

import sys
from typing import Any

from penstock.connectors import files


def number_of(row: dict[str, Any]) -> int:
    return int(row["n"])


def main(log: str, out: str, checkpoint: str) -> None:
    lines = files.tail(log, files.JsonLines(), begin="oldest", poll=0.005)
    sink = files.roll(
        f"{out}/{{number:06}}.jsonl.gz",
        files.JsonLines(),
        rows=1000,
        seconds=0.05,
        batch=250,
        once=number_of,
        back=20,
    )
    (lines | sink).run(checkpoint=checkpoint).wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
