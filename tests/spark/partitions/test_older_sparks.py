"""older_sparks: what a PySpark that does not say from where to read cannot do."""

from __future__ import annotations

import re
from typing import Any

import pytest

from penstock import Stream
from penstock.spark.partitions.stream import partitioned_stream
from penstock.spark.session.java import SparkSetupError
from penstock.spark.versions import stream_readers
from penstock.spark.wire.schema import Schema


def test_live_parts_are_refused_with_the_cure(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stream_readers, "SAYS_START", False)
    message = "partitioned: streaming=True needs PySpark 4.2 or newer; use spark.frame, or upgrade it"
    unused: Any = None
    with pytest.raises(SparkSetupError, match=f"^{re.escape(message)}$"):
        partitioned_stream(unused, ["a"], lambda part, row: Stream.range(row, 3), Schema.of("n long"))
