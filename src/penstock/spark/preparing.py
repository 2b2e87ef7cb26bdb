"""preparing: write the archive of Spark's Java classes, by doing in a JVM what programs do with Spark."""

from __future__ import annotations

import os
import subprocess
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

from pyspark import SparkContext

from penstock.spark.facade import Spark
from penstock.spark.session.class_archive import QUIET, archive_for, folder, name_for
from penstock.spark.session.java import SparkSetupError, find_java
from penstock.stream import Stream

_BUILD = "from penstock.spark.preparing import record; import sys; record(sys.argv[1])"
_PATIENCE = 600  # seconds


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
        return fresh.rename(folder() / f"{name_for(java)}-{size}.jsa")


def record(target: str) -> None:
    """Do what programs do with Spark; at its end the JVM of this process archives the classes that it has loaded."""
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
    with suppress(Exception):  # the JVM has gone
        spark.close()


__all__ = ["prepare", "record"]
