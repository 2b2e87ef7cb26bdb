"""materialize: elements that stand for the signals of upstream, its end included."""

from __future__ import annotations

from hypothesis import strategies as st

from penstock import Completed, Failed, Next, Stream
from penstock.testing import Form, ManualPublisher, Tracked, check_joint, subscribed
from tests.operators.subjects import each_form, over


def inverse(n: int) -> float:
    return 6 / n


def test_laws_of_a_stream_that_fails() -> None:
    def model(elements: list[int]) -> list[str]:
        if 0 not in elements:
            return [*(f"next({inverse(n)!r})" for n in elements), "complete"]
        before = elements[: elements.index(0)]
        return [*(f"next({inverse(n)!r})" for n in before), "error(ZeroDivisionError('division by zero'))"]

    check_joint(lambda stream: stream.map(inverse).materialize().map(str), model, st.integers(0, 3), fails=False)


@each_form
def test_a_failure_is_an_element(form: Form) -> None:
    lost = ValueError("lost")
    assert list(form.over(Tracked([1], lost)).materialize()) == [Next(1), Failed(lost)]


@each_form
def test_the_end_waits_for_demand(form: Form) -> None:
    probe = subscribed(over(form, 1).materialize())
    probe.request(1)
    assert probe.wait_for(1) == [Next(1)]
    assert not probe.ended
    probe.request(1)
    assert probe.wait_for_end() == [Next(1), Completed()]
    assert probe.breaches == []


def test_a_failure_without_demand_waits_too() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).materialize())
    lost = ValueError("lost")
    upstream.fail(lost)
    assert probe.signals == []
    probe.request(1)
    assert probe.elements == [Failed(lost)]
    assert probe.completed


def test_asks_for_what_is_asked_of_it() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).materialize(), 2)
    probe.request(3)
    assert upstream.requests == [2, 3]
    probe.cancel()
    assert upstream.cancelled


def test_the_error_says_where_it_was_raised() -> None:
    (failed,) = Stream.just(0).map(inverse).materialize()
    assert isinstance(failed, Failed)
    assert failed.error.__notes__[0].startswith("in map(inverse), step 1 of 1, test_materialize.py:")


def test_a_cancel_while_upstream_rejects_everything_adds_no_end() -> None:
    def look(n: int) -> bool:
        if n == 5:
            probe.cancel()
        return False

    probe = subscribed(Stream.range(10**9).filter(look).materialize())
    probe.request(1)
    assert probe.signals == []


def test_one_bad_element_can_be_skipped() -> None:
    """Signals as data: each element is worked on by a stream of its own, whose failure is an element like others."""
    results = Stream.just(1, 0, 3).flat_map(lambda n: Stream.just(n).map(inverse).materialize())
    assert list(results.of_type(Next).map(lambda signal: signal.element)) == [6.0, 2.0]


def test_a_thousand_of_them_do_not_overflow_the_stack() -> None:
    stream: Stream[object] = Stream.just(1).do_finally(bool)
    for _ in range(1000):
        stream = stream.materialize().take(1)
    assert len(list(stream)) == 1
