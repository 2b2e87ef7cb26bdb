"""publisher: the trials of a Publisher."""
