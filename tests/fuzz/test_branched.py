"""Random branches of one run, with sources that are told what is done and without."""

from __future__ import annotations

import pytest

from penstock import set_on_dropped
from tests.fuzz.branched import branches, check_branches
from tests.fuzz.check import DifferenceError, expression
from tests.fuzz.grammar import Chain, Grammar, Seeded, Src
from tests.fuzz.paths import run_path

RUNS = 1200
SHARES = 8


@pytest.mark.parametrize("share", range(SHARES))
def test_each_branch_gives_what_it_gives_by_itself(share: int) -> None:
    before = set_on_dropped(lambda _: None)  # what a cancel leaves behind is dropped by design
    try:
        known = 0
        for number in range(share, RUNS, SHARES):
            draws = Grammar(Seeded(number, 0))
            path = run_path(draws)
            draws.settle()
            chain, behind = branches(draws)
            try:
                known += check_branches(chain, behind, path, told=number % 3 == 0)
            except DifferenceError as found:
                ends = [expression(Chain(Src(0, ()), steps), path) for steps in behind]
                pytest.fail(f"seed {number}: {expression(chain, path)} into {ends}\n    {found}", pytrace=False)
        assert known > RUNS // SHARES // 4
    finally:
        set_on_dropped(before)
