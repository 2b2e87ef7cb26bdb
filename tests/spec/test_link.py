"""Demand and a cancel reach a run through a link, whichever of the two is there first."""

from __future__ import annotations

from penstock.spec.link import Link


class Whole:
    def __init__(self, number: int) -> None:
        self.number = number

    def __index__(self) -> int:
        return self.number


class Run:
    def __init__(self) -> None:
        self.calls: list[object] = []

    def request(self, n: int, /) -> None:
        self.calls.append(n)

    def cancel(self) -> None:
        self.calls.append("cancel")


def test_what_is_asked_before_the_run_begins_adds_up_whatever_whole_numbers_it_is_asked_in() -> None:
    link, run = Link(), Run()
    link.request(1)
    link.request(Whole(2))  # type: ignore[arg-type]
    link.request(Whole(3))  # type: ignore[arg-type]
    link.begin(run)
    assert run.calls == [6]


def test_of_what_must_not_be_asked_the_first_is_passed_on() -> None:
    link, run = Link(), Run()
    for n in (2, 0, -1):
        link.request(n)
    link.begin(run)
    assert run.calls == [2, 0]


def test_a_run_that_begins_after_a_cancel_is_cancelled() -> None:
    link, run = Link(), Run()
    link.request(1)
    link.cancel()
    link.begin(run)
    assert run.calls == ["cancel"]
