"""watchers: who is told of the runs that begin in a context, and which run the code of a context works for.

A party that shows runs, such as the live page, learns of them here. A run that begins where there is no such party pays
for one look at a context variable.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from penstock.engine.words.dropped import drop

if TYPE_CHECKING:
    from penstock.run.handle import Run

Watcher = Callable[["Run[Any]"], None]

_watchers: ContextVar[tuple[Watcher, ...]] = ContextVar("penstock_run_watchers", default=())
_current: ContextVar[Run[Any] | None] = ContextVar("penstock_current_run", default=None)


@contextmanager
def watching_runs(watcher: Watcher) -> Iterator[None]:
    """Tell a function of every run that begins inside the block."""
    token = _watchers.set((*_watchers.get(), watcher))
    try:
        yield
    finally:
        _watchers.reset(token)


def tell_watchers(run: Run[Any]) -> None:
    """Tell those who watch that a run is about to begin."""
    for watcher in _watchers.get():
        try:
            watcher(run)
        except Exception as error:  # noqa: BLE001  a run must not suffer from being watched
            drop("run: a watcher of runs raised", error)


@dataclass(frozen=True, slots=True)
class RunPart:
    """A part of a run that follows a plan, which a listener sees by itself."""

    run: Run[Any] | None
    places: tuple[int, ...]
    """The places in the plan: one, or those of several ends that share one stream."""


def enter(run: Run[Any]) -> None:
    """Note that what follows in this context works for a run."""
    _current.set(run)


def current_run() -> Run[Any] | None:
    """Return the run that the code of this context works for."""
    return _current.get()
