"""table: the rules for people to read, one at a time or all in a table."""

from __future__ import annotations

import re

from penstock.spec.glossary import Term, term
from penstock.spec.properties.every import Property, property_of
from penstock.spec.rules.lookup import RULES, rule
from penstock.spec.rules.model import Dialect, Party, Rule

_COLUMNS = (*(dialect.value for dialect in Dialect), "Level", "What it asks", "What for", "If it fails", "Shown by")


def explain(name: str, /) -> str:
    """Return a few lines on a rule, a property of pull-stream or a term: what it asks, what for, where to look.

    >>> print(explain("demand"))
    demand: How many elements a subscriber has asked for and not yet been given; as a verb, to ask for more.
      explained by: JVM 1.0.1, JVM 1.0.3, C++
    """
    if re.fullmatch(r"[BAF]\d+", name):
        return _explain_property(property_of(name))
    if name[-1:].isalpha():
        return _explain_term(term(name))
    found = rule(name)
    return "\n".join(
        (
            f"rule {found.id} ({found.level.value}, {found.party.value}): {found.sentence}",
            f"  what for: {found.intent}",
            *(f"  {note}" for note in _notes(found)),
            f"  if it fails: {found.hint}",
            f"  shown by: {', '.join(found.tests)}",
        )
    )


def _explain_property(found: Property) -> str:
    return "\n".join(
        (
            f"property {found.id} ({found.level.value}, {found.layer.value}): {found.sentence}",
            f"  what for: {found.intent}",
            f"  if it fails: {found.hint}",
            f"  shown by: {', '.join(found.tests)}",
        )
    )


def _explain_term(found: Term) -> str:
    also = f" (also: {', '.join(found.also)})" if found.also else ""
    lines = [f"{found.name}{also}: {found.meaning}", f"  explained by: {', '.join(found.texts)}"]
    return "\n".join([*lines, f"  {found.differs}"] if found.differs else lines)


def markdown_table() -> str:
    """Return every rule as Markdown, one section with one table for each party."""
    return "\n\n".join(_section(party) for party in Party) + "\n"


def _section(party: Party) -> str:
    return "\n".join(
        (
            f"## {party.value.capitalize()}",
            "",
            _line(_COLUMNS),
            _line(("---",) * len(_COLUMNS)),
            *(_line(_cells(rule)) for rule in RULES if rule.party is party),
        )
    )


def _cells(rule: Rule) -> tuple[str, ...]:
    return (
        *(rule.id_in(dialect) or "-" for dialect in Dialect),
        rule.level.value,
        "<br>".join(_prose(text) for text in (rule.sentence, *_notes(rule))),
        _prose(rule.intent),
        _prose(rule.hint),
        "<br>".join(f"`{test}`" for test in rule.tests),
    )


def _prose(text: str) -> str:
    return re.sub(r"\bon_[a-z]+", r"`\g<0>`", text)


def _notes(rule: Rule) -> tuple[str, ...]:
    differ = [_note(rule, dialect) for dialect in Dialect if rule.difference_in(dialect)]
    return (*differ, *(f"JVM {version}: {said}" for version, said in rule.versions.items()))


def _note(rule: Rule, dialect: Dialect) -> str:
    number = rule.id_in(dialect)
    heading = f"{dialect.value} {number}" if number else f"not in {dialect.value}"
    return f"{heading}: {rule.difference_in(dialect)}"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
