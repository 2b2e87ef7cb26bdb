"""observed: what it costs that a listener sees every step of map, filter, map, sum."""

from __future__ import annotations

from benchmarks.peers import DEMAND
from benchmarks.workload import AIOSTREAM, PENSTOCK, REACTIVEX, STREAMABLE, Contender, Missing, Target, Workload
from benchmarks.workloads.sync_chain import expected, with_penstock
from penstock import Recorder, observe

UNSEEN = "penstock, unobserved"


def seen(size: int) -> object:
    with observe(Recorder()):
        return with_penstock(size)


NO_LISTENER = "has no listener that sees every step"

WORKLOAD = Workload(
    name="observed",
    title="map, filter, map, sum with a listener, against none",
    size=100_000,
    quick_size=20_000,
    expected=expected,
    contenders=(Contender(UNSEEN, with_penstock, DEMAND), Contender(PENSTOCK, seen, DEMAND)),
    missing=tuple(Missing(peer, NO_LISTENER) for peer in (REACTIVEX, AIOSTREAM, STREAMABLE)),
    baseline=UNSEEN,
    targets=(Target(at_most=1.1, against=UNSEEN),),
)
