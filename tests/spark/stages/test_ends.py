"""ends: the end of the streams behind a DataFrame is told once all their rows were offered, in whatever order."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Stream, flow
from penstock.spark import Spark, StageError, keyed_by
from penstock.spark.stages import ends
from penstock.spark.stages.ends import EndDoor, EndReader, end_of
from penstock.spark.stages.stateful import keyed_stream
from penstock.spark.wire.gate import DoorCall, Gate, GateError
from penstock.spark.wire.schema import Schema

HERE = DoorCall(gone=lambda: False)


class Behind:
    """A door whose one stream stands as it is told."""

    stays = False

    def __init__(self) -> None:
        self.asked, self.more, self.ended = 0, False, False

    def standing(self) -> list[tuple[object, int, bool, bool]]:
        return [(self, self.asked, self.more, self.ended)]

    def act(self, *_: Any) -> Any: ...
    def get(self, *_: Any) -> Any: ...
    def put(self, *_: Any) -> Any: ...
    def close(self) -> None: ...


def test_the_end_is_told_when_all_streams_have_ended_and_were_offered() -> None:
    with Gate() as gate:
        one, other = Behind(), Behind()
        names = tuple(gate.admit(door).door for door in (one, other))
        end = EndDoor(gate, names)
        one.asked = other.asked = 1
        assert end.act(HERE, "over", {}) == {"over": False, "known": True}
        one.asked, one.ended, other.asked, other.more = 2, True, 2, True
        assert end.act(HERE, "over", {}) == {"over": False, "known": True}
        other.asked, other.more, other.ended = 3, False, True
        assert end.act(HERE, "over", {}) == {"over": True, "known": True}


def test_a_stream_that_is_asked_afterwards_is_asked_once_more() -> None:
    with Gate() as gate:
        behind = Behind()
        address = gate.admit(EndDoor(gate, (gate.admit(behind).door,)))
        reader = EndReader(address, 3)
        at = reader.initialOffset()
        limit = reader.getDefaultReadLimit()
        assert reader.latestOffset(at, limit) == at  # a query that does not end asks again by itself
        reader.prepareForTriggerAvailableNow()
        before, at = at, reader.latestOffset(at, limit)
        assert at != before
        assert reader.partitions(before, at) == []
        behind.ended = True
        before, at = at, reader.latestOffset(at, limit)
        (part,) = reader.partitions(before, at)
        assert [batch.to_pydict() for batch in reader.read(part)] == [{"bucket": [0, 1, 2], "rows": [b""] * 3}]
        assert reader.latestOffset(at, limit) == at  # it is told once
        reader.commit(at)
        reader.stop()


def test_the_end_of_a_second_stage_waits_for_that_of_the_first() -> None:
    with Gate() as gate:
        behind = Behind()
        source = gate.admit(behind).door
        first = EndDoor(gate, (source,))
        second = EndDoor(gate, (source, gate.admit(first).door))
        behind.asked, behind.ended = 1, True
        assert second.act(HERE, "over", {}) == {"over": False, "known": True}  # the first will tell when it is asked
        assert first.act(HERE, "over", {})["over"]
        assert second.act(HERE, "over", {})["over"]
        behind.asked, behind.ended = 2, False  # the query begins again
        assert not first.act(HERE, "over", {})["over"]
        behind.asked, behind.ended = 3, True
        assert not second.act(HERE, "over", {})["over"]


def test_streams_that_were_stopped_have_no_end() -> None:
    with Gate() as gate:
        behind = Behind()
        address = gate.admit(EndDoor(gate, (gate.admit(behind).door,)))
        reader = EndReader(address, 3, ticks=0.0)
        reader.prepareForTriggerAvailableNow()
        behind.asked, behind.ended, behind.stays = 1, True, True
        at = reader.initialOffset()
        assert reader.latestOffset(at, reader.getDefaultReadLimit()) == at  # nor does the time keep the query going
        reader.stop()


def test_nothing_is_read_or_written_at_the_end() -> None:
    with Gate() as gate:
        end = EndDoor(gate, ())
        with pytest.raises(GateError, match=r"^ends: there is nothing to be read here$"):
            end.get({})
        with pytest.raises(GateError, match=r"^ends: nothing is to be written here$"):
            end.put({}, None, None)


def test_a_source_of_spark_has_no_end(spark: Spark) -> None:
    live = spark.frame(Stream.just((1,)), "n long")
    rate = spark.session.readStream.format("rate").load().selectExpr("value AS n")
    assert end_of(live, 4) is not None
    assert end_of(live.where("n > 1").union(live), 4) is not None
    assert end_of(rate, 4) is None
    assert end_of(live.union(rate), 4) is None


def test_doors_of_ends_go_with_their_streams(spark: Spark) -> None:
    def doors() -> dict[str, Any]:
        return {address.door: address for address, _ in spark.gate.admitted()}

    before = set(doors())
    live = spark.frame(Stream.just((1,)), "n long")
    (source,) = set(doors()) - before
    assert end_of(live, 4) is not None
    (end,) = set(doors()) - before - {source}
    spark.gate.dismiss(doors()[source])
    assert end_of(spark.frame(Stream.just((1,)), "n long"), 4) is not None
    assert end not in doors()


def test_what_waits_for_the_end_is_refused_over_connect() -> None:
    class Remote:
        """What is seen of a DataFrame of Connect."""

    lists = flow(lambda rows: rows.buffer(2))
    schema = Schema.of(ends.CARRIED)
    scope: Any = keyed_by(lists, "bucket")._chain.source
    with pytest.raises(StageError, match=r"^keyed_by: over Spark Connect it is not known when a stream has ended, "):
        keyed_stream(Remote(), lists, schema, schema, None, scope)  # type: ignore[arg-type]
