"""again: what is said about another run: of a source, in this process or in the next one, and of a step behind it."""

from __future__ import annotations

from enum import Enum


class Again(Enum):
    """What another run of a source gives, also one in another process."""

    SAME = "the same elements, from the first on"
    LATER = "what comes from then on, and nothing of what came before"
    UNSAID = "nothing is said about it"


class Gives(Enum):
    """What a stage makes of one element."""

    ONE = "one result, of this element alone, before it sees the next"
    EACH = "any number of results, of this element alone, before it sees the next"
    ANY = "nothing is said about it"


__all__ = ["Again", "Gives"]
