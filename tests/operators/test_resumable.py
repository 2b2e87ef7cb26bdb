"""resumable: what a function opens from a position, without the positions."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import pytest

from penstock import Stream
from penstock.testing import Promise, check_source
from tests.operators.proof import Proof
from tests.operators.subjects import failure_of, notes, place


@dataclass(frozen=True)
class Numbered:
    """Open a stream, with the numbers of its elements for positions."""

    stream: Stream[Any]

    def __call__(self, after: int | None) -> Stream[tuple[int, Any]]:
        return self.stream.enumerate(1).skip(after or 0)


PROOF = Proof(use=lambda s: Stream.resumable(Numbered(s)), model=lambda xs: xs, promise=Promise())


def pairs(after: int | None) -> list[tuple[int, str]]:
    return [(1, "a"), (2, "b")][after or 0 :]


def test_laws() -> None:
    check_source(lambda: Stream.resumable(pairs), ["a", "b"], examples=10)
    check_source(lambda: Stream.resumable(lambda n: "ab"[n:], counted=True), ["a", "b"], examples=10)


@pytest.mark.parametrize("name", ["open_from", "commit"])
def test_refuses_what_cannot_be_called(name: str) -> None:
    given: dict[str, Any] = {"open_from": pairs, name: 3}
    with pytest.raises(TypeError, match=f"^resumable: {name} must be callable, got 3$"):
        Stream.resumable(**given)


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ("ab", "open_from must give pairs (position, element), got 'ab'"),
        ((1, 2, 3), "open_from must give pairs (position, element), got (1, 2, 3)"),
        ((None, "a"), "None is the beginning and no position, got (None, 'a')"),
    ],
)
def test_what_is_no_pair_is_refused(given: Any, words: str) -> None:
    error = failure_of(Stream.resumable(lambda _: [given]))
    assert isinstance(error, TypeError)
    assert str(error) == f"resumable: {words}"


def fail(after: int | None) -> list[tuple[int, str]]:
    raise ValueError("away")


def test_a_function_that_raises_fails_the_stream_and_is_named() -> None:
    error = failure_of(Stream.resumable(fail))
    assert repr(error) == "ValueError('away')"
    assert notes(error) == [f"in resumable(fail), {place(fail)}"]


def test_none_is_not_an_element() -> None:
    error = failure_of(Stream.resumable(lambda _: [(1, None)]))  # type: ignore[list-item, return-value]
    assert isinstance(error, TypeError)
    assert re.search("None is not an element", str(error))


def test_a_count_begins_at_zero() -> None:
    asked: list[int] = []
    Stream.resumable(lambda n: asked.append(n) or ["a"], counted=True).to_list().get()  # type: ignore[func-returns-value]
    assert asked == [0]


def test_nothing_is_committed_without_a_resumption() -> None:
    told: list[int] = []
    assert list(Stream.resumable(pairs, told.append)) == ["a", "b"]
    assert told == []
