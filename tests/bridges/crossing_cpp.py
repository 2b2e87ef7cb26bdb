"""The crossing to the C++ dialect and back."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from penstock import Stream
from penstock.bridges.cpp import from_cpp, to_cpp
from tests.bridges.crossings import Crossing


def cross(stream: Stream[Any]) -> AbstractContextManager[Stream[Any]]:
    return nullcontext(from_cpp(to_cpp(stream)))


CROSSINGS = [Crossing("C++ dialect", cross, window=0)]
