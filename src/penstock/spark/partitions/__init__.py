"""partitions: parts of data that the executors open and end themselves, so that no row passes through the driver."""
