"""strangers: connections of websockets that read no more than one small frame before they are trusted.

The library holds a message until it is whole, up to a limit that is fixed before the first one: that of those who have
shown their token. So for strangers the reading itself stops.
"""

from __future__ import annotations

from typing import Any

from websockets.asyncio.server import ServerConnection

AT_FIRST = 2**16
"""The most bytes of a frame that comes before the token was shown."""
_OVERHEAD = 2**14
"""For the handshake and for what is around a message."""


class UntrustedPeer(ServerConnection):
    """A connection that reads a little, and the rest once it is trusted."""

    def __init__(self, *arguments: Any, **options: Any) -> None:
        super().__init__(*arguments, **options)
        self._left: int | None = AT_FIRST + _OVERHEAD
        self._held = False

    def data_received(self, data: bytes) -> None:
        """Stop to read where a stranger has sent too much; what it has sent is taken, a read of the system at most."""
        if self._left is not None:
            self._left -= len(data)
        super().data_received(data)
        if self._left is not None and self._left < 0:
            self._held = True
            self.transport.pause_reading()

    def trust(self) -> None:
        """Read on."""
        self._left = None
        # Where the queue of messages is full the library has paused too, and goes on by itself.
        if self._held and not self.recv_messages.paused and not self.transport.is_closing():
            self.transport.resume_reading()
        self._held = False
