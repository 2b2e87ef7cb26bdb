"""rules_table: the rules for people to read, one at a time or all in a table."""

from __future__ import annotations

import re

from penstock.spec.rules_lookup import RULES, rule
from penstock.spec.rules_model import Dialect, Party, Rule

_COLUMNS = (*(dialect.value for dialect in Dialect), "Level", "What it asks", "If it fails", "Shown by")


def explain(name: str, /) -> str:
    """Return a few lines on the rule of that name: what it asks, where texts differ, its tests, where to look."""
    found = rule(name)
    return "\n".join(
        (
            f"rule {found.id} ({found.level.value}, {found.party.value}): {found.sentence}",
            *(f"  {note}" for note in _notes(found)),
            f"  if it fails: {found.hint}",
            f"  shown by: {', '.join(found.tests)}",
        )
    )


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
        _prose(rule.hint),
        "<br>".join(f"`{test}`" for test in rule.tests),
    )


def _prose(text: str) -> str:
    return re.sub(r"\bon_[a-z]+", r"`\g<0>`", text)


def _notes(rule: Rule) -> tuple[str, ...]:
    return tuple(_note(rule, dialect) for dialect in Dialect if rule.difference_in(dialect))


def _note(rule: Rule, dialect: Dialect) -> str:
    number = rule.id_in(dialect)
    heading = f"{dialect.value} {number}" if number else f"not in {dialect.value}"
    return f"{heading}: {rule.difference_in(dialect)}"


def _line(cells: tuple[str, ...]) -> str:
    return f"| {' | '.join(cells)} |"
