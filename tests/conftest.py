"""conftest: what holds for all tests."""

from __future__ import annotations

import gc

from hypothesis import HealthCheck, settings

# No test asserts seconds, so hypothesis must not either; pytest-timeout stops what hangs.
settings.register_profile("penstock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("penstock")


def pytest_collection_finish() -> None:
    """Leave what pytest has collected out of every later search for garbage.

    Thirty thousand tests are so many objects that each `gc.collect()` of a test would take a third of a second.
    """
    gc.collect()
    gc.freeze()
