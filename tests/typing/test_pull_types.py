"""pull_types: what mypy and pyright must both infer of pull-stream modules; read by the checkers and run by pytest."""

from __future__ import annotations

from collections.abc import AsyncIterator
from typing import Any, assert_type

from penstock import Stream, flow, pull


def text(n: int) -> str:
    return str(n)


def short(word: str) -> bool:
    return len(word) < 3


def told(error: Exception | None, found: list[str]) -> None:
    assert error is None


async def later(n: int) -> str:
    return str(n)


def test_sources() -> None:
    assert_type(pull.values([1, 2]), pull.PullSource[int])
    assert_type(pull.values({"a": 1}), pull.PullSource[int])
    assert_type(pull.keys({"a": 1}), pull.PullSource[str])
    assert_type(pull.once("a"), pull.PullSource[str])
    assert_type(pull.count(), pull.PullSource[int])
    assert_type(pull.infinite(), pull.PullSource[float])
    assert_type(pull.infinite(lambda: "again"), pull.PullSource[str])
    assert_type(pull.cat([pull.count(1), pull.values([2])]), pull.PullSource[int])
    assert_type(pull.merge([pull.count(1), pull.values([2])]), pull.PullSource[int])
    assert_type(pull.zip_sources(pull.count(1), pull.values("a")), pull.PullSource[tuple[Any, ...]])


def test_throughs() -> None:
    assert_type(pull.map(text), pull.PullThrough[int, str])
    assert_type(pull.filter(short), pull.PullThrough[str, str])
    assert_type(pull.async_map(later), pull.PullThrough[int, str])
    assert_type(pull.para_map(later, 4), pull.PullThrough[int, str])
    assert_type(pull.map(text) | pull.filter(short), pull.PullThrough[int, str])
    assert_type(pull.pull(pull.map(text), pull.filter(short)), pull.PullThrough[int, str])
    assert_type(pull.map(text) | pull.collect(told), pull.PullSink[int, None])


def test_types_go_through_a_pipeline() -> None:
    assert_type(pull.pull(pull.count(3), pull.map(text)), pull.PullSource[str])
    assert_type(pull.pull(pull.count(3), pull.map(text), pull.filter(short)), pull.PullSource[str])
    assert_type(pull.pull(pull.count(3), pull.map(lambda n: n / 2)), pull.PullSource[float])
    assert_type(pull.pull(pull.count(3), pull.flat_map(alone), pull.scan(joined, "")), pull.PullSource[str])
    assert_type(pull.count(3) | pull.flat_map(alone) | pull.scan(joined, ""), pull.PullSource[str])
    assert_type(pull.count(3) | pull.map(text) | pull.filter(short), pull.PullSource[str])
    pull.pull(pull.count(3), pull.map(text), pull.take(2), pull.collect(told))
    _ = pull.count(3) | pull.map(text) | pull.collect(told)


def alone(n: int) -> list[int]:
    return [n]


def joined(sofar: str, n: int) -> str:
    return f"{sofar}{n}"


def test_neighbours() -> None:
    @flow
    def texts(numbers: Stream[int]) -> Stream[str]:
        return numbers.map(text)

    assert_type(pull.to_publisher(pull.count(2)), Stream[int])
    assert_type(pull.from_publisher(Stream.range(2)), pull.PullSource[int])
    assert_type(pull.through_flow(texts), pull.PullThrough[int, str])
    assert_type(pull.to_async_iter(pull.count(2)), AsyncIterator[int])
    assert_type(pull.dataflow(pull.count(2)), pull.Dataflow[int])
