"""contract: hold an operator to the engine's contract, on every path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import reduce
from random import Random
from typing import Any

from penstock.engine.words.arguments import function_given
from penstock.stage import Stage
from penstock.stream import Stream
from penstock.testing.laws.case import BrokenError, Case
from penstock.testing.laws.examples import sampled
from penstock.testing.laws.forms import Form
from penstock.testing.laws.law_ends import (
    a_failure_comes_behind_what_was_produced,
    agrees_however_it_is_taken,
    an_end_needs_no_demand,
    the_end_comes_with_the_last_element,
)
from penstock.testing.laws.law_leaving import everything_is_let_go, two_runs_share_nothing
from penstock.testing.laws.law_parties import (
    a_subscriber_that_raises_is_let_go,
    makes_the_four_calls_and_no_other,
    whatever_is_raised_arrives,
)
from penstock.testing.laws.law_reads import reads_no_more_than_it_states
from penstock.testing.laws.promise import Expected, Make, Model, Promise, differing
from penstock.testing.laws.session import Session
from penstock.testing.signals import PATIENCE, VerificationError


@dataclass(frozen=True, slots=True)
class Law:
    """A law: its name, and the function that holds one case to it."""

    name: str
    hold: Callable[[Case], None]


def _law(hold: Callable[[Case], None]) -> Law:
    return Law(hold.__name__.replace("_", " "), hold)


LAWS: tuple[Law, ...] = tuple(
    map(
        _law,
        (
            agrees_however_it_is_taken,
            an_end_needs_no_demand,
            the_end_comes_with_the_last_element,
            reads_no_more_than_it_states,
            a_failure_comes_behind_what_was_produced,
            makes_the_four_calls_and_no_other,
            a_subscriber_that_raises_is_let_go,
            whatever_is_raised_arrives,
            everything_is_let_go,
            two_runs_share_nothing,
        ),
    )
)
"""The laws of the contract, in the order in which they are tried."""


def check_contract(
    make: Make,
    model: Model,
    elements: Any,
    promise: Promise = Promise(),  # noqa: B008  a value
    *,
    forms: Sequence[Form] = tuple(Form),
    laws: Sequence[Law] = LAWS,
    examples: int = 1,
    patience: float = PATIENCE,
    call: str = "check_contract",
) -> None:
    """Hold what a function adds to a stream to the engine's contract; say each law that is broken, and on which path.

    `elements` is a hypothesis strategy for one element, which must have several values. `promise` says what the
    operator states beyond its model. Each law is tried with no elements, one, two, three and five, `examples` times.

    >>> from hypothesis import strategies as st
    >>> check_contract(lambda stream: stream.map(abs), lambda elements: [*map(abs, elements)], st.integers())
    """
    function_given(call, "make", make)
    function_given(call, "model", model)
    pool = differing(sampled(call, elements))
    if len(pool) < 2:
        raise ValueError(f"{call}: elements must have several values, got {pool!r}")
    if promise.reads is None:
        promise = replace(promise, reads=_stated_by_stages(call, make))
    expected = Expected(model, promise, pool)
    broken: list[str] = []
    with Session(patience) as session:
        for form in forms:
            for law in laws:
                found = _tried(law, form, make, expected, promise, session, list(_rows(pool, examples)))
                if found:
                    broken.append(f"{call}: law '{law.name}', upstream {form.value}: {found}")
    if broken:
        raise VerificationError("\n".join(broken))


def _stated_by_stages(call: str, make: Make) -> Callable[[int], int] | None:
    """Return what the stages ask for when so many results are wanted, if there is nothing else and they say so."""
    made: object = make(Stream.empty())
    if not isinstance(made, Stream):
        raise TypeError(f"{call}: make must return a Stream, got {made!r}")
    steps = made._chain.steps
    stages = [step for step in steps if isinstance(step, Stage) and type(step).demand is not Stage.demand]
    if not stages or not all(isinstance(step, Stage) for step in steps):
        return None
    return lambda wanted: reduce(lambda asked, stage: stage.demand(asked), reversed(stages), wanted)


def _rows(pool: list[Any], examples: int) -> Iterator[list[Any]]:
    random = Random(0)
    yield []
    for _ in range(examples):
        for count in (1, 2, 3, 5):
            yield random.choices(pool, k=count)


def _tried(
    law: Law,
    form: Form,
    make: Make,
    expected: Expected,
    promise: Promise,
    session: Session,
    rows: list[list[Any]],
) -> str:
    """Return what was found where the law is broken, with the fewest elements."""
    for items in rows:
        try:
            law.hold(Case(make, expected, promise, form, items, session))
        except BrokenError as error:
            return str(error)
        except VerificationError as error:
            return f"for {items!r} {error}"
    return ""
