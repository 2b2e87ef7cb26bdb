"""subscriber: the trials of a Subscriber, seen from outside or with its signals handed in."""
