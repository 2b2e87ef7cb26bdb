"""benchmarks.pair: every row of both benchmarks on two source trees, measured in turn."""
