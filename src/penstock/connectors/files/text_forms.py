"""text_forms: lines of text and JSON lines."""

from __future__ import annotations

import json
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import repeat
from operator import is_
from pathlib import Path
from typing import IO, Any

from penstock.connectors.files.bad_lines import Dead
from penstock.connectors.files.compression import compressing
from penstock.connectors.files.forms import Blocks, LineParser, Parsed, Place
from penstock.connectors.files.line_file import LineBlocks
from penstock.engine.weaving.blame import text_of

Parse = Callable[[str], Any]


class EachLine:
    """A parser for which a line is an element, and lines know nothing of each other."""

    def __init__(self, parse: Parse | None, *, blank: bool) -> None:
        self._parse = parse
        self._blank = blank  # whether a line without text counts

    def begin(self, lines: list[bytes], /) -> None:
        """Need nothing of the first lines."""

    def parse(self, lines: list[bytes], /, *, last: bool) -> Parsed:
        """Read them all at once, and one by one if that fails."""
        if not lines:
            return Parsed([], (), 0)
        try:
            text = b"\n".join(lines).decode()
            texts = text.split("\n")
            if self._parse is None:
                elements: list[Any] = [each.removesuffix("\r") for each in texts] if "\r" in text else texts
            elif self._parse is json.loads:
                elements = _values(texts)
            else:
                elements = list(map(self._parse, texts))
            if any(map(is_, elements, repeat(None))):
                return self._slowly(lines)
        except Exception:  # noqa: BLE001  one of the lines is to blame
            return self._slowly(lines)
        return Parsed(elements, range(1, len(lines) + 1), len(lines))

    def _slowly(self, lines: list[bytes]) -> Parsed:
        elements: list[Any] = []
        behind: list[int] = []
        bad: list[tuple[int, int, str]] = []
        for number, line in enumerate(lines):
            try:
                text = line.decode().removesuffix("\r")
                if not self._blank and not text.strip():
                    continue
                element = text if self._parse is None else self._parse(text)
                if element is None:
                    raise ValueError("None is not an element (rule 2.13)")
            except Exception as error:  # noqa: BLE001  whatever the parser says of it
                bad.append((number, number + 1, f"{type(error).__name__}: {text_of(error)}"))
            else:
                elements.append(element)
                behind.append(number + 1)
        return Parsed(elements, behind, len(lines), bad)


_scan: Callable[[str, int], tuple[Any, int]] = json.JSONDecoder().scan_once  # type: ignore[attr-defined]


def _values(texts: list[str]) -> list[Any]:
    """Read values that have nothing around them, without looking for it; raise if one has, or is none."""
    values: list[Any] = []
    add = values.append
    for text in texts:
        value, end = _scan(text, 0)
        if end != len(text):
            raise ValueError("there is more on a line than a value")
        add(value)
    return values


_make_encoder: Any = getattr(json.encoder, "c_make_encoder", None)
_ENCODER = json.JSONEncoder()
_PLAIN = (json.encoder.encode_basestring_ascii, None, ": ", ", ", False, False, True)
"""What `json.dumps` makes its encoder of: no indent, its separators, keys as they come and all of them, NaN as well."""


def _texts(values: Sequence[Any]) -> list[str]:
    """Write values as `json.dumps` does, which makes an encoder anew for each and takes three times as long.

    An encoder remembers what it is in the middle of, to find circles, and would not forget it after a failure. So there
    is one for each batch.
    """
    encode = _make_encoder({}, _ENCODER.default, *_PLAIN)
    join = "".join
    return [join(encode(value, 0)) for value in values]


def _encodes() -> bool:
    """Tell whether there is such an encoder in this Python."""
    value = {"a": [1, 2.5, None, True, "\u00fc"], "b": {}}
    try:
        return _make_encoder is not None and _texts([value]) == [json.dumps(value)]
    except TypeError:
        return False


_FAST = _encodes()


class TextSheet:
    """A file of lines that is being written."""

    def __init__(self, file: IO[bytes], name: Path, text: Callable[[Sequence[Any]], str]) -> None:
        self._file = compressing(file, name)
        self._text = text

    def write(self, elements: Sequence[Any], /) -> None:
        """Write each on its line."""
        self._file.write(self._text(elements).encode())

    def close(self) -> None:
        """End what is compressed."""
        self._file.close()


@dataclass(frozen=True, slots=True)
class Lines:
    """A form of files: lines of text in UTF-8, without their ends."""

    def parser(self) -> LineParser:
        """Return what reads the lines of one file."""
        return EachLine(None, blank=True)

    def blocks(self, path: Path, key: str, after: Place | None, dead: Dead | None) -> Blocks[str]:
        """Open a file behind a place."""
        return LineBlocks(path, key, after, self.parser(), dead)

    def sheet(self, file: IO[bytes], name: Path) -> TextSheet:
        """Begin a file."""
        return TextSheet(file, name, _joined)


def _joined(elements: Sequence[Any]) -> str:
    if {*map(type, elements)} == {str}:
        text = "\n".join(elements) + "\n"
        if text.count("\n") == len(elements):
            return text
    for element in elements:
        if not isinstance(element, str) or "\n" in element:
            raise TypeError(f"files: a line is a text without line ends, got {element!r:.100}; put map(str) before it")
    return "".join(f"{element}\n" for element in elements)


@dataclass(frozen=True, slots=True)
class JsonLines:
    """A form of files: a JSON value on each line; lines without text are left out.

    >>> JsonLines().parser().parse([b'{"a": 1}', b"2"], last=True).elements
    [{'a': 1}, 2]
    """

    loads: Parse = json.loads
    """What reads a line; a faster library, or a model of yours."""
    dumps: Callable[[Any], str] = json.dumps
    """What writes an element as one line."""

    def parser(self) -> LineParser:
        """Return what reads the lines of one file."""
        return EachLine(self.loads, blank=False)

    def blocks(self, path: Path, key: str, after: Place | None, dead: Dead | None) -> Blocks[Any]:
        """Open a file behind a place."""
        return LineBlocks(path, key, after, self.parser(), dead)

    def sheet(self, file: IO[bytes], name: Path) -> TextSheet:
        """Begin a file."""
        return TextSheet(file, name, self._text)

    def _text(self, elements: Sequence[Any]) -> str:
        texts = _texts(elements) if _FAST and self.dumps is json.dumps else list(map(self.dumps, elements))
        text = "\n".join(texts) + "\n"
        if text.count("\n") != len(texts):
            raise ValueError("files: dumps must give one line without its end for each element")
        return text


__all__ = ["EachLine", "JsonLines", "Lines", "TextSheet"]
