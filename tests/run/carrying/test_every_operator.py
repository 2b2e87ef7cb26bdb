"""Every operator: what follows a source that is told what is done keeps the laws of it, or is refused with a reason."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from penstock import Next, Stream
from penstock.run.carrying.committing import Committing
from penstock.run.carrying.lifting import NotCarriedError
from penstock.run.carrying.sources import REASONS
from penstock.testing import check_commits
from tests.operators.catalogue import ENTRIES, INNER, OPERATORS

ELEMENTS = 10
WINDOW = 7

HIDDEN = "the source is inside of a user's function, where the run does not see it"
CANNOT_BE_ASKED = {
    "concat_map-3": HIDDEN,
    "error": HIDDEN,
    "from_publisher": HIDDEN,
    "resumable": HIDDEN,
    "switch_map-1": HIDDEN,
    "using": HIDDEN,
    "using-1": HIDDEN,
}
"""The uses over which the laws say nothing, and why."""
KEEPS_EVERYTHING = {
    "debounce": "its clock stands still",
    "group_by-1": "each group is a list of all its elements",
    "sample": "its clock stands still",
    "split_when": "the numbers never fall",
    "window-1": "its clock stands still",
    "window-2": "its clock stands still",
    "window-3": "the stream that ends a window never does",
}
"""The uses that let nothing go before the end, so that all elements must fit into the window."""
REMEMBERS = {"scan": "of what came before", "skip": "how many it has left out"}
"""The uses that give other things when they begin in the middle, and do not look like it."""
NO_NUMBERS: dict[str, Callable[[int], Any]] = {
    "buffer_until": lambda n: "ab."[n % 3],
    "buffer_while": lambda n: "ab."[n % 3],
    "dematerialize": Next,
    "flatten": lambda n: [n] * (n % 3),
    "starmap": lambda n: (n, 3),
}
"""What the uses have that are not over numbers."""
FEW = {"expand": 4}
"""How many elements a use can have that makes a great deal of each."""


@pytest.fixture(autouse=True)
def inner_streams_are_closed() -> Iterator[None]:
    """Whatever a run has opened besides its source is closed."""
    INNER.clear()
    yield
    for items in INNER:
        items.wait_until_closed()


def ask(name: str) -> None:
    elements = FEW.get(name, ELEMENTS)
    window = 2 * ELEMENTS if name in KEEPS_EVERYTHING else WINDOW
    make, turned = ENTRIES[name].make, NO_NUMBERS.get(name)
    use = make if turned is None else lambda numbers: make(numbers.map(turned))
    check_commits(use, elements=elements, window=window, remembers=name in REMEMBERS)


def refusal(name: str) -> NotCarriedError | None:
    """Return what a run is refused with; that is known before it begins."""
    try:
        Committing(ENTRIES[name].make(Stream.resumable(iter, print))._chain)
    except NotCarriedError as error:
        return error
    return None


@pytest.mark.parametrize("name", [name for name in ENTRIES if name not in CANNOT_BE_ASKED])
def test_a_use_keeps_the_laws_or_is_refused_with_a_reason(name: str) -> None:
    error = refusal(name)
    if error is None:
        ask(name)
    else:
        said = re.fullmatch(
            r"(\w+): positions do not travel through it, so that the source cannot be told: (.*)", str(error)
        )
        assert said is not None
        assert said[2] == REASONS[said[1]]
        assert ";" in said[2], "a reason says what to do instead"


def test_the_reasons_are_those_of_the_operators_that_are_refused() -> None:
    asked = (name for name in ENTRIES if name not in CANNOT_BE_ASKED)
    refused = {str(error).partition(":")[0] for name in asked if (error := refusal(name)) is not None}
    refused |= {"publish"}  # it is in no catalogue, since its run is not its subscribers'
    assert refused == set(REASONS)


def test_publish_is_refused() -> None:
    with pytest.raises(NotCarriedError, match=r"^publish: positions do not travel through it"):
        check_commits(lambda numbers: numbers.publish())


@pytest.mark.parametrize(
    "table", [CANNOT_BE_ASKED, KEEPS_EVERYTHING, REMEMBERS, NO_NUMBERS, FEW], ids=lambda table: next(iter(table))
)
def test_the_tables_name_uses_that_there_are(table: dict[str, object]) -> None:
    assert set(table) <= set(ENTRIES)


def test_no_operator_is_left_out_altogether() -> None:
    left_out = {
        name for name in OPERATORS if all(use in CANNOT_BE_ASKED for use in ENTRIES if use.split("-")[0] == name)
    }
    assert left_out == {"error", "from_publisher", "resumable", "using"}
