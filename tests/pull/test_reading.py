"""A reader gives bytes in the pieces that are asked for; a handshake talks before the rest is used."""

from __future__ import annotations

import asyncio
import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import pull
from tests.pull.parts import Asker, Upstream, refuses

ERROR = ValueError("bad")


def reading(*chunks):
    made = pull.reader()
    pull.pull(pull.values(chunks), made)
    return made


def cut(data, places):
    """Return the data in pieces, cut at these places."""
    ends = sorted({min(place, len(data)) for place in places} | {0, len(data)})
    return [data[a:b] for a, b in itertools.pairwise(ends)] or [b""]


@given(places=st.lists(st.integers(0, 60), max_size=20))
def test_pieces_are_the_same_however_the_stream_is_cut(places):
    data = b"first line\r\nsecond\n\n" + (5).to_bytes(4, "big") + b"12345" + (3).to_bytes(2, "little") + b"abcrest"
    made = reading(*cut(data, places))
    lines = [made.read_line().get() for _ in range(3)]
    assert lines == [b"first line", b"second", b""]
    assert made.read_prefixed().get() == b"12345"
    assert made.read_prefixed(size=2, order="little").get() == b"abc"
    assert made.read(0).get() == b""
    assert b"".join(made.rest()) == b"rest"


def test_pieces_are_asked_for_before_they_come_and_come_in_order():
    upstream, told = Upstream(), []
    made = pull.reader()
    pull.pull(upstream, made)
    assert upstream.waiting == []
    results = [made.read(2), made.read_line()]
    made.read(None, lambda *given: told.append(given))
    upstream.give(b"abc")
    assert (results[0].get(), results[1].done) == (b"ab", False)
    upstream.give(b"d\nef")
    assert (results[1].get(), told) == (b"cd", [(None, b"ef")])
    assert upstream.waiting == []


def test_it_may_be_asked_before_it_is_wired():
    made = pull.reader()
    result = made.read(2)
    pull.pull(pull.values([b"a", b"b"]), made)
    assert result.get() == b"ab"


def test_pieces_are_awaited_on_an_event_loop():
    async def chunks():
        for chunk in (b"one\ntw", b"o\n"):
            await asyncio.sleep(0)
            yield chunk

    async def main():
        made = pull.reader()
        pull.pull(pull.from_async_iter(chunks()), made)
        return await made.read_line(), await made.read_line()

    assert asyncio.run(main()) == (b"one", b"two")


def test_the_end_is_told_and_what_is_not_whole_is_an_error():
    made = reading(b"abc")
    with refuses(EOFError, "reader: the stream ended after 3 of 5 bytes"):
        made.read(5).get()
    assert made.read(3).get() == b"abc"
    with refuses(pull.StreamEnd, "reader: the stream is done"):
        made.read(1).get()
    assert reading(b"last").read_line().get() == b"last"
    with refuses(pull.StreamEnd, "reader: the stream is done"):
        reading().read_line().get()
    with refuses(EOFError, "reader: the stream ended in the middle of a message, after 5 bytes"):
        reading(b"\0\0\0\2a").read_prefixed().get()


def test_a_failure_of_the_stream_is_told_after_what_came_before():
    made = pull.reader()
    pull.pull(pull.cat([pull.values([b"ab"]), pull.error(ERROR)]), made)
    assert made.read(2).get() == b"ab"
    with pytest.raises(ValueError, match="bad"):
        made.read(1).get()


def test_a_message_that_is_too_long_and_a_value_that_is_no_bytes_abort_the_source():
    for chunk, message in [
        (b"\xff\xff\xff\xffabc", "reader: a message of 4294967295 bytes came, and no more than 100 are allowed"),
        ("text", "reader: values must be bytes, got 'text'"),
    ]:
        upstream, made = Upstream(), pull.reader()
        pull.pull(upstream, made)
        result = made.read_prefixed(most=100)
        upstream.give(chunk)
        with pytest.raises((ValueError, TypeError)) as caught:
            result.get()
        assert str(caught.value) == message
        assert [str(each) for each in upstream.aborts] == [message]


def test_an_abort_ends_who_waits_and_the_source_once():
    upstream, made = Upstream(), pull.reader()
    pull.pull(upstream, made)
    result = made.read(1)
    made.abort(ERROR)
    made.abort()
    assert upstream.aborts == [ERROR]
    with pytest.raises(ValueError, match="bad"):
        result.get()


def test_the_rest_is_a_source_that_can_be_aborted():
    told = []
    made = pull.reader()
    pull.pull(pull.values([b"abc", b"def"], told.append), made)
    assert made.read(1).get() == b"a"
    asker = Asker(made.rest()).ask().abort(ERROR).ask()
    assert asker.answers == [(None, b"bc"), (ERROR, None), (ERROR, None)]
    assert told == [ERROR]
    with refuses(RuntimeError, "reader: the rest was handed on as a source; read that"):
        made.read(1)


def test_the_rest_waits_for_what_was_asked_before():
    upstream, made = Upstream(), pull.reader()
    pull.pull(upstream, made)
    line, asker = made.read_line(), Asker(made.rest()).ask(2)
    upstream.give(b"a")
    assert asker.answers == []
    upstream.give(b"b\nc")
    assert (line.get(), asker.answers) == (b"ab", [(None, b"c")])
    upstream.end()
    assert asker.answers == [(None, b"c"), (True, None)]


def test_a_handshake_and_then_the_rest_in_both_directions():
    client, server = pull.handshake(), pull.handshake()
    pull.pull(client, server, client)
    client.write(b"HELLO\n")
    asked = server.read_line()
    assert asked.get() == b"HELLO"
    server.write(b"\0\0\0\2OK")
    assert client.read_prefixed().get() == b"OK"
    one, other = client.rest(), server.rest()
    pull.pull(pull.values([b"one", b"two"]), one.sink)
    pull.pull(other.source, pull.map(bytes.upper), other.sink)
    assert pull.pull(one.source, pull.concat()).get() == b"ONETWO"


def test_a_handshake_can_be_given_up():
    upstream = Upstream()
    made = pull.handshake()
    pull.pull(upstream, made.sink)
    asker, result = Asker(made.source).ask(), made.read(1)
    made.abort(ERROR)
    assert (upstream.aborts, asker.ends) == ([ERROR], [ERROR])
    with pytest.raises(ValueError, match="bad"):
        result.get()


def test_a_reader_is_wired_once():
    made = reading(b"a")
    with refuses(pull.PullError, "property B15: reader reads from a source already; a sink is wired once"):
        pull.pull(pull.values([b"b"]), made)


# Iteration


def test_a_source_is_iterated_over_by_for_and_async_for():
    async def main():
        return [value async for value in pull.count(3) | pull.batch(2)]

    assert list(pull.count(3) | pull.batch(2)) == [[0, 1], [2, 3]]
    assert [value for value in pull.to_iter(lambda abort, answer=None: answer(True))] == []  # noqa: C416
    assert asyncio.run(main()) == [[0, 1], [2, 3]]


def test_leaving_the_loop_aborts_the_source():
    told = []
    for value in pull.values(range(9), told.append) | pull.map(str):
        if value == "2":
            break
    assert told == [None]


def test_an_iteration_raises_what_the_stream_failed_with_and_a_failed_close():
    with pytest.raises(ValueError, match="bad"):
        list(pull.cat([pull.values([1]), pull.error(ERROR)]))

    def closing(abort, answer=None):
        answer(ERROR) if abort is not None else answer(None, 1)

    iterator = pull.to_iter(closing)
    assert next(iterator) == 1
    with pytest.raises(ValueError, match="bad"):
        iterator.close()


def test_an_iteration_waits_for_other_threads():
    import threading

    inbox = pull.pushable()
    worker = threading.Thread(target=lambda: [inbox.push(n) for n in range(5)] and inbox.end())
    worker.start()
    assert list(inbox | pull.map(str)) == list("01234")
    worker.join(30)


def test_waiting_where_an_event_loop_runs_is_refused_with_the_cure():
    async def main():
        with refuses(RuntimeError, "to_iter: waiting would stop the event loop that runs here; use async for"):
            next(iter(pull.pushable()))

    asyncio.run(main())
