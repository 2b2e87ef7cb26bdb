"""serving: carry a page's application out with uvicorn, on loopback, on a separate thread."""

from __future__ import annotations

import asyncio
import socket
from collections.abc import Callable
from threading import Event, Thread
from time import monotonic

from penstock.engine.words.dropped import drop
from penstock.errors import PenstockError
from penstock.page.app import PageApp
from penstock.page.door import PageDoor
from penstock.page.watch import PageWatch

EVERY = 0.5
"""Seconds from one frame to the next."""
PATIENCE = 2
"""Seconds that the server gives browsers to take what was sent, when it is closed."""


class PageServer:
    """The server of one page, and the clock by which its runs are read."""

    def __init__(self, watch: PageWatch, *, every: float = EVERY, port: int = 0) -> None:
        try:
            import uvicorn  # noqa: PLC0415  an optional dependency
        except ModuleNotFoundError as missing:
            raise ImportError("page: the live page needs uvicorn; say pip install 'penstock[page]'") from missing
        self._watch = watch
        self._every = every
        self._socket = _listening(port)
        self.door = PageDoor(self._socket.getsockname()[1])
        self.app = PageApp(watch, self.door)
        self._closing = Event()
        self._up = Event()
        self._loop: asyncio.AbstractEventLoop | None = None
        config = uvicorn.Config(
            self.app,
            http="h11",
            ws="none",
            loop="asyncio",
            lifespan="off",
            log_config=None,
            access_log=False,
            server_header=False,
            proxy_headers=False,
            timeout_graceful_shutdown=PATIENCE,
        )
        self._server = uvicorn.Server(config)
        self._threads = [
            Thread(target=self._serve, name="penstock-page", daemon=True),
            Thread(target=self._look, name="penstock-page-clock", daemon=True),
        ]
        for thread in self._threads:
            thread.start()
        self._up.wait()

    @property
    def closed(self) -> bool:
        """Tell whether it serves no more."""
        return self._closing.is_set()

    def _serve(self) -> None:
        with asyncio.Runner() as runner:
            self._loop = runner.get_loop()
            self._loop.call_soon(self._up.set)
            try:
                runner.run(self._server.serve(sockets=[self._socket]))
            except Exception as error:  # noqa: BLE001  this thread has no caller
                drop("page: the server failed", error)
            finally:
                self._up.set()

    def _look(self) -> None:
        while not self._closing.is_set():
            self.look()
            self._closing.wait(self._every)

    def look(self) -> None:
        """Read the runs now, and tell the browsers."""
        try:
            self._watch.look(monotonic())
        except Exception as error:  # noqa: BLE001  what is shown must not suffer, and the next look may be well
            drop("page: the runs could not be read", error)
        self._call(self.app.publish)

    def _call(self, fn: Callable[[], None]) -> None:
        loop = self._loop
        if loop is not None and not loop.is_closed():
            try:
                loop.call_soon_threadsafe(fn)
            except RuntimeError:  # it was closed meanwhile
                return

    def close(self) -> None:
        """Send a last frame and end."""
        if self._closing.is_set():
            return
        self._closing.set()
        self.look()
        self._call(self.app.close)
        self._server.should_exit = True
        for thread in self._threads:
            thread.join()
        self._socket.close()


def _listening(port: int) -> socket.socket:
    if not isinstance(port, int) or not 0 <= port <= 65535:
        raise ValueError(f"page: port must be a whole number from 0 to 65535, got {port!r}")
    found = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        found.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        found.bind(("127.0.0.1", port))
        found.listen()  # a browser that comes before the server is up waits
    except OSError as error:
        found.close()
        raise PenstockError(
            f"page: port {port} on 127.0.0.1 is not free: {error.strerror}; leave it out for any"
        ) from error
    return found
