"""abilities: what elements must be able to do for some operators, said to type checkers."""

from __future__ import annotations

from typing import Any, Protocol


class Ordered(Protocol):
    """A value that can be compared with others of its kind."""

    def __lt__(self, other: Any, /) -> Any: ...


class Added(Protocol):
    """A value that can be added to others of its kind and to 0."""

    def __add__(self, other: Any, /) -> Any: ...
    def __radd__(self, other: int, /) -> Any: ...


class Shared(Protocol):
    """A value that can be added to others of its kind and divided by a number."""

    def __add__(self, other: Any, /) -> Any: ...
    def __truediv__(self, other: int, /) -> Any: ...
