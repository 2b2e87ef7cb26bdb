"""remembering: what of a streaming DataFrame remembers something from one micro-batch to the next; it is kept so.

The names of steps are those of PySpark's classic session.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pyspark.sql import DataFrame


def plan_of(frame: DataFrame) -> Any:
    """Return the plan of a DataFrame, in Spark's words."""
    java: Any = frame._jdf
    return java.queryExecution().analyzed()


def steps_of(plan: Any) -> Iterator[Any]:
    """Return the steps of a plan, from its end to its sources."""
    waiting = [plan]
    while waiting:
        node = waiting.pop()
        yield node
        inner = node.children()
        waiting.extend(inner.apply(at) for at in range(inner.size()))


_FORGETFUL = {
    "CollectMetrics", "EventTimeWatermark", "Expand", "Filter", "Generate", "MapInArrow", "MapInPandas", "Project",
    "PythonMapInArrow", "RebalancePartitions", "Repartition", "RepartitionByExpression", "ResolvedHint", "Sample",
    "SubqueryAlias", "Union", "UnresolvedHint", "View",
}  # fmt: skip
"""Steps of Spark's that remember nothing from one micro-batch to the next; all others are taken to remember."""


def stateful_steps(frame: DataFrame) -> int:
    """Return how many steps of a streaming DataFrame may remember something from one micro-batch to the next."""
    return sum(_remembers(node) for node in steps_of(plan_of(frame)))


def _remembers(node: Any) -> bool:
    if not node.isStreaming() or not node.children().size() or node.nodeName() in _FORGETFUL:
        return False
    inner = node.children()
    streams = [inner.apply(at).isStreaming() for at in range(inner.size())]
    return node.nodeName() != "Join" or all(streams)  # a join with a table remembers nothing


def keep_states(frame: DataFrame) -> None:
    """Let Spark bring its states up to date with a micro-batch of which no row is needed."""
    frame.write.format("noop").mode("overwrite").save()


__all__ = ["keep_states", "plan_of", "stateful_steps", "steps_of"]
