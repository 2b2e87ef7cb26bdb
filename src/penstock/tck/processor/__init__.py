"""processor: the trials of a Processor."""
