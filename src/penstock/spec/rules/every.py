"""every: the contract as data; `python -m penstock.spec.rules.every` prints it as Markdown."""

from __future__ import annotations

from penstock.spec.rules.lookup import RULES, rule, rules_of
from penstock.spec.rules.model import Dialect, Level, Party, Rule, Variant
from penstock.spec.rules.table import explain, markdown_table

__all__ = ["RULES", "Dialect", "Level", "Party", "Rule", "Variant", "explain", "markdown_table", "rule", "rules_of"]

if __name__ == "__main__":
    print(markdown_table(), end="")
