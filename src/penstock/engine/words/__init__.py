"""words: the small terms that every room of the engine uses."""
