"""result: what a sink comes to, for a caller that waits for it and gave no function to be told."""

from __future__ import annotations

import threading
from collections.abc import Callable, Generator
from typing import Any, Generic, TypeVar

from penstock.engine.places.event_loops import loop_here
from penstock.engine.words.dropped import drop

T = TypeVar("T")
T_co = TypeVar("T_co", covariant=True)


class SinkResult(Generic[T_co]):
    """The result of a sink: `await` it, or `get()` it; either raises what the stream failed with.

    An error that no caller asks for goes to the hook for what cannot be delivered.
    """

    __slots__ = ("_arrived", "_asked", "_error", "_found", "_name", "_waiting")

    def __init__(self, name: str) -> None:
        self._name = name
        self._arrived = threading.Event()
        self._waiting: list[Callable[[], object]] = []
        self._found: Any = None
        self._error: Exception | None = None
        self._asked = False

    def __repr__(self) -> str:
        return f"<result of {self._name}: {'done' if self.done else 'under way'}>"

    def tell(self, error: Exception | None, found: Any = None) -> None:
        """Say how it ended, once; what there was until then comes with an error."""
        self._error, self._found = error, found
        self._arrived.set()
        while self._waiting:  # who comes after this looks at what has arrived
            try:
                self._waiting.pop()()
            except IndexError:
                break

    @property
    def done(self) -> bool:
        """Tell whether the stream is over."""
        return self._arrived.is_set()

    @property
    def so_far(self) -> T_co | None:
        """Return what there was when the stream ended, also if it failed; None before that."""
        found: T_co | None = self._found
        return found

    def get(self, timeout: float | None = None) -> T_co:
        """Wait for it in this thread and return it, or raise what the stream failed with.

        >>> from penstock import pull
        >>> pull.pull(pull.count(3), pull.collect()).get()
        [0, 1, 2, 3]
        """
        if not self.done and loop_here() is not None:
            raise RuntimeError(f"{self._name}: get() would stop the event loop that runs here; await it")
        if not self._arrived.wait(timeout):
            raise TimeoutError(f"{self._name}: the stream has not ended within {timeout} seconds")
        return self._outcome()

    def __await__(self) -> Generator[Any, None, T_co]:
        if not self.done:
            loop = loop_here()
            if loop is None:
                raise RuntimeError(f"{self._name}: it must be awaited on a running event loop, or use get()")
            arrived = loop.future()

            def settle() -> None:
                if not arrived.done():
                    arrived.set_result(None)

            self._waiting.append(lambda: loop.call(settle))
            if self.done:
                loop.call(settle)
            yield from arrived.__await__()
        return self._outcome()

    def _outcome(self) -> T_co:
        self._asked = True
        if self._error is not None:
            raise self._error
        found: T_co = self._found
        return found

    def __del__(self) -> None:
        if self._error is not None and not self._asked:
            drop(f"pull: a stream failed and no caller asked for the result of {self._name}", self._error)
