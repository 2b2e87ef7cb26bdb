"""pieces: run a chain piece by piece, its state a value in between, for runs that keep that state elsewhere."""
