"""class_archive: Spark's Java classes kept in an archive, from which a JVM starts in about half the time.

Java calls it application class-data sharing. To write the archive takes longer than it saves at one start, so nothing
does it unasked: `prepare()` does, once for each Java and Spark, and every `Spark()` after that finds it by itself. Java
checks that an archive was written by itself and for the same files, and starts without it otherwise.
"""

from __future__ import annotations

import hashlib
import os
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from penstock.spark.session.java import Java

QUIET = "-Xlog:cds*=off"
"""Without this Java prints why it did not take an archive, which does not help a user of Spark."""


def folder() -> Path:
    """Return where archives are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


def archive_for(java: Java) -> Path | None:
    """Return the archive for this Java and this Spark, if there is one."""
    for file in sorted(folder().glob(f"{name_for(java)}-*.jsa")):
        size = file.stem.rpartition("-")[2]
        if size.isdigit() and file.stat().st_size == int(size):  # Java does not survive one that was cut off
            return file
    return None


def name_for(java: Java) -> str:
    """Return the beginning of an archive's name, which tells the Java and the Spark that it is for."""
    known = hashlib.sha256()
    files = [java.home / "release", java.home / "lib" / "server" / "libjvm.so"]
    for file in (*files, *sorted((Path(_find_spark_home()) / "jars").glob("*.jar"))):
        found = file.stat() if file.exists() else None
        known.update(f"{file} {found and found.st_size} {found and found.st_mtime_ns}\n".encode())
    return f"spark-classes-{java.version}-{known.hexdigest()[:16]}"


def options(java: Java) -> str:
    """Return the options for a JVM that is to start from the archive; none if there is no archive."""
    archive = archive_for(java)
    if archive is None or '"' in str(archive):
        return ""
    return f'"-XX:SharedArchiveFile={archive}" -Xshare:auto {QUIET}'


__all__ = ["QUIET", "archive_for", "folder", "name_for", "options"]
