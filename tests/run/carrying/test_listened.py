"""A listener: a run whose source is told what is done shows the steps that a user wrote."""

from __future__ import annotations

from penstock import Recorder, Sink, branch, observe
from tests.run.carrying.ledger import WAIT, Ledger


def double(number: int) -> int:
    return 2 * number


async def later(number: int) -> int:
    return number


def test_steps_have_the_names_of_those_that_they_stand_for() -> None:
    recorder = Recorder()
    numbers = Ledger(20).stream().map(double).filter(bool).buffer(5).flatten().map_async(later).pairwise()
    with observe(recorder):
        (numbers | Sink.for_each(str)).run().wait(WAIT)
    seen = [(reading.step, reading.delivered) for row in recorder.readings().values() for reading in row]
    assert seen == [
        ("resumable", 20),
        ("valved", 20),
        ("map(double) | filter(bool)", 20),
        ("buffer", 4),
        ("flatten", 20),
        ("map_async(later)", 20),
        ("pairwise", 19),
        ("for_each(str)", 1),
        ("positions(finished)", 1),
    ]


def test_steps_of_branches_have_their_names_too() -> None:
    recorder = Recorder()
    with observe(recorder):
        (Ledger(20).stream().map(double) | branch(Sink.for_each(str), Sink.count())).run().wait(WAIT)
    names = {reading.step for row in recorder.readings().values() for reading in row}
    added = {f"positions({word})" for word in ("shared", "part", "result", "finished")} | {"branch_entry"}
    assert names == added | {"resumable", "valved", "branches", "publish", "map(double)", "for_each(str)", "count"}
