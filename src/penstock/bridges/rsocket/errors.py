"""errors: what can go wrong between two processes, and how an exception crosses as text.

An exception crosses as `TypeName: message`. At the other end only types are made that are builtin, that penstock
defines for everybody, or that were given by name: a name that a stranger sends is never looked up anywhere else.
"""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Iterable, Mapping

from penstock.errors import EmptyError, OverflowedError, PenstockError, ProtocolError


class RemoteError(PenstockError):
    """The error of the other side, of a type not known here; `type_name` and `message` say what it was."""

    def __init__(self, type_name: str, message: str) -> None:
        super().__init__(f"{type_name}: {message}" if type_name and message else type_name or message)
        self.type_name = type_name
        self.message = message

    def __reduce__(self) -> tuple[type[RemoteError], tuple[str, str]]:
        return (type(self), (self.type_name, self.message))


class ConnectionLostError(PenstockError, ConnectionError):
    """The error of another side that is gone, was never there, or fell silent for longer than it may."""


class RejectedError(PenstockError):
    """The error of a refusal by the other side: of the token, the settings, or the name of a stream."""


class FrameError(PenstockError):
    """The error of another side that sent what is no frame, or one that does not belong there."""


Known = Mapping[str, type[Exception]]
_BUILTIN: Known = {
    name: found for name, found in vars(builtins).items() if isinstance(found, type) and issubclass(found, Exception)
}
_OURS: Known = {found.__name__: found for found in (EmptyError, OverflowedError, RejectedError)}
LONGEST_MESSAGE = 7000
"""How many characters of a message cross."""
_MOST_BYTES = 30_000
_TEXT = re.compile(r"([A-Za-z_][\w.]*)(?:: (.*))?", re.DOTALL)
_RULE = re.compile(r"rule (\S+): (.*)", re.DOTALL)


def known_errors(function: str, errors: Iterable[type[Exception]]) -> Known:
    """Return the types that may be made of a text, by name."""
    known = {**_BUILTIN, **_OURS}
    for each in errors:
        if not isinstance(each, type) or not issubclass(each, Exception):
            raise TypeError(f"{function}: errors must be types of exceptions, got {each!r}")
        known[each.__qualname__] = each
    return known


def to_text(error: BaseException) -> str:
    """Return an exception as the text that crosses."""
    if isinstance(error, RemoteError):
        return _message(error)
    name, message = type(error).__qualname__, _message(error)
    return f"{name}: {message}" if message else name


def to_bytes(error: BaseException) -> bytes:
    """Return an exception as the bytes that cross, no more than may be metadata."""
    found = to_text(error).encode("utf-8", "backslashreplace")
    return found if len(found) <= _MOST_BYTES else found[:_MOST_BYTES] + b"..."


def _message(error: BaseException) -> str:
    try:
        message = str(error)
    except Exception as failure:  # noqa: BLE001  the exception is the user's, and so is what it says
        return f"its message could not be had: {type(failure).__name__}"
    return message if len(message) <= LONGEST_MESSAGE else f"{message[:LONGEST_MESSAGE]}..."


def from_text(text: str, known: Known) -> Exception:
    """Make the exception of a text, a RemoteError where the type is not known or cannot be made of a message."""
    found = _TEXT.fullmatch(text)
    if found is None:
        return RemoteError("", text)
    name, message = found[1], found[2] or ""
    rule = _RULE.fullmatch(message)
    if name == ProtocolError.__name__ and rule is not None:
        return ProtocolError(rule[1], rule[2])
    if name not in known:
        return RemoteError(name, message) if found[2] is not None else RemoteError("", text)
    return _made(known[name], message) or RemoteError(name, message)


def _made(kind: type[Exception], message: str) -> Exception | None:
    """Make an exception that says `message`; some, like KeyError, say the repr of what they were made of."""
    for arguments in _arguments(message):
        try:
            error = kind(*arguments)
            if str(error) == message:
                return error
        except Exception:  # noqa: BLE001  it wants other arguments; they have not crossed
            continue
    return None


def _arguments(message: str) -> Iterable[tuple[object, ...]]:
    if not message:
        yield ()
    yield (message,)
    if len(message) < 10_000:
        try:
            yield (ast.literal_eval(message),)
        except Exception:  # noqa: BLE001  the text is a stranger's: {{}} is a TypeError, others are a MemoryError
            return
