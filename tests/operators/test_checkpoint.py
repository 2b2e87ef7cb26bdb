"""checkpoint: adds its name to every error that passes, and does nothing else."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.engine.weaving.weave import Weaver
from penstock.operators.checkpoint import Checkpoint
from penstock.operators.map import Map
from penstock.testing import Form, ManualPublisher, check_stage, subscribed
from tests.operators.subjects import each_form, failure_of, notes, over, place


def fail(_: object) -> object:
    raise ValueError("lost")


def test_laws() -> None:
    check_stage(Checkpoint("here"), lambda xs: xs, st.integers())


def test_refuses_what_is_no_name() -> None:
    with pytest.raises(TypeError, match=r"^checkpoint: name must be a text, got None$"):
        Stream.range(3).checkpoint(None)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^checkpoint: name must not be empty, got ''$"):
        Stream.range(3).checkpoint("")


@pytest.mark.parametrize("form", ["sync", "free", "async", "fed"])
def test_costs_nothing_while_nothing_fails(form: str) -> None:
    def text(*stages: object) -> str:
        written = Weaver([stage.body for stage in stages], form).write()  # type: ignore[attr-defined, arg-type]
        return written.replace("c1_", "c0_")

    assert text(Checkpoint("here"), Map(str)) == text(Map(str))


@each_form
def test_notes_its_name_on_an_error_of_a_stage_before_it(form: Form) -> None:
    error = failure_of(over(form, 1).map(fail).checkpoint("parsed").map(str).checkpoint("stored"))
    assert notes(error) == [
        f"in map(fail), step 1 of 4, {place(fail)}",
        "past checkpoint parsed",
        "past checkpoint stored",
    ]


@each_form
def test_says_nothing_of_what_fails_after_it(form: Form) -> None:
    error = failure_of(over(form, 1).checkpoint("before").map(fail))
    assert notes(error) == [f"in map(fail), step 2 of 2, {place(fail)}"]


def test_notes_its_name_on_an_error_of_the_source() -> None:
    def numbers() -> object:
        yield 1
        raise ValueError("lost")

    error = failure_of(Stream.defer(numbers).map(str).checkpoint("read"))  # type: ignore[arg-type]
    assert notes(error)[-1] == "past checkpoint read"


def test_notes_its_name_on_an_error_that_is_signalled() -> None:
    upstream: ManualPublisher[int] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).map(str).checkpoint("received").filter(bool), 5)
    upstream.fail(ValueError("lost"))
    assert notes(probe.error or KeyError()) == ["past checkpoint received"]


def test_notes_its_name_behind_a_joint_and_before_one() -> None:
    error = failure_of(Stream.range(3).map(fail).checkpoint("one").do_finally(bool).checkpoint("two").buffer(2))
    assert notes(error)[1:] == ["past checkpoint one", "past checkpoint two"]


def test_is_passed_by_errors_however_many_loops_there_are() -> None:
    stream: Stream[object] = Stream.range(3).map(fail)
    for _ in range(300):
        stream = stream.map(str)
    assert notes(failure_of(stream.checkpoint("far")))[1:] == ["past checkpoint far"]


def test_notes_its_name_once_on_an_error_that_comes_again() -> None:
    error = ValueError("again")

    def raise_it(_: object) -> object:
        raise error

    stream = Stream.range(3).map(raise_it).checkpoint("here")
    assert failure_of(stream.retry(3)) is error
    assert notes(error).count("past checkpoint here") == 1


def test_is_not_passed_by_an_error_that_was_handled_before_it() -> None:
    error = failure_of(
        Stream.range(3)
        .map(fail)
        .checkpoint("old")
        .on_error_resume(lambda _: Stream.error(KeyError("new")))
        .checkpoint("x")
    )
    assert repr(error) == "KeyError('new')"
    assert notes(error)[-1] == "past checkpoint x"
    assert "past checkpoint old" not in notes(error)
