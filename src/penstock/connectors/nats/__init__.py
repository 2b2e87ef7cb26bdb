"""nats: messages of NATS JetStream, pulled as they are asked for and acknowledged behind the end; published, confirmed.

>>> from penstock.connectors.nats import from_jetstream
>>> orders = from_jetstream("ORDERS", durable="billing")  # connects when it is run
"""

try:
    import nats  # noqa: F401  so that it is missed here, with the cure
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "penstock.connectors.nats needs nats-py: pip install 'penstock[nats]'", name=missing.name
    ) from missing

from penstock.connectors.nats.message import Message
from penstock.connectors.nats.sink import to_jetstream
from penstock.connectors.nats.source import from_jetstream

__all__ = ["Message", "from_jetstream", "to_jetstream"]
