"""session: a Spark session from its start to its end: Java, the JVM, its Python, Spark Connect."""
