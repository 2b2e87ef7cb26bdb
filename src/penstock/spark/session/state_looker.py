"""state_looker: PySpark's process that looks, before a query begins, at the states that a step is to keep.

Spark starts one for each query with a state per key, and PySpark's own prints five lines of its progress to the
terminal of the user. Here it prints none; what functions of the user print there is printed.

It is run by its path, as Spark would have run PySpark's own.
"""

from __future__ import annotations

import runpy


def unsaid(*_: object, **__: object) -> None:
    """Take the place of `print` in PySpark's module."""


if __name__ == "__main__":
    module = "pyspark.sql.streaming.transform_with_state_driver_worker"
    runpy.run_module(module, init_globals={"print": unsaid}, run_name="__main__", alter_sys=True)
