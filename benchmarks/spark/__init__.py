"""spark: penstock on Spark beside Spark's own ways, measured in one run."""
