"""benchmarks: penstock beside hand-written code and its peers, measured in one run."""
