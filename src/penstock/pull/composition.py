"""composition: `pull`, which composes modules, and what type checkers know about it."""

from __future__ import annotations

from typing import Any, TypeVar, overload

from penstock.pull.module import PullSink, PullSource, PullThrough, composed

A = TypeVar("A")
B = TypeVar("B")
C = TypeVar("C")
D = TypeVar("D")
E = TypeVar("E")
R = TypeVar("R")


# A source and what reads it. Longer pipelines, and those of plain functions, are Any; with `|` types go any way.
@overload
def pull(source: PullSource[A], to: PullThrough[A, B], /) -> PullSource[B]: ...
@overload
def pull(source: PullSource[A], a: PullThrough[A, B], to: PullThrough[B, C], /) -> PullSource[C]: ...
@overload
def pull(
    source: PullSource[A], a: PullThrough[A, B], b: PullThrough[B, C], to: PullThrough[C, D], /
) -> PullSource[D]: ...
@overload
def pull(
    source: PullSource[A], a: PullThrough[A, B], b: PullThrough[B, C], c: PullThrough[C, D], to: PullThrough[D, E], /
) -> PullSource[E]: ...
@overload
def pull(source: PullSource[A], to: PullSink[A, R], /) -> R: ...
@overload
def pull(source: PullSource[A], a: PullThrough[A, B], to: PullSink[B, R], /) -> R: ...
@overload
def pull(source: PullSource[A], a: PullThrough[A, B], b: PullThrough[B, C], to: PullSink[C, R], /) -> R: ...
@overload
def pull(
    source: PullSource[A], a: PullThrough[A, B], b: PullThrough[B, C], c: PullThrough[C, D], to: PullSink[D, R], /
) -> R: ...
# Throughs, and a sink behind them.
@overload
def pull(a: PullThrough[A, B], to: PullThrough[B, C], /) -> PullThrough[A, C]: ...
@overload
def pull(a: PullThrough[A, B], b: PullThrough[B, C], to: PullThrough[C, D], /) -> PullThrough[A, D]: ...
@overload
def pull(a: PullThrough[A, B], to: PullSink[B, R], /) -> PullSink[A, R]: ...
@overload
def pull(a: PullThrough[A, B], b: PullThrough[B, C], to: PullSink[C, R], /) -> PullSink[A, R]: ...
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
