"""every: the pull-stream protocol as data: every property of its three layers, and how to find one."""

from __future__ import annotations

from typing import Final

from penstock.spec.properties.abortable import ABORTABLE_PROPERTIES
from penstock.spec.properties.base_layer import BASE_PROPERTIES
from penstock.spec.properties.fault import FAULT_PROPERTIES
from penstock.spec.properties.model import Layer, Property

PROPERTIES: Final[tuple[Property, ...]] = BASE_PROPERTIES + ABORTABLE_PROPERTIES + FAULT_PROPERTIES

_BY_ID: Final = {each.id: each for each in PROPERTIES}
_COLUMNS = ("Property", "Level", "What it asks", "What for", "If it fails", "Shown by")


def property_of(name: str, /) -> Property:
    """Return the property of that name, such as `B3` or `F12`.

    >>> property_of("B7").sentence
    'After its first end an interface has nothing but ends.'
    """
    found = _BY_ID.get(name)
    if found is None:
        raise LookupError(f"property_of: name must be like 'B3' or 'F12', got {name!r}")
    return found


def properties_table() -> str:
    """Return every property as Markdown, one section with one table for each layer."""
    return "\n\n".join(_section(layer) for layer in Layer) + "\n"


def _section(layer: Layer) -> str:
    rows = [_COLUMNS, ("---",) * len(_COLUMNS), *(_cells(each) for each in PROPERTIES if each.layer is layer)]
    return "\n".join((f"## {layer.value.capitalize()}", "", *(f"| {' | '.join(row)} |" for row in rows)))


def _cells(each: Property) -> tuple[str, ...]:
    tests = "<br>".join(f"`{test}`" for test in each.tests)
    return (each.id, each.level.value, each.sentence, each.intent, each.hint, tests)


__all__ = ["PROPERTIES", "Layer", "Property", "properties_table", "property_of"]
