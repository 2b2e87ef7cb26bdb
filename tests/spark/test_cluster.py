from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from penstock import Stream
from penstock.spark.schema import row_type
from tests.spark.on_cluster import item_stages, running_sum

ROOT = Path(__file__).parent.parent.parent


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Run a driver of its own against a cluster of one master and two workers."""
    folder = tmp_path_factory.mktemp("cluster")
    ran = subprocess.run(
        [sys.executable, "-m", "tests.spark.on_cluster", folder],
        cwd=ROOT,
        env={**os.environ, "PYTHONPATH": str(ROOT / "src")},
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
    )
    told = [line.removeprefix("SEEN ") for line in ran.stdout.splitlines() if line.startswith("SEEN ")]
    assert told, ran.stderr
    found: dict[str, Any] = json.loads(told[0])
    return found


def test_item_stages_answer_as_in_process(seen: dict[str, Any]) -> None:
    assert seen["item"] == list(Stream.from_iterable([(n,) for n in range(1000)]) | item_stages)


def test_keyed_stages_answer_as_in_process(seen: dict[str, Any]) -> None:
    row = row_type(("k", "n"))
    expected = [
        list(pair)
        for key in range(7)
        for pair in Stream.from_iterable([row(n % 7, n) for n in range(1000) if n % 7 == key]) | running_sum
    ]
    assert seen["keyed"] == sorted(expected)


def test_executors_that_lack_the_package_are_given_it(seen: dict[str, Any]) -> None:
    assert seen["files"]
    assert all(file.endswith("penstock.zip/penstock/__init__.py") for file in seen["files"]), seen["files"]


def test_the_cluster_outlives_the_session(seen: dict[str, Any]) -> None:
    assert seen["alive"] == [True, True, True]
