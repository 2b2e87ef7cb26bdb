"""connect: sessions of Spark Connect, where the driver is a server elsewhere.

Stages, parts opened on the executors, and live streams into Spark work as they do elsewhere; for the last the server
must reach this process. The rows of a batch DataFrame come back by Connect's own way. What needs the driver's own
process is refused: micro-batches are handed over on the server, and jobs there cannot be told where to report.
"""

from __future__ import annotations

import os
import socket
from collections.abc import Mapping
from contextlib import ExitStack
from typing import Any
from urllib.parse import urlsplit

from pyspark import SparkContext
from pyspark.sql import SparkSession

from penstock.errors import PenstockError
from penstock.spark.session.java import SparkSetupError
from penstock.spark.session.launch import text_of

PARTS = 8
"""The most into which a micro-batch is divided, for a client does not learn how many cores there are."""
CURE = "with remote= the driver is elsewhere; use Spark(master=...)"

_PORT = 15002
_MODE = "SPARK_CONNECT_MODE_ENABLED"
_PATIENCE = 5.0  # seconds for a server to accept a connection


class SparkLimitError(PenstockError):
    """The error that this kind of session cannot do what was asked."""


def is_remote(session: SparkSession) -> bool:
    """Return whether a session is one of Spark Connect."""
    return type(session).__module__.startswith("pyspark.sql.connect")


def connected(remote: str, app: str, conf: Mapping[str, object], on_close: ExitStack) -> SparkSession:
    """Connect to a server; what ends the session is left in `on_close`."""
    if not remote.startswith("sc://"):
        raise ValueError(f"spark: remote must be like sc://host:15002, got {remote!r}")
    try:
        import grpc  # type: ignore[import-untyped]  # noqa: F401, PLC0415  only Connect needs it
        import grpc_status  # type: ignore[import-untyped]  # noqa: F401, PLC0415
    except ImportError as error:
        raise SparkSetupError(
            "spark: remote needs Spark Connect; install it with `pip install pyspark[connect]`"
        ) from error
    if SparkContext._active_spark_context is not None:
        raise SparkSetupError("spark: a Spark session runs in this process already; stop it before using remote=")
    _reach(remote)
    if _MODE not in os.environ:
        on_close.callback(os.environ.pop, _MODE, None)  # PySpark sets it and would refuse every other session
    builder = SparkSession.builder.remote(remote).appName(app)
    for name, value in conf.items():
        builder = builder.config(name, text_of(value))
    try:
        session = builder.getOrCreate()
    except Exception as error:
        raise SparkSetupError(f"spark: the session did not start: {str(error).strip().splitlines()[0]}") from error
    on_close.callback(session.stop)
    return session


def _reach(remote: str) -> None:
    """Refuse a server that does not answer at once, instead of after minutes of retries."""
    try:
        _dial(remote).close()
    except OSError as error:
        raise SparkSetupError(f"spark: no server answers at {remote}: {error.strerror or error}") from error


def _dial(remote: str) -> socket.socket:
    parts = urlsplit(remote.partition(";")[0])
    return socket.create_connection((parts.hostname or "", parts.port or _PORT), timeout=_PATIENCE)


def own_address(session: SparkSession) -> str:
    """Return the address of this machine as the server may know it."""
    client: Any = session.client
    with _dial(f"sc://{client._builder.endpoint}") as line:
        return str(line.getsockname()[0])


def refuse(what: str) -> SparkLimitError:
    """Return the error about something that only the driver's own process can do."""
    return SparkLimitError(f"spark: {what} needs the driver's own process, and {CURE}")


__all__ = ["PARTS", "SparkLimitError", "connected", "is_remote", "own_address", "refuse"]
