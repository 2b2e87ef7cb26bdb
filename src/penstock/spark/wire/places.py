"""places: find the folder that a user has named.

A plain path and a `file:` URI are a folder of this machine; any other URI is one of Hadoop's file systems.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from penstock.spark.wire.hadoop import hadoop_folder
from penstock.spark.wire.storage import Folder, LocalFolder

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_URI = re.compile(r"(?P<scheme>[A-Za-z][A-Za-z0-9+.-]+):(?P<rest>/.*)", re.DOTALL)  # one letter is a drive
_HERE = re.compile(r"(?://(?:localhost)?(?=/))?(?P<path>/.*)", re.DOTALL)

NamedFolder: TypeAlias = str | os.PathLike[str] | Folder
"""How a folder is named: by a path, a URI, or itself."""


def folder(given: NamedFolder, session: SparkSession | None, word: str) -> Folder:
    """Return the folder that a user has named; `word` is what the user calls it."""
    if isinstance(given, Folder):
        return given
    local = here(given, word)
    if local is not None:
        return LocalFolder(local)
    return hadoop_folder(str(given), session, word)


def here(given: str | os.PathLike[str], word: str) -> Path | None:
    """Return the path of a folder of this machine, or None if it is elsewhere; refuse what is neither."""
    if not isinstance(given, str | os.PathLike):
        raise TypeError(f"{word} must be a path or a URI, got {given!r}")
    text = os.fspath(given)
    found = _URI.fullmatch(text)
    if found is None:
        if not text:
            raise ValueError(f"{word} must be a path or a URI, got ''")
        return Path(text)
    scheme = found["scheme"].lower()
    if not isinstance(given, str):  # pathlib has made one slash of two
        raise ValueError(f"{word} must be a path of this machine, or a URI as text, got {given!r}")
    if scheme != "file":
        return None
    path = _HERE.fullmatch(found["rest"])
    if path is None or path["path"].startswith("//"):
        raise ValueError(f"{word}: a file: URI must be like file:///folder, got {text!r}")
    return Path(path["path"])


__all__ = ["NamedFolder", "folder", "here"]
