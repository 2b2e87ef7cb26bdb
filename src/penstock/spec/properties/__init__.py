"""properties: every property of the pull-stream protocol as data."""
