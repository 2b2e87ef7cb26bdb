"""laws: what holds for every operator, as one call.

A stage or a joint is held against a model, a function from the list of all elements to the list of all results:

- it agrees with its model however demand is sliced, whether upstream is iterated, signals, or is asynchronous;
- it never emits more than was requested, and keeps the other rules a subscriber can see;
- two runs of it share nothing;
- it closes its upstream on completion, on error and on cancel, and says nothing after a cancel;
- a failure of upstream ends it: it is passed on, unless the operator had ended already;
- a stage pickles to an equal value that does the same;
- a stage that says it treats each element alone (Sight.ITEM) gives the same for a stream that is cut in two;
- a stage gives the same as a through of a pull-stream.

hypothesis makes the examples; it is imported when a check is called.
"""

from __future__ import annotations

import pickle
from collections.abc import AsyncIterator, Callable, Sequence
from enum import Enum
from importlib import import_module
from itertools import cycle
from typing import Any

from penstock import pull
from penstock.engine.demand import UNBOUNDED
from penstock.engine.loops import blocking, lease_loop
from penstock.flow import flow
from penstock.stage import Sight, Stage
from penstock.stream import Stream
from penstock.testing.probe import Probe
from penstock.testing.signals import PATIENCE, VerificationError, spoken
from penstock.testing.tracked import Tracked

Make = Callable[[Stream[Any]], Stream[Any]]
Model = Callable[[list[Any]], list[Any]]


class Form(Enum):
    """Say how upstream gives its elements: it is iterated, it signals, or it is iterated asynchronously."""

    ITERATED = "iterated"
    SIGNALLED = "signalled"
    ASYNCHRONOUS = "asynchronous"

    def over(self, items: Tracked[Any]) -> Stream[Any]:
        """Return an upstream of this form."""
        if self is Form.ITERATED:
            return Stream.from_iterable(items)
        if self is Form.SIGNALLED:
            return Stream.from_publisher(Stream.from_iterable(items))
        return Stream.from_async_iterable(items)


class UpstreamError(Exception):
    """Be the failure of an upstream in a law."""


def check_stage(
    stage: Stage[Any, Any],
    model: Model,
    elements: Any,
    *,
    pickles: bool = True,
    examples: int = 25,
    patience: float = PATIENCE,
) -> None:
    """Hold a stage against its model and the laws; `elements` is a hypothesis strategy for one element.

    A stage whose functions cannot be pickled is checked with `pickles=False`.

    >>> from hypothesis import strategies as st
    >>> from penstock.operators.take import Take
    >>> check_stage(Take(2), lambda xs: xs[:2], st.integers(), examples=3)
    """
    copy = _pickled(stage) if pickles else stage

    def make(stream: Stream[Any]) -> Stream[Any]:
        return Stream(stream.chain.then(copy))

    with Laws(f"check_stage({stage!r})", model, patience=patience) as laws:
        alone = stage.sight is Sight.ITEM
        _check(laws, make, elements, examples, fails=True, forms=tuple(Form), alone=alone, pulled=True)


def check_joint(
    make: Make,
    model: Model,
    elements: Any,
    *,
    ordered: bool = True,
    fails: bool = True,
    forms: Sequence[Form] = tuple(Form),
    examples: int = 25,
    patience: float = PATIENCE,
) -> None:
    """Hold what a function adds to a stream against its model and the laws.

    With `ordered=False` the order of the elements does not matter; with `fails=False` neither does what becomes of a
    failure of upstream.

    >>> from hypothesis import strategies as st
    >>> check_joint(lambda stream: stream.timeout(60), lambda elements: elements, st.integers(), examples=3)
    """
    with Laws("check_joint", model, ordered=ordered, patience=patience) as laws:
        _check(laws, make, elements, examples, fails=fails, forms=forms)


def check_source(
    make: Callable[[], Stream[Any]],
    expected: list[Any],
    *,
    ordered: bool = True,
    examples: int = 25,
    patience: float = PATIENCE,
) -> None:
    """Hold a source that can be subscribed again and again against the elements it must give, and the laws.

    >>> check_source(lambda: Stream.range(3), [0, 1, 2], examples=3)
    """

    def check(sizes: list[int], stop: int) -> None:
        for slices in (sizes, [1], [UNBOUNDED]):
            laws.sliced("", make(), [], slices)
        laws.shares_nothing("", make(), [])
        laws.iterated("", make(), [])
        laws.cancelled("", make(), stop)

    strategies = _hypothesis("check_source").strategies
    with Laws("check_source", lambda _: expected, ordered=ordered, patience=patience) as laws:
        _for_all("check_source", examples, check, _sizes(strategies), strategies.integers(0, len(expected) + 1))


def _check(
    laws: Laws,
    make: Make,
    elements: Any,
    examples: int,
    *,
    fails: bool,
    forms: Sequence[Form],
    alone: bool = False,
    pulled: bool = False,
) -> None:
    patience = laws.patience

    def check(items: list[Any], sizes: list[int], stop: int) -> None:
        for form in forms:
            for slices in (sizes, [1], [UNBOUNDED]):
                upstream = Tracked(items, patience=patience)
                laws.sliced(form.value, make(form.over(upstream)), items, slices)
                laws.closed(f"completion, {form.value}", upstream)
            upstream = Tracked(items, patience=patience)
            laws.shares_nothing(form.value, make(form.over(upstream)), items)
            laws.iterated(form.value, make(form.over(upstream)), items)
            laws.cancelled(form.value, make(form.over(upstream)), stop)
            laws.closed(f"cancel, {form.value}", upstream)
            failing = Tracked(items, UpstreamError("upstream failed"), patience=patience)
            laws.failed(form.value, make(form.over(failing)), items, fails=fails)
            laws.closed(f"error, {form.value}", failing)
        if alone:
            laws.cut(make, items, stop)
        if pulled:
            laws.pulled(make, items)

    strategies = _hypothesis(laws.call).strategies
    lists = strategies.lists(elements, max_size=9)
    _for_all(laws.call, examples, check, lists, _sizes(strategies), strategies.integers(0, 9))


class Laws:
    """Check single laws, each on one example."""

    def __init__(self, call: str, model: Model, *, ordered: bool = True, patience: float = PATIENCE) -> None:
        self.call = call
        self.patience = patience
        self._model = model
        self._ordered = ordered
        self._runner = import_module("asyncio").Runner()

    def __enter__(self) -> Laws:
        with blocking():
            self._lease = lease_loop()  # so that all asynchronous runs use one loop, and none starts its own
        return self

    def __exit__(self, *exc: object) -> None:
        self._lease.release()
        self._runner.close()

    def _broken(self, law: str, form: str, found: str) -> VerificationError:
        return VerificationError(f"{self.call}: law '{law}'{f', upstream {form}' if form else ''}: {found}")

    def _agree(self, law: str, form: str, items: list[Any], found: list[Any]) -> None:
        wanted = self._model(list(items))
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
            _ask(probe, size)
        self._keeps_rules(form, probe)
        law = f"agrees with its model when {sizes if sizes != [UNBOUNDED] else 'all'} are requested"
        if probe.error is not None:
            raise self._broken(law, form, f"for {items!r} it failed with {probe.error!r}")
        self._agree(law, form, items, probe.elements)

    def iterated(self, form: str, stream: Stream[Any], items: list[Any]) -> None:
        """Take the elements in a `for` and in an `async for` loop."""
        self._agree("agrees with its model in a for loop", form, items, list(stream))
        self._agree("agrees with its model in an async for loop", form, items, self._runner.run(_collected(stream)))

    def shares_nothing(self, form: str, stream: Stream[Any], items: list[Any]) -> None:
        """Run two subscriptions of one stream in turns."""
        probes = [self._subscribed(stream), self._subscribed(stream)]
        while not all(probe.ended for probe in probes):
            for probe in probes:
                if not probe.ended:
                    _ask(probe, 1)
        for probe in probes:
            self._keeps_rules(form, probe)
            self._agree("two runs share nothing", form, items, probe.elements)

    def cancelled(self, form: str, stream: Stream[Any], stop: int) -> None:
        """Cancel after `stop` elements: when no more are asked for, and inside `on_next` while all are."""
        probe = self._subscribed(stream)
        if stop:
            _ask(probe, stop)
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


def _ask(probe: Probe[Any], size: int) -> None:
    """Request, and wait until all of it or the end has come."""
    wanted = len(probe.elements) + size
    probe.request(size)
    probe.wait_until(lambda: probe.ended or len(probe.elements) >= wanted, f"{size} more elements or the end")


async def _collected(stream: Stream[Any]) -> list[Any]:
    elements: AsyncIterator[Any] = aiter(stream)
    return [element async for element in elements]


def _pickled(stage: Stage[Any, Any]) -> Stage[Any, Any]:
    try:
        copy: Stage[Any, Any] = pickle.loads(pickle.dumps(stage))
    except (pickle.PicklingError, AttributeError, TypeError) as error:
        raise VerificationError(
            f"check_stage({stage!r}): law 'pickles to an equal value': {error}; use functions of a module, "
            "or say pickles=False"
        ) from error
    if copy != stage:
        raise VerificationError(f"check_stage({stage!r}): law 'pickles to an equal value': got {copy!r}")
    return copy


def _hypothesis(call: str) -> Any:
    try:
        import_module("hypothesis.strategies")
        return import_module("hypothesis")
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"{call}: the laws need hypothesis; say pip install hypothesis") from error


def _sizes(strategies: Any) -> Any:
    return strategies.lists(strategies.integers(1, 4), min_size=1, max_size=4)


def _for_all(call: str, examples: int, check: Callable[..., None], *strategies: Any) -> None:
    hypothesis = _hypothesis(call)
    phases = hypothesis.Phase
    quiet = hypothesis.settings(
        max_examples=examples,
        deadline=None,
        database=None,
        phases=(phases.generate, phases.shrink),
        report_multiple_bugs=False,
        suppress_health_check=list(hypothesis.HealthCheck),
    )
    quiet(hypothesis.given(*strategies)(check))()
