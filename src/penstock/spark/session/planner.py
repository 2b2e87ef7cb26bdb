"""planner: PySpark's process that plans the micro-batches of a live stream, with better manners at its end.

A query that is stopped hangs up on it, mostly while it waits for rows. It then fails to tell Spark of that, and PySpark
would print the tracebacks of it all into whatever else is on the terminal; here it ends without a word.

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
