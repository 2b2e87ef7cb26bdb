"""module: what a pipeline is put together from: sources, throughs and sinks, and how they go together.

Composition follows the table of the specification: source + through = source, through + through = through, through +
sink = sink, source + sink = a pipeline, which then runs. Composing makes no request. A source is wired once.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncIterator, Callable, Iterator
from functools import reduce
from typing import Any, Generic, Protocol, TypeVar, overload

from penstock.errors import PenstockError
from penstock.pull.ground.iterated import IteratedSource
from penstock.pull.ground.plain import flat
from penstock.pull.ground.protocol import Abort, Answer, PullError, Read
from penstock.pull.ground.steps import Fused
from penstock.pull.ground.weaving import Step

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
R = TypeVar("R")


class Duplex(Protocol[A, B]):
    """A sink and a source: what stands before it is read by its sink, what follows reads its source."""

    @property
    def sink(self) -> PullSink[A, Any]:
        """What reads."""
        ...

    @property
    def source(self) -> PullSource[B]:
        """What is read."""
        ...


class CompositionError(PenstockError, TypeError):
    """The error of modules that do not fit together."""


class PullSource(Generic[A]):
    """A module that is read, by one reader; calling it is reading it, `|` composes it."""

    __slots__ = ("_wired", "iterated", "name", "read")

    def __init__(self, read: Read, name: str = "source", iterated: IteratedSource | None = None) -> None:
        self.read = read
        """Ask for a value, or abort."""
        self.name = name
        self.iterated = iterated
        """How its values are iterated over, where they can be."""
        self._wired = False

    def __repr__(self) -> str:
        return f"<source {self.name}>"

    def __call__(self, abort: Abort, answer: Answer | None = None, /) -> None:
        """Ask for a value, or abort."""
        self.read(abort, answer)

    def wire(self) -> Read:
        """Return what it is read by; a second reader is refused."""
        if self._wired:
            raise PullError("B15", f"{self.name} is read already; make a source for each pipeline")
        self._wired = True
        return self.read

    def __iter__(self) -> Iterator[A]:
        """Iterate over its values, in this thread; leaving the loop by an error or a break aborts it."""
        from penstock.pull.meeting.iterating import to_iter  # noqa: PLC0415  which needs this class

        return to_iter(self)

    def __aiter__(self) -> AsyncIterator[A]:
        """Iterate over its values, on the event loop."""
        from penstock.pull.meeting.asynchronous import to_async_iter  # noqa: PLC0415  only programs that use asyncio pay for it

        return to_async_iter(self)

    @overload
    def __or__(self, module: PullThrough[A, B]) -> PullSource[B]: ...
    @overload
    def __or__(self, module: PullSink[A, R]) -> R: ...
    @overload
    def __or__(self, module: Duplex[A, B]) -> PullSource[B]: ...
    def __or__(self, module: Any) -> Any:
        return composed(self, module)


class PullThrough(Generic[A, B]):
    """A module that is read and reads; calling it with a source gives a source, `|` composes it.

    One that handles each value by itself has `steps` instead of a function: neighbours of that kind become one module.
    """

    __slots__ = ("apply", "join", "name", "steps")

    def __init__(
        self,
        apply: Callable[[Read], Any] | None = None,
        steps: tuple[Step, ...] = (),
        name: str = "through",
        join: Callable[[Any], PullThrough[Any, Any] | None] | None = None,
    ) -> None:
        self.apply = apply
        self.steps = steps
        self.name = name
        self.join = join
        """Make one module of this one and the next, if they are of one kind."""

    def __repr__(self) -> str:
        return f"<through {self.name}>"

    def __call__(self, source: PullSource[A] | Read, /) -> PullSource[B]:
        """Read from a source; what is returned is read by the next module."""
        made: Any
        if self.apply is not None:
            made = self.apply(read_of(self.name, source))
        else:
            read = read_of(self.name, source)
            before = getattr(read, "__self__", None)
            joined = before.through(self.steps) if isinstance(before, IteratedSource | Fused) else None
            if isinstance(joined, IteratedSource):
                return PullSource(joined.read, f"{_name(source)} | {self.name}", joined)
            made = (joined or Fused(read, self.steps)).read
        if not isinstance(made, PullSource) and callable(made):
            made = PullSource(made, f"{_name(source)} | {self.name}")
        found: PullSource[B] = made  # a function of one parameter may be a sink, and then it is what that returned
        return found

    @overload
    def __or__(self, module: PullThrough[B, C]) -> PullThrough[A, C]: ...
    @overload
    def __or__(self, module: PullSink[B, R]) -> PullSink[A, R]: ...
    @overload
    def __or__(self, module: Duplex[B, C]) -> PullThrough[A, C]: ...
    def __or__(self, module: Any) -> Any:
        return composed(self, module)


class PullSink(Generic[A, R]):
    """A module that reads to the end; calling it with a source starts it and returns what it gives back."""

    __slots__ = ("apply", "name", "takes_source")

    def __init__(self, apply: Callable[[Any], R], name: str = "sink", *, takes_source: bool = False) -> None:
        self.apply = apply
        self.name = name
        self.takes_source = takes_source
        """Whether it is given the source as it is, and not what that is read by."""

    def __repr__(self) -> str:
        return f"<sink {self.name}>"

    def __call__(self, source: PullSource[A] | Read, /) -> R:
        """Read everything."""
        return self.apply(source if self.takes_source else read_of(self.name, source))


def read_of(name: str, given: Any, what: str = "source") -> Read:
    """Return what a source is read by, for a module of that name; it is wired with that."""
    if isinstance(given, PullSource):
        return given.wire()
    if not callable(given) or isinstance(given, type):
        raise TypeError(f"{name}: {what} must be a source, got {given!r}")
    read: Read = given
    return read


def composed(*modules: Any) -> Any:
    """Compose modules in the order in which values pass them."""
    if not modules:
        raise CompositionError("pull: at least one module must be given")
    found = [_module(position, given) for position, given in enumerate(modules)]
    for position, module in enumerate(found[1:], start=1):
        if isinstance(module, PullSource):
            raise CompositionError(f"pull: module {position} ({module.name}) is a source; a source can only come first")
        if isinstance(found[position - 1], PullSink):
            before = found[position - 1].name
            raise CompositionError(f"pull: module {position} follows {before}, a sink; a sink can only come last")
    made = reduce(_followed if isinstance(found[0], PullThrough) else _read_by, _fused(found))
    return source_of(made) if len(found) > 1 and made is found[-1] else made  # a duplex is read by what follows


def _module(position: int, given: Any) -> Any:
    if isinstance(given, PullSource | PullThrough | PullSink) or _is_duplex(given):
        return given
    if not callable(given) or isinstance(given, type):
        cure = "; from_publisher makes a source of it" if callable(getattr(given, "subscribe", None)) else ""
        raise CompositionError(f"pull: module {position} must be a source, a through or a sink, got {given!r}{cure}")
    name = getattr(given, "__name__", None) or type(given).__name__.lower()
    if _parameters(given) >= 2:
        return PullSource(flat(given), name)
    return PullThrough(lambda read: given(flat(read)), name=name)


def _name(given: Any) -> str:
    name = getattr(given, "name", None) or getattr(given, "__name__", None)
    return name if isinstance(name, str) else type(given).__name__.lower()


def source_of(given: Any) -> PullSource[Any]:
    """Return the source of a duplex."""
    source = given.source
    return source if isinstance(source, PullSource) else PullSource(flat(source), _name(given))


def _is_duplex(given: Any) -> bool:
    return hasattr(given, "source") and hasattr(given, "sink")


def _parameters(fn: Callable[..., Any]) -> int:
    try:
        found = inspect.signature(fn).parameters.values()
    except ValueError:
        return 1  # some builtins tell no signature
    return sum(each.kind in {each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD} for each in found)


def _fused(modules: list[Any]) -> list[Any]:
    """Make one module of neighbours that handle each value by itself, before they are read."""
    found: list[Any] = []
    for module in modules:
        joined = _joined(found[-1], module) if found else None
        if joined is None:
            found.append(module)
        else:
            found[-1] = joined
    return found


def _joined(before: Any, after: Any) -> PullThrough[Any, Any] | None:
    """Return one module in place of two, or None."""
    if _stepped(before) and _stepped(after):
        return PullThrough(steps=(*before.steps, *after.steps), name=f"{before.name} | {after.name}")
    if isinstance(before, PullThrough) and before.join is not None:
        return before.join(after)
    return None


def _stepped(module: Any) -> bool:
    return isinstance(module, PullThrough) and bool(module.steps)


def _read_by(before: Any, after: Any) -> Any:
    """Have a module read a source, or a duplex."""
    source = before.source if _is_duplex(before) else before
    if not _is_duplex(after):
        return after(source)
    sink = after.sink
    sink(source if isinstance(sink, PullSink) else read_of("pull", source))
    return after


def _followed(before: Any, after: Any) -> Any:
    """Make one module of a through and what follows it; the result knows its source later."""
    name = f"{_name(before)} | {_name(after)}"
    if isinstance(after, PullSink):
        sink: PullSink[Any, Any] = PullSink(lambda source: after(before(source)), name, takes_source=True)
        return sink
    joined = _joined(before, after)
    if joined is not None:
        return joined

    def start(read: Read) -> Any:
        made = _read_by(before(read), after)
        return made.source if _is_duplex(made) else made

    return PullThrough(start, name=name)


__all__ = ["CompositionError", "Duplex", "PullSink", "PullSource", "PullThrough", "composed", "read_of", "source_of"]
