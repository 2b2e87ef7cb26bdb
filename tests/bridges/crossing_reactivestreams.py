"""The crossing to the package `reactivestreams` and back."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from penstock import Stream
from penstock.bridges.reactivestreams import from_publisher, to_publisher
from tests.bridges.crossings import Crossing


def there_and_back(stream: Stream[Any]) -> AbstractContextManager[Stream[Any]]:
    return nullcontext(from_publisher(to_publisher(stream)))


CROSSINGS = [Crossing("reactivestreams", there_and_back, window=0)]
