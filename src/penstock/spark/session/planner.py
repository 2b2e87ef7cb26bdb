"""planner: PySpark's process that plans the micro-batches of a live stream, which prints no traceback at its end.

A query that is stopped closes its connection to this process, mostly while the process waits for rows. The next write
to Spark then fails, and PySpark would print the tracebacks of that to the terminal; here it ends without printing.

It is run by its path, as Spark would have run PySpark's own.
"""

from __future__ import annotations

import os
import runpy

if __name__ == "__main__":
    try:
        runpy.run_module("pyspark.sql.streaming.python_streaming_source_runner", run_name="__main__", alter_sys=True)
    except BrokenPipeError:
        os._exit(0)
