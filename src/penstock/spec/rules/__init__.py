"""rules: every rule of Reactive Streams as data."""
