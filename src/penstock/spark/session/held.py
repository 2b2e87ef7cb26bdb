"""held: a Spark session that was started here or is borrowed, the gate that belongs to it, and what ends with it."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Self

from pyspark.sql import SparkSession

import penstock
from penstock.spark.session.borrowed import SparkClosedError, borrowed, is_stopped, shares_python
from penstock.spark.session.certificate import made_for, tls_given
from penstock.spark.session.connect import connected, is_remote, own_address
from penstock.spark.session.launch import APP, LOOPBACK, is_local, started

if TYPE_CHECKING:
    from penstock.spark.wire.gate import Gate
    from penstock.spark.wire.tls import Tls


class HeldSession:
    """A Spark session that was started here or is borrowed, until `close()`.

    What was started here ends with `close()`; a session that was given stays as it is.
    """

    def __init__(
        self,
        *,
        master: str | None = None,
        session: SparkSession | None = None,
        remote: str | None = None,
        app: str | None = None,
        conf: Mapping[str, object] | None = None,
        py_files: Sequence[str | Path] = (),
        ui: bool = False,
        class_cache: bool = True,
        tls: Tls | bool | None = None,
    ) -> None:
        given = [
            name for name, one in (("master", master), ("session", session), ("remote", remote)) if one is not None
        ]
        if len(given) > 1:
            raise TypeError(f"spark: one of master, session and remote must be given, got {' and '.join(given)}")
        if not isinstance(conf, Mapping | None):
            raise TypeError(f"spark: conf must be a mapping of names to values, got {conf!r}")
        self._lock = RLock()
        self._closing = ExitStack()
        self._closed = False
        self._gate: Gate | None = None
        self._tls = tls_given(tls)
        with self._closing as on_failure:  # what was started is ended again if the rest fails
            if session is not None:
                self._session = borrowed(session, conf)
            elif remote is not None:
                self._session = connected(remote, app or APP, conf or {}, on_failure)
            else:
                self._session = started(master, app, conf or {}, ui, class_cache, on_failure)
            self._ship(py_files, on_failure)
            self._closing = on_failure.pop_all()

    @property
    def session(self) -> SparkSession:
        """Return the Spark session; anything PySpark can do, it can."""
        if self._closed:
            raise SparkClosedError("spark: the session is closed; make a new Spark()")
        if is_stopped(self._session):
            raise SparkClosedError("spark: the session was stopped by its own stop(); make a new Spark()")
        return self._session

    @property
    def is_remote(self) -> bool:
        """Return whether the session is one of Spark Connect."""
        return is_remote(self._session)

    @property
    def is_local(self) -> bool:
        """Return whether the executors are threads of the driver's own JVM."""
        return not self.is_remote and is_local(self._session.sparkContext.master or "")

    @property
    def gate(self) -> Gate:
        """Return the gate through which live streams pass, starting it on first use."""
        session = self.session
        with self._lock:
            if self._gate is None:
                from penstock.spark.wire.gate import Gate  # noqa: PLC0415  most sessions need no server

                # A token guards every call; beyond loopback it listens only where executors are elsewhere.
                host = (
                    LOOPBACK
                    if self.is_local
                    else own_address(session)
                    if self.is_remote
                    else str(session.conf.get("spark.driver.host", LOOPBACK))
                )
                tls = made_for(session, host) if self._tls is True else self._tls or None
                self._gate = Gate(host=host, tls=tls, clear=self._tls is False)
                self._closing.callback(self._gate.close)
            return self._gate

    def on_close(self, fn: Callable[[], object]) -> None:
        """Call a function at close(), before the session ends; the last one given is called first."""
        _ = self.session
        self._closing.callback(fn)

    def close(self) -> None:
        """End what was started here, and nothing else; a second call does nothing."""
        with self._lock:
            if self._closed:
                return
            self._closed = True
        self._closing.close()

    @property
    def closed(self) -> bool:
        """Return whether close() was called."""
        return self._closed

    def __enter__(self) -> Self:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    @property
    def _place(self) -> str:
        """Return where it runs: the master, or "remote", or "closed"."""
        if self._closed:
            return "closed"
        return "remote" if self.is_remote else str(self._session.sparkContext.master)

    def __repr__(self) -> str:
        return f"Spark({self._place})"

    def _ship(self, py_files: Sequence[str | Path], on_failure: ExitStack) -> None:
        """Give the executors our own package where they do not share this interpreter, and the user's files."""
        files = [str(file) for file in py_files]
        if not self.is_local or not shares_python(self._session):
            folder = on_failure.enter_context(tempfile.TemporaryDirectory(prefix="penstock-"))
            files.insert(0, str(package_zip(Path(folder))))
        for file in files:
            if self.is_remote:
                self._session.addArtifacts(file, pyfile=True)
            else:
                self._session.sparkContext.addPyFile(file)


def package_zip(folder: Path) -> Path:
    """Write a zip of the penstock package, as Python imports it, into a folder."""
    home = Path(penstock.__file__).parent
    target = folder / "penstock.zip"
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in sorted(home.rglob("*.py")):
            archive.write(file, Path("penstock") / file.relative_to(home))
    return target


__all__ = ["HeldSession", "SparkClosedError", "package_zip"]
