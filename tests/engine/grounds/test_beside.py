"""beside: what a run hears of another stream, until that has ended or is left."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Dropped
from penstock.engine.grounds.beside import Beside
from penstock.engine.words.demand import UNBOUNDED


class Calls:
    """A subscription that notes what is called."""

    def __init__(self) -> None:
        self.calls: list[object] = []

    def request(self, n: int, /) -> None:
        self.calls.append(n)

    def cancel(self) -> None:
        self.calls.append("cancel")


def heard() -> tuple[Beside, list[Any]]:
    signals: list[Any] = []
    return Beside(0, signals.append, signals.append), signals


def test_hands_on_elements_and_the_end_once() -> None:
    beside, signals = heard()
    calls = Calls()
    beside.on_subscribe(calls)
    beside.on_next(1)
    beside.on_complete()
    beside.on_next(2)
    beside.on_complete()
    assert signals == [1, None]
    assert calls.calls == [UNBOUNDED]


def test_a_failure_after_the_end_or_the_cancel_goes_to_the_hook(dropped: list[Dropped]) -> None:
    beside, signals = heard()
    error, late = ValueError("first"), ValueError("late")
    beside.on_error(error)
    beside.on_error(late)
    assert signals == [error]
    assert [found.error for found in dropped] == [late]
    beside, signals = heard()
    beside.cancel()
    beside.on_error(error)
    assert signals == []
    assert [found.error for found in dropped] == [late, error]
    dropped.clear()


def test_a_subscription_that_comes_after_the_cancel_is_cancelled() -> None:
    beside, _ = heard()
    calls = Calls()
    beside.cancel()
    beside.on_subscribe(calls)
    assert calls.calls == ["cancel"]


def test_none_is_refused() -> None:
    beside, signals = heard()
    with pytest.raises(TypeError, match=r"^rule 2\.13: on_next\(None\): None is not allowed here$"):
        beside.on_next(None)
    with pytest.raises(TypeError, match=r"^rule 2\.13: on_error\(None\): None is not allowed here$"):
        beside.on_error(None)  # type: ignore[arg-type]
    assert signals == []
