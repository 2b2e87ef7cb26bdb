"""lookup: every rule of every dialect, and how to find one."""

from __future__ import annotations

from typing import Final

from penstock.spec.rules.model import Dialect, Rule
from penstock.spec.rules.processor import PROCESSOR_RULES
from penstock.spec.rules.publisher import PUBLISHER_RULES
from penstock.spec.rules.subscriber import SUBSCRIBER_RULES
from penstock.spec.rules.subscription import SUBSCRIPTION_RULES

RULES: Final[tuple[Rule, ...]] = PUBLISHER_RULES + SUBSCRIBER_RULES + SUBSCRIPTION_RULES + PROCESSOR_RULES

_BY_NAME: Final = {rule.id: rule for rule in RULES} | {
    f"{variant.dialect.value} {variant.id}": rule for rule in RULES for variant in rule.variants if variant.id
}


def rule(name: str, /) -> Rule:
    """Return the rule of that name: `3.9` as the JVM text numbers it, or `C++ 3.8`, `.NET 3.9`, `JVM 3.9`.

    >>> rule("C++ 3.9").id
    '3.10'
    """
    found = _BY_NAME.get(name)
    if found is None:
        raise LookupError(f"rule: name must be like '3.9' or 'C++ 1.11', got {name!r}")
    return found


def rules_of(dialect: Dialect, /) -> tuple[Rule, ...]:
    """Return the rules that `dialect` has, in the order of its text."""
    return tuple(rule for rule in RULES if rule.id_in(dialect))
