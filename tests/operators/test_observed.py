"""observed: lets a listener see every step before it, and has no say in it."""

from __future__ import annotations

from datetime import timedelta

import pytest

from penstock import Dropped, Observation, Recorder, RunState, Stream, inline, observe
from penstock.testing import Form, Tracked, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def fail(_: object) -> object:
    raise ValueError("lost")


@pytest.mark.parametrize("listener", [None, object(), print])
def test_refuses_what_does_not_listen(listener: object) -> None:
    with pytest.raises(TypeError, match=r"^observe: listener must have started, progressed and ended, got "):
        Stream.range(3).observed(listener)  # type: ignore[arg-type]


def test_refuses_what_is_no_duration() -> None:
    with pytest.raises(ValueError, match=r"^observed: every must be >= 0 and finite, got -1$"):
        Stream.range(3).observed(Recorder(), every=-1)


def test_durations_of_a_block_are_seconds_or_a_timedelta() -> None:
    recorder = Recorder()
    with observe(recorder, every=timedelta(seconds=1)):
        assert list(Stream.range(3).publish_on(inline())) == [0, 1, 2]
    assert recorder.runs == 1


@each_form
def test_sees_every_step_before_it_and_none_after(form: Form) -> None:
    recorder = Recorder()
    stream = over(form, 1, 2, 3, 4).filter(lambda n: n % 2 == 0).map(str).observed(recorder).map(int)
    assert list(stream) == [2, 4]
    (readings,) = recorder.readings().values()
    assert [(reading.step.split("(")[0], reading.delivered) for reading in readings][-2:] == [("filter", 2), ("map", 2)]
    assert readings[-3].delivered == 4


@each_form
def test_errors_keep_their_notes_and_are_counted_where_they_began(form: Form) -> None:
    recorder = Recorder()
    error = failure_of(over(form, 1).map(str).map(fail).filter(bool).observed(recorder))
    assert notes(error)[0].startswith("in map(fail), step ")
    assert notes(error)[0].endswith(place(fail))
    (readings,) = recorder.readings().values()
    assert [reading.errors for reading in readings[-3:]] == [0, 1, 0]
    assert [repr(one) for one in recorder.failures] == ["ValueError('lost')"]


def test_each_run_is_one_of_its_own() -> None:
    recorder = Recorder()
    stream = Stream.range(3).observed(recorder)
    assert list(stream) == list(stream) == [0, 1, 2]
    assert recorder.runs == 2
    ((range_,),) = recorder.readings().values()
    assert range_.delivered == 6


def test_an_iterator_that_is_not_used_is_no_run() -> None:
    recorder = Recorder()
    iter(Stream.range(3).observed(recorder))
    assert recorder.runs == 0


class Noisy:
    """Raise whatever it is told."""

    def started(self, run: Observation, /) -> None:
        raise ValueError("no start")

    def progressed(self, run: Observation, /) -> None:
        raise ValueError("no progress")

    def ended(self, run: Observation, /) -> None:
        raise ValueError("no end")


@each_form
def test_a_listener_that_raises_harms_nobody(form: Form, dropped: list[Dropped]) -> None:
    assert list(over(form, 1, 2).map(str).observed(Noisy(), every=0)) == ["1", "2"]
    assert {(one.what, repr(one.error)) for one in dropped} >= {
        ("observe: the listener raised in started", "ValueError('no start')"),
        ("observe: the listener raised in ended", "ValueError('no end')"),
    }
    dropped.clear()


@each_form
def test_a_cancel_ends_what_is_seen_and_closes_the_source(form: Form) -> None:
    seen: list[Observation] = []

    class Last(Recorder):
        def ended(self, run: Observation, /) -> None:
            seen.append(run)

    items = Tracked(range(100))
    probe = subscribed(form.over(items).map(str).observed(Last()), 3)
    probe.wait_until(lambda: len(probe.elements) == 3, "three elements")
    probe.cancel()
    items.wait_until_closed()
    assert [run.state for run in seen] == [RunState.CANCELLED]
