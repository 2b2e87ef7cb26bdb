"""functions: functions of a user's that are given carried elements and see their values.

Each has the name and the code of the function that it calls, so that an error says where it was written.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.engine.weaving.blame import function_name, note_on
from penstock.engine.weaving.segment import no_element
from penstock.engine.words.arguments import code_of
from penstock.engine.words.several import items_of
from penstock.run.carrying.marks import Carried
from penstock.stage import Body, Gives, Sight, Stage


@dataclass(frozen=True, slots=True)
class Positions(Stage[Any, Any]):
    """A step that a run adds to a chain for the sake of positions: what `map` does, under another name."""

    fn: Callable[[Any], Any]
    sight: ClassVar[Sight] = Sight.ITEM
    gives: ClassVar[Gives] = Gives.ONE
    loop: ClassVar[Body] = Body("v = {fn}(v)\nif v is None: none")


class _Lifted:
    """A function in the place of another one."""

    def __init__(self, fn: Callable[..., Any]) -> None:
        self.fn = fn
        self.__qualname__ = function_name(fn)
        code = code_of(fn)
        if code is not None:
            self.__code__ = code


class OfValue(_Lifted):
    """A function of the value, whose result is taken as it is."""

    def __call__(self, element: Carried) -> Any:
        return self.fn(element.value)


class Becomes(_Lifted):
    """A function whose result is what the element becomes."""

    def __call__(self, element: Carried) -> Carried:
        return element.made(self.fn(element.value))


class Flattened(_Lifted):
    """A function that gives an iterable for an element, which is done when all items of the iterable are."""

    def __init__(self, fn: Callable[..., Any], note: str) -> None:
        super().__init__(fn)
        self._note = note

    def __call__(self, element: Carried) -> Iterator[Carried]:
        try:
            for item in items_of(self.fn(element.value), None)[0]:
                if item is None:
                    raise no_element()
                yield element.also(item)
        except Exception as error:
            note_on(error, self._note)
            raise
        element.done()


class BecomesLater(_Lifted):
    """An asynchronous function whose result is what the element becomes."""

    async def __call__(self, element: Carried) -> Carried | None:
        value = await self.fn(element.value)
        return None if value is None else element.made(value)


class KeptIf(_Lifted):
    """An asynchronous predicate; an element for which it is false is done."""

    async def __call__(self, element: Carried) -> object:
        kept = await self.fn(element.value)
        if not kept:
            element.done()
        return kept


class WhenDropped(_Lifted):
    """A function that is told of an element which is dropped, and is done when it has returned; it may be missing."""

    def __init__(self, fn: Callable[[Any], object] | None) -> None:
        super().__init__(fn or _ignored)

    def __call__(self, element: Carried) -> None:
        self.fn(element.value)
        element.done()


class Unmarked(_Lifted):
    """A function whose result comes of no element of a source."""

    def __call__(self, *arguments: Any) -> Carried:
        return Carried(self.fn(*arguments))


class Called(_Lifted):
    """A function that has been called already, and gives what it gave."""

    def __init__(self, fn: Callable[..., Any], given: Any, error: Exception | None = None) -> None:
        super().__init__(fn)
        self._given = given
        self._error = error

    def __call__(self) -> Any:
        if self._error is not None:
            raise self._error
        return self._given


def maybe(kind: Callable[[Callable[..., Any]], Any], fn: Callable[..., Any] | None) -> Any:
    """Lift a function that may be missing."""
    return None if fn is None else kind(fn)


def _ignored(_: Any) -> None:
    pass


__all__ = ["Becomes", "BecomesLater", "Called", "Flattened", "KeptIf", "OfValue", "Unmarked", "WhenDropped", "maybe"]
