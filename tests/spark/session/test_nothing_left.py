"""Runs in one session leave nothing behind, in this process and in the JVM.

A share of a hundred runs is run here; `python -m tests.spark.hundred` runs all of them and prints figures.
"""

from __future__ import annotations

from penstock.spark import Spark
from tests.spark.hundred import left_by
from tests.spark.kinds import cancelled, keyed, left_early, live, live_frame, live_partitions, whole_batch


def test_runs_leave_nothing_behind(spark: Spark) -> None:
    assert left_by(spark, {live: 4, cancelled: 3, left_early: 10, whole_batch: 10}) == {}


def test_frames_outside_of_pipelines_leave_no_door_behind(spark: Spark) -> None:
    assert left_by(spark, {live_frame: 3, live_partitions: 3}) == {}


def test_queries_with_states_leave_no_listener_behind(spark: Spark, few_partitions: None) -> None:
    assert left_by(spark, {keyed: 2}) == {}
