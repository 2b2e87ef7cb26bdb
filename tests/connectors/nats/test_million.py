"""nats: a million messages and a slow consumer, in flat memory, while the server holds the rest."""

from __future__ import annotations

import gc
from pathlib import Path

import pytest

from penstock.connectors.nats import from_jetstream
from tests.connectors.nats.server import NatsServer

COUNT = 1_000_000
MOST = 1000


def resident() -> int:
    """Return how many bytes of memory this process has."""
    gc.collect()
    return int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1]) * 4096


@pytest.mark.slow
@pytest.mark.proves(
    "nats.source",
    "a million elements with a slow consumer",
    "count and sum are right; memory is flat, and the server's num_pending is what was not asked for",
)
def test_the_server_holds_what_a_slow_consumer_has_not_asked_for(nats_server: NatsServer, stream: str) -> None:
    nats_server.fill(stream, (b"%d" % number for number in range(COUNT)))
    total = count = early = late = 0
    for message in from_jetstream(stream, servers=nats_server.url, most=MOST).take(COUNT):
        count += 1
        total += int(message.data)
        if count % 100_000 == 50_000:  # look at the server, which takes longer than a thousand messages do
            [consumer] = nats_server.ask(lambda js: js.consumers_info(stream))
            ahead = COUNT - (consumer.num_pending or 0) - count
            assert 0 <= ahead <= 2 * MOST, f"{ahead} messages were sent ahead"
            late = resident()
            early = early or late
    assert (count, total) == (COUNT, sum(range(COUNT)))
    assert late - early < 20_000_000
