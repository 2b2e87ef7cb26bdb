"""The door of a partitioned stream: positions from readers to the planner, and an end for both."""

from __future__ import annotations

import threading

import pytest
from pyarrow import flight

from penstock.spark.partitions.door import PartsDoor
from penstock.spark.wire.gate import DoorCall, Gate


def test_the_planner_hears_what_readers_tell_once_and_merged() -> None:
    with Gate() as gate, gate.admit(PartsDoor()).connect() as caller:
        caller.act("begin", run="r")
        assert caller.act("tell", run="r", part="a", row=5, rows=3, seconds=0.5)["heard"]
        assert caller.act("tell", run="r", part="a", row=9, ended=True)["heard"]
        assert caller.act("tell", run="r", part="a", row=7)["heard"]
        (told,) = caller.act("hear", run="r", seconds=60)["reports"]
        assert told == {"part": "a", "row": 9, "ended": True, "failed": False, "rows": 3, "seconds": 0.5}
        assert caller.act("hear", run="r", seconds=0)["reports"] == []


def test_a_planner_that_waits_is_woken() -> None:
    with Gate() as gate:
        address = gate.admit(PartsDoor())
        heard = []

        def hear() -> None:
            with address.connect() as caller:
                heard.extend(caller.act("hear", run="r", seconds=60)["reports"])

        with address.connect() as caller:
            caller.act("begin", run="r")
            waiting = threading.Thread(target=hear)
            waiting.start()
            caller.act("tell", run="r", part="a", row=1)
            waiting.join(30)
        assert [one["row"] for one in heard] == [1]


def test_a_reader_of_a_run_that_is_over_is_told_so() -> None:
    with Gate() as gate, gate.admit(PartsDoor()).connect() as caller:
        assert caller.act("tell", run="gone", part="a", row=1) == {"heard": False}
        with pytest.raises(flight.FlightError, match="unknown verb 'sing'"):
            caller.act("sing", run="gone")


def test_closing_ends_what_waits() -> None:
    gate = Gate()
    door = PartsDoor()
    address = gate.admit(door)
    failures: list[str] = []

    def hear() -> None:
        try:
            with address.connect() as caller:
                caller.act("hear", run="r", seconds=600)
        except flight.FlightError as error:
            failures.append(str(error))

    waiting = threading.Thread(target=hear)
    waiting.start()
    while not door._runs:
        threading.Event().wait(0.01)
    gate.close()
    waiting.join(30)
    assert len(failures) == 1


class Left:
    """A call of a planner that goes away when it is told to."""

    def __init__(self) -> None:
        self.over = False

    def gone(self) -> bool:
        return self.over


def test_a_door_that_retires_waits_for_the_runs_that_read_there() -> None:
    door, idle, planner = PartsDoor(), threading.Event(), Left()
    door.act(DoorCall(planner.gone), "begin", {"run": "r"})
    lease = threading.Thread(target=door.act, args=(DoorCall(planner.gone), "lease", {"run": "r"}))
    lease.start()
    door.retire(idle.set)
    assert not idle.is_set()
    planner.over = True
    lease.join(30)
    assert idle.is_set()


def test_a_door_that_no_run_reads_retires_at_once() -> None:
    door, idle = PartsDoor(), threading.Event()
    door.retire(idle.set)
    assert idle.is_set()
