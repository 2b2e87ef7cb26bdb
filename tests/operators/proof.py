"""proof: what one operator is held to, said once, in its own test file.

`PROOF = Proof(...)` in `tests/operators/test_<name>.py` brings the operator into the laws on every path, the
conformance kit, the tests of copies, the comparison with reactivex and the benchmarks. The operators that were here
before this was possible have more uses each, in the tables of those tests.
"""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from hypothesis import strategies as st

from penstock import Stream
from penstock.testing import Promise
from scripts.operator_notes import NAMES

NUMBERS = st.integers(0, 9)


@dataclass(frozen=True, kw_only=True)
class Proof:
    """A use of an operator over numbers, and what must come of it."""

    use: Callable[[Stream[Any]], Stream[Any]]
    """The operator over a stream of numbers; functions it is given must be importable, so that it can be pickled."""
    model: Callable[[list[Any]], list[Any]]
    """What comes of all elements, as a list."""
    promise: Promise = Promise()  # noqa: RUF009  a value
    elements: Any = NUMBERS
    passes: Callable[[Stream[Any]], Stream[Any]] | None = None
    """A use that passes every element on, for the kit to verify as a Processor; None if there is none."""
    by_hand: Callable[[Iterable[Any]], Iterable[Any]] | None = None
    """The generator one would write in place of `use`; needed if the operator is synchronous."""
    theirs: Callable[[], Any] | None = None
    """The operator of reactivex that does the same; None if there is none."""


def proof_of(name: str) -> Proof:
    """Return the proof in an operator's test file, or say which line is missing from which file."""
    where = f"tests/operators/test_{name}.py"
    line = f"PROOF = Proof(use=lambda s: s.{name}(...), model=lambda xs: [...])"
    try:
        module = importlib.import_module(f"tests.operators.test_{name}")
    except ModuleNotFoundError:
        raise LookupError(f"{where}: write this file, with the line {line}") from None
    found = getattr(module, "PROOF", None)
    if not isinstance(found, Proof):
        raise LookupError(f"{where}: add the line {line}; tests/operators/proof.py says what else it takes")
    return found


def proofs_beside(*tables: Iterable[str]) -> dict[str, Proof]:
    """Return the proofs of all operators that are in none of the tables."""
    return {name: proof_of(name) for name in sorted(set(NAMES).difference(*tables))}
