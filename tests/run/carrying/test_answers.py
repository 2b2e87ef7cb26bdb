"""Answers about a whole stream: what they are made of is done when they have come to the end, and not before."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Sink, Stream
from tests.run.carrying.ledger import WAIT, Ledger

ANSWERS: dict[str, Callable[[Stream[int]], Stream[Any]]] = {
    "all": lambda numbers: numbers.all(lambda n: n < 20),
    "all, of none but the last": lambda numbers: numbers.all(lambda n: n < 10),
    "any": lambda numbers: numbers.any(lambda n: n == 7),
    "contains": lambda numbers: numbers.contains(20),
    "element_at": lambda numbers: numbers.element_at(5),
    "is_empty": lambda numbers: numbers.is_empty(),
    "count, all": lambda numbers: numbers.count().all(lambda n: n > 0),
    "last": lambda numbers: numbers.last(),
}


@pytest.mark.parametrize("name", ANSWERS)
def test_nothing_is_told_if_the_answer_did_not_come_to_the_end(name: str) -> None:
    def refuse(_: object) -> None:
        raise LookupError("the end failed")

    source = Ledger(10)
    with pytest.raises(LookupError, match=r"^the end failed"):
        (ANSWERS[name](source.stream(window=4)) | Sink.for_each(refuse)).run().wait(WAIT)
    assert source.told == []


@pytest.mark.parametrize("name", ANSWERS)
def test_what_an_answer_was_made_of_is_told_behind_it(name: str) -> None:
    source = Ledger(10)
    (ANSWERS[name](source.stream(window=4)) | Sink.for_each(str)).run().wait(WAIT)
    assert source.told
