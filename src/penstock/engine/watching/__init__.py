"""watching: how a listener sees the steps of a run."""
