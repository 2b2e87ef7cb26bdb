"""files: a million lines read and written by hand and by penstock, in one process and in turns."""

from __future__ import annotations

import json
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from statistics import median
from typing import Any

from penstock import Stream
from penstock.connectors import files

COUNT = 200_000
BATCH = 1000


def read_by_hand(path: Path) -> int:
    total = 0
    with path.open(encoding="utf-8") as file:
        for line in file:
            total += json.loads(line)["n"]
    return total


def read_by_penstock(path: Path) -> int:
    return files.read(path, files.JsonLines()).map(_number).reduce(_sum, 0).get()


def _number(row: Any) -> int:
    return int(row["n"])


def _sum(a: int, b: int) -> int:
    return a + b


def write_by_hand(folder: Path) -> int:
    rows = [{"n": n} for n in range(COUNT)]
    with (folder / "by-hand.part").open("w", encoding="utf-8") as file:
        for at in range(0, COUNT, BATCH):
            file.write("\n".join(map(json.dumps, rows[at : at + BATCH])) + "\n")
    (folder / "by-hand.part").rename(folder / "by-hand.jsonl")
    return COUNT


def write_by_penstock(folder: Path) -> int:
    rows = [{"n": n} for n in range(COUNT)]
    sink = files.roll(folder / "{number}.jsonl", files.JsonLines(), batch=BATCH)
    return (Stream.from_iterable(rows) | sink).run().wait()


def ratio(by_hand: Callable[[Path], int], by_penstock: Callable[[Path], int], path: Path, rounds: int = 5) -> float:
    """Return the median of how many times longer penstock takes, each round paired."""
    ratios = []
    for _ in range(rounds):
        begun = time.process_time()
        expected = by_hand(path)
        between = time.process_time()
        assert by_penstock(path) == expected
        ratios.append((time.process_time() - between) / (between - begun))
    return median(ratios)


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = folder / "lines.jsonl"
        lines.write_text("".join(f'{{"n": {n}, "text": "{"x" * 60}"}}\n' for n in range(COUNT)))
        print(f"read JSON lines: {ratio(read_by_hand, read_by_penstock, lines):.2f}x the loop")
        print(f"write JSON lines: {ratio(write_by_hand, write_by_penstock, folder):.2f}x the loop")


if __name__ == "__main__":
    main()
