"""embedded: the name of the engine for pipelines that are run without a Spark session."""

from __future__ import annotations

from penstock.flow import EngineName

EMBEDDED = EngineName("penstock.spark.pipeline.run", "Embedded")
"""The engine that starts a session for one pipeline and closes it when the pipeline has ended."""


def only_on_spark(name: str) -> TypeError:
    """Return the error that a step was to run in this process."""
    return TypeError(
        f"{name}: this step runs on Spark; end the pipeline with a Sink and run() it, and put no step around it that"
        " takes several streams or shares one, such as zip or share: merge, frame(fn, other) and branch do so on Spark"
    )


__all__ = ["EMBEDDED", "only_on_spark"]
