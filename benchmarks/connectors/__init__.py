"""connectors: each source and sink against the best loop over the same client, on servers that are started for it."""
