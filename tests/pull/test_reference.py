"""The reference modules make just the moves they are told, at once or when a schedule is run; probe writes all down."""

from __future__ import annotations

import pytest

from penstock import pull
from tests.pull.parts import Asker, Upstream, refuses, values_of

ERROR = ValueError("bad")


def test_a_schedule_lets_things_happen_in_order():
    seen = []
    schedule = pull.Schedule()
    for number in range(3):
        schedule.do(lambda number=number: seen.append(number))
    assert seen == []
    assert schedule.step()
    assert schedule.run(1) == 1
    assert seen == [0, 1]
    assert (schedule.run(), schedule.run(), schedule.step()) == (1, 0, False)
    pull.Schedule.sync().do(lambda: seen.append("now"))
    assert seen == [0, 1, 2, "now"]


@pytest.mark.parametrize("sync", [True, False])
@pytest.mark.parametrize("end", [True, ERROR])
def test_ref_source_gives_numbers_and_then_its_end(sync, end):
    source = pull.ref_source(2, end, sync)
    asker = Asker(source).ask(4)
    assert bool(asker.answers) is sync
    source.schedule.run()
    assert asker.answers == [(None, 1), (None, 2), (end, None), (end, None)]
    assert (source.asked, source.given, source.aborts) == (4, 2, [])


def test_ref_source_without_a_number_has_no_end():
    assert len(Asker(pull.ref_source()).ask(50).values) == 50


def test_ref_source_ends_who_waits_before_an_abort():
    source = pull.ref_source(9, sync=False)
    asker = Asker(source).ask(2).abort(ERROR).abort()
    source.schedule.run()
    assert asker.answers == [(ERROR, None)] * 4
    assert source.aborts == [ERROR, True]


def test_schedules_may_be_shared():
    due = pull.Schedule()
    assert pull.ref_source(1, schedule=due).schedule is due


@pytest.mark.parametrize(
    ("options", "wanted"),
    [
        ({}, [1, 2, 3, True]),
        ({"r": 2, "index": 9}, [1, 2]),
        ({"r": 2}, [1, True]),
        ({"r": 4, "index": 2}, [1, True]),
        ({"r": 4, "index": 2, "abort": ERROR}, [1, ERROR]),
        ({"r": 4, "index": 2, "answer": False}, [1]),
        ({"r": 4, "index": 2, "cont": True}, [1, True, True, True]),
        ({"r": 6, "index": 5, "cont": True}, [1, 2, 3, True, True, True]),
    ],
)
@pytest.mark.parametrize("at_once", [True, False])
def test_ref_sink_makes_the_requests_it_is_told(options, wanted, at_once):
    source, told = pull.ref_source(3, sync=at_once), []
    sink = pull.ref_sink(**options, done=told.append)
    pull.pull(source, sink)
    source.schedule.run()
    assert [number for number, _, _ in sink.answers] == list(range(1, len(wanted) + 1))
    assert [value if end is None else end for _, end, value in sink.answers] == wanted
    assert sink.values + sink.ends == wanted
    assert len(told) == 1


def test_ref_sink_may_abort_while_an_ask_is_out():
    upstream = Upstream()
    sink = pull.ref_sink(2, index=2, sync=False)
    pull.pull(upstream, sink)
    assert (len(upstream.waiting), upstream.aborts) == (1, [True])
    upstream.confirm()
    assert sink.answers == [(1, True, None), (2, True, None)]
    waits = pull.ref_sink(2, index=2)
    pull.pull(upstream, waits)
    assert upstream.aborts == [True]


def test_ref_sink_tells_an_error():
    told = []
    pull.pull(pull.ref_source(0, ERROR), pull.ref_sink(done=told.append))
    assert told == [ERROR]


def test_ref_through_passes_everything_on():
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, pull.ref_through(f=str))).ask(2)
    assert len(upstream.waiting) == 2
    upstream.give(1)
    upstream.end(ERROR)
    assert asker.ask().answers == [(None, "1"), (ERROR, None), (ERROR, None)]


@pytest.mark.parametrize("answer", [True, False])
@pytest.mark.parametrize("abort", [True, ERROR])
def test_ref_through_may_stop_by_itself(answer, abort):
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, pull.ref_through(2, abort, answer))).ask(2)
    assert upstream.aborts == [abort]
    upstream.give(1)
    upstream.confirm()
    assert asker.ask().answers == [(None, 1), (abort, None), (abort, None)]
    assert upstream.aborts == [abort]


def test_a_probe_writes_down_what_passes():
    log = []
    asker = Asker(pull.pull(pull.values(["a"]), pull.probe(log))).ask(2).abort(ERROR)
    asker.read(True)
    assert log == [
        (1, "ask"),
        (1, "value", "a"),
        (2, "ask"),
        (2, "end", True),
        (3, "abort", ERROR),
        (3, "end", True),
        (4, "abort", True),
    ]
    assert values_of(pull.values([1]), pull.probe([])) == [1]


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: pull.ref_source(-1), "ref_source: n must be >= 0, got -1"),
        (lambda: pull.ref_sink(0), "ref_sink: r must be >= 1, got 0"),
        (lambda: pull.ref_sink(1, 0), "ref_sink: index must be >= 1, got 0"),
        (lambda: pull.ref_through(0), "ref_through: index must be >= 1, got 0"),
    ],
)
def test_refuses_what_makes_no_sense(make, message):
    with refuses(ValueError, message):
        make()
