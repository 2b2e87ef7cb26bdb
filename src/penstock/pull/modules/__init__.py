"""modules: the sources, throughs and sinks of pull-stream."""
