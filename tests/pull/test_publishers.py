"""Sources are publishers and publishers sources: elements, order, ends, errors, demand and cancel are carried."""

from __future__ import annotations

import itertools
import threading
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from penstock import ProtocolError, Stream, flow, pull, thread
from penstock.tck import verify_publisher
from penstock.tck.outcome import Limits
from penstock.testing import Probe
from tests.pull.parts import Asker, Upstream, collected, dropped, nothing_dropped, refuses, values_of

ERROR = ValueError("bad")
LIMITS = Limits(elements=100, timeout=5, quiet=0.01)


def source(count):
    return pull.values(itertools.count(1)) if count is None else pull.values(range(1, count + 1))


def same(value):
    return value


def failing(after):
    def items():
        yield from range(1, after + 1)
        raise ERROR

    return items()


# The kit for publishers


@pytest.mark.parametrize("concurrency", [1, 3])
@pytest.mark.parametrize(
    "wrap",
    [
        pull.to_publisher,
        lambda items, most: pull.to_publisher(pull.from_publisher(pull.to_publisher(items, most)), most),
        lambda items, most: pull.to_publisher(pull.pull(items, pull.through_flow(flow(lambda s: s.map(same)))), most),
    ],
    ids=["to_publisher", "there and back", "through_flow"],
)
def test_a_source_as_a_publisher_keeps_every_rule(concurrency, wrap):
    with dropped():  # the kit's subscribers raise
        report = verify_publisher(
            lambda count: wrap(source(count), concurrency),
            failing=lambda after: wrap(pull.values(failing(after)), concurrency),
            over=lambda items: wrap(pull.from_iter(items), concurrency),
            unicast=True,
            limits=LIMITS,
            settle=lambda: None,
        )
    assert report.ok, report.failed


# to_publisher


def test_nothing_is_asked_before_it_is_requested_and_no_more_than_that():
    made = pull.ref_source(None)
    probe = Probe()
    pull.to_publisher(made).subscribe(probe)
    assert made.asked == 0
    probe.request(3)
    assert (made.asked, probe.elements) == (3, [1, 2, 3])


@pytest.mark.parametrize(("concurrency", "out"), [(1, 1), (2, 2), (5, 3)])
def test_as_many_asks_are_out_as_may_be(concurrency, out):
    upstream, probe = Upstream(), Probe()
    pull.to_publisher(upstream, concurrency).subscribe(probe)
    probe.request(3)
    assert len(upstream.waiting) == out


def test_the_end_appears_with_the_next_request():
    probe = Probe()
    pull.to_publisher(pull.values([1])).subscribe(probe)
    probe.request(1)
    assert (probe.elements, probe.completed) == ([1], False)
    probe.request(1)
    assert probe.completed


def test_an_error_is_carried_as_it_is():
    probe = Probe(9)
    pull.to_publisher(pull.values(failing(1))).subscribe(probe)
    assert (probe.elements, probe.error) == ([1], ERROR)


def test_cancel_aborts_once_even_while_an_ask_is_out():
    upstream, probe = Upstream(), Probe(9)
    pull.to_publisher(upstream).subscribe(probe)
    assert len(upstream.waiting) == 1
    probe.cancel()
    probe.cancel()
    assert upstream.aborts == [True]
    upstream.confirm()
    assert (probe.elements, probe.completed, probe.error) == ([], False, None)


def test_a_failed_close_goes_to_the_hook():
    upstream, probe, bad = Upstream(), Probe(9), OSError("close")
    pull.to_publisher(upstream).subscribe(probe)
    with dropped() as reported:
        probe.cancel()
        upstream.confirm(bad)
    assert [each.error for each in reported] == [bad]


def test_none_is_no_element():
    upstream, probe = Upstream(), Probe(9)
    pull.to_publisher(upstream).subscribe(probe)
    upstream.give(None)
    assert isinstance(probe.error, TypeError)
    assert str(probe.error) == "rule 2.13: the source gave None, which is not an element"
    assert upstream.aborts == [probe.error]


def test_a_subscriber_that_raises_ends_the_source_with_that():
    upstream = Upstream()

    class Raises(Probe):
        def on_next(self, element):
            raise ERROR

    with dropped() as reported:
        pull.to_publisher(upstream).subscribe(Raises(9))
        upstream.give(1)
    assert len(upstream.aborts) == 1
    assert [each.error for each in reported] == [ERROR]


def test_a_source_is_read_once():
    publisher = pull.to_publisher(pull.values([1]))
    publisher.subscribe(Probe(9))
    second = Probe(9)
    publisher.subscribe(second)
    assert str(second.error) == "to_publisher: a source is read once, and this one is read already"


def test_a_source_that_breaks_the_protocol_is_reported_by_property():
    upstream, probe = Upstream(), Probe(9)
    pull.to_publisher(upstream, 2).subscribe(probe)
    _, second = upstream.waiting
    second(None, 2)
    assert str(probe.error) == "property B3: request 2 was answered before request 1"
    upstream = Upstream()
    probe = Probe(9)
    pull.to_publisher(upstream).subscribe(probe)
    answer = upstream.waiting[0]
    with dropped() as reported:
        answer(None, 1)
        answer(None, 1)
    assert probe.elements == [1]
    assert [each.error.property_id for each in reported] == ["B2"]


def test_a_read_that_raises_fails_the_stream():
    def read(abort, answer=None):
        raise ERROR

    probe = Probe(9)
    with nothing_dropped():
        pull.to_publisher(read).subscribe(probe)
    assert probe.error is ERROR


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: pull.to_publisher(5), TypeError, "to_publisher: source must be a source, got 5"),
        (lambda: pull.to_publisher(pull.empty(), 0), ValueError, "to_publisher: concurrency must be >= 1, got 0"),
        (lambda: pull.from_publisher(5), TypeError, "from_publisher: publisher must have subscribe, got 5"),
        (
            lambda: pull.through_flow(len),
            TypeError,
            "through_flow: flow must be a Flow, got <built-in function len>; record one with @flow",
        ),
    ],
)
def test_refuses_what_makes_no_sense(make, error, message):
    with refuses(error, message):
        make()


# from_publisher


class Publisher:
    """Be a publisher that is driven by hand."""

    def __init__(self):
        self.requests = []
        self.cancels = 0
        self.subscriber = None

    def subscribe(self, subscriber):
        self.subscriber = subscriber
        subscriber.on_subscribe(self)

    def request(self, n):
        self.requests.append(n)

    def cancel(self):
        self.cancels += 1


class Late(Publisher):
    """Call on_subscribe later."""

    def subscribe(self, subscriber):
        self.subscriber = subscriber


def test_it_subscribes_at_the_first_ask_and_requests_one_for_each():
    publisher = Publisher()
    made = pull.from_publisher(publisher)
    assert publisher.subscriber is None
    asker = Asker(made).ask(2)
    assert publisher.requests == [1, 1]
    publisher.subscriber.on_next("a")
    publisher.subscriber.on_next("b")
    assert asker.values == ["a", "b"]


def test_what_was_asked_before_there_is_a_subscription_is_requested_then():
    publisher = Late()
    asker = Asker(pull.from_publisher(publisher)).ask(3)
    publisher.subscriber.on_subscribe(publisher)
    assert publisher.requests == [3]
    publisher.subscriber.on_complete()
    assert asker.ends == [True] * 3


def test_an_end_that_nobody_waits_for_is_kept():
    publisher = Publisher()
    asker = Asker(pull.from_publisher(publisher)).ask()
    publisher.subscriber.on_next(1)
    publisher.subscriber.on_error(ERROR)
    assert asker.ask(2).ends == [ERROR, ERROR]


@pytest.mark.parametrize("reason", [True, ERROR])
def test_an_abort_cancels_once_and_is_answered_at_once_after_who_waits(reason):
    publisher = Publisher()
    asker = Asker(pull.from_publisher(publisher)).ask(2).abort(reason).abort()
    assert publisher.cancels == 1
    assert asker.answers == [(reason, None)] * 4
    publisher.subscriber.on_next("late")
    publisher.subscriber.on_complete()
    assert asker.ask().ends == [reason] * 5


def test_what_is_aborted_first_is_never_subscribed():
    publisher = Publisher()
    assert Asker(pull.from_publisher(publisher)).abort().ask().ends == [True, True]
    assert publisher.subscriber is None


def test_a_subscription_that_comes_after_the_abort_is_cancelled():
    publisher = Late()
    asker = Asker(pull.from_publisher(publisher)).ask().abort()
    assert asker.ends == [True, True]
    publisher.subscriber.on_subscribe(publisher)
    assert (publisher.cancels, publisher.requests) == (1, [])


def test_a_second_subscription_is_cancelled():
    publisher, second = Publisher(), Publisher()
    Asker(pull.from_publisher(publisher)).ask()
    publisher.subscriber.on_subscribe(second)
    assert (publisher.cancels, second.cancels) == (0, 1)


def test_a_subscription_that_comes_twice_fails_the_stream():
    publisher = Publisher()
    asker = Asker(pull.from_publisher(publisher)).ask()
    publisher.subscriber.on_subscribe(publisher)
    assert repr(asker.ends) == "[ProtocolError('rule 2.12: the publisher sent its subscription twice')]"
    assert publisher.cancels == 1


def test_an_element_that_was_not_requested_fails_the_stream_by_its_rule():
    publisher = Publisher()
    asker = Asker(pull.from_publisher(publisher)).ask()
    publisher.subscriber.on_next(1)
    publisher.subscriber.on_next(2)
    end = asker.ask().ends[0]
    assert isinstance(end, ProtocolError)
    assert str(end) == "rule 1.1: the publisher sent an element that was not requested"
    assert publisher.cancels == 1


@pytest.mark.parametrize("signal", ["on_subscribe", "on_next", "on_error"])
def test_none_is_refused_by_every_signal(signal):
    publisher = Publisher()
    Asker(pull.from_publisher(publisher)).ask()
    with refuses(TypeError, f"rule 2.13: {signal}(None)"):
        getattr(publisher.subscriber, signal)(None)


@pytest.mark.parametrize("where", ["subscribe", "request", "cancel"])
def test_a_publisher_that_raises_fails_the_stream_and_harms_nobody(where):
    class Raises(Publisher):
        def __getattribute__(self, name):
            if name == where and name != "subscribe":
                raise ERROR
            return super().__getattribute__(name)

        def subscribe(self, subscriber):
            if where == "subscribe":
                raise ERROR
            super().subscribe(subscriber)

    with dropped() as reported:
        asker = Asker(pull.from_publisher(Raises())).ask().abort()
    assert asker.ends == [True, True] if where == "cancel" else [ERROR, ERROR]
    assert [each.error for each in reported] == ([ERROR] if where == "cancel" else [])


# There and back


@settings(max_examples=50)
@given(items=st.lists(st.integers()), take=st.integers(0, 6), concurrency=st.integers(1, 3))
def test_elements_order_and_end_survive_there_and_back(items, take, concurrency):
    def there():
        return pull.to_publisher(pull.values(items), concurrency)

    assert list(there()) == items
    assert values_of(pull.from_publisher(there())) == items
    assert values_of(pull.from_publisher(there()), pull.take(take)) == items[:take]
    assert values_of(pull.values(items), pull.through_flow(flow(lambda s: s.map(lambda n: n + 1)))) == [
        n + 1 for n in items
    ]


def test_an_error_keeps_its_type_and_message_there_and_back():
    error, found = collected(pull.from_publisher(pull.to_publisher(pull.values(failing(2)))))
    assert error is ERROR
    assert found == [1, 2]


def test_demand_travels_there_and_back():
    made = pull.ref_source(None)
    asker = Asker(pull.from_publisher(pull.to_publisher(made, 9))).ask(3)
    assert (made.asked, asker.values) == (3, [1, 2, 3])


def test_an_abort_travels_there_and_back():
    told = []
    asker = Asker(pull.from_publisher(pull.to_publisher(pull.values([1, 2], told.append)))).ask().abort(ERROR)
    assert told == [None]  # the reason does not
    assert asker.ends == [ERROR]


@pytest.mark.parametrize(
    "stages",
    [
        lambda s: s.map(str),
        lambda s: s.filter(lambda n: n % 2),
        lambda s: s.flat_map(lambda n: [n] * (n % 3)),
        lambda s: s.scan(lambda total, n: total + n, 0),
        lambda s: s.take(3),
        lambda s: s.skip(3),
        lambda s: s.take_while(lambda n: n < 4),
        lambda s: s.buffer(3),
        lambda s: s.enumerate(),
        lambda s: s.map(lambda n: n // 2).drop_repeats(),
        lambda s: s.count(),
        lambda s: s.last(),
        lambda s: s.to_list(),
        lambda s: s.reduce(lambda total, n: total + n, 0),
    ],
)
def test_stages_run_unchanged_as_throughs(stages):
    recorded = flow(stages)
    for items in ([], [1], list(range(8))):
        source = pull.pull(pull.values(items), pull.through_flow(recorded))
        assert collected_as(source) == ended(Stream.from_iterable(items) | recorded)


def ended(stream):
    """Return the elements and how the stream ended."""
    found = []
    try:
        found.extend(stream)
    except Exception as error:
        return found, type(error), str(error)
    return found, None, ""


def collected_as(source):
    error, found = collected(source)
    return found, None if error is None else type(error), "" if error is None else str(error)


def test_a_flow_with_a_boundary_runs_as_a_through():
    crossing = flow(lambda stream: stream.publish_on(thread("worker")).map(lambda n: n * 2))
    over, found = threading.Event(), []
    pull.pull(pull.count(99), pull.through_flow(crossing), pull.drain(found.append, lambda error: over.set() or error))
    assert over.wait(20)
    assert found == [n * 2 for n in range(100)]


def test_a_flow_that_stops_closes_the_source():
    told = []
    first_two = flow(lambda stream: stream.take(2))
    assert values_of(pull.values([1, 2, 3], told.append), pull.through_flow(first_two)) == [1, 2]
    assert told == [None]


def test_a_flow_that_fails_is_told():
    bad = ValueError("in the flow")

    def fn(n):
        raise bad

    error, _ = collected(pull.values([1]), pull.through_flow(flow(lambda stream: stream.map(fn))))
    assert error is bad


def test_any_publisher_of_the_library_is_a_source():
    assert values_of(pull.from_publisher(Stream.range(4).filter(lambda n: n % 2))) == [1, 3]


def test_a_flow_over_values_is_one_loop_with_them() -> None:
    made = pull.values([1, 2, 3]) | pull.through_flow(flow(lambda numbers: numbers.map(lambda n: n * 2)))
    assert made.iterated is not None
    assert list(made) == [2, 4, 6]


@pytest.mark.parametrize("ends", [lambda s: s.take(2), lambda s: s.take_while(lambda n: n < 3), lambda s: s.delay(0)])
def test_a_flow_that_ends_or_needs_signals_is_asked(ends: Any) -> None:
    made = pull.values([1, 2, 3]) | pull.through_flow(flow(ends))
    assert made.iterated is None
    assert list(made)[:2] == [1, 2]


def test_a_flow_over_values_that_is_aborted_before_it_is_read_aborts_them() -> None:
    told: list[Any] = []
    made = pull.values([1, 2], told.append) | pull.through_flow(flow(lambda numbers: numbers.map(abs)))
    made(ValueError("why"), lambda end, value=None: told.append(end))
    assert [repr(each) for each in told] == ["ValueError('why')"] * 2
