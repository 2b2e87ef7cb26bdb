"""launch: start a JVM with a Spark session in it, and end it so that nothing is left."""

from __future__ import annotations

import logging
import os
import re
import socket
import subprocess
import sys
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from pyspark import SparkContext
from pyspark.logger import PySparkLogger
from pyspark.sql import SparkSession
from pyspark.sql.utils import is_remote

from penstock.spark.session.class_archive import options
from penstock.spark.session.interpreter import interpreter, search_path
from penstock.spark.session.java import SparkSetupError, find_java
from penstock.spark.session.jvm.end import stopped
from penstock.spark.session.jvm.noise import end_noise, start_jvm
from penstock.spark.session.jvm.options import quick_start

LOOPBACK = "127.0.0.1"
APP = "penstock"
"""The name of an application that was given none, neither here nor to spark-submit."""
_OPTIONS = "spark.driver.extraJavaOptions"
_KNOWN = re.compile(r"local$|local\[(\*|\d+)(\s*,\s*\d+)?\]$|local-cluster\[.+\]$|spark://.+|yarn$|k8s://.+")
_SUBMITTED = "PYSPARK_GATEWAY_PORT"
"""The variable by which spark-submit tells a program where the JVM is that it has started."""
_CONTEXTS = ("SQLQueryContextLogger", "DataFrameQueryContextLogger")
"""The loggers by which PySpark prints, as JSON, the exceptions that it raises as well."""
_PATIENCE = 10.0  # seconds for a JVM that was told to end
_MASTER_PATIENCE = 5.0  # seconds for a master to accept a connection


def is_local(master: str) -> bool:
    """Return whether a master means threads of the driver's own JVM."""
    return master == "local" or master.startswith("local[")


def text_of(value: object) -> str:
    """Return a setting as Spark writes it."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def started(
    master: str | None, app: str | None, conf: Mapping[str, object], ui: bool, class_cache: bool, on_close: ExitStack
) -> SparkSession:
    """Start a session; what ends it is left in `on_close`, also if it comes up only in part.

    Without a master it is an embedded one, or, in a program that was given to spark-submit, what that was told.
    """
    if SparkContext._active_spark_context is not None:
        raise SparkSetupError(
            "spark: a Spark session runs in this process already; give it as Spark(session=...), or stop it first"
        )
    if is_remote():
        raise SparkSetupError(
            "spark: this process is set to Spark Connect; close that session, or unset SPARK_REMOTE, or give remote="
        )
    if not isinstance(master, str | None):
        raise TypeError(f"spark: master must be a text, got {master!r}")
    if _SUBMITTED in os.environ:
        return _submitted(master, app, conf, on_close)
    app = APP if app is None else app
    master = "local[*]" if master is None else master
    if not _KNOWN.match(master):
        raise ValueError(f"spark: master must be local[*], spark://host:7077, yarn or k8s://..., got {master!r}")
    _reach(master)
    java = find_java()
    had_gateway = SparkContext._gateway is not None
    builder = SparkSession.builder.master(master).appName(app)
    found = settings(master, ui)
    if master.startswith("local"):
        found[_OPTIONS] = f"{found[_OPTIONS]} {quick_start(java)}".strip()
    if class_cache:
        found[_OPTIONS] = f"{found[_OPTIONS]} {options(java)}".strip()
    found = _with_own(found, conf)
    for name, value in found.items():
        builder = builder.config(name, value)
    if not had_gateway:
        on_close.callback(_end_jvm)
    variables = {"JAVA_HOME": str(java.home), "PYSPARK_PYTHON": sys.executable}
    if is_local(master):
        variables |= {"PYTHONPATH": search_path(), "PYSPARK_PYTHON": interpreter(on_close)}
    if _stays_here(master):
        variables["SPARK_LOCAL_IP"] = LOOPBACK
    _raised_only(on_close)
    with _environment(variables):
        at_start = None if had_gateway else {"spark.master": master, "spark.app.name": app, **found}
        return _made(builder, on_close, at_start)


def _submitted(master: str | None, app: str | None, conf: Mapping[str, object], on_close: ExitStack) -> SparkSession:
    """Start a session in the JVM of spark-submit, by whose options and settings it goes where nothing is said here.

    That JVM ends after this program.
    """
    builder: Any = SparkSession.builder
    if app is not None:
        builder = builder.appName(app)
    if master is not None:
        builder = builder.master(master)
    for name, value in conf.items():
        builder = builder.config(name, text_of(value))
    python = {} if "PYSPARK_PYTHON" in os.environ else {"PYSPARK_PYTHON": sys.executable}
    with _environment(python):
        return _made(builder, on_close)


def _made(builder: Any, on_close: ExitStack, at_start: dict[str, str] | None = None) -> SparkSession:
    """Make a session, in a JVM that is started first if there are settings for its start."""
    try:
        if at_start is not None:
            start_jvm(at_start)
        session: SparkSession = builder.getOrCreate()
    except Exception as error:
        raise SparkSetupError(f"spark: the session did not start: {_first_line(error)}") from error
    on_close.callback(_stop, session, at_start is not None)
    return session


def _stop(session: SparkSession, whole: bool) -> None:
    """Stop a session; if its JVM ends with it, that logs no more: tasks that are cut off would print their traces."""
    if whole:
        with suppress(Exception):  # the JVM may have gone
            session.sparkContext.setLogLevel("OFF")
    stopped(session)


def _raised_only(on_close: ExitStack) -> None:
    """Let PySpark not print the exceptions that it raises; a level that the user has set stays."""
    for name in _CONTEXTS:
        logger = PySparkLogger.getLogger(name)
        if logger.level == logging.WARNING:  # PySpark's own
            logger.setLevel(logging.CRITICAL)
            on_close.callback(logger.setLevel, logging.WARNING)


def _first_line(error: Exception) -> str:
    """Return the JVM's own message where there is one, else the first line of the error's text."""
    java = getattr(error, "java_exception", None)
    text = str(java.toString() if java is not None else error).strip()
    return text.splitlines()[0] if text else type(error).__name__


def settings(master: str, ui: bool) -> dict[str, str]:
    """Return the settings that penstock gives a session it starts; `conf` overrides each of them."""
    found = {
        "spark.ui.enabled": text_of(ui),
        "spark.ui.showConsoleProgress": "false",
        # By what the thread that starts a query inherits to it, the log knows a query of ours.
        _OPTIONS: f"-Dlog4j2.configurationFile={(Path(__file__).parent / 'log4j2.properties').as_uri()}"
        " -Dlog4j2.isThreadContextMapInheritable=true",
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        "spark.sql.timeType.enabled": "true",  # Spark knows the type since 4.1 and refuses it unless this is said
    }
    if _stays_here(master):
        found |= {"spark.driver.host": LOOPBACK, "spark.driver.bindAddress": LOOPBACK}
    if master.startswith("local"):
        # 200, made for clusters, starves a single machine
        found["spark.sql.shuffle.partitions"] = str(max(2, os.cpu_count() or 1))
    return found


def _with_own(found: dict[str, str], conf: Mapping[str, object]) -> dict[str, str]:
    """Let the user's settings win; options for the JVM are added to ours."""
    own = {name: text_of(value) for name, value in conf.items()}
    if _OPTIONS in own:
        own[_OPTIONS] = f"{found[_OPTIONS]} {own[_OPTIONS]}"
    return {**found, **own}


def _stays_here(master: str) -> bool:
    """Return whether all executors run on this machine, so that loopback is enough."""
    hosts = _hosts(master)
    return master.startswith("local") or (bool(hosts) and all(host in {LOOPBACK, "localhost"} for host, _ in hosts))


def _hosts(master: str) -> list[tuple[str, int]]:
    """Return the hosts and ports of a standalone master; none for another kind."""
    if not master.startswith("spark://"):
        return []
    try:
        parts = [urlsplit(f"spark://{one}") for one in master.removeprefix("spark://").split(",")]
        return [(part.hostname or "", part.port or 7077) for part in parts]
    except ValueError:
        raise ValueError(f"spark: master must be like spark://host:7077, got {master!r}") from None


def _reach(master: str) -> None:
    """Refuse a standalone master that does not answer at once, instead of after minutes of retries."""
    faults: list[str] = []
    for host, port in _hosts(master):
        try:
            socket.create_connection((host, port), timeout=_MASTER_PATIENCE).close()
        except OSError as error:
            faults.append(f"{host}:{port}: {error.strerror or error}")
        else:
            return
    if faults:
        raise SparkSetupError(f"spark: no master answers at {master}: {'; '.join(faults)}")


@contextmanager
def _environment(values: Mapping[str, str]) -> Iterator[None]:
    """Set variables of the environment for the start of the JVM, which keeps them; put them back afterwards."""
    before = {name: os.environ.get(name) for name in values}
    os.environ.update(values)
    try:
        yield
    finally:
        for name, value in before.items():
            if value is None:
                os.environ.pop(name, None)
            else:
                os.environ[name] = value


def _end_jvm() -> None:
    """End the JVM that PySpark started and would keep until this process ends."""
    gateway: Any = SparkContext._gateway
    if gateway is None:
        return
    SparkContext._gateway = None
    SparkContext._jvm = None
    process: subprocess.Popen[bytes] | None = getattr(gateway, "proc", None)
    with suppress(Exception):  # it may be dead already, which is what is wanted
        gateway.shutdown()
    _end_finalizer(gateway)
    if process is None:
        return
    if process.stdin is not None:
        with suppress(OSError):
            process.stdin.close()  # the JVM ends when this pipe does
    try:
        process.wait(_PATIENCE)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()
    end_noise(_PATIENCE)


def _end_finalizer(gateway: Any) -> None:
    """Wait for the thread that would have told the JVM about dead objects."""
    queue: Any = getattr(gateway._gateway_client, "finalizer_deque", None)
    if queue is None:
        return
    for thread in threading.enumerate():
        mine = getattr(thread, "deque", None) is queue
        if mine:
            queue.clear()
            queue.appendleft("__shutdown__")
            thread.join(_PATIENCE)
