"""conftest: what holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# No test asserts seconds, so hypothesis must not either; pytest-timeout stops what hangs.
settings.register_profile("penstock", deadline=None)
settings.load_profile("penstock")
