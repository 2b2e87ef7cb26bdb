"""nats: messages of NATS JetStream, pulled as they are asked for and acknowledged behind the end; published, confirmed.

>>> from penstock.connectors.nats import from_jetstream
>>> orders = from_jetstream("ORDERS", durable="billing")  # connects when it is run
"""

from penstock.connectors.nats.message import Message
from penstock.connectors.nats.sink import to_jetstream
from penstock.connectors.nats.source import from_jetstream

__all__ = ["Message", "from_jetstream", "to_jetstream"]
