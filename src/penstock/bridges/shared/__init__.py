"""shared: what several bridges need: rows, columns, ends among elements."""
