"""egress: a DataFrame out of Spark as a Stream, under demand."""
