"""fixed_share: a share of `make fuzz` that is the same every time, and all that was ever found."""

from __future__ import annotations

import inspect
import pkgutil
from collections.abc import Iterator

import pytest

import penstock.operators
from penstock import set_on_dropped
from tests.fuzz import sources
from tests.fuzz.check import DifferenceError, expression, interleaves
from tests.fuzz.grammar import Chain, Grammar, Seeded, names
from tests.fuzz.kept import KEPT
from tests.fuzz.models import MODELS, OPEN_LANES, SHARING
from tests.fuzz.paths import MACROS, Path, Runner
from tests.fuzz.search import PATHS, find, hold
from tests.fuzz.shrink import run
from tests.operators.proof import proofs_beside

CHAINS = 1200
SHARES = 24
OPERATORS = {found.name for found in pkgutil.iter_modules(penstock.operators.__path__)}
# The operators that no model can foretell from lists, and why.
NOT_DRAWN = {
    "debounce delay delay_subscription interval sample throttle_first time_interval timer timestamp": "by time",
    "conflate on_backpressure_drop on_backpressure_error on_backpressure_latest": "by how much is asked for when",
    "publish": "begins when it is told to",
    "from_awaitable from_callable range": "sources of one kind with others that are drawn",
}


@pytest.fixture(scope="module")
def runner() -> Iterator[Runner]:
    before = set_on_dropped(lambda _: None)  # what a cancel leaves behind is dropped by design
    made = Runner()
    yield made
    made.close()
    set_on_dropped(before)


@pytest.mark.parametrize("share", range(SHARES))
def test_random_chains_agree_with_their_models(runner: Runner, share: int) -> None:
    for number in range(share, CHAINS, SHARES):
        for turn in range(2 * PATHS):
            found = find(runner, number, turn)
            assert found is None, found


@pytest.mark.parametrize(("chain", "path"), KEPT, ids=lambda value: value.mode if isinstance(value, Path) else None)
def test_what_once_differed_agrees(runner: Runner, chain: Chain, path: Path) -> None:
    try:
        hold(runner, chain, path)
    except DifferenceError as found:
        pytest.fail(f"{expression(chain, path)}\n    on {path}\n    {found}", pytrace=False)


def test_every_model_is_drawn() -> None:
    drawn: set[str] = set()
    for seed in range(3000):
        drawn |= names(run(Grammar(Seeded(seed, 0)))[0])
    assert drawn >= MODELS.keys() | SHARING.keys() | OPEN_LANES.keys()
    assert MODELS.keys() >= MACROS.keys()


def test_every_operator_is_drawn_or_said_not_to_be() -> None:
    text = " ".join(
        [
            *(expression(*run(Grammar(Seeded(seed, 0)))) for seed in range(3000)),
            inspect.getsource(sources),
        ]
    )
    drawn = {name for name in OPERATORS if f".{name}(" in text}
    left_out = {name for some in NOT_DRAWN for name in some.split()}
    left_out |= proofs_beside(drawn, left_out).keys()  # the laws hold them to the model of their own test file
    assert drawn | left_out == OPERATORS
    assert not drawn & left_out


@pytest.mark.parametrize(
    ("found", "whole", "fits"),
    [
        ([1, 3, 2, 4], True, True),
        ([2, 1, 3, 4], True, False),
        ([1, 3], True, False),
        ([1, 3], False, True),
        ([3, 4, 1, 2, 5], False, False),
    ],
)
def test_interleavings_keep_the_order_of_each_lane(found: list[int], whole: bool, fits: bool) -> None:
    assert interleaves([[1, 2], [3, 4]], found, whole=whole) is fits
