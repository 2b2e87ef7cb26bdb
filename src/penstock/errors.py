"""errors: the exceptions penstock raises or signals, and how they name a rule."""

from __future__ import annotations


class PenstockError(Exception):
    """Be the root of every exception that penstock itself defines."""


class ProtocolError(PenstockError):
    """Report that a party broke a rule of the contract; `rule` is its id, as in `1.1`."""

    def __init__(self, rule: str, message: str) -> None:
        super().__init__(f"rule {rule}: {message}")
        self.rule = rule
        self._message = message

    def __reduce__(self) -> tuple[type[ProtocolError], tuple[str, str]]:
        return (type(self), (self.rule, self._message))


class OverflowedError(PenstockError):
    """Report that a source which cannot be slowed outran its bound and its policy is to fail."""


class InterruptionError(PenstockError):
    """Report that a KeyboardInterrupt or its like passed through the stream; it is neither resumed nor retried."""


class EmptyError(PenstockError):
    """Report that one value was asked of a stream that completed without any."""


class RunCancelledError(PenstockError):
    """Report that a run was cancelled before it had a result."""
