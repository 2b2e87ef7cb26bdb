"""pull_apart: a chain of pull-stream with one module that cannot be joined, against the same chain without it."""

from __future__ import annotations

from benchmarks.functions import step, wanted
from benchmarks.workload import AIOSTREAM, HAND, PENSTOCK, REACTIVEX, STREAMABLE, Contender, Missing, Target, Workload
from benchmarks.workloads.pull_chain import ASKED, OTHER, Total, expected
from penstock import pull


def joined(size: int) -> int:
    total = Total()
    pull.pull(pull.values(range(size)), pull.map(step), pull.filter(wanted), pull.take(size), pull.drain(total.add))
    return total.total


def apart(size: int) -> int:
    total = Total()
    modules = (pull.map(step), pull.abortable(), pull.filter(wanted), pull.take(size))
    pull.pull(pull.values(range(size)), *modules, pull.drain(total.add))
    return total.total


WORKLOAD = Workload(
    name="pull_apart",
    title="pull-stream: one module that cannot be joined, against the joined chain (by hand: joined)",
    size=1_000_000,
    quick_size=100_000,
    expected=expected,
    contenders=(Contender(HAND, joined, ASKED), Contender(PENSTOCK, apart, ASKED)),
    missing=(Missing(REACTIVEX, OTHER), Missing(AIOSTREAM, OTHER), Missing(STREAMABLE, OTHER)),
    targets=(Target(at_most=6.0),),
)
