"""classes: Spark's Java classes kept in an archive, from which a JVM starts in about half the time.

Java calls it application class-data sharing. To write the archive takes longer than it saves at one start, so nothing
does it unasked: `prepare()` does, once for each Java and Spark, and every `Spark()` after that finds it by itself. Java
checks that an archive was written by itself and for the same files, and starts without it otherwise.
"""

from __future__ import annotations

import hashlib
import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from pyspark.find_spark_home import _find_spark_home

from penstock.spark.java import Java, SparkSetupError, find_java

QUIET = "-Xlog:cds*=off"
"""Java says at length why it did not take an archive, which is of interest to nobody who starts Spark."""

_BUILD = "from penstock.spark.classes import record; import sys; record(sys.argv[1])"
_PATIENCE = 600  # seconds


def folder() -> Path:
    """Return where archives are kept."""
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"


def archive_for(java: Java) -> Path | None:
    """Return the archive for this Java and this Spark, if there is one."""
    for file in sorted(folder().glob(f"{_name(java)}-*.jsa")):
        size = file.stem.rpartition("-")[2]
        if size.isdigit() and file.stat().st_size == int(size):  # Java does not survive one that was cut off
            return file
    return None


def _name(java: Java) -> str:
    """Return the name of an archive as far as it says for what it is."""
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


def prepare() -> Path:
    """Write the archive for the Java and the Spark that `Spark()` would take, and return its path.

    It takes a minute or two, and 170 MB of the user's cache folder (`XDG_CACHE_HOME`, else `~/.cache`). If it is there
    already, nothing happens.
    """
    java = find_java()
    archive = archive_for(java)
    if archive is not None:
        return archive
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder(), prefix="preparing-") as room:
        fresh = Path(room) / "classes.jsa"  # only a whole one gets the name that others look for
        command = [sys.executable, "-c", _BUILD, str(fresh)]
        done = subprocess.run(command, capture_output=True, text=True, timeout=_PATIENCE, check=False)
        if done.returncode or not fresh.is_file():
            told = (done.stderr.strip().splitlines() or ["Java wrote none"])[-1]
            raise SparkSetupError(f"prepare: no archive of Spark's classes could be written: {told}")
        with fresh.open("rb") as file:
            os.fsync(file.fileno())
            size = file.seek(0, os.SEEK_END)
        return fresh.rename(folder() / f"{_name(java)}-{size}.jsa")


def record(target: str) -> None:
    """Do what programs do with Spark, in a process of its own whose JVM then archives what it has loaded."""
    from pyspark import SparkContext  # noqa: PLC0415

    from penstock.spark.session import Spark  # noqa: PLC0415
    from penstock.stream import Stream  # noqa: PLC0415

    options = f'"-XX:ArchiveClassesAtExit={target}" {QUIET}'
    spark = Spark(master="local[2]", class_cache=False, conf={"spark.driver.extraJavaOptions": options})
    numbers = spark.session.range(100)
    numbers.groupBy("id").count().collect()
    list(spark.stream(numbers.mapInArrow(lambda batches: batches, "id long")))
    list(spark.stream(spark.frame(Stream.range(10), "n long").where("n > 5")))
    with tempfile.TemporaryDirectory(prefix="penstock-") as room:
        numbers.write.parquet(f"{room}/numbers")
        spark.session.read.parquet(f"{room}/numbers").count()
    jvm: subprocess.Popen[bytes] = SparkContext._gateway.proc  # type: ignore[union-attr]
    spark.session.stop()
    assert jvm.stdin is not None
    jvm.stdin.close()  # it ends with this pipe, and writes the archive on its way out
    if jvm.wait():
        raise SparkSetupError(f"prepare: Java ended with status {jvm.returncode}")
    with suppress(Exception):  # which has nobody left to talk to
        spark.close()


__all__ = ["archive_for", "folder", "options", "prepare"]
