"""compression: files that are compressed, known by their ending: `.gz` and `.zst`."""

from __future__ import annotations

import gzip
import io
from pathlib import Path, PurePath
from typing import IO, Any, BinaryIO, cast

from penstock.errors import SetupError

ENDINGS = (".gz", ".zst")


def compressed(name: PurePath) -> bool:
    """Tell whether a file is compressed, by the ending of its name."""
    return name.suffix in ENDINGS


def open_plain(path: Path) -> BinaryIO:
    """Open a file for reading, and give what it holds uncompressed."""
    if path.suffix == ".gz":
        return cast("BinaryIO", gzip.open(path, "rb"))
    if path.suffix == ".zst":
        return _open_zstd(path)
    return path.open("rb", buffering=0)


def _open_zstd(path: Path) -> BinaryIO:
    library = _zstandard()
    return cast("BinaryIO", io.BufferedReader(_ZstdFile(path.open("rb", buffering=0), library), 1024))


class _ZstdFile(io.RawIOBase):
    """What a `.zst` file holds, which fails if the file is cut off: the reader of the library would end without a word.

    A little is read at a time, since a byte of it may stand for 32 KiB.
    """

    def __init__(self, raw: IO[bytes], library: Any) -> None:
        super().__init__()
        self._raw = raw
        self._make = library.ZstdDecompressor().decompressobj
        self._frame: Any = None
        self._ready = memoryview(b"")

    def readable(self) -> bool:
        return True

    def fileno(self) -> int:
        return self._raw.fileno()

    def readinto(self, buffer: Any, /) -> int:
        while not self._ready:
            data = self._raw.read(1024)
            if not data:
                if self._frame is not None:
                    raise EOFError("the file ends in the middle of a frame")
                return 0
            self._ready = memoryview(self._plain(data))
        count = min(len(buffer), len(self._ready))
        buffer[:count] = self._ready[:count]
        self._ready = self._ready[count:]
        return count

    def _plain(self, data: bytes) -> bytes:
        parts = []
        while data:
            frame = self._frame = self._frame or self._make()
            parts.append(frame.decompress(data))
            data = b""
            if frame.eof:
                self._frame, data = None, frame.unused_data
        return b"".join(parts)

    def close(self) -> None:
        self._raw.close()
        super().close()


def read_errors() -> tuple[type[Exception], ...]:
    """Return what a compressed file raises that is cut off or is none."""
    import zlib  # noqa: PLC0415

    try:
        import zstandard as library  # noqa: PLC0415
    except ImportError:
        return (EOFError, zlib.error, gzip.BadGzipFile)
    return (EOFError, zlib.error, gzip.BadGzipFile, library.ZstdError)


def compressing(raw: IO[bytes], name: PurePath) -> BinaryIO:
    """Return what compresses into an open file as its name says; closing it ends the compressed data and no more."""
    if name.suffix == ".gz":
        return cast("BinaryIO", gzip.GzipFile(filename="", fileobj=raw, mode="wb", compresslevel=6, mtime=0))
    if name.suffix == ".zst":
        return cast("BinaryIO", _zstandard().ZstdCompressor(write_checksum=True).stream_writer(raw, closefd=False))
    return cast("BinaryIO", _Left(raw))


class _Left(io.RawIOBase):
    """An open file that stays so when this is closed."""

    def __init__(self, raw: IO[bytes]) -> None:
        super().__init__()
        self._raw = raw

    def writable(self) -> bool:
        return True

    def write(self, data: bytes, /) -> int:  # type: ignore[override]
        return self._raw.write(data)


def _zstandard() -> Any:
    try:
        import zstandard as library  # noqa: PLC0415  an extra
    except ImportError as error:
        raise SetupError("files: .zst needs the package zstandard; pip install 'penstock[files]'") from error
    return library


__all__ = ["ENDINGS", "compressed", "compressing", "open_plain", "read_errors"]
