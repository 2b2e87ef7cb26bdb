"""The crossing to reactivex and back, with a Subject that carries the demand."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

import reactivex
from reactivex import operators
from reactivex.subject import Subject

from penstock import Overflow, Stream
from penstock.bridges.reactivex import from_observable, to_observable
from tests.bridges.crossings import Crossing


def observable(stream: Stream[Any]) -> AbstractContextManager[Stream[Any]]:
    def crossed() -> Stream[Any]:
        requests: Subject[int] = Subject()
        there: reactivex.Observable[Any] = to_observable(stream, requests=requests).pipe(operators.map(lambda n: n))
        return from_observable(there, overflow=Overflow.ERROR, size=1, requests=requests)

    return nullcontext(Stream.defer(crossed))


CROSSINGS = [Crossing("reactivex", observable, window=0)]
