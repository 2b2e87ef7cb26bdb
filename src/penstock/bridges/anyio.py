"""anyio: memory object streams of anyio, and memory channels of trio, which have the same shape.

Asynchronous iterators need no bridge: `Stream.from_async_iterable` takes them on asyncio and on trio, and `async for`
gives them back.

To close an end is to tell the other side, so a run closes the end that it was given: the sending one when the stream
has ended, which is a completion; the receiving one when nothing more is wanted, which is a cancel. Give it a `clone()`
to keep an end of your own. A failure travels as the last item, a `Failed(error)`, as said in
`penstock.bridges.shared.in_band`. They belong to the event loop on which they are used, as everything of anyio's does.
"""

from __future__ import annotations

import sys
from collections.abc import AsyncIterator
from dataclasses import dataclass, field
from typing import Any, Protocol, TypeVar

from penstock.bridges.shared.home import Home
from penstock.bridges.shared.in_band import ends, packed, unpacked
from penstock.bridges.shared.pouring import pour_async
from penstock.engine.runs.chain import Chain
from penstock.engine.words.signals import Failed
from penstock.engine.words.single_use import SingleUse
from penstock.errors import RunCancelledError
from penstock.flow import Sink
from penstock.stage import AsyncOpener, LoopGate, Source
from penstock.stream import Stream

try:
    import anyio
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "penstock.bridges.anyio needs anyio: pip install 'penstock[anyio]'", name=missing.name
    ) from missing

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)
T_contra = TypeVar("T_contra", contravariant=True)
_ONCE = "give a clone() to each"


class MemoryReceiver(Protocol[T_co]):
    """The receiving end: anyio's MemoryObjectReceiveStream or trio's MemoryReceiveChannel."""

    def __aiter__(self) -> AsyncIterator[T_co]: ...
    async def __anext__(self) -> T_co: ...
    def close(self) -> None:
        """Say that nothing more is wanted."""
        ...


class MemorySender(Protocol[T_contra]):
    """The sending end: anyio's MemoryObjectSendStream or trio's MemorySendChannel."""

    async def send(self, item: T_contra, /) -> None:
        """Hand an item over, waiting for room."""
        ...

    def send_nowait(self, item: T_contra, /) -> None:
        """Hand an item over, if there is room."""
        ...

    def close(self) -> None:
        """Say that nothing more will come."""
        ...


def _gone() -> tuple[type[Exception], ...]:
    """Return what is raised when the other side has closed its end."""
    trio = sys.modules.get("trio")
    return (anyio.BrokenResourceError,) if trio is None else (anyio.BrokenResourceError, trio.BrokenResourceError)


@dataclass(frozen=True, slots=True)
class FromMemoryStream(Source[T]):
    """A source that emits what is received; see `from_memory_stream`."""

    receiver: MemoryReceiver[T]
    home: Home = field(compare=False, repr=False)
    once: SingleUse = field(default_factory=SingleUse, compare=False, repr=False)

    def async_opener(self) -> AsyncOpener[T]:
        """Receive in the task that asks."""
        return self._open

    async def _open(self, _: LoopGate | None) -> AsyncIterator[Any]:
        self.home.look()
        self.once.take("from_memory_stream: this end", _ONCE)
        try:
            async for item in self.receiver:
                if ends(item):
                    return
                yield unpacked(item)
        finally:
            self.receiver.close()


def from_memory_stream(receiver: MemoryReceiver[T]) -> Stream[T]:
    """Emit the items of a memory object stream of anyio or a memory channel of trio, for one subscriber.

    Emits when downstream asks and an item is there. Backpressures by not receiving, none ahead. Completes when all
    senders have closed; fails at a `Failed(error)`. Cancels by closing this end, which tells the senders; a run that
    never asks (`take(0)`) has not begun and leaves it open.

    >>> from penstock import Stream
    >>> async def main():
    ...     sender, receiver = anyio.create_memory_object_stream(10)
    ...     await (Stream.range(3) | to_memory_stream(sender))
    ...     return [n async for n in from_memory_stream(receiver)]
    >>> anyio.run(main)
    [0, 1, 2]
    """
    for name in ("__anext__", "close"):
        if not callable(getattr(receiver, name, None)):
            raise TypeError(f"from_memory_stream: receiver must be a receiving end, got {receiver!r}")
    return Stream(Chain(FromMemoryStream(receiver, Home("from_memory_stream: the receiver"))))


class _SenderBasin:
    """A basin that sends elements, then the failure if there is one, and closes."""

    __slots__ = ("_closed", "_home", "_sender")

    def __init__(self, sender: MemorySender[Any], home: Home) -> None:
        self._sender = sender
        self._home = home
        self._closed = False

    async def put(self, element: Any, /) -> bool:
        self._home.look()
        try:
            await self._sender.send(packed(element))
        except _gone():
            self._close()
            return False  # the receiver has said that it wants nothing more
        return True

    async def end(self, error: Exception | None, /) -> None:
        self._home.look()
        try:
            if error is not None:
                await self._sender.send(Failed(error))
        except _gone():
            return
        finally:
            self._close()

    def left(self) -> None:
        if not self._closed:
            self._home.call(self._give_up)

    def _give_up(self) -> None:
        try:
            self._sender.send_nowait(Failed(RunCancelledError("to_memory_stream: cancelled before the end")))
        except Exception:  # noqa: BLE001  full, or there is no receiver: it only sees the close
            return
        finally:
            self._close()

    def _close(self) -> None:
        self._closed = True
        self._sender.close()


def to_memory_stream(sender: MemorySender[T]) -> Sink[T, int]:
    """Send elements through a memory object stream of anyio or a memory channel of trio; the result is how many.

    Asks for the next element when one was sent, none ahead; a full buffer makes it wait. Closes the end when the stream
    has completed; a failure is sent before, as `Failed(error)`. Ends when all receivers have closed. Cancels the wait
    and closes, after a `Failed(RunCancelledError)` if there is room for it at once.

    >>> from penstock import Stream
    >>> async def main():
    ...     sender, receiver = anyio.create_memory_object_stream(10)
    ...     with receiver:
    ...         return await (Stream.just("a") | to_memory_stream(sender)), [item async for item in receiver]
    >>> anyio.run(main)
    (1, ['a'])
    """
    for name in ("send", "send_nowait", "close"):
        if not callable(getattr(sender, name, None)):
            raise TypeError(f"to_memory_stream: sender must be a sending end, got {sender!r}")
    home = Home("to_memory_stream: the sender")
    return pour_async(lambda: _SenderBasin(sender, home))


__all__ = ["from_memory_stream", "to_memory_stream"]
