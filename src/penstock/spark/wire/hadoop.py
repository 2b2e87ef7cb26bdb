"""hadoop: folders on Hadoop's file systems, reached through the driver's JVM.

Where a rename is atomic a file is written under another name, synced as far as the file system can, and renamed. An
object store has no such rename, but there a file appears as a whole when its writer closes it, so it is written under
its own name.

A file system that may be far away has no lock that goes with a process. Instead each claim is newer than those before
it. A run looks, after each write and before it relies on it, whether its claim is still the newest; the one that
claims looks at the files after its claim is there. So either the older run learns that it was replaced, or the newer
one finds the file.
"""

from __future__ import annotations

import re
import secrets
import tempfile
import threading
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import pyarrow as pa  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from penstock.spark.wire.storage import UNFINISHED, Claim, FolderBusy, StorageError

R = TypeVar("R")

OBJECT_STORES = frozenset(
    {"s3", "s3a", "s3n", "gs", "oss", "cos", "cosn", "obs", "tos", "bos", "ks3", "wasb", "wasbs", "swift"}
)
"""Schemes of file systems whose rename is a copy."""
_ABORTABLE = "fs.capability.outputstream.abortable"
_SMALL = 64 * 1024
"""Bytes that are handed over through Py4J, which makes text of them; more go through a file."""
_CHUNK = 1 << 20
_OWNER = re.compile(r"owner-(\d{10})")
_TRIALS = 100


def hadoop_folder(uri: str, session: SparkSession | None, word: str) -> HadoopFolder:
    """Return a folder by its URI, or say what is missing."""
    scheme = uri.partition(":")[0]
    if not isinstance(session, SparkSession):
        raise StorageError(
            f"{word}: {uri} is reached through the JVM of a Spark driver in this process, and there is none;"
            " give a path of this machine"
        )
    context: Any = session.sparkContext
    java: Any = session
    try:
        conf = java._jsparkSession.sessionState().newHadoopConf()
        path = context._jvm.org.apache.hadoop.fs.Path(uri)
        files = path.getFileSystem(conf)
        whole = scheme.lower() in OBJECT_STORES or bool(files.hasPathCapability(path, _ABORTABLE))
    except Exception as error:
        text = _said(error)
        if "No FileSystem for scheme" in text or "ClassNotFoundException" in text:
            raise StorageError(
                f"{word}: Spark has no file system for {scheme}://, wanted for {uri} ({text}); add the package that"
                ' has it, for example conf={"spark.jars.packages": ...}, or give another folder'
            ) from error
        raise StorageError(f"{word}: {uri} cannot be used: {text}", text) from error
    return HadoopFolder(uri.rstrip("/"), context._jvm, files, whole)


@dataclass(frozen=True, slots=True)
class HadoopFolder:
    """A folder on one of Hadoop's file systems."""

    location: str
    jvm: Any = field(repr=False, compare=False)
    files: Any = field(repr=False, compare=False)
    appears_whole: bool = False
    """Whether a file is not there before its writer has closed it, as in an object store."""

    def __str__(self) -> str:
        return self.location

    def __truediv__(self, name: str, /) -> HadoopFolder:
        return HadoopFolder(f"{self.location}/{name}", self.jvm, self.files, self.appears_whole)

    def _path(self, name: str = "") -> Any:
        return self.jvm.org.apache.hadoop.fs.Path(f"{self.location}/{name}" if name else self.location)

    def make(self) -> None:
        """Make the folder and those above it."""
        if not self._away("", lambda: self.files.mkdirs(self._path())):
            raise StorageError(f"{self}: it could not be made", "it could not be made")

    def names(self) -> list[str]:
        """Return the names of what is in the folder, sorted."""

        def listed() -> list[str]:
            if not self.files.exists(self._path()):
                return []
            return sorted(str(one.getPath().getName()) for one in self.files.listStatus(self._path()))

        return self._away("", listed)

    def read(self, name: str, /) -> pa.Buffer:
        """Return what a file holds, which stands in a file of this machine meanwhile if it is large."""

        def fetched() -> pa.Buffer:
            size = self.files.getFileStatus(self._path(name)).getLen()
            source = self.files.open(self._path(name))
            try:
                if size <= _SMALL:
                    return pa.py_buffer(bytes(source.readAllBytes()))
                with tempfile.NamedTemporaryFile(prefix="penstock-") as file:
                    target = self.jvm.java.io.FileOutputStream(file.name)
                    self.jvm.org.apache.hadoop.io.IOUtils.copyBytes(source, target, _CHUNK, True)
                    with pa.memory_map(file.name) as mapped:  # the pages stay when the name goes
                        return mapped.read_buffer()
            finally:
                source.close()

        return self._away(name, fetched)

    def write(self, name: str, data: Any, /) -> None:
        """Let a file appear whole, synced as far as the file system can."""
        self._away(name, lambda: self._written(name, memoryview(data)))

    def _written(self, name: str, data: memoryview) -> None:
        if self.appears_whole:
            self._fill(name, data, replace=True)
            return
        fresh = f"{name}{UNFINISHED}"
        self._fill(fresh, data, replace=True)
        if not self.files.rename(self._path(fresh), self._path(name)):
            raise OSError("it is there already, or it could not be renamed")

    def _fill(self, name: str, data: memoryview, *, replace: bool) -> None:
        """Write a file and close it, which an object store takes for the moment at which it appears."""
        target = self.files.create(self._path(name), replace)
        try:
            self._pour(data, target)
            if not self.appears_whole:
                target.hsync()
        except Exception:
            if not self.appears_whole:
                target.close()
            elif target.hasCapability(_ABORTABLE):
                target.abort()
            raise  # an object store's file is left open, so that it does not appear
        target.close()

    def _pour(self, data: memoryview, target: Any) -> None:
        if data.nbytes <= _SMALL:
            target.write(bytearray(data))
            return
        with tempfile.NamedTemporaryFile(prefix="penstock-") as file:
            file.write(data)
            file.flush()
            source = self.jvm.java.io.FileInputStream(file.name)
            try:
                self.jvm.org.apache.hadoop.io.IOUtils.copyBytes(source, target, _CHUNK, False)
            finally:
                source.close()

    def delete(self, name: str, /) -> None:
        """Remove a file, if it is there."""
        self._away(name, lambda: self.files.delete(self._path(name), False))

    def claim(self) -> Claim:
        """Replace the claim of the run before, which may be dead."""
        token = secrets.token_hex(16)
        for _ in range(_TRIALS):
            older = [name for name in self.names() if _OWNER.fullmatch(name)]
            number = 1 + max((int(name.rpartition("-")[2]) for name in older), default=0)
            own = f"owner-{number:010d}"
            if not self._created(own, token):
                continue  # another run was quicker
            for name in older:
                self.delete(name)
            claim = _Fence(self, own, token, number)
            try:
                claim.check()  # where two may make one file, one of them finds the other's token in it
            except StorageError:
                continue
            return claim
        raise FolderBusy(f"{self} is claimed by other runs all the time")

    def _created(self, name: str, text: str) -> bool:
        """Let a small file appear unless it is there; tell whether it was not."""
        try:
            self._away(name, lambda: self._fill(name, memoryview(text.encode()), replace=False))
        except StorageError as error:
            # FileAlreadyExistsException, AlreadyBeingCreatedException; a newer run may have removed it since.
            if "Already" in error.reason or name in self.names():
                return False
            raise
        return True

    def _away(self, name: str, call: Callable[[], R]) -> R:
        """Call on another thread: Spark interrupts the one that a query calls, and Java's files fail under that."""
        made: list[R] = []
        failed: list[Exception] = []

        def work() -> None:
            try:
                made.append(call())
            except Exception as error:  # noqa: BLE001  it is raised by the thread that waits
                failed.append(error)

        thread = threading.Thread(target=work, name="penstock-storage", daemon=True)
        thread.start()
        thread.join()
        if failed:
            where, reason = f"{self}/{name}" if name else str(self), _said(failed[0])
            raise StorageError(f"{where}: {reason}", reason) from failed[0]
        return made[0]


@dataclass(frozen=True, slots=True)
class _Fence:
    """A claim that holds until a newer one is made."""

    folder: HadoopFolder
    name: str
    token: str
    number: int | None

    def check(self) -> None:
        """Raise FolderBusy if there is a newer claim."""
        taken = FolderBusy(f"{self.folder} was taken over by another run")
        try:
            found = self.folder.read(self.name).to_pybytes().decode(errors="replace")
        except StorageError:
            if self.name in self.folder.names():
                raise
            raise taken from None
        if found != self.token:
            raise taken

    def release(self) -> None:
        """Do nothing: the next claim replaces it, whether or not this run still lives."""


def _said(error: Exception) -> str:
    """Return the JVM's own words where there are some, else the first line of the error's text."""
    java = getattr(error, "java_exception", None)
    text = str(java.toString() if java is not None else error).strip()
    return text.splitlines()[0] if text else type(error).__name__


__all__ = ["HadoopFolder", "hadoop_folder"]
