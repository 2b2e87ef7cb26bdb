"""jvm: the JVM of a session that penstock starts: how it starts, what it prints, and how it has ended."""
