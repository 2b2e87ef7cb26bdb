"""given: what a user's function returned, or gave where a publisher may stand: a stream, a publisher or an iterable."""

from __future__ import annotations

from collections.abc import AsyncIterable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock.engine.grounds.foreign import subscribe_to
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.engine.words.several import Iterated, length_of
from penstock.spec.dialects.strangers import cure_for, library_of
from penstock.spec.interfaces import Subscriber
from penstock.stage import AsyncOpener, Opener, Source


@dataclass(frozen=True, slots=True)
class Items(Source[Any]):
    """An iterable that was given where a publisher may stand."""

    items: Iterable[Any]

    def opener(self) -> Opener[Any]:
        """Iterate over the items."""
        return lambda _: iter(self.items)

    def length(self) -> int | None:
        """Return the length of a list or a tuple."""
        return length_of(self.items)


@dataclass(frozen=True, slots=True)
class AsyncItems(Source[Any]):
    """An asynchronous iterable that was given where a publisher may stand."""

    items: AsyncIterable[Any]

    def async_opener(self) -> AsyncOpener[Any]:
        """Iterate over the items."""
        return lambda _: aiter(self.items)


def chain_of(given: object) -> Chain | None:
    """Return the chain of a stream of penstock's; no other object is asked for one."""
    return given._chain if isinstance(given, Iterated) else None  # type: ignore[attr-defined]


def connect_to(operator: str, given: object, subscriber: Subscriber[Any]) -> None:
    """Subscribe to what a user's function returned: a stream, a publisher of another library or an iterable."""
    chain = chain_of(given)
    if chain is not None:
        connect(chain, subscriber)
    elif callable(getattr(given, "subscribe", None)) and library_of(given) is None:
        subscribe_to(given, subscriber)  # type: ignore[arg-type]
    elif isinstance(given, Iterable):
        connect(Chain(Items(given)), subscriber)
    elif isinstance(given, AsyncIterable):
        connect(Chain(AsyncItems(given)), subscriber)
    else:
        raise TypeError(
            f"{operator}: the function must return a Publisher or an iterable, got {given!r}{cure_for(given)}"
        )
