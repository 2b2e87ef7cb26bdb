"""soak: thousands of micro-batches of one live pipeline, and what its processes hold meanwhile."""
