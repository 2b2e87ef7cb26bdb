"""runs: a chain as data, and the subscriptions that carry it out."""
