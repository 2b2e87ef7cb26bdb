"""segment: a run of adjacent stages over one upstream, ready to be opened."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator, Sequence
from typing import Any, Final

from penstock.engine import weave
from penstock.engine.blame import Where, blame
from penstock.engine.dropped import drop
from penstock.engine.spread import items_of
from penstock.stage import AsyncOpener, Gate, Opener, Stage


class _Starved:
    """Be the word a fed loop passes on when its queue is empty."""

    def __repr__(self) -> str:
        return "STARVED"


STARVED: Final = _Starved()


def no_element() -> TypeError:
    """Return the error for a None where an element is due."""
    return TypeError("rule 2.13: None is not an element")


def close(source: object) -> None:
    """Close an iterator that can be closed."""
    closing = getattr(source, "close", None)
    if closing is not None:
        closing()


def close_quietly(source: object) -> None:
    """Close an iterator while another error is on its way; its own error goes to the hook."""
    try:
        close(source)
    except Exception as error:  # noqa: BLE001  the first error is the one to deliver
        drop("the source failed to close", error)


def _fail(source: object, where: Where, error: Exception) -> Exception:
    close_quietly(source)
    return blame(error, where)


async def _close_async(source: object) -> None:
    closing = getattr(source, "aclose", None)
    if closing is not None:
        await closing()


async def _fail_async(source: object, where: Where, error: Exception) -> Exception:
    try:
        await _close_async(source)
    except Exception as failure:  # noqa: BLE001  the first error is the one to deliver
        drop("the source failed to close", failure)
    return blame(error, where)


_SYNC: dict[str, Any] = {
    "close": close, "close_inner": close_quietly, "fail": _fail, "items_of": items_of, "no_element": no_element,
    "starved": STARVED,
}  # fmt: skip
_ASYNC: dict[str, Any] = {**_SYNC, "close": _close_async, "fail": _fail_async}


class Segment:
    """Hold the stages between two places where signals matter, and open them as one iterator."""

    __slots__ = ("_plans", "capped", "expands", "first", "never_asks", "stages", "total")

    def __init__(self, stages: Sequence[Stage[Any, Any]], first: int = 0, total: int | None = None) -> None:
        self.stages = tuple(stages)
        self.first = first
        self.total = len(self.stages) if total is None else total
        self.expands = any(stage.body.each is not None for stage in self.stages)
        """Whether one element may become several, so that the loop may rest inside an inner loop."""
        caps = [stage.cap for stage in self.stages]
        self.capped = any(cap is not None for cap in caps)
        """Whether a stage will only ever take so many elements."""
        self.never_asks = 0 in caps
        """Whether a stage takes none at all, so that the end needs no request."""
        self._plans: dict[weave.Form, list[tuple[Callable[..., Any], Where, list[Any]]]] = {}

    def demand(self, n: int) -> int:
        """Return how many elements to ask of upstream when `n` are wanted below."""
        for stage in reversed(self.stages):
            n = stage.demand(n)
        return n

    def open(self, source: Opener[Any], gate: Gate | None) -> Iterator[Any]:
        """Open one run over a synchronous source; without a gate, whoever iterates ends it by closing it."""
        return self._open("free" if gate is None else "sync", source, gate)  # type: ignore[no-any-return]

    def open_fed(self, source: Opener[Any], gate: Gate) -> Iterator[Any]:
        """Open one run over a queue that says STARVED when it is empty."""
        return self._open("fed", source, gate)  # type: ignore[no-any-return]

    def open_async(self, source: AsyncOpener[Any], gate: Gate) -> AsyncIterator[Any]:
        """Open one run over an asynchronous source."""
        return self._open("async", source, gate)  # type: ignore[no-any-return]

    def _open(self, form: weave.Form, source: Callable[[Gate | None], Any], gate: Gate | None) -> Any:
        iterator: Any = None
        for function, where, fields in self._plans.get(form) or self._plan(form):
            iterator = function(source, gate, where, *fields)
            source = lambda _, iterator=iterator: iterator  # type: ignore[misc]  # noqa: E731
        return iterator

    def _plan(self, form: weave.Form) -> list[tuple[Callable[..., Any], Where, list[Any]]]:
        """Prepare what is the same for every run: the loops and the values they take."""
        stages = self.stages
        names = _ASYNC if form == "async" else _SYNC
        loops = weave.loops_for(tuple([stage.body for stage in stages]), form, names)
        plan = self._plans[form] = [
            (
                loop.function,
                (stages, loop, self.first, self.total),
                [getattr(stages[index], name) for index, name in loop.fields],
            )
            for loop in loops
        ]
        return plan
