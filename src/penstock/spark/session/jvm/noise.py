"""noise: start the JVM so that it does not warn of a module that Spark's own launcher asks for.

Spark starts Java with `--add-modules=jdk.incubator.vector`, and Java has no option to leave out the warning that it
prints for that. So what the JVM prints passes through a pipe, where this one line is dropped; everything else is
written on at once, as it came, to where it would have gone.
"""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable, Iterator

from pyspark import SparkConf, SparkContext
from pyspark.java_gateway import launch_gateway

_NOISE = b"WARNING: Using incubator modules: jdk.incubator.vector"
_READ = 65536
_NAME = "penstock-jvm-stderr"
_PATIENCE = 10.0  # seconds for a JVM that did not come up


def start_jvm(settings: dict[str, str]) -> None:
    """Start the JVM that the next session of this process will run in, with settings that it must have at its start."""
    conf = SparkConf(loadDefaults=False)
    for name, value in settings.items():
        conf.set(name, value)
    ours, its = os.pipe()
    copying = threading.Thread(target=_pass_on, args=(ours, os.dup(2)), name=_NAME, daemon=True)
    copying.start()
    gateway = None
    try:
        gateway = launch_gateway(conf, {"stderr": its})  # type: ignore[no-untyped-call]
    finally:
        os.close(its)  # the JVM has its own; when that is closed, the thread ends
        if gateway is None:  # why it did not start is what it has printed
            copying.join(_PATIENCE)
    SparkContext._ensure_initialized(gateway=gateway)


def end_noise(seconds: float) -> None:
    """Wait until what a JVM that has ended had printed is written."""
    for thread in threading.enumerate():
        if thread.name == _NAME:
            thread.join(seconds)


def _pass_on(source: int, target: int) -> None:
    """Copy what is printed until the JVM, and all that it has started, have ended."""
    try:
        for data in quieted(iter(lambda: os.read(source, _READ), b"")):
            left = memoryview(data)
            while left:
                left = left[os.write(target, left) :]
    except OSError:
        pass  # the terminal has gone, as it may for any program that prints
    finally:
        os.close(source)
        os.close(target)


def quieted(pieces: Iterable[bytes]) -> Iterator[bytes]:
    r"""Yield pieces of output without the line; of a piece that may be its beginning, nothing until it is known.

    >>> list(quieted([b"WARNING: Using incubator modules: jdk.incubator.vector\nERROR", b" 1\n"]))
    [b'ERROR', b' 1\n']
    """
    held = b""
    for piece in pieces:
        held += piece
        *lines, rest = held.split(b"\n")
        kept = b"".join(line + b"\n" for line in lines if line.rstrip(b"\r") != _NOISE)
        if rest and not _NOISE.startswith(rest):  # no beginning of the line
            kept, rest = kept + rest, b""
        held = rest
        if kept:
            yield kept
    if held:
        yield held


__all__ = ["end_noise", "quieted", "start_jvm"]
