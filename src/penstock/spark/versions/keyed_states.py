"""keyed_states: transformWithState, which hands rows over as rows since 4.1, and as pandas frames before."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import DataFrame, Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import StructType


class RowsByFrames(StatefulProcessor):
    """A processor of rows, for a Spark that hands over pandas frames."""

    def __init__(self, processor: Any, names: list[str]) -> None:
        self._processor = processor
        self._names = names

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Pass it on."""
        self._processor.init(handle)

    def handleInputRows(self, key: Any, rows: Any, timerValues: Any) -> Iterator[Any]:  # noqa: N802, N803  Spark's names
        """Make rows of the frames, and frames of the rows."""
        return self._frames(self._processor.handleInputRows(key, _rows(rows), timerValues))

    def handleExpiredTimer(self, key: Any, timerValues: Any, expiredTimerInfo: Any) -> Iterator[Any]:  # noqa: N802, N803
        """Make frames of the rows."""
        return self._frames(self._processor.handleExpiredTimer(key, timerValues, expiredTimerInfo))

    def handleInitialState(self, key: Any, initialState: Any, timerValues: Any) -> None:  # noqa: N802, N803
        """Make rows of a frame."""
        for row in _rows([initialState]):
            self._processor.handleInitialState(key, row, timerValues)

    def close(self) -> None:
        """Pass it on."""
        self._processor.close()

    def _frames(self, rows: Any) -> Iterator[Any]:
        import pandas as pd  # type: ignore[import-untyped]  # noqa: PLC0415  only such a Spark needs it

        for row in rows:
            found = row.asDict()
            yield pd.DataFrame({name: pd.Series([found[name]], dtype=object) for name in self._names})


def _rows(frames: Any) -> Iterator[Row]:
    for frame in frames:
        made = Row(*frame.columns)
        for values in zip(*(frame[name].tolist() for name in frame.columns), strict=True):
            yield made(*values)


def transform_with_state(
    grouped: Any, processor: Any, output: StructType, mode: str, time_mode: str, **others: Any
) -> DataFrame:
    """Run a processor of rows over each key of a streaming DataFrame that was grouped."""
    given = getattr(grouped, "transformWithState", None)
    if given is not None:
        return given(processor, output, mode, time_mode, **others)  # type: ignore[no-any-return]
    made = RowsByFrames(processor, output.names)
    return grouped.transformWithStateInPandas(made, output, mode, time_mode, **others)  # type: ignore[no-any-return]


__all__ = ["RowsByFrames", "transform_with_state"]
