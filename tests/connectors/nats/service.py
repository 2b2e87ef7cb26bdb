"""service: a web service on loopback that takes its time, fails now and then, and counts."""

from __future__ import annotations

import asyncio
import threading


class Places:
    """A service that knows the places of sensors; each tenth question fails. To be used in a `with`."""

    def __init__(self, seconds: float = 0.005) -> None:
        self.seconds = seconds
        self.questions = self.failures = self.at_once = self.most_at_once = 0
        self.url = ""
        self._ready = threading.Event()
        self._thread = threading.Thread(target=lambda: asyncio.run(self._serve()), name="places")

    def __enter__(self) -> Places:
        self._thread.start()
        self._ready.wait()
        return self

    def __exit__(self, *_: object) -> None:
        self._loop.call_soon_threadsafe(self._over.set)
        self._thread.join()

    @staticmethod
    def of(sensor: str) -> str:
        """Return the place of a sensor."""
        return f"place of {sensor}"

    async def _serve(self) -> None:
        self._loop, self._over = asyncio.get_running_loop(), asyncio.Event()
        self._open: set[asyncio.StreamWriter] = set()
        async with await asyncio.start_server(self._answer, "127.0.0.1", 0, backlog=1000) as server:
            self.url = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
            self._ready.set()
            await self._over.wait()
            for writer in self._open:
                writer.close()

    async def _answer(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._open.add(writer)
        try:
            while request := await reader.readline():
                while (await reader.readline()).strip():
                    pass  # headers
                self.questions += 1
                self.at_once += 1
                self.most_at_once = max(self.most_at_once, self.at_once)
                await asyncio.sleep(self.seconds)
                self.at_once -= 1
                failed = self.questions % 10 == 0
                self.failures += failed
                place = self.of(request.split()[1].decode().removeprefix("/")).encode()
                status = b"503 Service Unavailable" if failed else b"200 OK"
                writer.write(b"HTTP/1.1 %b\r\nContent-Length: %d\r\n\r\n%b" % (status, len(place), place))
                await writer.drain()
        except ConnectionError:
            pass  # the consumer was killed
        finally:
            self._open.discard(writer)
            writer.close()
