"""conftest: nothing may be dropped or left running behind a test's back."""

from __future__ import annotations

from tests.engine.watch import dropped, loop_apart, no_thread_is_left

__all__ = ["dropped", "loop_apart", "no_thread_is_left"]
