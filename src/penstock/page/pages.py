"""pages: a live page as a handle, and the ways to have one."""

from __future__ import annotations

import sys
import webbrowser
from contextlib import ExitStack
from pathlib import Path
from types import TracebackType
from typing import Any, TextIO

from penstock.engine.watching.observe import observe
from penstock.page.app import static
from penstock.page.export import exported
from penstock.page.history import History
from penstock.page.serving import EVERY, PageServer
from penstock.page.watch import PageWatch
from penstock.run import Run
from penstock.run.watchers import watching_runs


class Page:
    """A live page that is served on loopback until it is closed; inside `with page` runs and streams are shown.

    >>> from penstock import Sink, Stream
    >>> from penstock.page import Page
    >>> with Page(say=False) as page:
    ...     (Stream.range(3) | Sink.count()).run().wait()
    3
    >>> page.address.startswith("http://127.0.0.1:")
    True
    """

    def __init__(
        self, *, every: float = EVERY, port: int = 0, browser: bool = False, say: bool | TextIO = True
    ) -> None:
        if not isinstance(every, int | float) or not every > 0:
            raise ValueError(f"page: every must be > 0, got {every!r}")
        self.history = History()
        self.watch = PageWatch(self.history)
        self._server = PageServer(self.watch, every=every, port=port)
        self._inside: ExitStack | None = None
        if say:
            print(f"penstock page: {self.address}", file=sys.stderr if say is True else say, flush=True)
        if browser:
            webbrowser.open(self.address)

    def __repr__(self) -> str:
        return f"Page(http://127.0.0.1:{self._server.door.port}/)"  # without the token: this may be logged

    @property
    def address(self) -> str:
        """Return the address with the token; who has it can look at the runs, and stop and cancel them."""
        return self._server.door.address

    @property
    def browsers(self) -> int:
        """Return how many browsers look on."""
        return self._server.app.browsers

    @property
    def closed(self) -> bool:
        """Tell whether it is served no more."""
        return self._server.closed

    def show(self, run: Run[Any]) -> None:
        """Show a run that was begun elsewhere."""
        run.shown_on = self
        self.watch.add(run)

    def look(self) -> None:
        """Read the runs at once, without waiting for the page's clock."""
        self._server.look()

    def export(self, file: str | Path) -> None:
        """Write the last minutes as one HTML file that needs nothing else."""
        self.look()
        Path(file).write_text(exported(static, self.history.whole()), encoding="utf-8")

    def close(self) -> None:
        """Serve no more; browsers keep what they have seen."""
        self._server.close()

    def __enter__(self) -> Page:
        self._inside = ExitStack()
        self._inside.enter_context(observe(self.watch))
        self._inside.enter_context(watching_runs(self.show))
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        inside, self._inside = self._inside, None
        if inside is not None:
            inside.close()
        self.close()


def observe_page(*, every: float = EVERY, port: int = 0, browser: bool = False) -> Page:
    """Serve a live page of every stream and pipeline that is run inside the block, and print its address.

    with observe_page():
        pipeline.run().wait()
    """
    return Page(every=every, port=port, browser=browser)


def page_of(run: Run[Any], *, browser: bool = False) -> Page:
    """Return the page on which a run is shown, or serve one of it; what `run.page()` does."""
    found = run.shown_on
    if found is None or found.closed:
        found = Page(browser=browser)
        found.show(run)
    elif browser:
        webbrowser.open(found.address)
    return found
