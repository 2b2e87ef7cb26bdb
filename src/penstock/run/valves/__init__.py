"""valves: the ways into a run, which are closed when it is stopped."""
