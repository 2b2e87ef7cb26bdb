"""model: what a rule of the contract is, as data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum

from penstock.spec.rules.intents import INTENTS, SUBSTANCE, VERSIONS


class Dialect(Enum):
    """The texts that state the contract."""

    JVM = "JVM"
    DOTNET = ".NET"
    CPP = "C++"


class Level(Enum):
    """How far a rule binds, by the strongest word in it."""

    MUST = "MUST"
    SHOULD = "SHOULD"
    MAY = "MAY"


class Party(Enum):
    """The party that a rule is about."""

    PUBLISHER = "publisher"
    SUBSCRIBER = "subscriber"
    SUBSCRIPTION = "subscription"
    PROCESSOR = "processor"


@dataclass(frozen=True, slots=True)
class Variant:
    """A rule's id in one dialect, `None` if it has no such rule, and in what that text differs."""

    dialect: Dialect
    id: str | None
    difference: str = ""


@dataclass(frozen=True, slots=True)
class Rule:
    """A rule: what it asks, in every dialect, which tests show it and where to look if they fail.

    The id is that of the JVM text, or `C++ 1.11` for a rule that only another text has. Sentences speak of Python: a
    missing value is `None`, refused with TypeError, and a bad number is refused with ValueError.
    """

    id: str
    party: Party
    level: Level
    sentence: str
    hint: str
    tests: tuple[str, ...]
    variants: tuple[Variant, ...]

    @property
    def intent(self) -> str:
        """Return what the rule is for."""
        return INTENTS[self.id]

    @property
    def versions(self) -> Mapping[str, str]:
        """Return what each version of the JVM text says, where two of them differ; empty where they do not."""
        return VERSIONS.get(self.id, {})

    @property
    def changed(self) -> bool:
        """Tell whether two versions of the JVM text differ about it in substance."""
        return self.id in SUBSTANCE

    def id_in(self, dialect: Dialect) -> str | None:
        """Return the rule's id in `dialect`, or `None` if it has no such rule."""
        return next((variant.id for variant in self.variants if variant.dialect is dialect), None)

    def difference_in(self, dialect: Dialect) -> str:
        """Return in what `dialect` differs, or an empty string."""
        return next((variant.difference for variant in self.variants if variant.dialect is dialect), "")


def in_texts(
    jvm_id: str, *, cpp: str | None, jvm: str = "", dotnet: str = "", cpp_differs: str = ""
) -> tuple[Variant, ...]:
    """Return the variants of a rule that the JVM and .NET texts number alike; the rest says what differs."""
    return (
        Variant(Dialect.JVM, jvm_id, jvm),
        Variant(Dialect.DOTNET, jvm_id, dotnet),
        Variant(Dialect.CPP, cpp, cpp_differs),
    )
