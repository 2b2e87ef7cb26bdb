"""scopes: a Flow, and which elements it may see together on Spark, those of a partition or those of a key."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.engine.runs.chain import Chain
from penstock.engine.runs.wiring import connect
from penstock.flow import EngineName, Flow, text_of
from penstock.run.pieces.stepping import keeps_state
from penstock.spark.session.embedded import EMBEDDED
from penstock.spark.stages.verdicts import gives_streams, in_line
from penstock.spec.interfaces import Subscriber
from penstock.stage import Source


@dataclass(frozen=True, slots=True)
class Scoped(Source[Any]):
    """A Flow, and which elements its author lets it see together."""

    engine: ClassVar[EngineName] = EMBEDDED
    stream: Chain = field(repr=False)
    flow: Flow[Any, Any]
    keys: tuple[str, ...] = ()
    order_by: tuple[str, ...] = ()
    time: str | None = None
    watermark: float = 0.0
    here: Callable[[Scoped], Chain] | None = field(default=None, repr=False, compare=False)
    """What makes the chain that runs in this process, where there is one."""

    @property
    def name(self) -> str:
        """Return the name of the function that made it."""
        return "keyed_by" if self.keys else "per_partition"

    @property
    def keeps_states(self) -> bool:
        """Return whether there are states that Spark can keep: those of the Flow, or rows that wait for their time."""
        steps = in_line(self.flow._chain)[1]
        return self.time is not None or any(keeps_state(step) or gives_streams(step) for step in steps)

    def __str__(self) -> str:
        rest = [text_of(self.flow), *map(repr, self.keys)]
        if self.order_by:
            rest.append(f"order_by={self.order_by[0] if len(self.order_by) == 1 else self.order_by!r}")
        if self.time is not None:
            rest.append(f"time={self.time!r}, watermark={self.watermark}")
        return f"{self.name}({', '.join(rest)})"

    def connect(self, downstream: Subscriber[Any], /) -> None:
        """Run by the times of the rows, or refuse to: this process has neither partitions nor keys."""
        if self.here is not None:
            connect(self.here(self), downstream)
            return
        raise TypeError(
            f"{self.name}: it is for Spark; end the pipeline with a Sink and run() it, or use the flow itself here"
        )


__all__ = ["Scoped"]
