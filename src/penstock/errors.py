"""errors: the exceptions penstock raises or signals, and how they name a rule."""

from __future__ import annotations


class PenstockError(Exception):
    """The root of every exception that penstock itself defines."""


class ProtocolError(PenstockError):
    """The error of a party that broke a rule of the contract; `rule` is its id, as in `1.1`."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"rule {rule}: {message}")
        self.rule = rule
        self._message = message

    def __reduce__(self) -> tuple[type[ProtocolError], tuple[str, str]]:
        return (type(self), (self.rule, self._message))


class OverflowedError(PenstockError):
    """The error of a source that cannot be slowed, outran its bound, and has the policy to fail."""


class InterruptionError(PenstockError):
    """The error of a stream that a KeyboardInterrupt or its like passed through; it is neither resumed nor retried."""


class CutOffError(PenstockError, RuntimeError):
    """The error of a stream whose event loop or executor ended before it did, or whose work was cancelled there."""


class EmptyError(PenstockError):
    """The error of a stream that was asked for one value and completed without any."""


class RunCancelledError(PenstockError):
    """The error of a run that was cancelled before it had a result."""


class SetupError(PenstockError):
    """The error that something a run needs is not installed here or cannot be used, with what to do about it."""
