"""rsocket: streams between processes and hosts, with `request(n)` travelling over TCP or a websocket.

`serve` offers streams and flows under names; `remote` takes a stream that a server offers; `channel` sends a stream
through a flow that a server offers. The wire is RSocket 1.0, request-stream and request-channel, so the other side may
be any RSocket implementation. Nothing listens beyond this host unless it is told to, and no consumer is let in without
the token. What is not carried: metadata, request-response, fire-and-forget, leases and resumption.
"""

from penstock.bridges.rsocket.api import channel, remote, serve
from penstock.bridges.rsocket.codecs import BYTES, JSON, Codec
from penstock.bridges.rsocket.errors import ConnectionLostError, FrameError, RejectedError, RemoteError
from penstock.bridges.rsocket.server import Server
from penstock.bridges.rsocket.settings import Liveness

__all__ = [
    "BYTES",
    "JSON",
    "Codec",
    "ConnectionLostError",
    "FrameError",
    "Liveness",
    "RejectedError",
    "RemoteError",
    "Server",
    "channel",
    "remote",
    "serve",
]
