"""checks: hold stages, functions of streams and sources against their models, with examples of hypothesis."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Sequence
from typing import Any

from penstock.engine.words.arguments import function_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Sight, Stage
from penstock.stream import Stream
from penstock.testing.laws.answers import Laws
from penstock.testing.laws.examples import for_all, hypothesis_for, sizes
from penstock.testing.laws.forms import FIRST_FORMS, Form, UpstreamError
from penstock.testing.laws.promise import Make, Model
from penstock.testing.signals import PATIENCE, VerificationError
from penstock.testing.tracked import Tracked


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
        return Stream(stream._chain.then(copy))

    with Laws(f"check_stage({stage!r})", model, patience=patience) as laws:
        alone = stage.sight is Sight.ITEM
        _check(laws, make, elements, examples, fails=True, forms=FIRST_FORMS, alone=alone, pulled=True)


def check_joint(
    make: Make,
    model: Model,
    elements: Any,
    *,
    ordered: bool = True,
    fails: bool = True,
    forms: Sequence[Form] = FIRST_FORMS,
    examples: int = 25,
    patience: float = PATIENCE,
) -> None:
    """Hold what a function adds to a stream against its model and the laws.

    With `ordered=False` the order of the elements does not matter; with `fails=False` neither does what becomes of a
    failure of upstream.

    >>> from hypothesis import strategies as st
    >>> check_joint(lambda stream: stream.timeout(60), lambda elements: elements, st.integers(), examples=3)
    """
    function_given("check_joint", "make", make)
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
    function_given("check_source", "make", make)

    def check(sizes: list[int], stop: int) -> None:
        for slices in (sizes, [1], [UNBOUNDED]):
            laws.sliced("", make(), [], slices)
        laws.shares_nothing("", make(), [])
        laws.iterated("", make(), [])
        laws.cancelled("", make(), stop)

    strategies = hypothesis_for("check_source").strategies
    with Laws("check_source", lambda _: expected, ordered=ordered, patience=patience) as laws:
        for_all("check_source", examples, check, sizes(strategies), strategies.integers(0, len(expected) + 1))


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

    strategies = hypothesis_for(laws.call).strategies
    lists = strategies.lists(elements, max_size=9)
    for_all(laws.call, examples, check, lists, sizes(strategies), strategies.integers(0, 9))


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
