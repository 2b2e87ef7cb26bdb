"""sinks: the ends of pipelines."""

from penstock.sinks.sink import Sink

__all__ = ["Sink"]
