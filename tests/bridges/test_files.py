"""files: lines and chunks, text and bytes; what a run has opened it closes, however it ends."""

from __future__ import annotations

import io
import os
import re
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from penstock import RunCancelledError, Stream, thread
from penstock.bridges.files import from_file, to_file
from penstock.testing import Probe, Tracked
from tests.engine.watch import PATIENCE, dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

LOST = LookupError("lost")
TEXT = "eins\nzwei\r\ndrei: ü"


class Opened:
    """Open files and remember them."""

    def __init__(self, open: Callable[[], Any]) -> None:
        self._open = open
        self.files: list[Any] = []

    def __call__(self) -> Any:
        self.files.append(self._open())
        return self.files[-1]

    @property
    def closed(self) -> list[bool]:
        return [file.closed for file in self.files]


@pytest.fixture
def path(tmp_path: Path) -> Path:
    found = tmp_path / "text"
    found.write_bytes(TEXT.encode())
    return found


def test_lines_of_a_path_keep_their_ends_and_come_anew_for_each_subscriber(path: Path) -> None:
    lines = from_file(path)
    assert list(lines) == ["eins\n", "zwei\r\n", "drei: ü"]
    assert list(lines) == list(from_file(str(path)))


def test_chunks_have_at_most_the_size_that_was_given(path: Path) -> None:
    assert list(from_file(path, size=7)) == ["eins\nzw", "ei\r\ndre", "i: ü"]
    assert list(from_file(lambda: path.open("rb"), size=8)) == [b"eins\nzwe", b"i\r\ndrei:", b" \xc3\xbc"]


def test_an_open_file_is_read_from_where_it_stands_and_left_open(path: Path) -> None:
    with path.open("rb") as file:
        file.readline()
        assert list(from_file(file).take(1)) == [b"zwei\r\n"]
        assert not file.closed
        assert list(from_file(file)) == [b"drei: \xc3\xbc"]
        assert not file.closed


@pytest.mark.parametrize("way", ["completion", "cancel", "take", "error", "never asked"])
def test_what_was_opened_is_closed(path: Path, way: str) -> None:
    class Failing(io.BytesIO):
        def readline(self, size: int | None = -1, /) -> bytes:
            raise LOST

        def __next__(self) -> bytes:
            raise LOST

    opened = Opened(Failing if way == "error" else lambda: path.open("rb"))
    lines = from_file(opened)
    probe: Probe[bytes] = Probe(0 if way == "never asked" else 1)
    (lines.take(1) if way == "take" else lines).subscribe(probe)
    if way == "completion":
        probe.request()
    elif way in {"cancel", "never asked"}:
        probe.cancel()
    assert opened.closed == ([] if way == "never asked" else [True])
    assert probe.error is (LOST if way == "error" else None)


def test_text_that_is_none_fails_the_stream(tmp_path: Path) -> None:
    (tmp_path / "bytes").write_bytes(b"one\n\xff\n")
    with pytest.raises(UnicodeDecodeError):
        list(from_file(tmp_path / "bytes"))


def test_what_cannot_be_opened_fails_the_stream_and_the_sink(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError):
        list(from_file(tmp_path / "nowhere" / "text"))
    with pytest.raises(FileNotFoundError):
        (Stream.just("a") | to_file(tmp_path / "nowhere" / "text")).run().wait(PATIENCE)


@pytest.mark.parametrize("form", ["path", "function", "open"])
def test_elements_are_written_as_they_are(tmp_path: Path, form: str) -> None:
    written = tmp_path / "written"
    opened = Opened(lambda: written.open("wb"))
    if form == "path":
        sink, stream = to_file(written), from_file(io.StringIO(TEXT, newline=""))
    else:
        sink = to_file(opened() if form == "open" else opened)
        stream = from_file(io.BytesIO(TEXT.encode()))  # type: ignore[assignment]
    assert (stream | sink).run().wait(PATIENCE) == 3
    assert written.read_bytes() == TEXT.encode()
    assert opened.closed == {"path": [], "function": [True], "open": [False]}[form]
    for file in opened.files:
        file.close()


def test_a_path_is_written_anew_by_each_run(tmp_path: Path) -> None:
    pipeline = Stream.just("a", "b") | to_file(tmp_path / "written")
    assert [pipeline.run().wait(PATIENCE), pipeline.run().wait(PATIENCE)] == [2, 2]
    assert (tmp_path / "written").read_text() == "ab"


def test_a_failure_leaves_what_was_written_and_fails_the_run(tmp_path: Path) -> None:
    opened = Opened(lambda: (tmp_path / "written").open("w"))
    with pytest.raises(LookupError) as raised:
        (Stream.just("a").concat(Stream.error(LOST)) | to_file(opened)).run().wait(PATIENCE)
    assert (raised.value, opened.closed, (tmp_path / "written").read_text()) == (LOST, [True], "a")


def test_a_write_that_fails_cancels_the_stream(tmp_path: Path) -> None:
    opened = Opened(lambda: (tmp_path / "written").open("w"))
    items = Tracked([b"bytes in a text"] * 50)
    with pytest.raises(TypeError, match=r"^write\(\) argument must be str, not bytes$"):
        (Stream.from_iterable(items) | to_file(opened)).run().wait(PATIENCE)
    assert opened.closed == [True]
    items.wait_until_closed()


def test_a_cancel_closes_what_was_opened() -> None:
    written = threading.Event()

    class Telling(io.StringIO):
        def write(self, text: str, /) -> int:
            written.set()
            return super().write(text)

    opened = Opened(Telling)
    run = (Stream.just("a").concat(Stream.never()) | to_file(opened)).run()
    assert written.wait(PATIENCE)
    run.cancel()
    with pytest.raises(RunCancelledError):
        run.wait(PATIENCE)
    for each in threading.enumerate():
        if each.name == "penstock-sink":
            each.join(PATIENCE)  # if it was still writing, it closes the file
    assert opened.closed == [True]


def test_a_cancel_does_not_wait_for_a_write_under_way_which_closes_the_file_itself() -> None:
    writing, go = threading.Event(), threading.Event()

    class Slow(io.StringIO):
        closes = threading.Event()

        def write(self, text: str, /) -> int:
            writing.set()
            assert go.wait(PATIENCE)
            return super().write(text)

        def close(self) -> None:
            super().close()
            self.closes.set()

    opened = Opened(Slow)
    run = (Stream.just("a", "b") | to_file(opened)).run()
    assert writing.wait(PATIENCE)
    run.cancel()
    assert opened.closed == [False]
    go.set()
    assert Slow.closes.wait(PATIENCE)


def test_a_file_without_a_buffer_that_takes_a_part_gets_the_rest() -> None:
    class Part(io.RawIOBase):
        def __init__(self) -> None:
            self.taken = b""

        def writable(self) -> bool:
            return True

        def write(self, data: Any, /) -> int:
            self.taken += bytes(data[:2])
            return min(2, len(data))

    file = Part()
    assert (Stream.just(b"abcde", b"fg") | to_file(file)).run().wait(PATIENCE) == 2  # type: ignore[arg-type]
    assert file.taken == b"abcdefg"


def test_a_reader_that_has_gone_fails_the_run_that_writes() -> None:
    reader, writer = os.pipe()
    os.close(reader)
    items = Tracked([b"a"] * 100)
    with pytest.raises(BrokenPipeError):
        (Stream.from_iterable(items) | to_file(lambda: os.fdopen(writer, "wb", buffering=0))).run().wait(PATIENCE)
    items.wait_until_closed()


def test_a_file_that_makes_its_reader_wait_is_read_on_a_thread() -> None:
    reader, writer = os.pipe()
    probe: Probe[bytes] = Probe(2)
    from_file(lambda: os.fdopen(reader, "rb")).subscribe_on(thread()).subscribe(probe)
    os.write(writer, b"one\n")
    probe.wait_for(1)
    os.close(writer)
    probe.wait_for_end()
    assert (probe.elements, probe.completed) == ([b"one\n"], True)


class Nothing:
    def __repr__(self) -> str:
        return "nothing"


@pytest.mark.parametrize("given", [None, 3, Nothing()])
def test_what_is_no_file_is_refused(given: Any) -> None:
    for function in (from_file, to_file):
        message = f"{function.__name__}: file must be a path, an open file or a function that opens one, got {given!r}"
        with pytest.raises(TypeError, match=f"^{re.escape(message)}$"):
            function(given)


def test_a_size_must_be_positive() -> None:
    with pytest.raises(ValueError, match=r"^from_file: size must be >= 1, got 0$"):
        from_file("text", size=0)
    with pytest.raises(TypeError, match=r"^from_file: size must be a whole number, got 1\.5$"):
        from_file("text", size=1.5)  # type: ignore[call-overload]


def test_a_raw_file_that_has_no_room_and_does_not_block_fails_the_run() -> None:
    reading, writing = os.pipe()
    os.set_blocking(writing, False)
    with os.fdopen(reading, "rb"), os.fdopen(writing, "wb", buffering=0) as file:
        chunks = Stream.range(1000).map(lambda _: bytes(10_000))
        with pytest.raises(BlockingIOError, match="to_file: the file does not block and has no room"):
            (chunks | to_file(file)).run().wait()


def test_a_file_that_takes_nothing_fails_the_run() -> None:
    class Full(io.RawIOBase):
        def writable(self) -> bool:
            return True

        def write(self, data: Any, /) -> int:
            return 0

    with pytest.raises(OSError, match="to_file: the file took 0 of 3"):
        (Stream.just(b"abc") | to_file(Full())).run().wait()
