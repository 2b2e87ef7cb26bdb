"""workloads: all that is measured, in the order it is reported."""

from __future__ import annotations

from benchmarks.workload import Workload
from benchmarks.workloads import (
    async_chain,
    demand,
    flat_map,
    map_async,
    merge,
    observed,
    paged,
    pull_apart,
    pull_chain,
    subscribe,
    sync_chain,
    ten_maps,
    thread_boundary,
    windows,
)
from benchmarks.workloads import zip as zip_

WORKLOADS: tuple[Workload, ...] = (
    sync_chain.WORKLOAD,
    ten_maps.WORKLOAD,
    flat_map.WORKLOAD,
    windows.WORKLOAD,
    demand.WORKLOAD,
    async_chain.WORKLOAD,
    thread_boundary.WORKLOAD,
    map_async.WORKLOAD,
    merge.WORKLOAD,
    zip_.WORKLOAD,
    subscribe.WORKLOAD,
    observed.WORKLOAD,
    paged.WORKLOAD,
    pull_chain.WORKLOAD,
    pull_apart.WORKLOAD,
)
