"""composition: `pull`, which composes modules, and what type checkers know about it."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from penstock.pull.module import Sink, Source, Through, composed

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
R = TypeVar("R")


# A source and what reads it. Longer pipelines, and those of plain functions, are Any; with `|` types go any way.
@overload
def pull(source: Source[A], to: Through[A, B], /) -> Source[B]: ...
@overload
def pull(source: Source[A], a: Through[A, B], to: Through[B, C], /) -> Source[C]: ...
@overload
def pull(source: Source[A], a: Through[A, B], b: Through[B, C], to: Through[C, D], /) -> Source[D]: ...
@overload
def pull(
    source: Source[A], a: Through[A, B], b: Through[B, C], c: Through[C, D], to: Through[D, E], /
) -> Source[E]: ...
@overload
def pull(source: Source[A], to: Sink[A, R], /) -> R: ...
@overload
def pull(source: Source[A], a: Through[A, B], to: Sink[B, R], /) -> R: ...
@overload
def pull(source: Source[A], a: Through[A, B], b: Through[B, C], to: Sink[C, R], /) -> R: ...
@overload
def pull(source: Source[A], a: Through[A, B], b: Through[B, C], c: Through[C, D], to: Sink[D, R], /) -> R: ...
# Throughs, and a sink behind them.
@overload
def pull(a: Through[A, B], to: Through[B, C], /) -> Through[A, C]: ...
@overload
def pull(a: Through[A, B], b: Through[B, C], to: Through[C, D], /) -> Through[A, D]: ...
@overload
def pull(a: Through[A, B], to: Sink[B, R], /) -> Sink[A, R]: ...
@overload
def pull(a: Through[A, B], b: Through[B, C], to: Sink[C, R], /) -> Sink[A, R]: ...
@overload
def pull(*modules: Any) -> Any: ...
def pull(*modules: Any) -> Any:
    """Compose modules in the order in which values pass them.

    With a source first and a sink last the pipeline runs, and what the sink returns is returned. A duplex, an object
    with `source` and `sink`, may stand anywhere: what comes before is read by its sink, what follows reads its source.
    A plain function may be a module too: one of two parameters is a source, one of one parameter a through or a sink.

    >>> from penstock import pull
    >>> pull.pull(pull.values([1, 2, 3]), pull.map(lambda n: n * n), pull.collect(lambda error, found: print(found)))
    [1, 4, 9]
    """
    return composed(*modules)


__all__ = ["pull"]
