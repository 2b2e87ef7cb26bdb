"""rsocket_peer: the other process of a test, which serves or consumes as the test says, a JSON value per line.

python rsocket_peer.py serve tcp|websocket INTERVAL LIFETIME
python rsocket_peer.py consume ADDRESS TOKEN INTERVAL LIFETIME
"""

from __future__ import annotations

import itertools
import json
import sys
import threading
from collections.abc import Iterator
from typing import Any

from penstock import Dropped, Stream, Subscription, set_on_dropped
from penstock.bridges.rsocket import Liveness, remote, serve

speaking = threading.Lock()


def say(**message: Any) -> None:
    with speaking:
        print(json.dumps(message), flush=True)


def tell_dropped(dropped: Dropped) -> None:
    say(dropped=dropped.what, error=str(dropped.error))


class Numbers:
    """Count for ever, and know how many were taken."""

    def __init__(self) -> None:
        self.taken = 0

    def __iter__(self) -> Iterator[int]:
        try:
            for number in itertools.count(1):
                self.taken += 1
                yield number
        finally:
            say(closed=True)


def serving(transport: Any, interval: str, lifetime: str) -> None:
    numbers = Numbers()
    streams = {"numbers": Stream.from_iterable(numbers), "words": Stream.just("a", "b", "c")}
    channels = {"double": lambda numbers: numbers.map(lambda n: 2 * n)}
    keep_alive = Liveness(float(interval), float(lifetime))
    with serve(streams, channels=channels, transport=transport, keep_alive=keep_alive) as server:
        say(address=server.address, token=server.token)
        for line in sys.stdin:
            if line.strip() == '"close"':
                break
            say(taken=numbers.taken)
    say(shut=True)
    sys.stdin.read()  # still there, so that a consumer has nothing but the farewell to go by


class Consumer:
    """Tell every signal."""

    subscription: Subscription

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.subscription = subscription

    def on_next(self, element: Any, /) -> None:
        say(next=element)

    def on_error(self, error: Exception, /) -> None:
        say(failed=str(error))

    def on_complete(self) -> None:
        say(complete=True)


def consuming(address: str, token: str, interval: str, lifetime: str) -> None:
    consumer = Consumer()
    keep_alive = Liveness(float(interval), float(lifetime))
    remote(address, "numbers", token=token, keep_alive=keep_alive).subscribe(consumer)
    for line in sys.stdin:
        consumer.subscription.request(json.loads(line))


if __name__ == "__main__":
    set_on_dropped(tell_dropped)
    {"serve": serving, "consume": consuming}[sys.argv[1]](*sys.argv[2:])
