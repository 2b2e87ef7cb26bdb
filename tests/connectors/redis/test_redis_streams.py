"""redis: the connector of the guide keeps the laws that penstock's own keep."""

from __future__ import annotations

import pickle
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from redis.exceptions import AuthenticationError, RedisError, ResponseError

from examples.redis_streams import Entry, from_redis, to_redis
from penstock import Sink, Stream
from penstock.testing import check_resumable, subscribed
from tests.connectors.redis.server import RedisServer, until


def number(entry: Entry) -> int:
    return int(entry.fields[b"n"])


def noted(file: Path) -> set[int]:
    return {int(line) for line in file.read_bytes().split()}


@pytest.fixture
def own_server(tmp_path: Path) -> Iterator[RedisServer]:
    """Return a server that may be killed."""
    with RedisServer(tmp_path / "redis", lasting=True) as server:
        yield server


def test_goes_on_behind_every_position(redis_server: RedisServer, key: str) -> None:
    redis_server.fill(key, 30)
    check_resumable(lambda: from_redis(redis_server.url, key, "group", "me"), most=12)


def test_is_a_value(redis_server: RedisServer, key: str) -> None:
    made = from_redis(redis_server.url, key, "group", "me")
    assert pickle.loads(pickle.dumps(made)) == made == from_redis(redis_server.url, key, "group", "me")


@pytest.mark.proves(
    "redis.source (guide)", "demand", "the server gives as many entries as are asked for, and holds the rest"
)
@pytest.mark.proves(
    "redis.source (guide)", "cancel", "the connection is closed, and what was held comes first in the next run"
)
def test_the_server_gives_no_more_than_is_asked_for(redis_server: RedisServer, key: str) -> None:
    redis_server.fill(key, 100)
    probe = subscribed(from_redis(redis_server.url, key, "group", "me"))
    for asked, altogether in [(3, 3), (1, 4), (40, 44)]:
        probe.request(asked)
        probe.wait_for(altogether)
        assert redis_server.group(key, "group") == (altogether, 100 - altogether)
    probe.cancel()
    until(lambda: redis_server.connections() == 0, "no connection")
    assert [number(entry) for entry in probe.elements] == list(range(1, 45))
    assert number(from_redis(redis_server.url, key, "group", "me").first().get()) == 1


def test_what_has_passed_the_end_is_acknowledged(redis_server: RedisServer, key: str) -> None:
    redis_server.fill(key, 1000)
    entries = from_redis(redis_server.url, key, "group", "me")
    assert (entries.take(600).map(number).filter(lambda n: n % 2) | Sink.count()).run().wait() == 300
    assert redis_server.group(key, "group") == (0, 400)


def test_what_has_not_passed_the_end_comes_again(redis_server: RedisServer, key: str) -> None:
    redis_server.fill(key, 100)
    found: list[int] = []

    def note(n: int) -> None:
        if n == 40:
            raise ValueError("not yet")
        found.append(n)

    numbers = from_redis(redis_server.url, key, "group", "me").map(number)
    with pytest.raises(ValueError, match=r"^not yet"):
        (numbers | Sink.for_each(note)).run().wait()
    assert (numbers.take(61) | Sink.for_each(found.append)).run().wait() == 61
    assert found == list(range(1, 101))


def test_entries_of_a_consumer_that_is_gone_are_taken_over(redis_server: RedisServer, key: str) -> None:
    redis_server.fill(key, 20)
    with redis_server.client() as redis:
        redis.xgroup_create(key, "group", id="0")
        redis.xreadgroup("group", "gone", {key: ">"}, count=10)
        held = redis.xpending_range(key, "group", "-", "+", 10)
        redis.xclaim(key, "group", "gone", 0, [each["message_id"] for each in held], idle=120_000)
    found = list(from_redis(redis_server.url, key, "group", "me").take(20).map(number))
    assert found == [*range(11, 21), *range(1, 11)]


@pytest.mark.proves("redis.source (guide)", "thirty thousand elements with a slow consumer", "the server's lag is what was not asked for")  # fmt: skip  # noqa: E501
def test_the_server_holds_what_a_slow_consumer_has_not_asked_for(redis_server: RedisServer, key: str) -> None:
    redis_server.fill(key, 30_000)
    total = count = 0

    def slow(entry: Entry) -> None:
        nonlocal total, count
        count += 1
        total += number(entry)
        if count % 10_000 == 5000:
            pending, lag = redis_server.group(key, "group")
            assert pending <= 10_000
            assert lag >= 30_000 - count - 10_000

    (from_redis(redis_server.url, key, "group", "me").take(30_000) | Sink.for_each(slow)).run().wait()
    assert (count, total) == (30_000, sum(range(1, 30_001)))
    assert redis_server.group(key, "group") == (0, 0)


@pytest.mark.slow
@pytest.mark.proves("redis.source (guide)", "kill -9 of the consumer, ten times", "nothing lost; what was not committed comes again")  # fmt: skip  # noqa: E501
def test_a_consumer_is_killed_ten_times(redis_server: RedisServer, key: str, tmp_path: Path) -> None:
    count, file = 10_000, tmp_path / "noted"
    redis_server.fill(key, count)
    command = [sys.executable, "-m", "tests.connectors.redis.consumer", redis_server.url, key, str(file)]
    chance = random.Random(14)

    def size() -> int:
        return file.stat().st_size // 8 if file.exists() else 0

    for life in range(11):
        process = subprocess.Popen(command)
        try:
            enough = size() + chance.randint(1, 700)
            last = life == 10
            until(lambda: len(noted(file)) == count if last else size() >= enough, "progress")  # noqa: B023
        finally:
            process.kill()
            process.wait()
    assert noted(file) == set(range(1, count + 1))


@pytest.mark.proves(
    "redis.source (guide)", "kill -9 of the server", "the run fails; the next one goes on, nothing lost"
)
def test_the_server_is_killed_in_the_middle(own_server: RedisServer) -> None:
    own_server.fill("key", 5000)
    found: list[int] = []

    def note(n: int) -> None:
        found.append(n)
        if len(found) == 2000:
            own_server.kill()

    numbers = from_redis(own_server.url, "key", "group", "me").map(number)
    with pytest.raises(RedisError):
        (numbers | Sink.for_each(note)).run().wait()
    own_server.start()
    run = (numbers | Sink.for_each(found.append)).run()
    until(lambda: set(found) == set(range(1, 5001)), "all of them")
    run.cancel()


@pytest.mark.proves("redis.sink (guide)", "a round trip", "each batch is there whole")
def test_writes_batches(redis_server: RedisServer, key: str) -> None:
    elements = Stream.range(5000).map(lambda n: {"n": str(n)})
    assert (elements | to_redis(redis_server.url, key)).run().wait() == 5000
    assert redis_server.numbers(key) == list(range(5000))
    until(lambda: redis_server.connections() == 0, "no connection")


@pytest.mark.proves("redis.sink (guide)", "cancel", "the connection is closed")
def test_a_cancel_of_a_sink_lets_go_of_the_connection(redis_server: RedisServer, key: str) -> None:
    run = (Stream.just({"n": "1"}).repeat() | to_redis(redis_server.url, key)).run()

    def length() -> int:
        with redis_server.client() as redis:
            return int(redis.xlen(key))

    until(lambda: length() > 100, "entries")
    run.cancel()
    until(lambda: redis_server.connections() == 0, "no connection")


@pytest.mark.proves("redis.source (guide)", "bad credentials", "a clear error")
def test_a_login_that_is_refused_fails_the_run(redis_server: RedisServer, key: str) -> None:
    url = redis_server.url.replace("redis://", "redis://me:wrong@")
    with pytest.raises(AuthenticationError):
        from_redis(url, key, "group", "me").first().get()
    until(lambda: redis_server.connections() == 0, "no connection")


@pytest.mark.proves("redis.source (guide)", "a dropped stream", "a clear error")
def test_a_stream_that_is_deleted_fails_the_run(redis_server: RedisServer, key: str) -> None:
    redis_server.fill(key, 5)
    probe = subscribed(from_redis(redis_server.url, key, "group", "me"), 10)
    probe.wait_for(5)
    with redis_server.client() as redis:
        redis.delete(key)
    probe.wait_until(lambda: probe.ended, "the end")
    assert isinstance(probe.error, ResponseError)
    assert str(probe.error).split()[0] in {"NOGROUP", "UNBLOCKED"}
