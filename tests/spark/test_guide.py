"""guide: the examples of the guides and recipes on Spark run, and give what their comments say."""

from __future__ import annotations

import sys
from types import ModuleType

import pytest

from penstock.spark import Spark
from tests.test_docs import ROOT, run_page


@pytest.mark.usefixtures("few_partitions")
@pytest.mark.parametrize("page", ["spark.md", "pipelines.md", "recipes/websocket-into-spark.md", "recipes/resuming.md"])
def test_examples_of_the_guide(page: str, spark: Spark, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("__main__")  # what a notebook is: functions are shipped by value
    monkeypatch.setitem(sys.modules, "spark_guide", module)
    namespace = vars(module)
    namespace["spark"] = spark
    run_page(ROOT / "docs" / "guides" / page, namespace)
