"""dematerialize: the signals that elements stand for."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Completed, Failed, Next, Stream
from penstock.operators.dematerialize import Dematerialize
from penstock.testing import Form, ManualPublisher, Tracked, check_joint, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over


def test_laws() -> None:
    def model(signals: list[object]) -> list[object]:
        if Completed() in signals:
            signals = signals[: signals.index(Completed())]
        return [signal.element for signal in signals]  # type: ignore[attr-defined]

    signals = st.one_of(st.builds(Next, st.integers()), st.builds(Next, st.text()), st.just(Completed()))
    check_stage(Dematerialize(), model, signals)


def test_laws_of_there_and_back() -> None:
    check_joint(lambda stream: stream.materialize().dematerialize(), lambda xs: xs, st.integers())


@each_form
def test_completed_ends_the_stream(form: Form) -> None:
    items = Tracked([Next(1), Completed(), Next(2)])
    assert list(form.over(items).dematerialize()) == [1]
    items.wait_until_closed()
    assert items.taken == 2


def test_cancels_upstream_at_the_end() -> None:
    upstream: ManualPublisher[object] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).dematerialize(), 3)
    upstream.next(Next(1), Completed())
    assert probe.elements == [1]
    assert probe.completed
    assert upstream.cancelled


@each_form
def test_failed_fails_the_stream_with_its_error(form: Form) -> None:
    lost = ValueError("lost")
    assert failure_of(over(form, Next(1), Failed(lost), Next(2)).dematerialize()) is lost


def inverse(n: int) -> float:
    return 1 / n


def test_an_error_keeps_saying_where_it_was_raised_first() -> None:
    error = failure_of(Stream.just(0).map(inverse).materialize().dematerialize())
    assert [note.split(",")[0] for note in notes(error)] == ["in map(inverse)"]


@each_form
def test_the_end_of_upstream_is_an_end_too(form: Form) -> None:
    assert list(over(form, Next(1), Next(2)).dematerialize()) == [1, 2]


@each_form
@pytest.mark.parametrize("element", [5, "end", Next], ids=repr)
def test_what_is_no_signal_fails_the_stream(form: Form, element: object) -> None:
    error = failure_of(over(form, element).dematerialize())
    assert type(error) is TypeError
    assert str(error) == f"dematerialize: each element must be a Next, Failed or Completed, got {element!r}"


@each_form
def test_none_is_not_an_element(form: Form) -> None:
    error = failure_of(over(form, Next(None)).dematerialize())
    assert str(error).startswith("rule 2.13: None is not an element; ")
