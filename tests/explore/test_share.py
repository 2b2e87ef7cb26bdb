"""A fixed share of all schedules, small enough for every run of the tests; `make explore` runs all."""

import pytest

from tests.explore.running import explored

SHARES = 6


@pytest.mark.parametrize("share", range(SHARES))
@pytest.mark.timeout(600)  # it is all work and no waiting: on a busy machine it takes longer
def test_a_share_of_the_schedules_breaks_no_rule(share: int) -> None:
    explored("--share", f"{share}/{SHARES}")
