"""pipeline: pipelines on Spark: how they are described, planned, run and ended."""
