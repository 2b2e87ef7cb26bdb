"""contract: what a trial can be about: a rule of Reactive Streams, or a property of the pull-stream protocol."""

from __future__ import annotations

import re
from typing import Final

from penstock.spec.properties.every import PROPERTIES, Property, property_of
from penstock.spec.rules.every import RULES, Dialect, Rule, rule

PULL: Final = "pull"
DIALECTS: Final = {"jvm": Dialect.JVM, "dotnet": Dialect.DOTNET, "cpp": Dialect.CPP}


def asked(name: str) -> Rule | Property:
    """Return the rule or the property of that name."""
    return property_of(name) if re.fullmatch(r"[BAF]\d+", name) else rule(name)


def place(name: str) -> int:
    """Return where in its text a rule or a property stands."""
    found = asked(name)
    return PROPERTIES.index(found) if isinstance(found, Property) else RULES.index(found)


def belongs(name: str, dialect: str) -> bool:
    """Tell whether a dialect, or the pull-stream protocol, asks for it."""
    found = asked(name)
    if isinstance(found, Property):
        return dialect == PULL
    return dialect != PULL and found.id_in(DIALECTS[dialect]) is not None
