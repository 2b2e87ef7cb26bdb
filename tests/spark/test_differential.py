"""differential: a fixed share of the random flows that `python -m tests.spark.differential` tries without end."""

from __future__ import annotations

from pathlib import Path

import pytest

from penstock.run.pieces.stepping import SteppingRun
from penstock.spark import Spark
from tests.spark.differential import differ_on_spark, differs_without_a_jvm, main


def test_random_flows_answer_the_same_however_they_are_cut() -> None:
    assert [text for number in range(120) if (text := differs_without_a_jvm(number)) is not None] == []


def test_random_flows_answer_the_same_on_spark(spark: Spark, tmp_path: Path) -> None:
    assert differ_on_spark(spark, (5, 8, 13, 36), str(tmp_path / "query")) == []


def test_a_state_that_is_lost_is_found(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr(SteppingRun, "put_back", lambda self, values: self.begin())
    assert main(["--flows", "3", "--first", "1"]) == 1
    assert "per key of a stream cut at" in capsys.readouterr().out
