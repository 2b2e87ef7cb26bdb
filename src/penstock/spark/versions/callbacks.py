"""callbacks: the calls of a query into this process, and what PySpark leaves of them when the query has ended.

Spark calls the function of `foreachBatch` by a separate connection for each query, and a thread serves it here. PySpark
ends neither with the query, and the JVM keeps its end of the connection, also when that was closed here. The function
itself is held until the JVM collects what stands for it there, which it never does while this process holds the query
by way of the function.
"""

from __future__ import annotations

import logging
import socket
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from typing import TYPE_CHECKING, Any, NoReturn

from pyspark.sql.utils import ForeachBatchFunction

from penstock.engine.grounds.cold_paths import interrupts_told
from penstock.errors import PenstockError

if TYPE_CHECKING:
    from pyspark.sql import DataFrame

STOPPED = "py4j.protocol.Py4JJavaError: An error occurred while calling stop: java.lang.InterruptedException"
"""By this text in what a function raises, Spark tells the end of a query that it was told to stop from a failure, which
it would log."""
_QUERY = "sql.streaming.queryId"
"""The local property by which Spark tells a job's query."""
_called: dict[str, BatchCall] = {}
"""The functions of the queries that run, by the query's name."""


class CallEndedError(PenstockError):
    """The exception by which a function of penstock's ends a micro-batch; only Spark sees it."""


def _not_ours(record: logging.LogRecord) -> bool:
    return not (record.exc_info and isinstance(record.exc_info[1], CallEndedError))


# It is how a query learns of the end; py4j would log it as an error.
logging.getLogger("py4j.clientserver").addFilter(_not_ours)


class BatchCall:
    """A function for `foreachBatch` that can be let go of, with the thread and the connection by which it is called."""

    def __init__(self, fn: Callable[[DataFrame, int], object]) -> None:
        self._fn: Callable[[DataFrame, int], object] | None = fn
        self._connection: Any = None
        self._gateway: Any = None
        self._query: str | None = None
        self._raised: Exception | None = None

    def __call__(self, frame: DataFrame, number: int, /) -> None:
        """Call the function."""
        fn = self._fn
        if fn is None:  # rather than a micro-batch that seems to be written
            raise PenstockError("foreachBatch: the query of this function has ended")
        if self._query is None:
            context: Any = frame.sparkSession.sparkContext
            self._connection, self._gateway = _connection_of(context), context._gateway
            self._query = str(context.getLocalProperty(_QUERY))
            _called[self._query] = self
        try:
            with answered():
                fn(frame, number)
        except Exception as error:
            self._raised = error
            raise

    def let_go(self) -> None:
        """Forget the function and end its thread; the query has ended."""
        self._fn = None
        if self._raised is not None:
            self._raised.__traceback__ = None  # PySpark keeps the error, and so all that its frames hold
            self._raised = None
        if self._query is not None and _called.get(self._query) is self:
            del _called[self._query]
        connection, self._connection = self._connection, None
        gateway, self._gateway = self._gateway, None
        line = getattr(connection, "socket", None)
        if line is not None:
            with suppress(OSError):
                port = line.getpeername()[1]
                line.shutdown(socket.SHUT_RDWR)  # its thread reads the end, and closes it
                _close_there(gateway, port)


def answered() -> interrupts_told:
    """Return a block that raises an InterruptionError for a KeyboardInterrupt or its like.

    That would end a thread without the answer for which Spark, or a caller, waits as long as the session lives.
    """
    return interrupts_told(_raised)


def _raised(error: Exception) -> NoReturn:
    raise error


def _connection_of(context: Any) -> Any:
    """Return the connection by which the JVM calls the thread that asks; None where it is not one of a query's own."""
    find = getattr(context._gateway._gateway_client, "get_thread_connection", None)
    found = None if find is None else find()
    return None if found is None or found.initiated_from_client else found


def _close_there(gateway: Any, port: int) -> None:
    """Close the JVM's end of a connection, which has this port there."""
    with suppress(Exception):  # where a session lets no one look inside, or is closed, it stays
        client = gateway.java_gateway_server.getCallbackClient()
        lock, kept = (_inherited(client, name) for name in ("lock", "connections"))
        lock.lock()
        try:
            found = [one for one in kept.toArray() if one.getSocket().getLocalPort() == port]
            for one in found:
                kept.remove(one)
        finally:
            lock.unlock()
        for one in found:
            one.shutdown()


def _inherited(owner: Any, name: str) -> Any:
    field = owner.getClass().getSuperclass().getDeclaredField(name)
    field.setAccessible(True)
    return field.get(owner)


@contextmanager
def noticed(context: Any) -> Iterator[None]:
    """Notice the functions that a user gives to `foreachBatch` in the block, so that they can be let go of, too."""
    called_here = context._gateway.gateway_property.pool.dict
    before = set(called_here)
    yield
    for name in set(called_here) - before:
        given = called_here.get(name)
        if isinstance(given, ForeachBatchFunction) and not isinstance(given.func, BatchCall):
            given.func = BatchCall(given.func)


def let_go(query: Any) -> None:
    """Let go of the function that a query has called, now that it has ended."""
    call = _called.get(str(query.id))
    if call is not None:
        call.let_go()


__all__ = ["STOPPED", "BatchCall", "CallEndedError", "answered", "let_go", "noticed"]
