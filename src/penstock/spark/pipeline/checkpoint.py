"""checkpoint: the folder that remembers how far a pipeline has come, and to which pipeline it belongs.

Functions may change between two runs, and their names too, but not what the numbers in the folder count: the rows that
come in, and where they end. So that much is written down at the first run and compared at the others.
"""

from __future__ import annotations

from penstock.spark.pipeline.plan import Live, Local, PlanError, SparkPlan
from penstock.spark.wire.storage import Folder, StorageError

QUERY, SPOOL = "query", "spool"
"""Folders of a checkpoint: Spark's own, and the rows that Spark has not yet committed."""
_OWNER = "pipeline"


def claim(folder: Folder, plan: SparkPlan) -> None:
    """Write down to which pipeline a checkpoint belongs, or refuse the checkpoint of another pipeline."""
    own = _described(plan)
    try:
        folder.make()
        if _OWNER not in folder.names():
            folder.write(_OWNER, own.encode())
            return
        found = folder.read(_OWNER).to_pybytes().decode(errors="replace")
    except StorageError as error:
        raise PlanError(
            f"run: checkpoint must be a folder that can be written, got {folder}: {error.reason}"
        ) from error
    if found != own:
        raise PlanError(
            f"run: {folder} is the checkpoint of another pipeline, from {found}; this one is from {own};"
            " give it another folder"
        )


def _described(plan: SparkPlan) -> str:
    source = plan.source
    begin = f"a live stream of ({source.schema.struct.simpleString()[7:-1]})" if isinstance(source, Live) else "Spark"
    return f"{begin} to {'a sink of this process' if isinstance(plan.end, Local) else 'a sink of Spark'}"
