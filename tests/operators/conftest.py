"""conftest: nothing may be dropped behind a test's back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock import Dropped, set_on_dropped
from penstock.testing.laws import UpstreamError


@pytest.fixture(autouse=True)
def dropped() -> Iterator[list[Dropped]]:
    """Collect what goes to the on_dropped hook; a test that expects something there takes it out."""
    found: list[Dropped] = []

    def keep(dropped: Dropped) -> None:
        # Where a law lets several inputs fail, all failures but the first are too late, some after the test.
        if not isinstance(dropped.error, UpstreamError):
            found.append(dropped)

    before = set_on_dropped(keep)
    yield found
    set_on_dropped(before)
    assert found == []
