"""notifications: what is told by NOTIFY, up to a bound, with a stated overflow."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

import psycopg
import pytest
from psycopg.conninfo import make_conninfo

from penstock import Overflow, OverflowedError, Sink
from penstock.connectors.postgres import Notified, notifications
from penstock.connectors.postgres.listening import _Listening, _OpenChannels
from tests.connectors.postgres.server import CONNECTIONS, Server

LISTENING = "select count(*) from pg_stat_activity where query like 'LISTEN%' and state = 'idle'"


def payloads(told: list[Notified]) -> list[str]:
    return [each.payload for each in told]


def with_feed(
    server: Server, overflow: Overflow, use: Callable[[_Listening], Awaitable[Any]], on_drop: Any = None
) -> Any:
    async def used() -> Any:
        feed = await _OpenChannels(server.conninfo, ("channel",), 3, overflow, on_drop)()
        try:
            server.run("select pg_notify('channel', n::text) from generate_series(1, 9) n")
            return await use(feed)
        finally:
            await feed.close()

    return asyncio.run(used())


def test_what_is_told_comes(server: Server) -> None:
    run = (notifications(server.conninfo, ["one", "Two's"]).take(3).to_list() | Sink.first()).run()
    server.eventually(LISTENING, 1)
    server.run("notify one, 'a'", "notify other, 'b'", "select pg_notify('Two''s', 'c')", "notify one")
    told = run.wait()
    assert [(each.channel, each.payload) for each in told] == [("one", "a"), ("Two's", "c"), ("one", "")]
    assert all(each.pid > 0 for each in told)


async def dropped(feed: _Listening, letters: list[str]) -> list[str]:
    """Wait until six were left out, then take the rest."""
    while len(letters) < 6:
        await asyncio.sleep(0.01)
    return payloads([*await feed.fetch(2), *await feed.fetch(2)])


@pytest.mark.proves("postgres.notifications", "a slow consumer", "a stated overflow: fail, drop, or keep the latest")
@pytest.mark.parametrize(
    ("overflow", "kept"), [(Overflow.DROP, ["1", "2", "3"]), (Overflow.LATEST, ["7", "8", "9"])], ids=str
)
def test_more_than_may_wait_are_left_out(server: Server, overflow: Overflow, kept: list[str]) -> None:
    letters: list[str] = []
    found = with_feed(
        server, overflow, lambda feed: dropped(feed, letters), on_drop=lambda told: letters.append(told.payload)
    )
    assert found == kept
    assert sorted(found + letters) == [str(n) for n in range(1, 10)]


def test_more_than_may_wait_fail_the_stream_behind_those_that_wait(server: Server) -> None:
    async def failing(feed: _Listening) -> list[str]:
        while feed._failure is None:
            await asyncio.sleep(0.01)
        told = payloads(await feed.fetch(1000))
        with pytest.raises(OverflowedError, match=r"^notifications: 3 wait and another came; ask for them faster, or"):
            await feed.fetch(1)
        return told

    assert with_feed(server, Overflow.ERROR, failing) == ["1", "2", "3"]


@pytest.mark.proves("postgres.notifications", "cancel", "the connection is released")
def test_cancel_releases_the_connection(server: Server) -> None:
    run = (notifications(server.conninfo, "channel") | Sink.count()).run()
    server.eventually(LISTENING, 1)
    run.cancel()
    server.eventually(CONNECTIONS, 0)


@pytest.mark.proves("postgres.notifications", "the connection is ended by the server", "a clear error")
def test_a_connection_that_the_server_ends_fails_the_stream(server: Server) -> None:
    run = (notifications(server.conninfo, "channel") | Sink.count()).run()
    server.eventually(LISTENING, 1)
    server.run("select pg_terminate_backend(pid) from pg_stat_activity where application_name = 'penstock'")
    with pytest.raises(psycopg.OperationalError, match=r"due to administrator command|closed"):
        run.wait()


@pytest.mark.proves("postgres.notifications", "bad credentials", "a clear error")
def test_bad_credentials_are_refused(server: Server) -> None:
    wrong = make_conninfo(server.conninfo, password="wrong")
    with pytest.raises(psycopg.OperationalError, match='password authentication failed for user "owner"'):
        list(notifications(wrong, "channel"))


def test_wrong_options_are_refused_at_the_call() -> None:
    with pytest.raises(ValueError, match=r"^notifications: size must be >= 1, got 0$"):
        notifications("", "channel", size=0)
    with pytest.raises(ValueError, match=r"^notifications: channel must not be empty$"):
        notifications("", "")
    with pytest.raises(
        TypeError,
        match=r"^notifications: overflow must be Overflow.ERROR, Overflow.DROP or Overflow.LATEST, got <Overflow.BUF",
    ):
        notifications("", "channel", overflow=Overflow.BUFFER)
    with pytest.raises(TypeError, match=r"^notifications: on_drop must be callable, got 5$"):
        notifications("", "channel", on_drop=5)  # type: ignore[arg-type]
