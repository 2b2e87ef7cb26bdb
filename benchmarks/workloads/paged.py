"""paged: what it costs that a live page shows every step of map, filter, map, sum."""

from __future__ import annotations

from functools import cache
from typing import TYPE_CHECKING

from benchmarks.peers import DEMAND
from benchmarks.workload import AIOSTREAM, PENSTOCK, REACTIVEX, STREAMABLE, Contender, Missing, Target, Workload
from benchmarks.workloads.sync_chain import expected, with_penstock
from penstock import observe

if TYPE_CHECKING:
    from penstock.page import Page

UNPAGED = "penstock, without a page"


@cache
def page() -> Page:
    """Serve one page for all rounds: what is measured are the runs on it, not its start."""
    from penstock.page import Page  # noqa: PLC0415  an older tree that is measured beside this one has none

    return Page(say=False)


def shown(size: int) -> object:
    with observe(page().watch):
        return with_penstock(size)


NO_PAGE = "has no page of what runs"

WORKLOAD = Workload(
    name="paged",
    title="map, filter, map, sum on a live page, against none",
    size=100_000,
    quick_size=20_000,
    expected=expected,
    contenders=(Contender(UNPAGED, with_penstock, DEMAND), Contender(PENSTOCK, shown, DEMAND)),
    missing=tuple(Missing(peer, NO_PAGE) for peer in (REACTIVEX, AIOSTREAM, STREAMABLE)),
    baseline=UNPAGED,
    targets=(Target(at_most=1.15, against=UNPAGED),),
)
