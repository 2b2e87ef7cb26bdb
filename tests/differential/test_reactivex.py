"""reactivex: what both have does the same in virtual time, or the docs say what it does instead."""

from __future__ import annotations

import pkgutil
import re
from pathlib import Path

import pytest

import penstock.operators
from tests.differential.pairs import NOT_COMPARED, PAIRS, Pair
from tests.differential.timelines import Heard, with_penstock, with_reactivex

PAGE = Path(__file__).parent.parent.parent / "docs" / "operators" / "differences.md"
ROW = re.compile(r"^\| `([a-z_]+)`([a-z, ]*) \| ([a-z ]+) \| (.*?) \| (.*?) \|$", re.MULTILINE)
MOST = 5
CASES = [(name, case) for name, pair in PAIRS.items() for case in pair.inputs]

Difference = tuple[str, str]


def documented() -> dict[tuple[str, str], Difference]:
    """Read from the page where the two differ, and what each of them does there."""
    rows = ROW.findall(PAGE.read_text(encoding="utf-8"))
    assert len({row[:3] for row in rows}) == len(rows), "a case stands on the page twice"
    return {(name + option, case): (theirs, ours) for name, option, case, theirs, ours in rows}


def written(heard: list[Heard]) -> str:
    """Write what was heard as the page does: the time, and what came."""
    parts = []
    for at, what, value in heard[:MOST]:
        came = str(value) if what == "next" else "end" if what == "completed" else str(value).partition(":")[0]
        parts.append(f"{at:g}: {came}")
    return "; ".join([*parts, "..."] if len(heard) > MOST else parts) or "nothing"


def both(pair: Pair, case: str) -> tuple[list[Heard], list[Heard]]:
    inputs = pair.inputs[case]
    return with_reactivex(pair.theirs, inputs), with_penstock(pair.ours, inputs)


@pytest.mark.parametrize(("name", "case"), CASES)
def test_both_do_the_same_or_the_page_says_what_they_do(name: str, case: str) -> None:
    theirs, ours = both(PAIRS[name], case)
    difference = documented().get((name, case))
    if difference is None:
        assert ours == theirs
    else:
        assert theirs != ours, "they agree by now: take the row out of docs/operators/differences.md"
        assert (written(theirs), written(ours)) == difference


def test_the_page_names_no_case_that_is_not_tried() -> None:
    assert set(documented()) - set(CASES) == set()
    assert len(documented()) > 20


def test_every_operator_is_compared_or_has_a_reason() -> None:
    names = {found.name for found in pkgutil.iter_modules(penstock.operators.__path__)}
    compared = {name.partition(",")[0] for name in PAIRS}
    assert compared | set(NOT_COMPARED) == names
    assert compared & set(NOT_COMPARED) == set()


def test_a_difference_that_nobody_has_explained_is_noticed() -> None:
    odd = Pair(PAIRS["take"].theirs, PAIRS["skip"].ours, PAIRS["take"].inputs)
    theirs, ours = both(odd, "several elements")
    assert theirs != ours
