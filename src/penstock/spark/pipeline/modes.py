"""modes: when the rows of a streaming DataFrame are given out, and how what is held back comes out at the end.

Spark has three output modes. In `append` a row comes once, when it can no longer change; what has no watermark can
change until the stream ends, so its rows come then. In `update` a row comes whenever a micro-batch has changed it, in
`complete` all rows come with each micro-batch. The default is `append`: like in this process it gives each row once,
and the same rows however Spark cuts the stream into micro-batches.

Spark itself holds back the rows of windows, sessions and outer joins that no later row has closed. Here the end of all
live sources moves the watermark to the end of time, and one more micro-batch gives them out. Steps of `keyed_by` are
told of the end before that, or after it if they stand behind the watermark.
"""

from __future__ import annotations

import re
import secrets
import threading
from collections.abc import Callable, Container
from typing import Any, Literal, TypeAlias, get_args

from pyspark.sql import DataFrame, functions

from penstock.errors import PenstockError
from penstock.spark.egress.remembering import keep_states, plan_of, steps_of
from penstock.spark.ingest.together import CLOSED, ENDED, Together
from penstock.spark.stages.ends import EndDoor
from penstock.spark.versions.query_ends import PREFIX, streaming_sources
from penstock.spark.wire.gate import Gate

Mode: TypeAlias = Literal["append", "update", "complete"]
"""Spark's output modes."""
MODES: tuple[str, ...] = get_args(Mode)
END_OF_TIME = 253_402_300_799_000
"""The last millisecond but some of the year 9999, the watermark of a stream that has ended."""
PATIENCE = 10.0
"""Seconds for a query to be known after it was started."""


_NAMED = re.compile(rf"{PREFIX}([0-9a-f]+)")
_NAMED_END = re.compile(rf"{PREFIX}(?:end|time)_([0-9a-f]+)")
"""The sources that tell steps of the end, and some of the time as well."""


class PlanError(PenstockError):
    """The error that a pipeline cannot run on Spark, with what can be done about it."""


# What a plan of Spark's has in it.


def live_sources(frame: DataFrame, doors: Container[str]) -> int:
    """Return how many of the sources of a DataFrame are behind some doors; one that is read twice counts twice."""
    return len({name for name in streaming_sources(frame) if _door(name) in doors})


def ends_with(frame: DataFrame, doors: Container[str]) -> bool:
    """Tell whether a streaming DataFrame has an end that is known: all its sources are behind some doors."""
    names = [name for name in streaming_sources(frame) if not _NAMED_END.match(name)]
    return bool(names) and all(_door(name) in doors for name in names)


def _door(name: str) -> str:
    found = _NAMED.match(name)
    return "" if found is None else found[1]


def watermarked(frame: DataFrame) -> bool:
    """Tell whether a DataFrame has a watermark, so that rows may be held back for it."""
    return any(map(_is_watermark, steps_of(plan_of(frame))))


def check_watermarks(frame: DataFrame) -> None:
    """Refuse a watermark behind another one, on which Spark would fail as soon as the first one moves."""
    for node in steps_of(plan_of(frame)):
        if _is_watermark(node) and node.isStreaming() and any(map(_is_watermark, steps_of(node.child()))):
            raise PlanError(
                "run: a stream has a watermark behind another one, by withWatermark or keyed_by(..., time=...), which"
                " Spark does not allow: leave out the one behind, after which rows come when all sources have ended, or"
                " do the rest behind a sink"
            )


def _is_watermark(node: Any) -> bool:
    return bool(node.nodeName() == "EventTimeWatermark")


def works(frame: DataFrame, mode: str) -> str | None:
    """Return why Spark cannot give out a streaming DataFrame in a mode, or None if it can."""
    session = frame.sparkSession
    jvm: Any = session._jvm
    check = jvm.org.apache.spark.sql.catalyst.analysis.UnsupportedOperationChecker
    modes = jvm.org.apache.spark.sql.streaming.OutputMode
    try:
        check.checkForStreaming(plan_of(frame), getattr(modes, mode.capitalize())())
    except Exception as error:  # noqa: BLE001  it is what Spark answers
        return _reason(error)
    return None


def _reason(error: Exception) -> str:
    """Return the sentence of Spark's that says why."""
    text = str(getattr(error, "java_exception", None) or getattr(error, "desc", None) or error)
    line = text.rsplit("AnalysisException:", maxsplit=1)[-1].strip().splitlines()[0]
    return line.split("] ", 1)[-1].split(" SQLSTATE", 1)[0].rstrip(";. ")


# The choice.


def chosen(frame: DataFrame, said: str | None, *, ends: bool) -> tuple[str, bool]:
    """Return the mode in which Spark gives out a streaming DataFrame, and whether rows come at the end only.

    `ends` tells whether the stream has an end at which all is final.
    """
    if said is not None and said != "append":
        why = works(frame, said)
        if why is not None:
            others = [mode for mode in MODES if mode != said and _possible(frame, mode, ends=ends)]
            cure = f"say mode={' or '.join(map(repr, others))}" if others else _no_mode(why)
            raise PlanError(f"run: mode={said!r} cannot be had of this frame: {why}; {cure}")
        return said, False
    why = works(frame, "append")
    if why is None:
        return "append", False
    if ends and works(frame, "complete") is None:
        return "complete", True
    others = [mode for mode in MODES[1:] if works(frame, mode) is None]
    if not others:
        answers = [works(frame, mode) or why for mode in reversed(MODES)]
        why = next((each for each in answers if "mode" not in each), why)  # what no mode would change
        raise PlanError(f"run: no output mode can be had of this frame: {why}; {_no_mode(why)}")
    never = "its source has no end" if not ends else "Spark keeps no table of it"
    raise PlanError(
        f"run: no row of this frame is ever final, since {never}: {why}; let it have a watermark,"
        f" df.withWatermark(column, delay), or say frame(fn, mode={' or mode='.join(map(repr, others))})"
    )


def refuse_mode(frame: DataFrame, error: Exception) -> None:
    """Say what can be done where Spark has refused a writer whose mode, perhaps the default, the frame cannot have."""
    answers = {mode: works(frame, mode) for mode in MODES}
    if _reason(error) not in answers.values():
        return  # it is about something else
    able = [mode for mode, why in answers.items() if why is None]
    said = " or ".join(f'.outputMode("{mode}")' for mode in able)
    cure = f"say {said} of the writer, or frame(fn, mode=...)" if able else _no_mode(_reason(error))
    raise PlanError(f"run: this frame cannot be written like that: {_reason(error)}; {cure}") from error


def _no_mode(why: str) -> str:
    """Return what can be done where there is no mode."""
    if "watermark" not in why:
        return "do that behind a sink, which has all rows"
    return (
        "give each stream in it a watermark, df.withWatermark(column, delay), with the column in the grouping or in a"
        " time bound of the join, or do the rest behind a sink"
    )


def _possible(frame: DataFrame, mode: str, *, ends: bool) -> bool:
    return works(frame, mode) is None or (mode == "append" and ends and works(frame, "complete") is None)


# The end.


class Closing:
    """The end of one query: what has to be known to give out what it holds back.

    Steps that have something to say at the end, on which `stages/ends.py` has more, say it in a micro-batch before.
    """

    def __init__(self, session: Any, gate: Gate, goes_on: Callable[[], bool] = lambda: False) -> None:
        self._session = session
        self._gate = gate
        self.together = Together(self._finish, goes_on)
        """The live streams of the query."""
        self._ends: set[str] = set()
        self._told = False
        self.name = f"penstock_{secrets.token_hex(6)}"
        self._found: Any = None
        self.wanted = False
        """Whether anything may be held back."""

    def marked(self, frame: DataFrame) -> DataFrame:
        """Return a DataFrame by whose query this one is known; its rows are counted."""
        found = (_NAMED_END.match(name) for name in streaming_sources(frame))
        self._ends = {each[1] for each in found if each is not None}
        for door in self._doors() if self.wanted else ():
            door.closed = lambda: self.together.closed
        return frame.observe(self.name, functions.count(functions.lit(1)).alias("rows"))

    def final(self, frame: DataFrame) -> DataFrame | None:
        """Return the rows of a micro-batch that are final, where only those of the last one are."""
        if self.finished:
            return frame
        keep_states(frame)
        return None

    def _finish(self) -> str | None:
        """Move the watermark to the end of time, if that is wanted; return the mark of the next micro-batch, if any.

        It is None while a step is yet to hear of the end. What another run goes on with stays.
        """
        if not self.wanted or self.together.goes_on():
            return ""
        doors = self._doors()
        behind = [door for door in doors if door.behind]
        before = [door for door in doors if not door.behind]
        if not _all_told(before):
            return None
        if before and not self._told:
            self._told = True  # perhaps just now, and their rows are yet to come
            return secrets.token_hex(4)
        if not self.together.closed:
            self._tracker().setWatermark(END_OF_TIME)
            return CLOSED if behind else ENDED
        return ENDED if _all_told(behind) else None

    def _doors(self) -> list[EndDoor]:
        """Return the doors by which steps of the query hear of the end."""
        doors = [door for address, door in self._gate.admitted() if address.door in self._ends]
        return [door for door in doors if isinstance(door, EndDoor)]

    @property
    def finished(self) -> bool:
        """Tell whether the micro-batch that runs is the last one, in which all is final."""
        return self.together.last

    def _tracker(self) -> Any:
        pause = threading.Event()
        for _ in range(int(PATIENCE * 100)):
            query = self._query()
            if query is not None and query.watermarkTracker() is not None:
                return query.watermarkTracker()
            pause.wait(0.01)  # it has only just been started
        raise PlanError("run: the query cannot be found, so what it holds back at its end cannot be given out")

    def _query(self) -> Any:
        if self._found is None:
            for each in self._session.streams.active:
                java: Any = each._jsq.streamingQuery()
                if self.name in java.analyzedPlan().toString():
                    self._found = java
        return self._found


def _all_told(doors: list[EndDoor]) -> bool:
    """Tell whether all of these steps have heard of the end."""
    return all(told for door in doors for _, _, _, told in door.standing())


__all__ = [
    "MODES",
    "Closing",
    "Mode",
    "PlanError",
    "check_watermarks",
    "chosen",
    "ends_with",
    "live_sources",
    "refuse_mode",
    "watermarked",
    "works",
]
