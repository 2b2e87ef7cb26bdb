"""penstock.bridges.rsocket in one process: arguments, errors, codecs, loops, closing, and nothing left behind."""

from __future__ import annotations

import asyncio
import json
import pickle
import ssl
import subprocess
import sys
import threading
from collections.abc import Callable, Iterator
from contextvars import ContextVar
from pathlib import Path
from typing import Any, Literal, get_args

import pytest
import trio
import trustme

from penstock import Dropped, Sink, Stream, flow, inline, pool, subscriber, thread
from penstock.bridges.rsocket import (
    BYTES,
    JSON,
    ConnectionLostError,
    FrameError,
    Liveness,
    RejectedError,
    RemoteError,
    channel,
    remote,
    serve,
)
from penstock.engine.grounds.outlet import Outlet
from penstock.errors import EmptyError, ProtocolError
from penstock.testing import Probe, Tracked
from tests.engine.watch import PATIENCE, dropped, left_alive, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

Transport = Literal["tcp", "websocket"]
each_transport = pytest.mark.parametrize("transport", get_args(Transport))


class OwnError(Exception):
    """Be an error of the user's own."""


class Strict(Exception):
    """Be an error that cannot be made of a message."""

    def __init__(self, a: int, b: int) -> None:
        super().__init__(a, b)


# Errors.


@pytest.mark.parametrize(
    "error",
    [
        ValueError("no such pipe"),
        ValueError(),
        ValueError("two\nlines: and a colon"),
        KeyError("valve"),
        KeyError(5),
        OSError(2, "missing"),
        ZeroDivisionError("1/0"),
        ProtocolError("1.1", "too many"),
        EmptyError("nothing came"),
        OwnError("mine"),
    ],
    ids=repr,
)
def test_an_error_keeps_type_and_message(error: Exception) -> None:
    with serve({"failing": Stream.error(error)}) as server:
        probe: Probe[Any] = Probe(1)
        remote(server.address, "failing", token=server.token, errors=(OwnError,)).subscribe(probe)
        probe.wait_for_end()
    assert (type(probe.error), str(probe.error)) == (type(error), str(error))


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (OwnError("mine"), "OwnError"),
        (Strict(1, 2), "Strict"),
        (UnicodeDecodeError("utf-8", b"x", 0, 1, "bad"), "UnicodeDecodeError"),
    ],
    ids=["not given", "other arguments", "a builtin with other arguments"],
)
def test_an_error_whose_type_cannot_be_made_is_a_remote_error(error: Exception, name: str) -> None:
    with serve({"failing": Stream.error(error)}) as server, pytest.raises(RemoteError) as caught:
        list(remote(server.address, "failing", token=server.token, errors=(Strict,)))
    assert caught.value.type_name == name
    assert caught.value.message == str(error)
    assert str(caught.value) == f"{caught.value.type_name}: {error}"


def test_no_name_of_a_stranger_is_looked_up() -> None:
    for text in ("os.system", "SystemExit", "KeyboardInterrupt", "Exception.__class__", "print", "builtins.ValueError"):
        with serve({"failing": Stream.error(RemoteError(text, "boo"))}) as server, pytest.raises(RemoteError) as caught:
            list(remote(server.address, "failing", token=server.token))
        assert caught.value.type_name == text


class Mute(Exception):
    """Be an error that cannot say what it is."""

    def __str__(self) -> str:
        raise ArithmeticError("no words")


@pytest.mark.parametrize(
    ("error", "text"),
    [
        (ValueError("x" * 1_000_000), "x" * 7000 + "..."),
        (ValueError("half \ud800 pair"), "half \\ud800 pair"),
        (Mute(), "Mute: its message could not be had: ArithmeticError"),
    ],
    ids=["long", "a surrogate", "mute"],
)
def test_an_error_that_cannot_be_said_still_ends_the_stream(error: Exception, text: str) -> None:
    same = flow(lambda each: each.map(lambda n: n))
    with serve({"failing": Stream.error(error)}, channels={"same": same}) as server:
        for stream in (
            remote(server.address, "failing", token=server.token),
            Stream.just(1).concat(Stream.error(error)) | channel(server.address, "same", token=server.token),
        ):
            with pytest.raises((ValueError, RemoteError)) as caught:
                list(stream)
            assert str(caught.value) == text


def test_a_function_that_fails_to_make_a_stream_fails_the_consumer() -> None:
    def fail() -> Stream[int]:
        raise LookupError("no table")

    with serve({"failing": fail, "wrong": lambda: 5}) as server:  # type: ignore[dict-item, return-value]
        with pytest.raises(LookupError, match=r"^no table$"):
            list(remote(server.address, "failing", token=server.token))
        with pytest.raises(TypeError, match=r"^serve: the function for 'wrong' must return a Stream, got 5$"):
            list(remote(server.address, "wrong", token=server.token))


# Codecs and sizes.


def test_json_carries_what_json_can_say() -> None:
    elements = ["ä\n", 1, 1.5, True, [1, [2]], {"a": None}]
    with serve({"elements": Stream.from_iterable(elements)}) as server:
        assert list(remote(server.address, "elements", token=server.token)) == elements


@pytest.mark.parametrize("element", [object(), float("nan"), {1, 2}], ids=["object", "nan", "set"])
def test_what_json_cannot_say_fails_the_stream_and_cancels_it(element: object) -> None:
    upstream = Tracked([1, element, 3])
    with serve({"elements": Stream.from_iterable(upstream)}) as server:
        probe: Probe[Any] = Probe(3)
        remote(server.address, "elements", token=server.token).subscribe(probe)
        probe.wait_for_end()
    assert isinstance(probe.error, TypeError | ValueError)
    assert probe.elements == [1]
    upstream.wait_until_closed()
    assert upstream.taken == 2


@each_transport
def test_bytes_cross_as_they_are_empty_and_large_ones_too(transport: Transport) -> None:
    elements = [b"", b"\0\xff", bytes(range(256)) * 3000, b"end"]  # the third is sent in pieces
    with serve({"elements": Stream.from_iterable(elements)}, codec=BYTES, transport=transport) as server:
        assert list(remote(server.address, "elements", token=server.token, codec=BYTES)) == elements


def test_bytes_are_all_that_the_codec_for_bytes_takes() -> None:
    with (
        serve({"elements": Stream.just("text")}, codec=BYTES) as server,
        pytest.raises(TypeError, match=r"^rsocket: an element must be bytes for the codec BYTES, got 'text'$"),
    ):
        list(remote(server.address, "elements", token=server.token, codec=BYTES))


def test_an_element_too_large_fails_clearly_on_the_side_that_has_the_limit(dropped: list[Dropped]) -> None:
    elements = Stream.just("a", "b" * 1000)
    with serve({"elements": elements}, largest=500) as server, pytest.raises(ValueError) as caught:
        list(remote(server.address, "elements", token=server.token))
    assert str(caught.value) == "rsocket: an element must have <= 500 bytes, got 1002; raise `largest` on both sides"
    with (
        serve({"elements": elements}) as server,
        pytest.raises(FrameError, match=r"more than 500 bytes, the limit that"),
    ):
        list(remote(server.address, "elements", token=server.token, largest=500))
    dropped.clear()  # the server may hear of it before its stream has ended


def test_both_sides_need_the_same_codec(dropped: list[Dropped]) -> None:
    with (
        serve({"elements": Stream.just(1)}) as server,
        pytest.raises(RejectedError, match=r"application/octet-stream is not spoken here, application/json is"),
    ):
        list(remote(server.address, "elements", token=server.token, codec=BYTES))
    dropped.clear()


class Numbers:
    """Be a codec of the user's own."""

    mime = "text/x-number"

    def encode(self, element: int, /) -> bytes:
        return str(element).encode()

    def decode(self, data: bytes, /) -> int:
        return int(data)


class Odd(Numbers):
    """Be a codec whose name cannot be sent."""

    mime = "ä"


class Mute(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class MuteAtOne(Numbers):
    def decode(self, data: bytes, /) -> int:
        if data == b"1":
            raise Mute
        return super().decode(data)


def test_a_codec_whose_error_cannot_say_what_it_is_fails_the_stream() -> None:
    probe: Probe[int] = Probe(3)
    with serve({"elements": Stream.range(3)}, codec=Numbers()) as server:
        remote(server.address, "elements", token=server.token, codec=MuteAtOne()).subscribe(probe)
        probe.wait_for_end()
    assert probe.elements == [0]
    assert isinstance(probe.error, FrameError)
    assert isinstance(probe.error.__cause__, Mute)


def test_a_codec_of_ones_own() -> None:
    with serve({"elements": Stream.range(3)}, codec=Numbers()) as server:
        assert list(remote(server.address, "elements", token=server.token, codec=Numbers())) == [0, 1, 2]


# Tokens and refusals.


def test_a_wrong_token_is_refused_and_the_cure_is_named(dropped: list[Dropped]) -> None:
    upstream = Tracked([1])
    with (
        serve({"elements": Stream.from_iterable(upstream)}) as server,
        pytest.raises(RejectedError, match=r"refused the connection: the token is wrong; pass token= with the token"),
    ):
        list(remote(server.address, "elements", token=server.token + "x"))
    assert upstream.opened == 0
    [found] = dropped
    dropped.clear()
    assert isinstance(found.error, RejectedError)


def test_tokens_are_long_and_made_for_each_server_unless_given() -> None:
    with serve({"a": Stream.just(1)}) as one, serve({"a": Stream.just(1)}) as other:
        assert len(one.token) >= 40
        assert one.token != other.token
        assert one.token not in repr(one)
    with serve({"a": Stream.just(1)}, token="sesame") as server:
        assert list(remote(server.address, "a", token="sesame")) == [1]
        assert "sesame" not in repr(remote(server.address, "a", token="sesame"))


def test_it_listens_on_this_host_alone() -> None:
    with serve({"a": Stream.just(1)}) as server:
        assert server.address.startswith("tcp://127.0.0.1:")


def test_an_unknown_name_is_refused_and_the_others_are_named() -> None:
    with serve({"a": Stream.just(1)}) as server:
        with pytest.raises(RejectedError, match=r"no stream 'b' is served; these are: 'a'$"):
            list(remote(server.address, "b", token=server.token))
        with pytest.raises(RejectedError, match=r"no channel 'b' is served; these are: none$"):
            list(Stream.just(1) | channel(server.address, "b", token=server.token))


# Demand, cancel, threads.


def test_a_cancel_reaches_a_source_that_is_in_the_middle_of_something() -> None:
    reached, go_on, closed = threading.Event(), threading.Event(), threading.Event()

    def source() -> Iterator[int]:
        try:
            yield 1
            reached.set()
            assert go_on.wait(PATIENCE)
            while True:
                yield 2
        finally:
            closed.set()

    with serve({"numbers": lambda: Stream.from_iterable(source())}) as server:
        probe: Probe[int] = Probe(100_000)
        remote(server.address, "numbers", token=server.token, window=2).subscribe(probe)
        probe.wait_for(1)
        assert reached.wait(PATIENCE)
        probe.cancel()
        go_on.set()
        assert closed.wait(PATIENCE)


def test_no_connection_is_made_before_something_is_asked_for() -> None:
    upstream = Tracked([1, 2])
    with serve({"numbers": Stream.from_iterable(upstream)}) as server:
        before = set(threading.enumerate())
        probe: Probe[int] = Probe()
        remote(server.address, "numbers", token=server.token).subscribe(probe)
        assert (server.connections, upstream.opened, left_alive(before)) == (0, 0, [])
        probe.cancel()


def test_a_request_for_nothing_fails_by_rule_and_closes_the_connection() -> None:
    upstream = Tracked(range(10))
    with serve({"numbers": Stream.from_iterable(upstream)}) as server:
        probe: Probe[int] = Probe(1)
        remote(server.address, "numbers", token=server.token).subscribe(probe)
        probe.wait_for(1)
        assert probe.subscription is not None
        probe.subscription.request(0)
        probe.wait_for_end()
        assert "rule 3.9" in str(probe.error)
        upstream.wait_until_closed()


def test_a_subscriber_that_raises_cancels(dropped: list[Dropped]) -> None:
    upstream = Tracked(range(10))
    raised = threading.Event()

    def fail(_: Any) -> None:
        raised.set()
        raise ArithmeticError("no")

    with serve({"numbers": Stream.from_iterable(upstream)}) as server:
        remote(server.address, "numbers", token=server.token).subscribe(Probe(5, on_signal=fail))
        assert raised.wait(PATIENCE)
        upstream.wait_until_closed()
    [found] = dropped
    dropped.clear()
    assert isinstance(found.error, ArithmeticError)


@pytest.mark.parametrize("executor", [inline(), pool(2), thread("mine")], ids=["inline", "pool", "thread"])
def test_elements_are_made_and_delivered_where_the_executors_say(executor: Any) -> None:
    with serve({"numbers": Stream.range(100)}, executor=executor) as server:
        probe: Probe[int] = Probe(1000)
        remote(server.address, "numbers", token=server.token, executor=executor).subscribe(probe)
        probe.wait_for_end()
    assert probe.elements == list(range(100))
    names = {"Inline": {"penstock-rsocket", "MainThread"}, "Pool": {"penstock-pool"}, "Thread": {"mine"}}
    assert set(probe.threads) <= names[type(executor).__name__]


def test_a_shared_run_is_not_one_for_each_consumer() -> None:
    upstream = Tracked([1, 2])
    with serve({"numbers": Stream.from_iterable(upstream)}) as server:
        numbers = remote(server.address, "numbers", token=server.token)
        assert (list(numbers), list(numbers)) == ([1, 2], [1, 2])
        assert upstream.opened == 2


PLACE: ContextVar[str] = ContextVar("place", default="nowhere")


def test_served_streams_run_in_the_context_of_who_serves_and_consumers_in_their_own() -> None:
    token = PLACE.set("server")
    with serve({"places": Stream.defer(lambda: Stream.just(PLACE.get()))}) as server:
        PLACE.set("consumer")
        assert list(remote(server.address, "places", token=server.token).map(lambda it: (it, PLACE.get()))) == [
            ("server", "consumer")
        ]
    PLACE.reset(token)


# Event loops.


def test_it_works_inside_a_running_loop() -> None:
    async def main() -> tuple[list[int], list[str], list[int]]:
        tasks = asyncio.all_tasks()
        with serve(
            {"numbers": Stream.range(500)}, channels={"double": lambda each: each.map(lambda n: 2 * n)}
        ) as server:
            numbers = remote(server.address, "numbers", token=server.token)
            where: list[str] = []
            found = [n async for n in numbers.tap(lambda _: where.append(threading.current_thread().name))]
            doubled = [n async for n in numbers.take(3) | channel(server.address, "double", token=server.token)]
        assert asyncio.all_tasks() == tasks
        return found, where, doubled

    found, where, doubled = asyncio.run(main())
    assert found == list(range(500))
    assert set(where) == {"MainThread"}
    assert doubled == [0, 2, 4]


def test_an_asynchronous_source_is_served() -> None:
    with serve({"numbers": Stream.from_async_iterable(Tracked(range(300)))}) as server:
        assert list(remote(server.address, "numbers", token=server.token)) == list(range(300))


def test_it_works_inside_trio() -> None:
    async def main() -> list[int]:
        with serve({"numbers": Stream.range(500)}) as server:
            return [n async for n in remote(server.address, "numbers", token=server.token)]

    assert trio.run(main) == list(range(500))


def test_a_remote_stream_is_a_value() -> None:
    one = remote("tcp://h:1", "numbers", token="sesame", errors=(OwnError,)).map(str)
    assert one == remote("tcp://h:1", "numbers", token="sesame", errors=(OwnError,)).map(str)
    assert one != remote("tcp://h:1", "numbers", token="other", errors=(OwnError,)).map(str)
    assert pickle.loads(pickle.dumps(one)) == one
    assert str(one._chain) == "remote | map(str)"
    assert str(channel("tcp://h:1", "double", token="t")) == "Flow(hole | remote_channel)"
    assert "sesame" not in repr(one._chain)


# Channels.


def test_a_flow_may_fail_recover_emit_first_and_end_early() -> None:
    channels = {
        "failing": lambda numbers: numbers.map(lambda n: 10 // n),
        "recovering": lambda numbers: numbers.on_error_resume(lambda error: Stream.just(str(error))),
        "first": lambda numbers: numbers.start_with(0),
        "early": lambda numbers: numbers.take(2),
        "none": lambda numbers: numbers.ignore_elements(),
        "own": flow(lambda numbers: numbers.map(str)),
    }
    with serve(channels=channels) as server:

        def through(name: str, stream: Stream[Any]) -> list[Any]:
            return list(stream | channel(server.address, name, token=server.token))

        with pytest.raises(ZeroDivisionError, match=r"^integer division or modulo by zero$"):
            through("failing", Stream.just(5, 0, 1))
        failing = Stream.just(1).concat(Stream.error(LookupError("gone")))
        assert through("recovering", failing) == [1, "gone"]
        assert through("first", Stream.empty()) == [0]
        assert through("first", Stream.just(1)) == [0, 1]
        upstream = Tracked(range(1000))
        assert through("early", Stream.from_iterable(upstream)) == [0, 1]
        upstream.wait_until_closed()
        assert through("none", Stream.range(1000)) == []
        assert through("own", Stream.just(5)) == ["5"]


def test_a_failure_before_a_channel_that_nobody_has_asked_is_told_at_once() -> None:
    with serve(channels={"same": lambda each: each.map(lambda n: n)}) as server:
        probe: Probe[Any] = Probe()
        (Stream.error(LookupError("gone")) | channel(server.address, "same", token=server.token)).subscribe(probe)
        probe.wait_for_end()
        assert isinstance(probe.error, LookupError)
        assert server.connections == 0


def test_a_failure_before_a_channel_at_the_moment_of_the_first_request_leaves_no_connection() -> None:
    class Failing:
        """Let the request in between the look at whether anything was asked for and the failure."""

        def subscribe(self, subscriber: Any, /) -> None:
            self.subscriber = subscriber
            subscriber.on_subscribe(self)

        def request(self, n: int, /) -> None:
            pass

        def cancel(self) -> None:
            pass

    publisher, probe = Failing(), Probe[Any]()
    complete = Outlet.complete

    def late(outlet: Outlet[Any], error: Exception | None = None) -> None:
        if isinstance(error, OwnError) and not probe.requested:
            probe.request(1)
            until(lambda: server.connections)
        complete(outlet, error)

    with (
        serve(channels={"same": lambda numbers: numbers.map(lambda n: n)}) as server,
        pytest.MonkeyPatch.context() as patch,
    ):
        patch.setattr(Outlet, "complete", late)
        (Stream.from_publisher(publisher) | channel(server.address, "same", token=server.token)).subscribe(probe)
        publisher.subscriber.on_error(OwnError("burst"))
        probe.wait_for_end()
        assert isinstance(probe.error, OwnError)
        until(lambda: not server.connections)


def until(reached: Callable[[], object]) -> None:
    pause = threading.Event()
    for _ in range(int(PATIENCE * 100)):
        if reached():
            return
        pause.wait(0.01)
    raise AssertionError("it did not happen")


def test_a_channel_is_a_flow_that_can_be_composed() -> None:
    with serve(channels={"double": lambda each: each.map(lambda n: 2 * n)}) as server:
        double = channel(server.address, "double", token=server.token)
        assert (Stream.range(4) | double | double | Sink.to_list()).run().wait() == [0, 4, 8, 12]
        total = subscriber(double | Sink.to_list())
        Stream.range(3).subscribe(total)
        assert total.get(PATIENCE) == [0, 2, 4]


# Closing.


def open_sockets() -> list[str]:
    found = []
    for descriptor in Path("/proc/self/fd").iterdir():
        try:
            target = str(descriptor.readlink())
        except OSError:
            continue
        if target.startswith("socket:"):
            found.append(target)
    return sorted(found)


@each_transport
def test_closing_fails_the_consumers_cancels_the_runs_and_leaves_nothing(transport: Transport) -> None:
    sockets, threads = open_sockets(), set(threading.enumerate())
    upstream = Tracked(range(1000))
    probes: list[Probe[int]] = [Probe(3) for _ in range(3)]
    server = serve(
        {"numbers": Stream.from_iterable(upstream)},
        channels={"same": lambda each: each.map(lambda n: n)},
        transport=transport,
    )
    for probe in probes:
        remote(server.address, "numbers", token=server.token).subscribe(probe)
    through: Probe[int] = Probe(2)
    before = Tracked(range(1000))
    (Stream.from_iterable(before) | channel(server.address, "same", token=server.token)).subscribe(through)
    for probe in probes:
        probe.wait_for(3)
    through.wait_for(2)
    assert server.connections == 4
    server.close()
    server.close()
    assert server.connections == 0
    for probe in (*probes, through):
        probe.wait_for_end()
        assert isinstance(probe.error, ConnectionLostError)
        assert str(probe.error).endswith("closed the connection: the server was closed")
    upstream.wait_until_closed()
    before.wait_until_closed()
    assert left_alive(threads) == []
    assert open_sockets() == sockets


@each_transport
def test_streams_that_end_fail_and_are_cancelled_leave_nothing(transport: Transport) -> None:
    sockets, threads = open_sockets(), set(threading.enumerate())
    streams = {"numbers": Stream.range(1000), "failing": Stream.error(OwnError("no"))}
    with serve(streams, transport=transport) as server:
        for _ in range(5):
            assert list(remote(server.address, "numbers", token=server.token).take(2)) == [0, 1]
            assert len(list(remote(server.address, "numbers", token=server.token))) == 1000
            with pytest.raises(RemoteError):
                list(remote(server.address, "failing", token=server.token))
    assert left_alive(threads) == []
    assert open_sockets() == sockets


@each_transport
def test_closing_while_consumers_arrive_fails_all_of_them(transport: Transport) -> None:
    """Whatever state a connection is in when its server closes, its consumer hears of the end."""
    for _ in range(10):
        upstream = Tracked(range(1000))
        server = serve(
            {"numbers": Stream.from_iterable(upstream)},
            channels={"same": lambda each: each.map(lambda n: n)},
            transport=transport,
        )
        probes: list[Probe[int]] = [Probe(100_000) for _ in range(6)]
        for number, probe in enumerate(probes):
            if number % 2:
                remote(server.address, "numbers", token=server.token, window=2).subscribe(probe)
            else:
                (Stream.never() | channel(server.address, "same", token=server.token)).subscribe(probe)
        server.close()
        for probe in probes:
            probe.wait_for_end()
            assert isinstance(probe.error, ConnectionLostError)
        upstream.wait_until_closed()


def test_closing_does_not_wait_for_a_source_that_never_returns() -> None:
    reached, go_on = threading.Event(), threading.Event()

    def source() -> Iterator[int]:
        reached.set()
        assert go_on.wait(PATIENCE)
        yield 1

    server = serve({"numbers": lambda: Stream.from_iterable(source())})
    probe: Probe[int] = Probe(1)
    remote(server.address, "numbers", token=server.token).subscribe(probe)
    assert reached.wait(PATIENCE)
    server.close()
    probe.wait_for_end()
    go_on.set()
    assert isinstance(probe.error, ConnectionLostError)


def test_a_port_in_use_is_an_error_and_leaves_nothing() -> None:
    threads = set(threading.enumerate())
    with serve({"a": Stream.just(1)}) as server:
        port = int(server.address.rsplit(":", 1)[1])
        with pytest.raises(OSError, match="in use"):
            serve({"a": Stream.just(1)}, port=port)
    assert left_alive(threads) == []


# Encryption.


@each_transport
def test_an_encrypted_connection(transport: Transport) -> None:
    authority = trustme.CA()
    ours, theirs = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH), ssl.create_default_context()
    authority.issue_cert("127.0.0.1").configure_cert(ours)
    authority.configure_trust(theirs)
    with serve({"numbers": Stream.range(300)}, transport=transport, ssl=ours) as server:
        assert server.address.startswith(("tls://", "wss://"))
        assert list(remote(server.address, "numbers", token=server.token, ssl=theirs)) == list(range(300))
        with pytest.raises(ConnectionLostError, match="certificate verify failed"):
            list(remote(server.address, "numbers", token=server.token))


# Arguments.


EXECUTOR = "{0}: executor must be an Executor, got 5; thread(), pool(size), loop() and inline() make one"


@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"streams": {}}, ValueError, "serve: streams must not be empty where channels are, got nothing to serve"),
        ({"streams": {"": Stream.just(1)}}, ValueError, "serve: name must be a text of 1 to 255 bytes, got ''"),
        ({"streams": {"a": 5}}, TypeError, "serve: streams['a'] must be a Stream or a function that makes one, got 5"),
        ({"channels": {"a": 5}}, TypeError, "serve: channels['a'] must be a Flow or a function between Streams, got 5"),
        ({"transport": "udp"}, ValueError, "serve: transport must be 'tcp' or 'websocket', got 'udp'"),
        ({"host": ""}, ValueError, "serve: host must be the name of a host, got ''"),
        ({"port": -1}, ValueError, "serve: port must be >= 0, got -1"),
        ({"port": 65_536}, ValueError, "serve: port must be <= 65535, got 65536"),
        ({"token": ""}, ValueError, "serve: token must be a text that is not empty and has no surrogates"),
        ({"window": 0}, ValueError, "serve: window must be >= 1, got 0"),
        ({"window": 2**31}, ValueError, "serve: window must be <= 2147483647, got 2147483648"),
        ({"largest": 1}, ValueError, "serve: largest must be >= 64, got 1"),
        ({"codec": Odd()}, ValueError, "serve: codec must have a mime of 1 to 255 ASCII characters, got 'ä'"),
        ({"codec": 5}, TypeError, "serve: codec must have mime, encode and decode, got 5"),
        ({"keep_alive": 5}, TypeError, "serve: keep_alive must be a Liveness, got 5"),
        ({"errors": (5,)}, TypeError, "serve: errors must be types of exceptions, got 5"),
        ({"executor": 5}, TypeError, EXECUTOR.format("serve")),
    ],
)
def test_serve_refuses(options: dict[str, Any], kind: type[Exception], message: str) -> None:
    arguments = {"streams": {"a": Stream.just(1)}, **options}
    with pytest.raises(kind) as caught:
        serve(**arguments)
    assert str(caught.value) == message


ADDRESS = "{0}: address must be tcp://host:port, tls://, ws:// or wss://, got {1!r}"


@pytest.mark.parametrize("function", [remote, channel])
@pytest.mark.parametrize(
    ("options", "kind", "message"),
    [
        ({"address": "http://h:1"}, ValueError, ADDRESS.format("{0}", "http://h:1")),
        ({"address": "tcp://h"}, ValueError, ADDRESS.format("{0}", "tcp://h")),
        ({"address": "tcp://h:99999"}, ValueError, ADDRESS.format("{0}", "tcp://h:99999")),
        ({"address": 5}, TypeError, ADDRESS.format("{0}", 5)),
        ({"name": "\ud800"}, ValueError, "{0}: name must be a text of 1 to 255 bytes, got '\\ud800'"),
        ({"token": "\ud800"}, ValueError, "{0}: token must be the token of the server"),
        ({"name": ""}, ValueError, "{0}: name must be a text of 1 to 255 bytes, got ''"),
        ({"name": "a" * 256}, ValueError, "{0}: name must be a text of 1 to 255 bytes, got '" + "a" * 256 + "'"),
        ({"token": ""}, ValueError, "{0}: token must be the token of the server"),
        ({"window": True}, TypeError, "{0}: window must be a whole number, got True"),
        ({"executor": 5}, TypeError, EXECUTOR),
        (
            {"ssl": ssl.create_default_context()},
            ValueError,
            "{0}: address must be tls:// or wss:// where ssl is given, got 'tcp://h:1'",
        ),
    ],
)
def test_remote_and_channel_refuse(function: Any, options: dict[str, Any], kind: type[Exception], message: str) -> None:
    arguments = {"address": "tcp://h:1", "name": "a", "token": "t", **options}
    with pytest.raises(kind) as caught:
        function(arguments.pop("address"), arguments.pop("name"), **arguments)
    assert str(caught.value) == message.format(function.__name__)


@pytest.mark.parametrize(
    ("interval", "lifetime", "message"),
    [
        (0, 1, "Liveness: interval must be from 0.001 to 2000000 seconds, got 0"),
        (1, 1, "Liveness: interval must be < lifetime, got 1 and 1"),
        ("1", 1, "Liveness: interval must be seconds, got '1'"),
        (1, 10**9, "Liveness: lifetime must be from 0.001 to 2000000 seconds, got 1000000000"),
    ],
)
def test_keep_alive_refuses(interval: Any, lifetime: Any, message: str) -> None:
    with pytest.raises((TypeError, ValueError)) as caught:
        Liveness(interval, lifetime)
    assert str(caught.value) == message


def test_without_the_library_for_websockets_tcp_works_and_websockets_name_the_extra() -> None:
    script = """
import sys
sys.modules["websockets"] = None
from penstock import Stream
from penstock.bridges.rsocket import remote, serve
with serve({"numbers": Stream.range(3)}) as server:
    print(list(remote(server.address, "numbers", token=server.token)))
for call in (lambda: serve({"a": Stream.just(1)}, transport="websocket"), lambda: remote("ws://h:1", "a", token="t")):
    try:
        call()
    except ModuleNotFoundError as error:
        print(error)
"""
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert found.stdout.splitlines() == [
        "[0, 1, 2]",
        "serve: websockets need the library `websockets`: pip install 'penstock[rsocket]'",
        "remote: websockets need the library `websockets`: pip install 'penstock[rsocket]'",
    ]


def test_importing_the_bridge_loads_no_other_library() -> None:
    script = "import sys, json, penstock.bridges.rsocket; print(json.dumps(sorted(sys.modules)))"
    found = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    loaded = {name.split(".")[0] for name in json.loads(found.stdout)}
    assert not loaded & {"websockets", "rsocket", "reactivestreams", "pyspark", "pyarrow"}


def test_the_codecs_say_what_they_are() -> None:
    assert (JSON.mime, BYTES.mime) == ("application/json", "application/octet-stream")
