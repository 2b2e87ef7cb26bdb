"""consumer: a program that writes what a server gives to files that roll, until it is killed or the server ends."""

from __future__ import annotations

import sys
from typing import Any

from penstock import Stream
from penstock.connectors import files, http


def numbered(event: http.ServerEvent) -> dict[str, int]:
    return {"n": int(event.data)}


def number_of(row: dict[str, Any]) -> int:
    return int(row["n"])


def main(kind: str, url: str, out: str, checkpoint: str) -> None:
    tries = http.Tries(count=1000, pause=0.01, most=1.0)
    rows: Stream[Any] = http.pages(url) if kind == "pages" else http.events(url, retry=tries).map(numbered)
    path = f"{out}/{{number:06}}.jsonl"
    sink = files.roll(path, files.JsonLines(), rows=100, batch=50, seconds=0.05, once=number_of, back=50)
    (rows | sink).run(checkpoint=checkpoint).wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
