"""lsn: places in the log of a PostgreSQL server, and positions between the changes of a transaction."""

from __future__ import annotations

import re
from typing import Any

_LSN = re.compile(r"([0-9A-Fa-f]{1,8})/([0-9A-Fa-f]{1,8})")


def lsn_text(lsn: int) -> str:
    """Return a place in the log as the server writes it.

    >>> lsn_text(23803720)
    '0/16B3748'
    """
    return f"{lsn >> 32:X}/{lsn & 0xFFFFFFFF:X}"


def lsn_number(text: str) -> int:
    """Return a place in the log as a number, by which places are compared.

    >>> lsn_number("0/16B3748")
    23803720
    """
    found = _LSN.fullmatch(text)
    if found is None:
        raise ValueError(f"postgres: a place in the log looks like '0/16B3748', got {text!r}")
    return int(found[1], 16) << 32 | int(found[2], 16)


def place(position: Any) -> tuple[int, int]:
    """Return a position of a change as numbers that can be compared: the commit of its transaction, and its index.

    >>> place(["0/16B3748", 3])
    (23803720, 3)
    """
    if isinstance(position, list | tuple) and len(position) == 2:
        lsn, index = position
        if isinstance(lsn, str) and type(index) is int and index >= 0:
            return lsn_number(lsn), index
    raise ValueError(f"postgres: a position of a change looks like ['0/16B3748', 3], got {position!r:.100}")


__all__ = ["lsn_number", "lsn_text", "place"]
