"""plain: operators that take a collection as it is look for None themselves, and say the same as a loop would."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Stream
from penstock.engine.weaving.segment import no_element
from tests.operators.subjects import failure_of, notes

Combined = Callable[..., Stream[Any]]

COMBINED: dict[str, Combined] = {
    "combine_latest": lambda first, *others: first.combine_latest(*others),
    "concat": lambda first, *others: first.concat(*others),
    "interleave": lambda first, *others: first.interleave(*others),
    "merge": lambda first, *others: first.merge(*others),
    "repeat": lambda first, *_: first.repeat(2),
    "sequence_equal": lambda first, *others: first.sequence_equal(others[0]),
    "switch_if_empty": lambda first, *others: first.switch_if_empty(others[0]),
    "with_latest_from": lambda first, *others: first.with_latest_from(*others),
    "zip": lambda first, *others: first.zip(*others),
}
ALONE = {"repeat", "switch_if_empty"}  # these look at one of them only
each = pytest.mark.parametrize("name", COMBINED)


def streams(rows: list[list[Any]], collection: type) -> list[Stream[Any]]:
    return [Stream.from_iterable(collection(row)) for row in rows]


@each
@pytest.mark.parametrize("collection", [list, tuple, deque])
@pytest.mark.parametrize("count", [2, 3])
@pytest.mark.parametrize("at", [0, 1, 2])
@pytest.mark.parametrize("iterated", [True, False])
def test_a_none_in_a_collection_is_refused(name: str, collection: type, count: int, at: int, iterated: bool) -> None:
    for row in range(1 if name in ALONE else 2 if name == "sequence_equal" else count):
        rows: list[list[Any]] = [[1, 2, 3] for _ in range(count)]
        rows[row][at] = None
        combined = COMBINED[name](*streams(rows, collection))
        if iterated:
            with pytest.raises(TypeError, match="None is not an element") as caught:
                list(combined)
            error: BaseException = caught.value
        else:
            error = failure_of(combined)
        assert str(error) == str(no_element())
        assert notes(error) == ["in the source"]


@each
@pytest.mark.parametrize("count", [2, 3])
def test_collections_give_what_loops_give(name: str, count: int) -> None:
    rows = [[1, 2, 3], [1, 2], [1, 2, 3, 4]][:count]
    plain = COMBINED[name](*streams(rows, list))
    looped = COMBINED[name](*[Stream.from_iterable(iter(row)) for row in rows]) if name != "repeat" else None
    expected = [1, 2, 3, 1, 2, 3] if looped is None else list(looped)
    assert list(plain) == expected


def test_what_has_no_none_in_it_is_iterated_as_it_is() -> None:
    assert type(iter(Stream.from_iterable(range(3)))) is type(iter(range(3)))
    assert list(Stream.from_iterable("ab").zip(Stream.from_iterable(b"ab"))) == [("a", 97), ("b", 98)]
