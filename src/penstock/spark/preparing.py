"""preparing: write the archive of Spark's Java classes, by doing in a JVM what programs do with Spark.

A separate process does it, the recorder. It and its JVM are one group of processes, which is ended as a whole if the
caller is interrupted; if the caller dies, the recorder notices that its input has ended, and ends the group itself.
"""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from pyspark import SparkContext

from penstock.spark.facade import Spark
from penstock.spark.session.class_archive import QUIET, archive_for, folder, name_for
from penstock.spark.session.java import SparkSetupError, find_java
from penstock.stream import Stream

_BUILD = "from penstock.spark.preparing import record; import sys; record(sys.argv[1])"
_PATIENCE = 900  # seconds
_ROOM = "preparing-"
_STEP = "step: "
"""What a line of the recorder begins with that names the step it begins."""
_RECORDING = "-XX:TieredStopAtLevel=1"
"""What the JVM does runs once; to compile it thoroughly would take longer than it saves."""


def prepare(on_step: Callable[[str], None] | None = None) -> Path:
    """Write the archive for the Java and the Spark that `Spark()` would take, and return its path.

    It takes about 50 seconds of processor time, and 190 MB of the user's cache folder (`XDG_CACHE_HOME`, else
    `~/.cache`). If it is there already, nothing happens. `on_step` is called with the name of each step that begins.
    """
    java = find_java()
    archive = archive_for(java)
    if archive is not None:
        return archive
    folder().mkdir(mode=0o700, parents=True, exist_ok=True)
    _clear_up()
    with tempfile.TemporaryDirectory(dir=folder(), prefix=f"{_ROOM}{os.getpid()}-") as room:
        fresh = Path(room) / "classes.jsa"  # only a whole one gets the name that others look for
        faults = _recorded(fresh, on_step or (lambda _: None))
        if faults is not None or not fresh.is_file():
            told = (faults or "").strip().splitlines() or ["Java wrote none"]
            raise SparkSetupError(f"prepare: no archive of Spark's classes could be written: {told[-1]}")
        with fresh.open("rb") as file:
            os.fsync(file.fileno())
            size = file.seek(0, os.SEEK_END)
        return fresh.rename(folder() / f"{name_for(java)}-{size}.jsa")


def _recorded(target: Path, on_step: Callable[[str], None]) -> str | None:
    """Let a recorder write the archive; return what it says if it fails, which may be nothing, else None."""
    with (target.parent / "faults").open("w+", encoding="utf-8", errors="replace") as faults:
        recorder = subprocess.Popen(
            [sys.executable, "-c", _BUILD, str(target)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=faults,
            text=True,
            start_new_session=True,  # so that its JVM and it can be ended together
        )
        with _ended_at_last(recorder) as late:
            assert recorder.stdout is not None
            for line in recorder.stdout:
                if line.startswith(_STEP):
                    on_step(line.removeprefix(_STEP).strip())
            status = recorder.wait()
        if late.is_set():
            return f"it was not done within {_PATIENCE} seconds"
        faults.seek(0)
        return faults.read() if status else None


@contextmanager
def _ended_at_last(recorder: subprocess.Popen[str]) -> Iterator[threading.Event]:
    """See that nothing of a recorder is left behind the block, however that is left; end it if it takes too long."""
    late = threading.Event()

    def end_late() -> None:
        late.set()
        _end(recorder)

    patience = threading.Timer(_PATIENCE, end_late)
    patience.daemon = True
    patience.start()
    try:
        yield late
    finally:
        patience.cancel()
        _end(recorder)
        for pipe in (recorder.stdin, recorder.stdout):
            with suppress(OSError):
                if pipe is not None:
                    pipe.close()
        recorder.wait()


def _end(recorder: subprocess.Popen[str]) -> None:
    """End a recorder and its JVM; the Python processes of Spark end with the JVM."""
    with suppress(ProcessLookupError):
        os.killpg(recorder.pid, signal.SIGKILL)


def _clear_up() -> None:
    """Remove what callers that were killed have left."""
    for room in folder().glob(f"{_ROOM}*"):
        number = room.name.removeprefix(_ROOM).partition("-")[0]
        if number.isdigit() and not _lives(int(number)):
            shutil.rmtree(room, ignore_errors=True)


def _lives(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    except PermissionError:
        pass  # it is another user's
    return True


# In the recorder.


def record(target: str) -> None:
    """Do what programs do with Spark; at its end the JVM of this process archives the classes that it has loaded."""
    threading.Thread(target=_end_with_caller, daemon=True).start()
    _say("1 of 3: starting Spark")
    options = f'"-XX:ArchiveClassesAtExit={target}" {QUIET} {_RECORDING}'
    spark = Spark(master="local[2]", class_cache=False, conf={"spark.driver.extraJavaOptions": options})
    _say("2 of 3: running what programs run, so that its classes are loaded")
    _all_at_once([lambda: _streamed(spark), lambda: _mapped(spark), lambda: _grouped(spark), lambda: _stored(spark)])
    _say("3 of 3: writing the archive")
    jvm: subprocess.Popen[bytes] = SparkContext._gateway.proc  # type: ignore[union-attr]
    spark.session.stop()
    assert jvm.stdin is not None
    jvm.stdin.close()  # it ends with this pipe, and writes the archive on its way out
    if jvm.wait():
        raise SparkSetupError(f"prepare: Java ended with status {jvm.returncode}")
    with suppress(Exception):  # the JVM has gone
        spark.close()


def _grouped(spark: Spark) -> None:
    spark.session.range(100).groupBy("id").count().collect()


def _mapped(spark: Spark) -> None:
    list(spark.stream(spark.session.range(100).mapInArrow(lambda batches: batches, "id long")))


def _streamed(spark: Spark) -> None:
    list(spark.stream(spark.frame(Stream.range(10), "n long").where("n > 5")))


def _stored(spark: Spark) -> None:
    with tempfile.TemporaryDirectory(prefix="penstock-") as room:
        spark.session.range(100).write.parquet(f"{room}/numbers")
        spark.session.read.parquet(f"{room}/numbers").count()


def _all_at_once(works: list[Callable[[], None]]) -> None:
    """Do several things on threads, each of which waits most of the time, and raise the first failure."""
    failures: list[Exception] = []

    def done(work: Callable[[], None]) -> None:
        try:
            work()
        except Exception as error:  # noqa: BLE001  it is raised below
            failures.append(error)

    threads = [threading.Thread(target=done, args=(work,)) for work in works]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if failures:
        raise failures[0]


def _say(step: str) -> None:
    print(f"{_STEP}{step}", flush=True)


def _end_with_caller() -> None:
    """End this process and its JVM when the caller has died, which closes the other end of the input."""
    sys.stdin.read()
    os.killpg(0, signal.SIGKILL)


__all__ = ["prepare", "record"]
