"""noise: the warning of Spark's own module is dropped, and every other byte that a JVM prints comes through."""

from __future__ import annotations

import os
import threading

from hypothesis import given
from hypothesis import strategies as st

from penstock.spark.session.jvm import noise
from penstock.spark.session.jvm.noise import quieted

NOISE = b"WARNING: Using incubator modules: jdk.incubator.vector\n"
LINES = st.lists(
    st.sampled_from(
        [b"WARNING: Using incubator\n", b"\n", b"WARN\r\n", b"\xff\x00 no text\n", b"at java.lang.Thread\n"]
    )
)


def cut(data: bytes, places: list[int]) -> list[bytes]:
    ends = sorted({place % (len(data) + 1) for place in places} | {len(data)})
    return [data[start:end] for start, end in zip([0, *ends], ends, strict=False) if end > start]


@given(LINES, LINES, st.sampled_from([b"", b"W", b"no end"]), st.lists(st.integers(0, 10**6)))
def test_one_line_is_dropped_however_the_output_is_cut(before, after, last, places):
    around = b"".join(before), b"".join(after) + last
    assert b"".join(quieted(cut(NOISE.join(around), places))) == b"".join(around)


def test_what_may_be_the_line_is_held_until_it_is_known():
    assert list(quieted([b"WARN", b"ING: other\n"])) == [b"WARNING: other\n"]
    assert list(quieted([b"prompt> ", b"more"])) == [b"prompt> ", b"more"]


def test_what_is_printed_is_passed_on_until_the_pipe_is_closed():
    source, printing = os.pipe()
    reading, target = os.pipe()
    thread = threading.Thread(target=noise._pass_on, args=(source, target))
    thread.start()
    os.write(printing, NOISE + b"an error\n")
    assert os.read(reading, 100) == b"an error\n"
    os.close(printing)
    thread.join(30)
    assert os.read(reading, 100) == b""
    os.close(reading)


def test_a_terminal_that_has_gone_ends_nothing_else():
    source, printing = os.pipe()
    reading, target = os.pipe()
    os.close(reading)
    thread = threading.Thread(target=noise._pass_on, args=(source, target))
    thread.start()
    os.write(printing, b"to nowhere\n")
    thread.join(30)
    assert not thread.is_alive()
    os.close(printing)
