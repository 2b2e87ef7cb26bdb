"""resident: what counts and records in a process is the same for all copies of the streams that it counts.

A copy in the same process finds the very object again; copies in another one share an object that is made there.
"""

from __future__ import annotations

import os
from threading import Lock
from typing import Any
from weakref import WeakKeyDictionary, WeakValueDictionary

_lock = Lock()
_names: WeakKeyDictionary[Any, str] = WeakKeyDictionary()
_residents: WeakValueDictionary[str, Any] = WeakValueDictionary()


def by_name(resident: Any) -> tuple[Any, ...]:
    """Return what an object's `__reduce__` returns for it to be found again."""
    with _lock:
        name = _names.get(resident)
        if name is None:
            name = _names[resident] = os.urandom(16).hex()
            _residents[name] = resident
    return (_found, (type(resident), name))


def _found(kind: type, name: str) -> Any:
    with _lock:
        found = _residents.get(name)
        if found is None:
            found = _residents[name] = kind()
            _names[found] = name
    return found
