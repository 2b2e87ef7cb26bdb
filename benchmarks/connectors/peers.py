"""peers: the same files and rows read by bytewax and by streamz around the same client and batch size.

They are no dependencies of penstock: `pip install bytewax streamz` first. Each of them is given what is best for it: of
bytewax a source that gives a batch at a time and a sink that takes one, of streamz elements that are emitted in a loop.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterable, Iterator
from functools import partial
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any

import psycopg

from benchmarks.connectors import files, pairs, postgres
from tests.connectors.postgres.server import Server

BATCH = 1000
COUNT = 100_000


def batches_of_lines(path: Path) -> Iterator[list[str]]:
    with path.open(encoding="utf-8") as file:
        while lines := list(islice(file, BATCH)):
            yield lines


def batches_of_rows(server: Server) -> Iterator[list[Any]]:
    with psycopg.connect(server.conninfo) as connection, connection.cursor("peer") as cursor:
        cursor.execute(postgres.SELECT)
        while rows := cursor.fetchmany(BATCH):
            yield rows


def by_bytewax(open_batches: Callable[[], Iterable[list[Any]]], number: Callable[[Any], int]) -> int:
    """Sum up what is made of elements."""
    inputs, outputs, operators = map(import_module, ("bytewax.inputs", "bytewax.outputs", "bytewax.operators"))
    total = 0

    class Part(inputs.StatelessSourcePartition):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            self._batches = iter(open_batches())

        def next_batch(self) -> list[Any]:
            return next(self._batches)  # its end is the end

    class Source(inputs.DynamicSource):  # type: ignore[misc, name-defined]
        def build(self, *_: object) -> Part:
            return Part()

    class Summing(outputs.StatelessSinkPartition):  # type: ignore[misc, name-defined]
        def write_batch(self, items: list[int]) -> None:
            nonlocal total
            total += sum(items)

    class End(outputs.DynamicSink):  # type: ignore[misc, name-defined]
        def build(self, *_: object) -> Summing:
            return Summing()

    flow = import_module("bytewax.dataflow").Dataflow("peers")
    stream = operators.input("in", flow, Source())
    operators.output("out", operators.map("number", stream, number), End())
    import_module("bytewax.testing").run_main(flow)
    return total


def by_streamz(open_batches: Callable[[], Iterable[list[Any]]], number: Callable[[Any], int]) -> int:
    """Sum up what is made of elements."""
    source = import_module("streamz").Stream()
    total = 0

    def add(value: int) -> None:
        nonlocal total
        total += value

    source.map(number).sink(add)
    for batch in open_batches():
        for element in batch:
            source.emit(element)
    return total


def number_of(line: str) -> int:
    found: int = json.loads(line)["n"]
    return found


def one(_: object) -> int:
    return 1


def main() -> None:
    try:
        import_module("bytewax.dataflow"), import_module("streamz")
    except ImportError as error:
        print(f"{error}; pip install bytewax streamz")
        return
    server = Server()
    with tempfile.TemporaryDirectory() as name:
        lines = Path(name) / "lines.jsonl"
        lines.write_text("".join(f'{{"n": {n}, "text": "{"x" * 60}"}}\n' for n in range(COUNT)))
        try:
            server.start()
            postgres.prepare(server, COUNT)
            ours = partial(postgres.query_by_penstock, server, COUNT), partial(files.read_by_penstock, lines)
            theirs = (partial(batches_of_rows, server), one), (partial(batches_of_lines, lines), number_of)
            for what, by_penstock, opened in zip(("rows of a query", "JSON lines"), ours, theirs, strict=True):
                for peer in (by_bytewax, by_streamz):
                    assert peer(*opened) == by_penstock()
                    print(f"{what}, penstock {peer.__name__}:", pairs(partial(peer, *opened), by_penstock), flush=True)
        finally:
            server.stop()


if __name__ == "__main__":
    main()
