"""spec: the contract, as four interfaces and as rules that are data, and the pull-stream protocol in the same form."""

from __future__ import annotations

# The rules come from where they are kept, not by way of `penstock.spec.rules.every`, which is run as a command.
from penstock.spec.element_count import UNBOUNDED, ElementCount
from penstock.spec.erased import AnyPublisher, AnySubscriber, AnySubscription
from penstock.spec.glossary import GLOSSARY, Term, glossary_table, term
from penstock.spec.interfaces import Processor, Publisher, Subscriber, Subscription
from penstock.spec.predicates import is_processor, is_publisher, is_subscriber, is_subscription
from penstock.spec.properties.every import PROPERTIES, Layer, Property, properties_table, property_of
from penstock.spec.pull_error import PullError
from penstock.spec.rules.lookup import RULES, rule, rules_of
from penstock.spec.rules.model import Dialect, Level, Party, Rule, Variant
from penstock.spec.rules.table import explain, markdown_table

__all__ = [
    "GLOSSARY",
    "PROPERTIES",
    "RULES",
    "UNBOUNDED",
    "AnyPublisher",
    "AnySubscriber",
    "AnySubscription",
    "Dialect",
    "ElementCount",
    "Layer",
    "Level",
    "Party",
    "Processor",
    "Property",
    "Publisher",
    "PullError",
    "Rule",
    "Subscriber",
    "Subscription",
    "Term",
    "Variant",
    "explain",
    "glossary_table",
    "is_processor",
    "is_publisher",
    "is_subscriber",
    "is_subscription",
    "markdown_table",
    "properties_table",
    "property_of",
    "rule",
    "rules_of",
    "term",
]
