"""places: where and when work runs: executors, event loops, clocks."""
