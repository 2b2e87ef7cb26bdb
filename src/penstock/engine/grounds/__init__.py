"""grounds: what the joints stand on: queues, relays, boundaries, timers."""
