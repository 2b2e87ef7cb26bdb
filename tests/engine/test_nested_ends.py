"""nested_ends: how often streams inside of streams are asked whether they are over before they are read."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from penstock import Stream
from penstock.operators.combine_latest import CombineLatest
from penstock.operators.join import Join
from penstock.operators.zip import Zip

DEEP = 12
NESTS: dict[str, tuple[type[Any], Callable[[Stream[Any]], Stream[Any]]]] = {
    "zip": (Zip, lambda s: s.zip(Stream.range(3))),
    "combine_latest": (CombineLatest, lambda s: s.combine_latest(Stream.range(3))),
    "join": (Join, lambda s: s.join(Stream.range(3), key=str, other_key=str, how="outer")),
}


@pytest.mark.parametrize("name", NESTS)
def test_a_level_more_does_not_double_the_questions(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    operator, nest = NESTS[name]
    asked = 0
    length = operator.length

    def counted(self: Any) -> int | None:
        nonlocal asked
        asked += 1
        return length(self)  # type: ignore[no-any-return]

    monkeypatch.setattr(operator, "length", counted)
    stream: Stream[Any] = Stream.range(3)
    for _ in range(DEEP):
        stream = nest(stream)
    assert len(list(stream.take(1))) == 1
    assert DEEP <= asked <= 4 * DEEP * DEEP
