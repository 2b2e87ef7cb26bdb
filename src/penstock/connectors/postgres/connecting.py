"""connecting: a connection of a run, and the checks that all functions of this connector share."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from psycopg import AsyncConnection, ProgrammingError
from psycopg.conninfo import conninfo_to_dict

Connection = AsyncConnection[tuple[Any, ...]]

_QUOTED = re.compile(r'^((?:[^"]|"=")*)".*', re.DOTALL)


async def connect(conninfo: str, *, autocommit: bool = True, **options: Any) -> Connection:
    """Connect; statements are committed one by one unless they are in a transaction."""
    return await AsyncConnection.connect(
        conninfo, autocommit=autocommit, fallback_application_name="penstock", client_encoding="utf8", **options
    )


def conninfo_given(function: str, value: object) -> None:
    """Refuse what libpq cannot read, at the call and not at the first run."""
    if not isinstance(value, str):
        raise TypeError(
            f"{function}: conninfo must be a text such as 'host=localhost dbname=shop', got {type(value).__name__}"
        )
    try:
        conninfo_to_dict(value)
    except ProgrammingError as error:
        reason = str(error).rstrip()
        if not reason.startswith("invalid connection option"):
            reason = _QUOTED.sub(r"\1...", reason)  # libpq quotes what it cannot read, which may be of a password
        raise ValueError(f"{function}: conninfo cannot be read: {reason}") from None


def name_of(function: str, parameter: str, value: object) -> str:
    """Return a name, and refuse what is none."""
    if not isinstance(value, str):
        raise TypeError(f"{function}: {parameter} must be a text, got {value!r}")
    if not value:
        raise ValueError(f"{function}: {parameter} must not be empty")
    return value


def names_of(function: str, parameter: str, value: str | Sequence[str]) -> tuple[str, ...]:
    """Return one name or several as a tuple, and refuse what is none."""
    names = (value,) if isinstance(value, str) else tuple(value)
    if not names:
        raise ValueError(f"{function}: {parameter} must name at least one, got {value!r}")
    return tuple(name_of(function, parameter, name) for name in names)


__all__ = ["Connection", "connect", "conninfo_given", "name_of", "names_of"]
