"""parts: how the tests of penstock.pull read modules and look at what was said."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from penstock import Dropped, pull, set_on_dropped
from penstock.spec.pull_interfaces import end_of


class Asker:
    """Make requests by hand and keep the answers as `(end, value)`."""

    def __init__(self, source: Any) -> None:
        self.read = source
        self.answers: list[tuple[Any, Any]] = []

    def answer(self, end: Any, value: Any = None, /) -> None:
        self.answers.append((end_of(end), value))

    def ask(self, count: int = 1) -> Asker:
        for _ in range(count):
            self.read(None, self.answer)
        return self

    def abort(self, reason: Any = True) -> Asker:
        self.read(reason, self.answer)
        return self

    @property
    def values(self) -> list[Any]:
        return [value for end, value in self.answers if end is None]

    @property
    def ends(self) -> list[Any]:
        return [end for end, _ in self.answers if end is not None]


class Upstream:
    """Be a source that is answered by hand, and keeps what it was asked."""

    def __init__(self) -> None:
        self.waiting: list[Any] = []
        self.aborts: list[Any] = []
        self.confirmations: list[Any] = []

    def __call__(self, abort: Any, answer: Any = None) -> None:
        if abort is None:
            self.waiting.append(answer)
        else:
            self.aborts.append(abort)
            self.confirmations.append(answer)

    def give(self, value: Any) -> None:
        self.waiting.pop(0)(None, value)

    def end(self, end: Any = True) -> None:
        self.waiting.pop(0)(end)

    def confirm(self, end: Any = True) -> None:
        while self.waiting:
            self.waiting.pop(0)(end)
        answer = self.confirmations.pop(0)
        if answer is not None:
            answer(end)


def collected(*modules: Any) -> tuple[Exception | None, list[Any]]:
    """Run modules into a collect, which must end, and return what it told."""
    told: list[tuple[Exception | None, list[Any]]] = []
    pull.pull(*modules, pull.collect(lambda error, found: told.append((error, found))))
    (result,) = told
    return result


def values_of(*modules: Any) -> list[Any]:
    """Run modules to a good end and return the values."""
    error, found = collected(*modules)
    assert error is None
    return found


def raising(error: Exception, at: Any = None) -> Any:
    """Return a function of any arguments that raises at a value, or at once."""

    def fn(*arguments: Any) -> Any:
        if at is None or arguments[-1] == at:
            raise error
        return arguments[-1]

    return fn


@contextmanager
def dropped() -> Iterator[list[Dropped]]:
    """Collect what goes to the hook for what cannot be delivered."""
    found: list[Dropped] = []
    before = set_on_dropped(found.append)
    try:
        yield found
    finally:
        set_on_dropped(before)


@contextmanager
def nothing_dropped() -> Iterator[None]:
    """See that nothing goes to the hook."""
    with dropped() as found:
        yield
    assert found == []


@contextmanager
def refuses(error: type[Exception], message: str) -> Iterator[None]:
    """Expect an error with that message, as a whole, whatever notes it has."""
    with pytest.raises(error) as caught:
        yield
    assert str(caught.value) == message
