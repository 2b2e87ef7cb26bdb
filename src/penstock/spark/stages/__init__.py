"""stages: Flows and Streams that run inside the executors."""
