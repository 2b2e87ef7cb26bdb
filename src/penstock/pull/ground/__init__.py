"""ground: what the modules of pull-stream stand on: the protocol, turns, steps, the desk."""
