"""served_rows: numbers that another process gives, from any on, through a socket; it may be killed at a moment."""

from __future__ import annotations

import os
import socket
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from pathlib import Path
from types import TracebackType

from tests.spark.cluster import ROOT

END = "end"
AT_ONCE = 50
"""Numbers that are given for one line of the reader's, so that the process is never far ahead of it."""


class SourceGoneError(Exception):
    """The error that the other process has hung up before its last number."""


def numbers_from(place: Path) -> Callable[[int], Iterator[int]]:
    """Return what asks the process at a place for its numbers, from one on."""

    def numbers(after: int) -> Iterator[int]:
        with socket.socket(socket.AF_UNIX) as line:
            try:
                line.connect(str(place))
                line.sendall(f"{after}\n".encode())
                with line.makefile() as file:
                    for said in file:
                        if said == END + "\n":
                            return
                        if not said.endswith("\n"):
                            break  # the half of a line
                        yield int(said)
                        after += 1
                        if after % AT_ONCE == 0:
                            line.sendall(b"more\n")
            except OSError as error:
                raise SourceGoneError(f"the source has gone before row {after}") from error
        raise SourceGoneError(f"the source has gone before row {after}")

    return numbers


class Server:
    """The other process, until it is left or killed."""

    def __init__(self, place: Path, rows: int, moment: int | None = None) -> None:
        place.unlink(missing_ok=True)  # what one that was killed has left
        self._process = subprocess.Popen(
            [
                sys.executable,
                "-m",
                "tests.spark.served_rows",
                place,
                str(rows),
                str(rows if moment is None else moment),
            ],
            cwd=ROOT,
            env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
            stdout=subprocess.PIPE,
        )
        self._hears("up")

    def _hears(self, word: str) -> None:
        assert self._process.stdout is not None
        assert self._process.stdout.readline().decode().strip() == word

    def kill_at_moment(self) -> None:
        """End it by SIGKILL once it has come to its moment."""
        self._hears("now")
        self._process.kill()
        self._process.wait()

    def __enter__(self) -> Server:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self._process.kill()
        self._process.wait()
        assert self._process.stdout is not None
        self._process.stdout.close()


def _serve(line: socket.socket, rows: int, moment: int, said: threading.Lock) -> None:
    with line, line.makefile("rw") as file:
        for number in range(int(file.readline()), rows):
            if number == moment:
                file.flush()
                if said.acquire(blocking=False):
                    print("now", flush=True)
                threading.Event().wait()  # the kill is on its way
            print(number, file=file)
            if (number + 1) % AT_ONCE == 0:
                file.flush()
                file.readline()
        print(END, file=file, flush=True)


def main(place: str, rows: int, moment: int) -> None:
    said = threading.Lock()
    with socket.socket(socket.AF_UNIX) as door:
        door.bind(place)
        door.listen()
        print("up", flush=True)
        while True:
            line, _ = door.accept()
            threading.Thread(target=_serve, args=(line, rows, moment, said), daemon=True).start()


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), int(sys.argv[3]))
