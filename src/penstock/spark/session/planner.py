"""planner: PySpark's process that plans the micro-batches of a live stream; it calls back at once and ends quietly.

Spark starts one for each source of a query and waits ten seconds for its call. PySpark's own imports itself, Arrow and
pandas first, which on a busy machine takes longer than that; here the call comes first.

A query that is stopped closes its connection to this process, mostly while the process waits for rows. The next write
to Spark then fails, and PySpark would print the tracebacks of that to the terminal; here it ends without printing. So
it does if the query was stopped before it could call.

It is run by its path, as Spark would have run PySpark's own.
"""

from __future__ import annotations

import os
import runpy
import socket
import struct
from pathlib import Path
from typing import Any


def connected() -> socket.socket:
    """Return a connection to the place where Spark waits."""
    path = os.environ.get("PYTHON_WORKER_FACTORY_SOCK_PATH")
    if path is None:
        host = "::1" if os.environ.get("SPARK_PREFER_IPV6", "false").lower() == "true" else "127.0.0.1"
        return socket.create_connection((host, int(os.environ["PYTHON_WORKER_FACTORY_PORT"])))
    line = socket.socket(socket.AF_UNIX)
    line.connect(path)
    return line


def called(line: socket.socket) -> Any:
    """Tell Spark who calls; return the connection as a file."""
    file = line.makefile("rwb", int(os.environ.get("SPARK_BUFFER_SIZE", "65536")))
    if line.family != socket.AF_UNIX:
        secret = os.environ["PYTHON_WORKER_FACTORY_SECRET"].encode()
        file.write(struct.pack("!i", len(secret)) + secret)
        file.flush()
        (length,) = struct.unpack("!i", file.read(4))
        if file.read(length) != b"ok":
            raise ConnectionRefusedError("planner: Spark does not know the secret that it gave")
    file.write(struct.pack("!i", os.getpid()))
    file.flush()
    return file


def run() -> None:
    """Answer Spark until it hangs up."""
    try:
        line = connected()
    except (FileNotFoundError, ConnectionError):
        return  # Spark does not wait any more
    file = called(line)
    runpy.run_path(str(Path(__file__).with_name("light.py")))["lighten"](Path(__file__).parents[2])
    from pyspark.sql.streaming import python_streaming_source_runner  # noqa: PLC0415  Spark would not wait for it

    python_streaming_source_runner.main(file, file)
    file.flush()


if __name__ == "__main__":
    try:
        run()
    except BrokenPipeError:
        os._exit(0)
