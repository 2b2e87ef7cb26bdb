"""functions: what the steps of random chains call; values that print as the code that makes them, on any element."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

from penstock import Completed, Failed, Next


class Boom(Exception):
    """Fail on purpose; two of one name are equal."""

    def __eq__(self, other: object) -> bool:
        return type(other) is type(self) and other.args == self.args

    def __hash__(self) -> int:
        return hash(self.args)


class Fizz(Boom):
    """Fail in another way, so that `when` has something to tell apart."""


@dataclass(frozen=True)
class Cold(Exception):
    """Fail with an exception that takes neither notes nor attributes."""

    name: str


def error(name: str) -> Exception:
    """Return a fresh error; its first letter says of which type."""
    return {"b": Boom, "f": Fizz, "c": Cold, "s": StopIteration}[name[0]](name)


def weight(element: Any) -> int:
    """Return a small number that stands for an element of any type."""
    match element:
        case int():
            return int(element)
        case float():
            return int(element * 4)
        case Next(inner):
            return weight(inner) + 1
        case Completed():
            return 2
        case Failed() | Exception():
            return 3
        case dict():
            return sum(weight(part) for pair in element.items() for part in pair)
        case list() | tuple() | set():
            return len(element) + sum(map(weight, element))
        case _:
            return 0


@dataclass(frozen=True)
class Add:
    """Add to the weight."""

    number: int

    def __call__(self, element: Any) -> int:
        return weight(element) + self.number


@dataclass(frozen=True)
class Below:
    """Tell whether the weight modulo five is below a bound."""

    bound: int

    def __call__(self, element: Any) -> bool:
        return weight(element) % 5 < self.bound


@dataclass(frozen=True)
class Key:
    """Give the weight modulo something."""

    modulus: int

    def __call__(self, element: Any) -> int:
        return weight(element) % self.modulus


@dataclass(frozen=True)
class Plus:
    """Add two weights."""

    def __call__(self, one: Any, other: Any) -> int:
        return weight(one) + weight(other)


@dataclass(frozen=True)
class Leaps:
    """Tell whether the second weight is further from the first than a bound."""

    bound: int

    def __call__(self, one: Any, other: Any) -> bool:
        return abs(weight(other) - weight(one)) > self.bound


@dataclass(frozen=True)
class Same:
    """Tell whether two weights are equal."""

    def __call__(self, one: Any, other: Any) -> bool:
        return weight(one) == weight(other)


@dataclass(frozen=True)
class Pieces:
    """Make a list of up to `most` numbers, or an iterator, of which the length is not known."""

    most: int
    lazy: bool = False

    def __call__(self, element: Any) -> Iterable[int]:
        start = weight(element)
        numbers = list(range(start, start + start % (self.most + 1)))
        return iter(numbers) if self.lazy else numbers


@dataclass(frozen=True)
class Smaller:
    """Make a list of smaller numbers, so that expanding comes to an end."""

    parts: int

    def __call__(self, element: Any) -> list[int]:
        number = abs(weight(element)) % 20
        return [number // part for part in range(2, 2 + self.parts)] if number > 2 else []


@dataclass(frozen=True)
class Each:
    """Apply a function to each of a batch."""

    fn: Callable[[Any], Any]

    def __call__(self, batch: list[Any]) -> list[Any]:
        return [self.fn(element) for element in batch]


@dataclass(frozen=True)
class Only:
    """Keep the elements of a batch that satisfy a predicate."""

    predicate: Callable[[Any], Any]

    def __call__(self, batch: list[Any]) -> list[Any]:
        return [element for element in batch if self.predicate(element)]


@dataclass(frozen=True)
class Laps:
    """Number elements from zero to a bound, then forget the state."""

    bound: int

    def __call__(self, state: int, element: Any) -> tuple[int | None, Any]:
        return (None if state >= self.bound else state + 1), (state, element)


@dataclass(frozen=True)
class Tupled:
    """Make a tuple for starmap."""

    def __call__(self, element: Any) -> tuple[Any, int]:
        return element, weight(element)


@dataclass(frozen=True)
class InOrder:
    """Sort what came in an order that is not determined."""

    def __call__(self, elements: Iterable[Any]) -> list[Any]:
        return sorted(elements, key=lambda element: (weight(element), repr(element)))


@dataclass(frozen=True)
class Turned:
    """Make another error of an error."""

    name: str

    def __call__(self, error_: Exception) -> Exception:
        return error(self.name)


@dataclass(frozen=True)
class Later:
    """Be asynchronous, after so many turns of the loop."""

    fn: Callable[[Any], Any]
    turns: int = 0

    async def __call__(self, element: Any) -> Any:
        for _ in range(self.turns):
            await asyncio.sleep(0)
        return self.fn(element)


@dataclass(frozen=True)
class Breaks:
    """Raise where the weight of the last argument is a certain one modulo five; else do as the function does."""

    fn: Callable[..., Any]
    where: int
    name: str = "boom"

    def __call__(self, *arguments: Any) -> Any:
        if weight(arguments[-1]) % 5 == self.where:
            raise error(self.name)
        return self.fn(*arguments)


@dataclass(frozen=True)
class Nothing:
    """Do nothing."""

    def __call__(self, *_: Any) -> None:
        pass


@dataclass(frozen=True)
class Zero:
    """Give the state to begin with."""

    def __call__(self) -> int:
        return 0
