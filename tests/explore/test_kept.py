"""What failed once is run again, under the schedule that showed it and under those near it."""

from tests.explore.running import explored


def test_schedules_that_have_failed_hold() -> None:
    explored("--kept")
