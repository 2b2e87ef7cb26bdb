"""answers: hold what an operator gives against its model, one law and one example at a time."""

from __future__ import annotations

from collections.abc import AsyncIterator, Sequence
from itertools import cycle
from typing import Any

from penstock import pull
from penstock.engine.words.demand import UNBOUNDED
from penstock.flow import flow
from penstock.stream import Stream
from penstock.testing.laws.forms import UpstreamError
from penstock.testing.laws.promise import Make, Model, modelled
from penstock.testing.laws.session import Session
from penstock.testing.laws.ways import ask
from penstock.testing.probe import Probe
from penstock.testing.signals import PATIENCE, VerificationError, spoken
from penstock.testing.tracked import Tracked


class Laws:
    """A checker of single laws, each on one example."""

    def __init__(self, call: str, model: Model, *, ordered: bool = True, patience: float = PATIENCE) -> None:
        self.call = call
        self.patience = patience
        self._model = model
        self._ordered = ordered
        self._session = Session(patience)

    def __enter__(self) -> Laws:
        self._session.__enter__()
        return self

    def __exit__(self, *exc: object) -> None:
        self._session.__exit__(*exc)

    def _broken(self, law: str, form: str, found: str) -> VerificationError:
        return VerificationError(f"{self.call}: law '{law}'{f', upstream {form}' if form else ''}: {found}")

    def _agree(self, law: str, form: str, items: list[Any], found: list[Any]) -> None:
        wanted = modelled(self._model, items)
        if found != wanted if self._ordered else sorted(map(repr, found)) != sorted(map(repr, wanted)):
            raise self._broken(law, form, f"for {items!r} expected {wanted!r}, got {found!r}")

    def _subscribed(self, stream: Stream[Any], request: int = 0) -> Probe[Any]:
        probe: Probe[Any] = Probe(request, patience=self.patience)
        stream.subscribe(probe)
        return probe

    def _keeps_rules(self, form: str, probe: Probe[Any]) -> None:
        if probe.breaches:
            raise self._broken("keeps the contract", form, probe.breaches[0])

    def sliced(self, form: str, stream: Stream[Any], items: list[Any], sizes: Sequence[int]) -> None:
        """Request by `sizes`, again and again."""
        probe = self._subscribed(stream)
        for size in cycle(sizes):
            if probe.ended:
                break
            ask(probe, size)
        self._keeps_rules(form, probe)
        law = f"agrees with its model when {sizes if sizes != [UNBOUNDED] else 'all'} are requested"
        if probe.error is not None:
            raise self._broken(law, form, f"for {items!r} it failed with {probe.error!r}")
        self._agree(law, form, items, probe.elements)

    def iterated(self, form: str, stream: Stream[Any], items: list[Any]) -> None:
        """Take the elements in a `for` and in an `async for` loop."""
        self._agree("agrees with its model in a for loop", form, items, list(stream))
        self._agree("agrees with its model in an async for loop", form, items, self._session.run(_collected(stream)))

    def shares_nothing(self, form: str, stream: Stream[Any], items: list[Any]) -> None:
        """Run two subscriptions of one stream in turns."""
        probes = [self._subscribed(stream), self._subscribed(stream)]
        while not all(probe.ended for probe in probes):
            for probe in probes:
                if not probe.ended:
                    ask(probe, 1)
        for probe in probes:
            self._keeps_rules(form, probe)
            self._agree("two runs share nothing", form, items, probe.elements)

    def cancelled(self, form: str, stream: Stream[Any], stop: int) -> None:
        """Cancel after `stop` elements: when no more are asked for, and inside `on_next` while all are."""
        probe = self._subscribed(stream)
        if stop:
            ask(probe, stop)
        probe.cancel()
        self._keeps_rules(form, probe)
        if stop:

            def cancel(_: object) -> None:
                if not inside.cancelled and len(inside.elements) == stop:
                    inside.cancel()

            inside: Probe[Any] = Probe(UNBOUNDED, on_signal=cancel, patience=self.patience)
            stream.subscribe(inside)
            inside.wait_until(lambda: inside.ended or inside.cancelled, f"{stop} elements or the end")
            self._keeps_rules(form, inside)
            if inside.cancelled and len(inside.signals) > stop:
                found = f"it was cancelled inside on_next after {stop} elements, got {spoken(inside.signals)}"
                raise self._broken("says nothing after a cancel", form, found)

    def cut(self, make: Make, items: list[Any], place: int) -> None:
        """Run two parts of a stream one after the other."""
        parts = [list(make(Stream.from_iterable(part))) for part in (items[:place], items[place:])]
        self._agree(f"treats each element alone, cut at {place}", "iterated", items, [*parts[0], *parts[1]])

    def pulled(self, make: Make, items: list[Any]) -> None:
        """Run it as a through between modules of pull-stream."""
        ends: list[Exception | None] = []
        found: list[Any] = []
        pull.pull(pull.values(items), pull.through_flow(flow(make)), pull.drain(found.append, ends.append))
        if ends != [None]:
            raise self._broken("agrees with its model as a pull through", "", f"for {items!r} its ends were {ends!r}")
        self._agree("agrees with its model as a pull through", "", items, found)

    def failed(self, form: str, stream: Stream[Any], items: list[Any], *, fails: bool) -> None:
        """Let upstream fail after its last element."""
        probe = self._subscribed(stream, UNBOUNDED)
        probe.wait_for_end()
        self._keeps_rules(form, probe)
        if probe.completed and fails:
            self._agree("a failure of upstream ends it, unless it had ended", form, items, probe.elements)
        elif fails and not isinstance(probe.error, UpstreamError):
            raise self._broken("passes a failure on", form, f"expected UpstreamError, got {probe.error!r}")

    def closed(self, when: str, upstream: Tracked[Any]) -> None:
        """Look whether every run of upstream was closed."""
        try:
            upstream.wait_until_closed()
        except VerificationError as error:
            raise self._broken(f"closes its upstream on {when}", "", str(error)) from None


async def _collected(stream: Stream[Any]) -> list[Any]:
    elements: AsyncIterator[Any] = aiter(stream)
    return [element async for element in elements]
