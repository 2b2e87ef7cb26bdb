"""notebook: a run that a notebook shows while it goes on: its panel follows the reports of the run."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from threading import Thread
from typing import TYPE_CHECKING, Any

from penstock.engine.words.dropped import drop
from penstock.run.html import shown

if TYPE_CHECKING:
    from penstock.run.handle import Run


@dataclass(frozen=True, slots=True, repr=False)
class _Seen:
    """A run as it was at one moment."""

    text: str
    html: str

    def __repr__(self) -> str:
        return self.text

    def _repr_html_(self) -> str:
        return self.html


def show(run: Run[Any]) -> None:
    """Display a run; in a notebook the panel is shown anew with each report, until the run has ended."""
    follows = not run.done and hasattr(importlib.import_module("IPython").get_ipython(), "kernel")
    display = importlib.import_module("IPython.display").display
    handle = display(_seen(run, follows=follows), display_id=True)
    if follows:
        Thread(target=_follow, args=(run, handle), name="penstock-notebook", daemon=True).start()


def _follow(run: Run[Any], handle: Any) -> None:
    try:
        for _ in run.progress:
            handle.update(_seen(run, follows=True))
    except Exception as error:  # noqa: BLE001  the kernel may be gone, and the run goes on
        drop("run: a notebook did not take its panel", error)


def _seen(run: Run[Any], *, follows: bool) -> _Seen:
    return _Seen(repr(run), shown(run.now(), run.failure, run.explain(), follows=follows))


__all__ = ["show"]
