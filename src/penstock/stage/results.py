"""results: how many elements come out of a source or a step, as far as that is known before a run."""

from __future__ import annotations

from enum import Enum


class Results(Enum):
    """What is known before a run about the number of elements."""

    ONE = "one at most"
    AS_MANY = "one at most where one at most comes in"
    ANY = "nothing is said about it"


__all__ = ["Results"]
