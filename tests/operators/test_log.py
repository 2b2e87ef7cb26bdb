"""log: writes every signal that passes to a logger, and is not there if nobody reads it."""

from __future__ import annotations

import logging

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.log import Log
from penstock.testing import Form, ManualPublisher, check_joint, subscribed
from tests.operators.subjects import each_form, failure_of, over


def test_laws_when_it_is_written(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "penstock.laws")
    check_joint(lambda stream: stream.log("laws"), lambda xs: xs, st.integers(), examples=5)


def test_refuses_what_is_no_name() -> None:
    with pytest.raises(TypeError, match=r"^log: name must be a text, got 5$"):
        Stream.range(3).log(5)  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^log: name must not be empty, got ''$"):
        Stream.range(3).log("")


@pytest.mark.parametrize("level", ["INFO", True, 1.5])
def test_refuses_what_is_no_level(level: object) -> None:
    with pytest.raises(TypeError, match=rf"^log: level must be a level of logging, got {level!r}$"):
        Stream.range(3).log("numbers", level=level)  # type: ignore[arg-type]


def lines(caplog: pytest.LogCaptureFixture) -> list[str]:
    return [f"{record.name} {record.levelname} {record.getMessage()}" for record in caplog.records]


def test_writes_all_signals_of_a_run_that_completes(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "penstock.orders")
    upstream: ManualPublisher[str] = ManualPublisher()
    probe = subscribed(Stream.from_publisher(upstream).log("orders"), 2)
    upstream.next("a")
    probe.request(2**63 - 1)
    upstream.complete()
    probe.cancel()
    assert lines(caplog) == [
        "penstock.orders INFO subscribed",
        "penstock.orders INFO requested 2",
        "penstock.orders INFO next 'a'",
        "penstock.orders INFO requested all",
        "penstock.orders INFO completed",
    ]


def test_writes_a_failure(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG, "penstock.orders")
    failure_of(Stream.error(ValueError("lost")).log("orders", level=logging.DEBUG))
    assert lines(caplog)[-1] == "penstock.orders DEBUG failed ValueError('lost')"


def test_writes_a_cancel_once(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "penstock.orders")
    probe = subscribed(Stream.never().log("orders"))
    probe.cancel()
    probe.cancel()
    assert lines(caplog) == ["penstock.orders INFO subscribed", "penstock.orders INFO cancelled"]


@each_form
def test_changes_nothing(form: Form, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.INFO, "penstock.numbers")
    assert list(over(form, 1, 2, 3).log("numbers").map(lambda n: n * 2)) == [2, 4, 6]
    assert [line for line in lines(caplog) if "next" in line] == [f"penstock.numbers INFO next {n}" for n in (1, 2, 3)]


def test_stands_in_nobodys_way_if_the_level_is_not_taken(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.WARNING, "penstock.numbers")
    probe = subscribed(Stream.range(3))
    assert Log("numbers").open(probe) is probe
    assert list(Stream.range(3).log("numbers")) == [0, 1, 2]
    assert lines(caplog) == []
