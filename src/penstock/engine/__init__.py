"""engine: how a chain runs."""
