"""embedded: the name of the engine for pipelines that are run without a Spark session."""

from __future__ import annotations

from penstock.flow import EngineName

EMBEDDED = EngineName("penstock.spark.pipeline.run", "Embedded")
"""The engine that starts a session for one pipeline and closes it when the pipeline has ended."""

__all__ = ["EMBEDDED"]
