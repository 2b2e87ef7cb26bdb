"""files: a million lines read and written by hand and by penstock, in one process and in turns."""

from __future__ import annotations

import json
import os
import tempfile
from functools import partial
from pathlib import Path

from benchmarks.connectors import pairs
from penstock import Stream
from penstock.connectors import files
from penstock.sinks.part_file import sync_folder

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


def _number(row: dict[str, int]) -> int:
    return row["n"]


def _sum(a: int, b: int) -> int:
    return a + b


def write_by_hand(folder: Path) -> int:
    rows = [{"n": n} for n in range(COUNT)]
    with (folder / "by-hand.part").open("w", encoding="utf-8") as file:
        for at in range(0, COUNT, BATCH):
            file.write("\n".join(map(json.dumps, rows[at : at + BATCH])) + "\n")
        file.flush()
        os.fsync(file.fileno())
    (folder / "by-hand.part").rename(folder / "by-hand.jsonl")
    sync_folder(folder)
    return COUNT


def write_by_penstock(folder: Path) -> int:
    rows = [{"n": n} for n in range(COUNT)]
    sink = files.roll(folder / "{number}.jsonl", files.JsonLines(), batch=BATCH)
    return (Stream.from_iterable(rows) | sink).run().wait()


def main() -> None:
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        lines = folder / "lines.jsonl"
        lines.write_text("".join(f'{{"n": {n}, "text": "{"x" * 60}"}}\n' for n in range(COUNT)))
        assert read_by_hand(lines) == read_by_penstock(lines)
        print("read JSON lines:", pairs(partial(read_by_hand, lines), partial(read_by_penstock, lines)))
        print("write JSON lines:", pairs(partial(write_by_hand, folder), partial(write_by_penstock, folder)))


if __name__ == "__main__":
    main()
