"""failure: errors on their way from Spark's other processes to the caller that runs the pipeline.

An exception raised in an executor is described in words (type, message, traceback), never sent as an object, and
rebuilt in the driver. Spark itself may take seconds or a minute to tell, so a function of ours that runs in a task
calls `report` before it raises. A publisher's own exception never leaves the driver: it is kept, and found again by its
name.
"""

from __future__ import annotations

import re
import sys
import threading
import traceback
from collections.abc import Mapping
from contextlib import suppress
from typing import Any

from penstock.errors import PenstockError

URI, TOKEN, DOOR, ROOTS = (f"spark.penstock.{name}" for name in ("uri", "token", "door", "roots"))
"""Local properties of a job: where its tasks report to."""
_LONGEST = 100_000
_BUILTIN = "builtins."


class ExecutorError(PenstockError):
    """An exception of an executor; it is also an instance of the original type where that is known here."""

    def __init__(self, kind: str, message: str, remote_traceback: str) -> None:
        Exception.__init__(self, kind, message, remote_traceback)  # the original's own would want its own arguments
        self.kind = kind
        """The name of the original type, with its module unless it is built in."""
        self.message = message
        self.remote_traceback = remote_traceback

    def __str__(self) -> str:
        text = f"{self.kind}: {self.message}" if self.message else self.kind
        return f"{text}\n\nin an executor:\n{self.remote_traceback}" if self.remote_traceback else text

    @property
    def remote_notes(self) -> list[str]:
        """Return the notes that the exception had there: which step raised it, and in which task."""
        said = f"{self.kind}: {self.message}" if self.message else self.kind
        _, found, notes = f"\n{self.remote_traceback}".rpartition(f"\n{said}\n")
        return notes.splitlines() if found else []

    def __reduce__(self) -> tuple[Any, tuple[str, str, str]]:
        return (executor_error, (self.kind, self.message, self.remote_traceback))


class StoppedShortError(PenstockError):
    """The error that a stream was stopped before rows came that its checkpoint has planned; another run has them."""


_made: dict[type[Exception], type[ExecutorError]] = {}


def executor_error(kind: str, message: str, remote_traceback: str) -> ExecutorError:
    """Make the error of which `except <the original type>` and `except ExecutorError` both take notice."""
    original = _type_named(kind)
    if original is None:
        return ExecutorError(kind, message, remote_traceback)
    if original not in _made:
        _made[original] = _mixed(original)
    return _made[original](kind, message, remote_traceback)


def _mixed(original: type[Exception]) -> type[ExecutorError]:
    """Make a type that is both, or return ExecutorError where the two cannot be mixed."""
    try:
        made: type[ExecutorError] = type(
            f"Executor{original.__name__}",
            (ExecutorError, original),
            {"__module__": __name__, "__getattr__": _stayed_away},
        )
        str(made("kind", "message", "traceback"))
    except Exception:  # noqa: BLE001  a type that cannot be made without its arguments is described in words alone
        return ExecutorError
    return made


def _stayed_away(error: ExecutorError, name: str) -> Any:
    """Say what has become of an attribute that the original exception may have had."""
    kind = error.args[0] if error.args else type(error).__name__
    raise AttributeError(
        f"{kind}: attribute {name!r} stayed in the executor; the type, the message and the traceback came",
        name=name,
        obj=error,
    )


def _type_named(kind: str) -> type[Exception] | None:
    """Find an exception type that this process has already imported; a message must not make it import anything."""
    module, _, name = kind.rpartition(".")
    found = getattr(sys.modules.get(module or "builtins"), name, None)
    if isinstance(found, type) and issubclass(found, Exception) and not issubclass(found, ExecutorError):
        return found
    return None


def described(error: BaseException) -> dict[str, str]:
    """Describe an exception in words."""
    kind = f"{type(error).__module__}.{type(error).__qualname__}"
    try:
        message = str(error)
    except Exception as failure:  # noqa: BLE001  an exception that cannot be printed must not hide itself
        message = f"(its message cannot be printed: {type(failure).__name__})"
    return {
        "kind": kind.removeprefix(_BUILTIN),
        "message": message[:_LONGEST],
        "traceback": "".join(traceback.format_exception(error))[-_LONGEST:],
    }


def rebuilt(description: Mapping[str, object]) -> ExecutorError:
    """Make an error of its description."""
    return executor_error(*(str(description.get(name, "")) for name in ("kind", "message", "traceback")))


def report(error: Exception) -> bool:
    """Tell the driver about an exception of the task that runs here; return whether the driver was told.

    To be called in an executor, before the exception is raised again. It does nothing where the job has no gate.
    """
    from pyspark import TaskContext  # noqa: PLC0415  a task has it, and `import penstock.spark.wire.failure` stays light

    from penstock.spark.wire.gate import DoorAddress  # noqa: PLC0415

    task = TaskContext.get()
    if task is None:
        return False
    uri, token, door = (task.getLocalProperty(name) for name in (URI, TOKEN, DOOR))
    if not (uri and token and door):
        return False
    try:
        with DoorAddress(uri, token, door, task.getLocalProperty(ROOTS) or None).connect() as caller:
            where = {"stage": task.stageId(), "partition": task.partitionId(), "task": task.taskAttemptId()}
            caller.act("failed", **where, **described(error))
    except Exception:  # noqa: BLE001  the exception itself is raised next, and Spark carries it
        return False
    return True


_LAST_LINE = re.compile(r"^(?P<kind>[A-Za-z_][\w.]*)(?:: (?P<message>.*))?$", re.DOTALL)
_AFTER = re.compile(r"\s*$|\s*SQLSTATE: |=== Streaming Query ===")
"""What Spark writes after a message."""
_KEPT = re.compile(r"penstock-failure-([0-9a-f]{16})")


def from_spark(error: Exception) -> Exception:
    """Make of Spark's exception the one that a Python function raised in an executor, or return it as it is."""
    text = str(error)
    start = text.rfind("Traceback (most recent call last):")
    if start < 0:
        return without_trace(error)
    lines = text[start:].splitlines()
    own = next((index for index, line in enumerate(lines) if index and line and not line[0].isspace()), None)
    if own is None:
        return without_trace(error)
    rest = lines[own:]
    stop = next((index for index, line in enumerate(rest) if index and _AFTER.match(line)), len(rest))
    found = _LAST_LINE.match("\n".join(rest[:stop]).strip())
    if found is None:
        return without_trace(error)
    made = executor_error(found["kind"], found["message"] or "", "\n".join(lines[: own + stop]))
    made.__cause__ = error
    return made


_TASK = re.compile(r"most recent failure: Lost task [^\n]*? executor [^\n]*?\): ")
_CLASS = re.compile(r"^(?:[\w$]+\.)+[\w$]+(?:: |$)")
_FRAMES = 8
"""How many places in the JVM are named where an exception has no message."""
_LOST = "Python worker exited unexpectedly"
_WORKER_LOST = (
    "a Python worker of an executor has ended without an exception: it has crashed, was killed, perhaps for want of"
    " memory, or was left by os._exit; with spark.python.worker.faulthandler.enabled=true it prints where it crashed"
)


def without_trace(error: Exception) -> Exception:
    """Return an exception that PySpark passes on as the JVM prints it, in words alone; others as they are."""
    from pyspark.errors import PySparkException  # noqa: PLC0415  to import this module stays light

    if isinstance(error, PySparkException):
        _name_silent_cause(error)
        return error
    if getattr(error, "java_exception", None) is None:
        return error
    said = str(error).partition("\n")[2].partition("\n\tat ")[0].removeprefix(": ")
    message = _CLASS.sub("", _TASK.split(said)[-1].strip()).strip()
    lost = _LOST in said
    made: Exception = ExecutorError("WorkerLost", _WORKER_LOST, "") if lost else PySparkException(message or said)
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made.with_traceback(error.__traceback__)


def _name_silent_cause(error: Exception) -> None:
    """Add a note that names the innermost exception of the JVM, if that has no message, so that Spark tells nothing."""
    with suppress(Exception):  # the JVM may have gone
        innermost = getattr(error, "_origin", None)
        while innermost is not None and (deeper := innermost.getCause()) is not None:
            innermost = deeper
        if innermost is None or innermost.getMessage():
            return
        places = [f"at {frame.toString()}" for frame in list(innermost.getStackTrace())[:_FRAMES]]
        note = "\n  ".join([f"Spark's own error was {innermost.toString()}", *places])
        if note not in getattr(error, "__notes__", ()):
            error.add_note(note)


def without_jvm(error: Exception) -> Exception:
    """Return an exception of Spark as one that can be read when its JVM has gone; others as they are."""
    from pyspark.errors import PySparkException  # noqa: PLC0415  to import this module stays light
    from pyspark.errors.exceptions.captured import CapturedException  # noqa: PLC0415

    error = without_trace(error)
    if not isinstance(error, CapturedException) and getattr(error, "java_exception", None) is None:
        return error
    kinds = (kind for kind in type(error).__mro__ if kind.__module__ == PySparkException.__module__)
    made: Exception = next(kinds, PySparkException)(str(error))
    for note in getattr(error, "__notes__", ()):
        made.add_note(note)
    return made.with_traceback(error.__traceback__)


class Kept:
    """The latest exceptions of this process by name, while only their names travel."""

    def __init__(self, most: int = 256) -> None:
        self._most = most
        self._errors: dict[str, Exception] = {}
        self._lock = threading.Lock()

    def keep(self, name: str, error: Exception) -> str:
        """Keep an exception under a name; return the words that stand for it."""
        with self._lock:
            self._errors[name] = error
            while len(self._errors) > self._most:  # the caller that runs a query asks soon after, or never
                del self._errors[next(iter(self._errors))]
        return f"penstock-failure-{name}"

    def original(self, error: Exception) -> Exception:
        """Return the exception that Spark's exception stands for, or what can be read from its text."""
        try:
            found = _KEPT.search(str(error))
            kept = self._errors.get(found[1]) if found else None
            return from_spark(error) if kept is None else kept
        except Exception:  # noqa: BLE001  the JVM has gone, which would say what its error says
            return error


KEPT = Kept()
"""The exceptions of publishers whose streams were given to Spark by this process."""


def original(error: Exception) -> Exception:
    """Return the publisher's or the executor's exception behind what Spark raised, or Spark's own."""
    return KEPT.original(error)
