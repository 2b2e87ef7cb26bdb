"""ingest: a Stream, or another Publisher, into Spark as a streaming DataFrame."""
