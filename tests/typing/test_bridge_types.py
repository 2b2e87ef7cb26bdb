"""bridge_types: what mypy and pyright must both infer of bridges; read by the checkers and run by pytest."""

from __future__ import annotations

import asyncio
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from queue import Queue
from typing import Any, assert_type

import anyio
import pyarrow as pa  # type: ignore[import-untyped]
import reactivex

from penstock import Completed, Failed, Flow, Overflow, Pipeline, Sink, Stream
from penstock.bridges import asyncio as loops
from penstock.bridges.anyio import from_memory_stream, to_memory_stream
from penstock.bridges.arrow import from_arrow, to_table
from penstock.bridges.cpp import CppStream, CppSubscription, from_cpp, to_cpp
from penstock.bridges.dotnet import DotnetPublisher, from_dotnet, to_dotnet
from penstock.bridges.files import from_file, to_file
from penstock.bridges.futures import from_futures, submit, to_future
from penstock.bridges.reactivex import from_observable, to_observable
from penstock.bridges.rsocket import Server, channel, remote, serve
from penstock.bridges.threads import from_queue, to_queue

NUMBERS = Stream.range(3)
ARROW: Any = pa  # it has no types of its own


@dataclass(frozen=True)
class Stop:
    name: str


def text(n: int) -> str:
    return str(n)


def test_the_dialects() -> None:
    assert_type(to_cpp(NUMBERS), CppStream[int])
    assert_type(from_cpp(to_cpp(NUMBERS)), Stream[int])
    assert_type(CppSubscription().move(), CppSubscription)
    assert_type(to_dotnet(NUMBERS), DotnetPublisher[int])
    assert_type(from_dotnet(to_dotnet(NUMBERS)), Stream[int])


def test_queues_files_and_futures(tmp_path: Path) -> None:
    assert_type(from_queue(Queue[int]()), Stream[int])
    assert_type(from_queue(Queue[int | Completed]()), Stream[int])
    assert_type(from_queue(Queue[int | Completed | Failed]()), Stream[int])
    assert_type(from_queue(Queue[int | str]()), Stream[int | str])
    assert_type(Stream.range(3) | to_queue(Queue[int | Completed | Failed]()), Pipeline[int])
    assert_type(Stream.range(3) | Sink.to_queue(Queue[int | Completed | Failed]()), Pipeline[int])
    assert_type(to_queue(Queue[int]()), Sink[int, int])
    assert_type(from_file(tmp_path / "lines"), Stream[str])
    assert_type(to_file(tmp_path / "lines"), Sink[Any, int])
    with ThreadPoolExecutor(1) as executor:
        assert_type(NUMBERS | submit(executor, text), Stream[str])
        assert_type(from_futures([executor.submit(text, 1)]), Stream[str])
    assert_type(to_future(NUMBERS.count()), Future[int])


def test_event_loops() -> None:
    async def main() -> None:
        queue: asyncio.Queue[int] = asyncio.Queue()
        assert_type(loops.from_queue(queue), Stream[int])
        marked: asyncio.Queue[int | Completed] = asyncio.Queue()
        assert_type(loops.from_queue(marked), Stream[int])
        ended: asyncio.Queue[int | Completed | Failed] = asyncio.Queue()
        assert_type(loops.from_queue(ended), Stream[int])
        assert_type(Stream.range(3) | loops.to_queue(ended), Pipeline[int])
        assert_type(Stream.range(3) | Sink.to_queue(ended), Pipeline[int])
        assert_type(loops.to_queue(queue), Sink[int, int])
        sender, receiver = anyio.create_memory_object_stream[int](1)
        with sender, receiver:
            assert_type(from_memory_stream(receiver), Stream[int])
            assert_type(to_memory_stream(sender), Sink[int, int])

    asyncio.run(main())


def test_libraries() -> None:
    assert_type(from_observable(reactivex.of(1, 2), overflow=Overflow.ERROR), Stream[int])
    assert_type(to_observable(NUMBERS), reactivex.Observable[int])


def test_the_wire() -> None:
    server = serve({"numbers": NUMBERS})
    assert_type(server, Server)
    with server:
        assert_type(remote(server.address, "numbers", token=server.token), Stream[Any])
        assert_type(channel(server.address, "numbers", token=server.token), Flow[Any, Any])


def test_tables_and_arrays() -> None:
    table = ARROW.table({"name": ["Pier"]})
    assert_type(from_arrow(table), Stream[dict[str, Any]])
    assert_type(from_arrow(table, Stop), Stream[Stop])
    assert_type(to_table(NUMBERS, ARROW.schema({"n": ARROW.int64()})), Stream[Any])
