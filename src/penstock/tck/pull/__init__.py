"""pull: the trials of pull-stream sources, throughs and sinks."""
