"""walking: functions that would call themselves take no stack however deep they go."""

from __future__ import annotations

import pytest

from penstock.run.walking import Walk, all_of, walked

DEEP = 100_000


def sum_to(n: int) -> Walk[int]:
    if not n:
        return 0
    below: int = yield sum_to(n - 1)
    return below + n


def test_a_walk_may_ask_for_others_as_deep_as_it_likes() -> None:
    assert walked(sum_to(DEEP)) == DEEP * (DEEP + 1) // 2


def test_walks_are_made_in_the_order_in_which_they_are_asked_for() -> None:
    seen: list[str] = []

    def tree(name: str, levels: int) -> Walk[int]:
        seen.append(name)
        if not levels:
            return 1
        counts: list[int] = yield all_of(tree(name + side, levels - 1) for side in "lr")
        return 1 + sum(counts)

    assert walked(tree("", 2)) == 7
    assert seen == ["", "l", "ll", "lr", "r", "rl", "rr"]


def test_a_failure_passes() -> None:
    def fails(n: int) -> Walk[None]:
        if not n:
            raise LookupError("at the bottom")
        yield fails(n - 1)

    with pytest.raises(LookupError, match=r"^at the bottom$"):
        walked(fails(DEEP))


def test_a_walk_that_asks_for_none_has_its_result() -> None:
    assert walked(sum_to(0)) == 0
    assert walked(all_of([])) == []
