"""checkpoint: the folder that remembers how far a pipeline has come, and to which pipeline it belongs.

Functions may change between two runs, and their names too, but not what the folder counts and keeps: the source and how
it goes on, the columns of its rows, the stages whose state Spark keeps, and the kind of sink. So that much is written
down at the first run and compared at the others, once a query has begun with a micro-batch: a run that was refused or
has failed before leaves nothing that another pipeline could not go on with. How the state of one stage may change is
left to Spark's rules.
"""

from __future__ import annotations

import json
import re
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame

from penstock.engine.weaving.blame import operator_name
from penstock.flow import text_of
from penstock.operators.resumable import Resumable
from penstock.run.carrying.committing import OWNER, POSITIONS
from penstock.run.pieces.stepping import SteppingRun
from penstock.run.resumption import NotResumableError, Reckoning
from penstock.spark.ingest.supply import ResumedSupply, supply_of
from penstock.spark.pipeline.build import Built
from penstock.spark.pipeline.modes import PlanError
from penstock.spark.pipeline.nodes import Executed, Live, Local
from penstock.spark.stages.piecewise import folded
from penstock.spark.stages.scopes import Scoped
from penstock.spark.wire.storage import Folder, StorageError
from penstock.stage import Again

QUERY, SPOOL = "query", "spool"
"""Folders of a checkpoint: Spark's own, and the rows that Spark has not yet committed."""
BRANCH, OFFSETS = "branch-", "offsets"
"""What the folders of further queries begin with, and where Spark writes which rows a micro-batch has."""
_IDS = re.compile(r"#\d+L?")
_RECKONED = {
    Reckoning.TOLD: "resumed at its positions",
    Reckoning.COUNTED: "resumed by counting its elements",
    Reckoning.REPLAYED: "resumed by counting its results",
}

Facts = dict[str, str]


def is_spooled(source: Live) -> bool:
    """Tell whether the rows of a live source are to be spooled; refuse one that can neither resume nor be spooled."""
    return _restart_of(source) is None


def _restart_of(source: Live) -> ResumedSupply | None:
    try:
        found = supply_of(source.stream, source.entry.said)
    except NotResumableError as error:
        if error.again is Again.LATER:
            return None
        raise PlanError(
            f"run: a restart from the checkpoint would lose or repeat rows: {error}; make it"
            " Stream.resumable(open_from), or say what it gives when the program is started again: entry(again='same')"
            " if it is the same rows from the first on, entry(again='later') if it is what comes from then on, which is"
            " spooled"
        ) from error
    assert isinstance(found, ResumedSupply)  # the source of a pipeline is a stream
    return found


def check_apart(source: Live) -> None:
    """Refuse a source that several queries cannot read each by itself, from its own row of a checkpoint on."""
    found = _restart_of(source)
    if found is not None and not found.commits:
        return
    reason = (
        "gives what comes from then on, which one of them would take and the others miss"
        if found is None
        else "is told what is committed, and what one of them has committed the others may still need"
    )
    raise PlanError(
        f"run: with a checkpoint, several queries each read {text_of(source.stream)} from their own row on, and it"
        f" {reason}; let one query serve all ends: sinks of this process with one output mode, and also(write) instead"
        " of spark_sink(...)"
    )


def check_shared(source: Live) -> None:
    """Refuse a source that wants to be told what is committed, where several queries share one run of it."""
    first = source.stream._chain.source
    if isinstance(first, Resumable) and first.takes_note:
        raise PlanError(
            f"run: several queries share {text_of(source.stream)}, which wants to be told what is committed, and none"
            " of them can tell it; let one query serve all ends: sinks of this process with one output mode, and"
            " also(write) instead of spark_sink(...)"
        )


def check_writable(place: Path | None) -> None:
    """Refuse a folder of this machine in which nothing can be written; it is made if it is not there."""
    if place is None:
        return
    try:
        place.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryFile(dir=place):
            pass
    except OSError as error:
        raise _not_writable(place, error.strerror or str(error)) from error


def _not_writable(place: object, reason: str) -> PlanError:
    return PlanError(f"run: checkpoint must be a folder that can be written, got {place}: {reason}")


def claim(folder: Folder, built: Built, frames: list[DataFrame]) -> None:
    """Write down to which pipeline a checkpoint belongs, or refuse the checkpoint of another pipeline."""
    own = facts_of(built, frames)
    try:
        folder.make()
        names = folder.names()
        if POSITIONS in names:
            raise PlanError(f"run: {folder} is the checkpoint of a run in this process; give this one another folder")
        before = {} if OWNER not in names else _noted(folder.read(OWNER).to_pybytes().decode(errors="replace"))
        changes = "; ".join(_changes(before, own))
        if changes and (not before or not _begun(folder)):
            folder.delete(OWNER)  # what is there is not replaced by every file system
            folder.write(OWNER, json.dumps(own, indent=1).encode())
            return
    except StorageError as error:
        raise _not_writable(folder, error.reason) from error
    if changes:
        raise PlanError(f"run: {folder} is the checkpoint of another pipeline: {changes}; give this one another folder")


def _begun(folder: Folder) -> bool:
    """Tell whether a query of a checkpoint has begun with a micro-batch, or rows are kept in it."""
    for name in folder.names():
        if name == QUERY:
            begun = bool((folder / QUERY / OFFSETS).names())
        else:
            begun = _begun(folder / name) if name.startswith(BRANCH) else name.startswith(SPOOL)
        if begun:
            return True
    return False


def _noted(text: str) -> Facts:
    try:
        found = json.loads(text)
    except ValueError:
        return {"pipeline": text}  # of a version that wrote a sentence
    return found if isinstance(found, dict) else {"pipeline": text}


def _changes(before: Facts, now: Facts) -> Iterator[str]:
    for name in [*before, *(name for name in now if name not in before)]:
        if name not in now:
            yield f"{name} was {before[name]}, and is no more"
        elif name not in before:
            yield f"{name} was not there, and is {now[name]}"
        elif before[name] != now[name]:
            yield f"{name} was {before[name]}, and is {now[name]}"


def facts_of(built: Built, frames: list[DataFrame]) -> Facts:
    """Say what must stay the same, each by its name; `frames` are those that the queries give out."""
    plan = built.plan
    found: Facts = {}
    for number, source in enumerate(plan.sources, 1):
        one = len(plan.sources) == 1
        name, of = ("the source", "") if one else (f"source {number}", f" of source {number}")
        if isinstance(source, Live):
            supply = _restart_of(source)
            way = "spooled" if supply is None else _RECKONED[supply.resumption.way]
            found[name] = f"{operator_name(source.stream._chain.source)}, {way}"
            for field in source.schema.struct:
                found[f"column {field.name}{of}"] = field.dataType.simpleString()
        else:
            found[name] = "one of Spark's"
    for place, frame in enumerate(frames, 1):
        of = "" if len(frames) == 1 else f" of query {place}"
        for number, state in enumerate(_states(frame), 1):
            found[f"state {number}{of}"] = state
    works = [(at, node.work) for at, node in enumerate(plan.nodes) if isinstance(node.work, Executed)]
    scopes = [(at, work.scope) for at, work in works if work.scope is not None and work.scope.keys]
    for number, (at, scope) in enumerate(scopes, 1):
        kept = _kept(scope) if built.frame(at).isStreaming else ""
        found[f"keyed_by {number}"] = f"[{', '.join(scope.keys)}]{kept}"
    for number, end in enumerate(plan.ends, 1):
        name = "the sink" if len(plan.ends) == 1 else f"sink {number}"
        found[name] = "one of this process" if isinstance(end.what, Local) else "one of Spark's"
    return found


def _kept(scope: Scoped) -> str:
    """Describe what Spark keeps of each key: rows that wait for their time, and what the steps remember."""
    order = f" and {', '.join(scope.order_by)}" if scope.order_by else ""
    times = "" if scope.time is None else f" by {scope.time}{order}"
    steps = SteppingRun(folded(scope.flow._chain)[1]).signature
    return f"{times} with {steps}" if steps else times


def _states(frame: DataFrame) -> Iterator[str]:
    """Describe, from the source on, the steps of a query whose states Spark keeps."""
    java: Any = frame._jdf
    found: list[str] = []
    waiting = [java.queryExecution().analyzed()]
    while waiting:
        node = waiting.pop()
        children = node.children()
        inputs = [children.apply(index) for index in range(children.size())]
        waiting.extend(inputs)
        if node.isStreaming():
            words = _state_of(node, str(node.nodeName()), inputs)
            found.extend([words] if words else [])
    return reversed(found)


def _state_of(node: Any, name: str, inputs: list[Any]) -> str:
    if name == "Aggregate":
        return f"a grouping by [{_columns(node.groupingExpressions())}]"
    if name.startswith("Deduplicate"):
        return f"distinct rows by [{_columns(node.keys())}]"
    if name == "Join" and all(each.isStreaming() for each in inputs):
        return f"a join, {node.joinType().toString()}, on [{_columns(node.condition().toList())}]"
    if name.startswith(("TransformWithState", "FlatMapGroups")):
        return "a state for each key"
    return ""


def _columns(expressions: Any) -> str:
    return _IDS.sub("", str(expressions.mkString(", ")))
