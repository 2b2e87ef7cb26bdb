"""The crossings to pull-stream and back."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from penstock import Stream, flow, pull
from tests.bridges.crossings import Crossing


@flow
def same(elements: Stream[Any]) -> Stream[Any]:
    return elements.map(lambda element: element)


def source(stream: Stream[Any]) -> AbstractContextManager[Stream[Any]]:
    """Cross at every subscription: a pull source is read once."""
    return nullcontext(Stream.defer(lambda: pull.to_publisher(pull.from_publisher(stream))))


def modules(stream: Stream[Any]) -> AbstractContextManager[Stream[Any]]:
    return nullcontext(
        Stream.defer(
            lambda: pull.to_publisher(
                pull.pull(pull.from_publisher(stream), pull.map(lambda n: n), pull.through_flow(same))
            )
        )
    )


CROSSINGS = [Crossing("pull source", source, window=0), Crossing("pull modules", modules, window=0)]
