"""kept: exceptions of Python's that have crossed to the JVM, to be known again when they come back.

Java gets an exception that carries a number, and the exception itself stays here. It is not known how long Java keeps
that exception, so only the latest are kept here; an older one comes back as what Java knows of it.
"""

from __future__ import annotations

from itertools import count
from random import SystemRandom
from threading import Lock

LATEST = 64

_lock = Lock()
_keys = count(SystemRandom().randrange(2**61))  # not those of another process that has to do with the same JVM
_errors: dict[int, Exception] = {}


def keep(error: Exception) -> int:
    """Keep an exception and return its number."""
    with _lock:
        key = next(_keys)
        _errors[key] = error
        if len(_errors) > LATEST:
            del _errors[next(iter(_errors))]
        return key


def recalled(key: int) -> Exception | None:
    """Return the exception of a number, if it is kept still."""
    return _errors.get(key)
