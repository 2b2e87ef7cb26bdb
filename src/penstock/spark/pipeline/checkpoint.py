"""checkpoint: the folder that remembers how far a pipeline has come, and to which pipeline it belongs.

Functions may change between two runs, and their names too, but not what the numbers in the folder count: the rows that
come in, and where they end. So that much is written down at the first run and compared at the others.
"""

from __future__ import annotations

from pathlib import Path

from penstock.spark.pipeline.plan import Live, Local, PlanError, SparkPlan
from penstock.spark.pipeline.steps import SparkSink, SparkSource

QUERY, SPOOL = "query", "spool"
"""Folders of a checkpoint: Spark's own, and the rows that Spark has not yet committed."""
_OWNER = "pipeline"


def claim(folder: Path, plan: SparkPlan) -> None:
    """Write down to which pipeline a checkpoint belongs, or refuse the checkpoint of another pipeline."""
    own = _described(plan)
    note = folder / _OWNER
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if not note.exists():
            note.write_text(own)
            return
    except OSError as error:
        raise PlanError(
            f"run: checkpoint must be a folder that can be written, got {folder}: {error.strerror}"
        ) from error
    found = note.read_text()
    if found != own:
        raise PlanError(
            f"run: {folder} is the checkpoint of another pipeline, from {found}; this one is from {own};"
            " give it another folder"
        )


def _described(plan: SparkPlan) -> str:
    begin, end = map(_begun, plan.sources), (_ended(end.what) for end in plan.ends)
    return f"{' and '.join(begin)} to {' and '.join(end)}"


def _begun(source: Live | SparkSource) -> str:
    return f"a live stream of ({source.schema.struct.simpleString()[7:-1]})" if isinstance(source, Live) else "Spark"


def _ended(end: Local | SparkSink) -> str:
    return "a sink of this process" if isinstance(end, Local) else "a sink of Spark"
