"""fixed_share: a share of `make fuzz` that is the same every time, and all that was ever found."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from penstock import set_on_dropped
from tests.fuzz.check import DifferenceError, check, expression, interleaves
from tests.fuzz.grammar import Chain, Grammar, Seeded, names
from tests.fuzz.kept import KEPT
from tests.fuzz.models import MODELS, OPEN_LANES, SHARING
from tests.fuzz.paths import MACROS, Path, Runner
from tests.fuzz.search import PATHS, find
from tests.fuzz.shrink import run

CHAINS = 1200
SHARES = 24


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
        for turn in range(PATHS // 2):
            found = find(runner, number, turn)
            assert found is None, found


@pytest.mark.parametrize(("chain", "path"), KEPT, ids=lambda value: value.mode if isinstance(value, Path) else None)
def test_what_once_differed_agrees(runner: Runner, chain: Chain, path: Path) -> None:
    try:
        check(runner, chain, path)
    except DifferenceError as found:
        pytest.fail(f"{expression(chain, path)}\n    on {path}\n    {found}", pytrace=False)


def test_every_model_is_drawn() -> None:
    drawn: set[str] = set()
    for seed in range(3000):
        drawn |= names(run(Grammar(Seeded(seed, 0)))[0])
    assert drawn >= MODELS.keys() | SHARING.keys() | OPEN_LANES.keys()
    assert MODELS.keys() >= MACROS.keys()


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
