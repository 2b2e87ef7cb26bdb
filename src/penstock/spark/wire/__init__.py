"""wire: what crosses between the driver and Spark's other processes: the gate, schemas, rows, failures."""
