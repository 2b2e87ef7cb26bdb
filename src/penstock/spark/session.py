"""session: Spark, an engine for pipelines that owns a Spark session or borrows one."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from threading import RLock
from types import TracebackType
from typing import TYPE_CHECKING, Any

from pyspark.sql import DataFrame, SparkSession

import penstock
from penstock.errors import PenstockError
from penstock.spark import connect
from penstock.spark.connect import connected, is_remote
from penstock.spark.launch import LOOPBACK, is_local, started
from penstock.spark.partitioned import partitioned
from penstock.spark.schema import Described, Form, Schema
from penstock.spark.stages import stage

if TYPE_CHECKING:
    from penstock.flow import Flow, Pipeline
    from penstock.run import Plan, Run
    from penstock.spark.gate import Gate
    from penstock.stream import Stream


class SparkClosedError(PenstockError):
    """Report that a Spark was used after its close()."""


class Spark:
    """Own a Spark session, or borrow one; everything penstock does with Spark starts here.

    `Spark()` runs embedded on all cores of this machine, `Spark(master=...)` on a cluster. `Spark(session=...)` borrows
    a session, which `close()` leaves running; `Spark(remote="sc://...")` connects to a Spark Connect server.
    The JVM starts from the archive of classes that `prepare()` has left, unless `class_cache` is false.
    """

    def __init__(
        self,
        *,
        master: str | None = None,
        session: SparkSession | None = None,
        remote: str | None = None,
        app: str = "penstock",
        conf: Mapping[str, object] | None = None,
        py_files: Sequence[str | Path] = (),
        ui: bool = False,
        class_cache: bool = True,
    ) -> None:
        given = [
            name for name, one in (("master", master), ("session", session), ("remote", remote)) if one is not None
        ]
        if len(given) > 1:
            raise TypeError(f"spark: one of master, session and remote must be given, got {' and '.join(given)}")
        self._lock = RLock()
        self._closing = ExitStack()
        self._closed = False
        self._gate: Gate | None = None
        with self._closing as on_failure:  # what was started is ended again if the rest fails
            if session is not None:
                self._session = _borrowed(session, conf)
            elif remote is not None:
                self._session = connected(remote, app, conf or {}, on_failure)
            else:
                self._session = started(master or "local[*]", app, conf or {}, ui, class_cache, on_failure)
            self._ship(py_files, on_failure)
            self._closing = on_failure.pop_all()

    # What it is.

    @property
    def session(self) -> SparkSession:
        """Return the Spark session; anything PySpark can do, it can."""
        if self._closed:
            raise SparkClosedError("spark: the session is closed; make a new Spark()")
        if _is_stopped(self._session):
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
                from penstock.spark.gate import Gate  # noqa: PLC0415  most sessions need no server

                # A token guards every call; beyond loopback it listens only where executors are elsewhere.
                host = (
                    LOOPBACK
                    if self.is_local
                    else connect.own_address(session)
                    if self.is_remote
                    else str(session.conf.get("spark.driver.host", LOOPBACK))
                )
                self._gate = Gate(host=host)
                self._closing.callback(self._gate.close)
            return self._gate

    # What it does.

    def frame(self, stream: Any, schema: Described, **options: Any) -> DataFrame:
        """Make a streaming DataFrame of a Stream or another Publisher."""
        from penstock.spark.ingest import frame  # noqa: PLC0415  brings in Flight

        _ = self.session
        if self.is_remote:
            options.setdefault("partitions", connect.PARTS)
        return frame(self, stream, Schema.of(schema), **options)

    def stream(self, df: DataFrame, **options: Any) -> Stream[Any]:
        """Make a Stream of the rows of a DataFrame."""
        from penstock.spark.egress import stream  # noqa: PLC0415  brings in Flight

        _ = self.session
        return connect.stream(df, **options) if self.is_remote else stream(self, df, **options)

    def stage(
        self, flow: Flow[Any, Any], schema: Described, *, rows: Form | None = None
    ) -> Callable[[DataFrame], DataFrame]:
        """Return a DataFrame step that runs a Flow inside the executors: `df.transform(spark.stage(flow, schema))`.

        The Flow gets rows in the form `rows` ("named", "tuple" or a dataclass) and gives rows of `schema`.
        """
        _ = self.session
        return stage(flow, Schema.of(schema), rows=rows)

    def partitioned(
        self,
        partitions: Sequence[Any],
        open: Callable[[Any], Any],  # noqa: A002  the word for it
        schema: Described,
    ) -> DataFrame:
        """Make a DataFrame whose parts are Streams (or iterables) opened on the executors, one per partition."""
        return partitioned(self.session, partitions, open, Schema.of(schema))

    def flow(
        self,
        transform: Callable[[DataFrame], DataFrame],
        schema: Described,
        *,
        input_schema: Described | None = None,
        **options: Any,
    ) -> Flow[Any, Any]:
        """Make a Flow that sends a live stream through a DataFrame transformation and back.

        `schema` describes what comes out, `input_schema` what goes in, where that is another.
        """
        from penstock.spark.processor import flow  # noqa: PLC0415  brings in Flight

        _ = self.session
        if self.is_remote:
            raise connect.refuse("spark.flow")
        takes = None if input_schema is None else Schema.of(input_schema)
        return flow(self, transform, Schema.of(schema), input_schema=takes, **options)

    def run(self, pipeline: Pipeline[Any], checkpoint: str | Path | None = None) -> Run[Any]:
        """Run a pipeline here; `pipeline.run(spark)` says the same."""
        from penstock.spark.run import run  # noqa: PLC0415  brings in Flight

        _ = self.session
        if self.is_remote:
            raise connect.refuse("a pipeline")
        return run(self, pipeline, checkpoint)

    def explain(self, pipeline: Pipeline[Any]) -> Plan:
        """Say what of a pipeline would run where."""
        from penstock.spark.run import explain  # noqa: PLC0415

        return explain(pipeline, repr(self).removeprefix("Spark(").removesuffix(")"))

    # How it ends.

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

    def __enter__(self) -> Spark:
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None) -> None:
        self.close()

    def __repr__(self) -> str:
        if self._closed:
            return "Spark(closed)"
        return "Spark(remote)" if self.is_remote else f"Spark({self._session.sparkContext.master})"

    def _ship(self, py_files: Sequence[str | Path], on_failure: ExitStack) -> None:
        """Give the executors our own package where they do not share this interpreter, and the user's files."""
        files = [str(file) for file in py_files]
        if not self.is_local:
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


def _is_stopped(session: SparkSession) -> bool:
    return not is_remote(session) and session.sparkContext._jsc is None


def _borrowed(session: SparkSession, conf: Mapping[str, object] | None) -> SparkSession:
    if not isinstance(session, SparkSession) and not is_remote(session):
        raise TypeError(f"spark: session must be a SparkSession, got {session!r}")
    if conf:
        raise TypeError("spark: conf must be left out for a session that runs already; use session.conf.set")
    if _is_stopped(session):
        raise SparkClosedError("spark: session must be running, got one that was stopped")
    return session
