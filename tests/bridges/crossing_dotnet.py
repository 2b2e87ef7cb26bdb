"""The crossings to the .NET text's names and back."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from penstock import Stream, flow, processor
from penstock.bridges.dotnet import from_dotnet, to_dotnet
from tests.bridges.crossings import Crossing


def publisher(stream: Stream[Any]) -> AbstractContextManager[Stream[Any]]:
    return nullcontext(from_dotnet(to_dotnet(stream)))


def through_a_processor(stream: Stream[Any]) -> AbstractContextManager[Stream[Any]]:
    """Pass a processor whose names have been changed there and back; it serves one subscriber."""

    def made() -> Stream[Any]:
        middle = from_dotnet(to_dotnet(processor(flow(lambda elements: elements.map(lambda element: element)))))
        stream.subscribe(middle)
        return Stream.from_publisher(middle)

    return nullcontext(Stream.defer(made))


CROSSINGS = [
    Crossing(".NET publisher", publisher, window=0),
    Crossing(".NET processor", through_a_processor, window=0),
]
