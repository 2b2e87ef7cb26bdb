"""redis_streams: a connector of your own: Redis streams, read under demand and acknowledged, and written in batches.

`docs/connectors/your-own.md` goes through it.
"""

from __future__ import annotations

from dataclasses import dataclass
from itertools import takewhile

from redis.asyncio import Redis
from redis.exceptions import ResponseError

from penstock import Sink, Stream
from penstock.connectors import reading, writing


@dataclass(frozen=True, slots=True)
class Entry:
    """An entry of a stream; its id is its position."""

    id: str
    fields: dict[bytes, bytes]


class GroupReader:
    """A consumer of one run: what it was given before and has not acknowledged comes first, then what is new."""

    def __init__(self, redis: Redis, key: str, group: str, consumer: str, behind: str) -> None:
        self._redis, self._key, self._group, self._consumer, self._behind = redis, key, group, consumer, behind
        self._given: dict[str, None] = {}

    async def fetch(self, most: int, /) -> list[tuple[str, Entry]]:
        """Return at most so many entries, and none if none comes within a second."""
        found = await self._redis.xreadgroup(
            self._group, self._consumer, {self._key: self._behind}, count=most, block=1000
        )
        entries = found[0][1] if found else []
        if self._behind != ">":  # among those of the run before
            self._behind = entries[-1][0].decode() if entries else ">"
        elif not entries:  # a consumer that has held some for a minute is gone
            _, entries, _ = await self._redis.xautoclaim(self._key, self._group, self._consumer, 60_000, count=most)
        pairs = [(key.decode(), Entry(key.decode(), fields)) for key, fields in entries if fields]
        pairs = [(position, entry) for position, entry in pairs if position not in self._given]
        self._given.update((position, None) for position, _ in pairs)
        return pairs

    async def commit(self, position: str, /) -> None:
        """Acknowledge everything that was given up to a position."""
        if position in self._given:
            done = [*takewhile(lambda each: each != position, self._given), position]
            await self._redis.xack(self._key, self._group, *done)
            for each in done:
                del self._given[each]

    async def close(self) -> None:
        """Disconnect."""
        await self._redis.aclose()


@dataclass(frozen=True, slots=True)
class OpenGroup:
    """What connects a consumer of a group; a value, so that a stream of it can be compared and sent elsewhere."""

    url: str
    key: str
    group: str
    consumer: str

    async def __call__(self, after: str | None) -> GroupReader:
        """Connect behind a position; None is where the group remembers to be."""
        redis = Redis.from_url(self.url)
        try:
            await self._join(redis, after)
        except Exception:
            await redis.aclose()
            raise
        return GroupReader(redis, self.key, self.group, self.consumer, "0" if after is None else ">")

    async def _join(self, redis: Redis, after: str | None) -> None:
        try:
            await redis.xgroup_create(self.key, self.group, id="0", mkstream=True)
        except ResponseError as error:
            if "BUSYGROUP" not in str(error):  # which says that there is one
                raise
        if after is not None:
            await redis.xgroup_setid(self.key, self.group, after)


def from_redis(url: str, key: str, group: str, consumer: str) -> Stream[Entry]:
    """Emit the entries of a stream that a group has not acknowledged."""
    return reading(OpenGroup(url, key, group, consumer))


@dataclass(frozen=True, slots=True)
class StreamWriter:
    """A connection that adds batches to a stream, each in one transaction."""

    redis: Redis
    key: str

    async def write(self, batch: list[dict[str, str]], /) -> None:
        """Add a batch, all of it or nothing."""
        async with self.redis.pipeline(transaction=True) as commands:
            for fields in batch:
                commands.xadd(self.key, fields)
            await commands.execute()

    async def close(self, error: BaseException | None, /) -> None:
        """Disconnect."""
        await self.redis.aclose()


@dataclass(frozen=True, slots=True)
class OpenStream:
    """What connects a writer to a stream."""

    url: str
    key: str

    async def __call__(self) -> StreamWriter:
        """Connect; the socket is opened with the first batch."""
        return StreamWriter(Redis.from_url(self.url), self.key)


def to_redis(url: str, key: str) -> Sink[dict[str, str], int]:
    """Add the elements to a stream; the result is how many."""
    return writing(OpenStream(url, key))
