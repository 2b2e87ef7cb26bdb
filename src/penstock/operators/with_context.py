"""with_context: set context variables for what comes before.

Group: change where it runs
Marble: a.map(lambda n: USER.get() * n).with_context({USER: 'ada'}) over -1--2---|
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator
from contextvars import Context, ContextVar, copy_context
from dataclasses import dataclass
from functools import partial
from importlib import import_module
from typing import Any, ClassVar

from penstock.engine.places.context import run_in
from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect, pull
from penstock.engine.weaving.iterators import open_through
from penstock.engine.weaving.segment import close
from penstock.engine.words.arguments import stays_here
from penstock.engine.words.part import Part, chunks_of, height_of
from penstock.spec.interfaces import Subscriber, Subscription
from penstock.stage import Opener, Results, Source, Tie

_END = object()


@dataclass(frozen=True, slots=True)
class WithContext(Source[Any]):
    """Run the stream in the context of its subscriber with some variables set; what follows does not see them.

    Emits when the stream does. Backpressures when downstream does. Completes when the stream completes. Cancels the
    stream.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.PLACE
    stream: Chain
    values: tuple[tuple[ContextVar[Any], Any], ...]
    passes: ClassVar[bool] = True
    follows: ClassVar[bool] = True

    def __post_init__(self) -> None:
        for variable, _ in self.values:
            if not isinstance(variable, ContextVar):
                raise TypeError(f"with_context: each variable must be a ContextVar, got {variable!r}")

    def __reduce__(self) -> tuple[Callable[..., WithContext], tuple[Chain, tuple[Any, ...]]]:
        return (_found_again, (self.stream, tuple((*_place_of(variable), value) for variable, value in self.values)))

    def opener(self) -> Opener[Any] | None:
        """Iterate, every element in that context."""
        opener = pull(self.stream)
        return None if opener is None else lambda gate: _stepping(self._context(), partial(open_through, opener, gate))

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Subscribe in that context, and go back to the subscriber's with each signal."""
        context = self._context()
        below = _Below(downstream, context)
        run_in(context, partial(connect, self.stream, below))

    def _context(self) -> Context:
        context = copy_context()
        for variable, value in self.values:
            context.run(variable.set, value)
        return context


def _place_of(variable: ContextVar[Any]) -> tuple[str, str]:
    """Return the module and the name by which a variable can be found in another process."""
    modules = sorted(sys.modules.items(), key=lambda item: item[0] == "__main__")  # which may be another there
    for module, there in modules:
        names = [name for name, value in list(getattr(there, "__dict__", {}).items()) if value is variable]
        if names:
            return module, names[0]
    raise stays_here(
        "with_context", repr(variable), "it is a global of no module, by which it could be found elsewhere"
    )


def _found_again(stream: Chain, values: tuple[tuple[str, str, Any], ...]) -> WithContext:
    return WithContext(stream, tuple((getattr(import_module(module), name), value) for module, name, value in values))


def _stepping(context: Context, open_run: Callable[[], Iterator[Any]]) -> Iterator[Any]:
    iterator = context.run(open_run)
    try:
        while (element := context.run(next, iterator, _END)) is not _END:
            yield element
    finally:
        context.run(close, iterator)


class _Below(Part):
    """The party before the subscriber: it passes each signal on in the subscriber's own context."""

    __slots__ = ("_context", "_downstream", "_inner", "height", "on_chunk")

    def __init__(self, downstream: Subscriber[Any], inner: Context) -> None:
        self._downstream = downstream
        self._inner = inner
        self._context = copy_context()
        self.height = height_of(downstream) + 1
        on_chunk = chunks_of(downstream)
        self.on_chunk = None if on_chunk is None else lambda elements: self._context.copy().run(on_chunk, elements)

    def stand_aside(self) -> Subscriber[Any]:
        return self._downstream

    def on_subscribe(self, subscription: Subscription, /) -> None:
        above = subscription if subscription is None else _Above(subscription, self._inner)
        self._context.copy().run(self._downstream.on_subscribe, above)

    def on_next(self, element: Any, /) -> None:
        self._context.copy().run(self._downstream.on_next, element)

    def on_error(self, error: Exception, /) -> None:
        self._context.copy().run(self._downstream.on_error, error)

    def on_complete(self) -> None:
        self._context.copy().run(self._downstream.on_complete)


class _Above:
    """The subscription handed on: requests and a cancel go up in the context of the stream."""

    __slots__ = ("_context", "_subscription")

    def __init__(self, subscription: Subscription, context: Context) -> None:
        self._subscription = subscription
        self._context = context

    def request(self, n: int, /) -> None:
        self._context.copy().run(self._subscription.request, n)

    def cancel(self) -> None:
        self._context.copy().run(self._subscription.cancel)
