"""errors: failures of Java's, as Python's."""

from __future__ import annotations

from typing import Any

from penstock.errors import PenstockError


class JavaError(PenstockError):
    """The error of a failure in Java: the name of its class, its message, its stack trace, and the Throwable itself."""

    def __init__(self, java_class: str, message: str | None, stack_trace: str = "", java_exception: Any = None) -> None:
        super().__init__(java_class if message is None else f"{java_class}: {message}")
        self.java_class = java_class
        self.message = message
        self.stack_trace = stack_trace
        self.java_exception = java_exception
        """The Throwable, a reference into the JVM; it is what Java gets if the error goes back there."""

    def __reduce__(self) -> tuple[type[JavaError], tuple[str, str | None, str]]:
        return (type(self), (self.java_class, self.message, self.stack_trace))  # a reference stays in its process


class JavaValueError(JavaError, ValueError):
    """The error of an IllegalArgumentException."""


class JavaTypeError(JavaError, TypeError):
    """The error of a NullPointerException."""


KINDS: dict[str, type[JavaError]] = {"V": JavaValueError, "T": JavaTypeError, "E": JavaError}
