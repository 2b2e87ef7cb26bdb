"""The crossing by a file: one run writes lines into a pipe, another reads them; the failure travels with the run."""

from __future__ import annotations

import fcntl
import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import IO, Any

from penstock import Run, Stream, thread
from penstock.bridges.files import from_file, to_file
from penstock.bridges.shared.pouring import AHEAD
from tests.bridges.crossings import Crossing, heard

LENGTH = 4096
HELD = 1
"""What the pipe holds, in lines."""


class Pipe:
    """Be a pipe that one run writes to."""

    def __init__(self, stream: Stream[Any]) -> None:
        reader, writer = os.pipe()
        fcntl.fcntl(writer, fcntl.F_SETPIPE_SZ, HELD * LENGTH)
        self.reader: IO[bytes] = os.fdopen(reader, "rb", buffering=LENGTH)
        self.read = False
        self.run: Run[int] = heard((stream | to_file(lambda: os.fdopen(writer, "wb", buffering=0))).run())

    def open(self) -> IO[bytes]:
        self.read = True
        return self.reader

    def lines(self) -> Stream[bytes]:
        return from_file(self.open).subscribe_on(thread()).concat(Stream.defer(self.failure))

    def failure(self) -> Stream[Any]:
        """Give nothing, or fail as the run did."""
        self.run.wait()
        return Stream.empty()

    def close(self) -> None:
        self.run.cancel()
        if not self.read:
            self.reader.close()


@contextmanager
def pipe(stream: Stream[Any]) -> Iterator[Stream[Any]]:
    over = Stream.subject()
    yield Stream.using(lambda: Pipe(stream), Pipe.lines, Pipe.close).take_until(over)
    over.emit("over")  # for those who have left without a word


def line(n: int) -> bytes:
    return b"%*d\n" % (LENGTH - 1, n)


CROSSINGS = [Crossing("a pipe", pipe, window=AHEAD + HELD + 2, element=line)]
