"""laws everywhere: every operator keeps the engine's contract on every path."""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator

import pytest

import penstock.operators
from penstock import Dropped, set_on_dropped
from penstock.testing import Form, check_contract
from penstock.testing.laws import UpstreamError
from tests.operators.catalogue import CLOCK, ENTRIES, EXEMPT, INNER, OPERATORS


@pytest.fixture(autouse=True)
def nothing_is_left() -> Iterator[None]:
    """Nothing is dropped but a failure that came too late; inner streams are closed, and no timer waits."""
    found: list[Dropped] = []
    before = set_on_dropped(found.append)
    INNER.clear()
    yield
    set_on_dropped(before)
    assert [one for one in found if not isinstance(one.error, UpstreamError)] == []
    for items in INNER:
        items.wait_until_closed()
    assert CLOCK.pending == 0


def test_no_operator_is_missing() -> None:
    names = {module.name for module in pkgutil.iter_modules(penstock.operators.__path__)}
    assert names == OPERATORS.keys() | EXEMPT.keys()
    assert [name for name, entries in OPERATORS.items() if not entries] == []


@pytest.mark.parametrize(
    ("name", "form"),
    [pytest.param(name, form, id=f"{name}-{form.name.lower()}") for name, one in ENTRIES.items() for form in one.forms],
)
def test_an_operator_keeps_the_contract(name: str, form: Form) -> None:
    entry = ENTRIES[name]
    check_contract(entry.make, entry.model, entry.elements, entry.promise, forms=[form], call=name)
