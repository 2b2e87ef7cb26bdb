"""telling: whether the code of a context works for a run that tells sources what is done.

Such a run finds its sources in its chain. One that a user's function makes while it runs is not there, and would be
told nothing: the run sets what it is refused with. A loop over a stream tells nothing, wherever it is, and is not
refused.
"""

from __future__ import annotations

from collections.abc import Callable
from contextvars import ContextVar
from typing import Any

Refusal = Callable[[Any], Exception]
"""What makes the error of a source that a run does not see."""

_refusal: ContextVar[Refusal | None] = ContextVar("penstock_hidden_sources", default=None)


def refuse_hidden(refusal: Refusal) -> None:
    """Have sources refused that want to be told, and are opened in this context by others than its run."""
    _refusal.set(refusal)


def hidden_here(source: Any) -> Exception | None:
    """Return the error of a source that is opened in this context and will be told nothing; None if that is well."""
    refusal = _refusal.get()
    return None if refusal is None else refusal(source)


def refusing() -> bool:
    """Tell whether such sources are refused in this context."""
    return _refusal.get() is not None


class untold:  # noqa: N801  reads as a word: `with untold():`
    """A context manager: what is opened inside of it is told nothing, as is known."""

    __slots__ = ("_token",)

    def __enter__(self) -> None:
        self._token = None if _refusal.get() is None else _refusal.set(None)

    def __exit__(self, *exc: object) -> None:
        if self._token is not None:
            _refusal.reset(self._token)


__all__ = ["Refusal", "hidden_here", "refuse_hidden", "refusing", "untold"]
