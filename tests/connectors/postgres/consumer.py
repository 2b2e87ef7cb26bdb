"""consumer: pipelines in a process that can be killed, and one that tells how much memory it takes.

`python -m tests.connectors.postgres.consumer mirror CONNINFO` keeps a copy of a table by two pipelines until it is
killed. `... changes CONNINFO COUNT` and `... query CONNINFO COUNT` read so many elements: the first ones, then none
until a line comes on the standard input, then the rest; they print what they saw and by how much their memory grew.
"""

from __future__ import annotations

import resource
import sys
from typing import Any

from penstock import Stream
from penstock.connectors.postgres import Bookmark, Change, Marked, changes, copy_into, query, upsert


def once(conninfo: str) -> Any:
    """Append every change to a table, once."""
    bookmark = Bookmark(conninfo, "once")
    return (
        changes(conninfo, slot="once", publication="publication", bookmark=bookmark).map(logged)
        | copy_into(conninfo, "history", bookmark=bookmark, size=50, seconds=0.02)
    ).run()


def logged(change: Change) -> Marked:
    row = change.row or change.old or {}
    return Marked(change.position, (change.kind, row["id"], row.get("n")))


def same(conninfo: str) -> Any:
    """Keep a table the same as another one."""
    return (
        changes(conninfo, slot="same", publication="publication")
        | upsert(conninfo, "mirror", key="id", size=50, seconds=0.02)
    ).run()


def mirror(conninfo: str) -> None:
    runs = [once(conninfo), same(conninfo)]
    for run in runs:
        run.wait()


def measured(elements: Stream[Any], count: int) -> None:
    """Take elements one by one, stop in the middle until a line comes, and tell how memory grew since then."""
    seen = total = before = 0
    with elements.open() as run:
        for number in run:
            seen += 1
            total += number
            if seen == 10_000:
                before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
                print("waiting", flush=True)
                sys.stdin.readline()
            if seen == count:
                break
    grown = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before
    print(f"{seen} {total} {grown}", flush=True)


def main(what: str, conninfo: str, *count: str) -> None:
    if what == "mirror":
        mirror(conninfo)
    elif what == "changes":
        found = changes(conninfo, slot="slot", publication="publication")
        measured(found.map(lambda change: change.row["id"] if change.row else 0), int(*count))
    else:
        measured(query(conninfo, "select id from big", key="id").map(lambda row: row[0]), int(*count))


if __name__ == "__main__":
    main(*sys.argv[1:])
