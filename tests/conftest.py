"""conftest: what holds for all tests."""

from __future__ import annotations

import gc
import signal

from hypothesis import HealthCheck, settings

# No test asserts seconds, so hypothesis must not either; pytest-timeout stops what hangs.
settings.register_profile("penstock", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("penstock")

# A shell starts what runs in its background with Ctrl-C ignored, and so would be every program that a test starts.
if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:
    signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_finish() -> None:
    """Leave what pytest has collected out of every later search for garbage.

    Thirty thousand tests are so many objects that each `gc.collect()` of a test would take a third of a second.
    """
    gc.collect()
    gc.freeze()
