"""weaving: how adjacent stages become one loop, and which step an error came from."""
