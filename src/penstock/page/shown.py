"""shown: one run on the page, and what it does from one moment to the next."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace
from typing import Any

from penstock.engine.runs.chain import Chain
from penstock.engine.watching.observe import Observation, RunState
from penstock.engine.words.demand import UNBOUNDED
from penstock.errors import RunCancelledError
from penstock.flow import text_of
from penstock.page.chains import VALVE, drawn
from penstock.page.model import Graph, NodeFigures, QueryFigures, RunCounts, RunFrame, RunPicture, Totals, WayFigures
from penstock.page.outline import only_sources, outline
from penstock.page.pace import RunPace, node_figures, slowest, way_figures
from penstock.page.plans import behind_full_gate, parts_seen, planned
from penstock.run import Progress, QueryProgress, Run
from penstock.run.branches import Branches

RUNNING, STOPPING, STOPPED = RunState.RUNNING.value, "stopping", "stopped"


class ShownRun:
    """A run on the page: a pipeline by its handle, a stream by what a listener sees, or both."""

    def __init__(self, key: str, run: Run[Any] | None) -> None:
        self.key = key
        self.run = run
        self.observations: list[Observation] = []
        self._pace = RunPace()
        self._stopped = False
        self._outline: Graph | None = None
        self._last: RunPicture | None = None

    @property
    def over(self) -> bool:
        """Tell whether nothing of it will change any more."""
        return self._last is not None and self._last.frame.state not in {RUNNING, STOPPING}

    @property
    def title(self) -> str:
        """Return what it is called on the page."""
        run = self.run
        if run is not None and run.chain is not None:
            return text_of_run(run.chain)
        if run is not None:
            return "pipeline" if run.plan is None else f"pipeline {run.plan.title}"
        return self.observations[0].chain.removeprefix(f"{VALVE} | ")

    def takes(self, run: Observation, handle: Run[Any] | None) -> bool:
        """Tell whether an observation belongs here: a part of the run, its first one, or one that shares in those."""
        if any(each.run in self.observations for each in run.shares):
            return True
        return handle is not None and handle is self.run and (run.part is not None or not self.observations)

    def stop(self) -> None:
        """Let the run take nothing more in."""
        if self.run is not None:
            self._stopped = True
            self.run.stop()

    def cancel(self) -> None:
        """End the run at once."""
        if self.run is not None:
            self.run.cancel()

    # What it does.

    def picture(self, now: float) -> RunPicture:
        """Return what it does now; what it did last once it is over."""
        if self._last is not None and self.over:
            return self._last
        state = self._state()
        progress = None if self.run is None else self.run.now()
        graph, counts = self._counted(progress)
        running = state in {RUNNING, STOPPING}
        seconds, before = self._pace.add(now, counts) if running else (0.0, counts)  # nothing moves any more
        nodes = tuple(node_figures(seconds, *pair) for pair in zip(before.nodes, counts.nodes, strict=True))
        worst = slowest(graph, nodes) if running else None
        if worst is None and running:
            worst = behind_full_gate(graph, counts)
        held_up = None if worst is None else graph.nodes[worst].key
        ways = tuple(
            way_figures(seconds, then, since, running=running, held_up=way.end == held_up)
            for way, then, since in zip(graph.ways, before.ways, counts.ways, strict=True)
        )
        elapsed = self.observations[0].elapsed if progress is None else progress.elapsed
        queries = () if progress is None else tuple(map(_query, progress.queries))
        totals = _totals(graph, nodes, ways)
        if progress is not None and self.run is not None and self.run.plan is not None:
            totals = _with_progress(totals, progress)
        frame = RunFrame(self.key, state, elapsed, nodes, ways, worst, totals, queries)
        links = () if progress is None else progress.links
        self._last = RunPicture(self.title, graph, frame, self.run is not None, links or self._links())
        return self._last

    def _links(self) -> tuple[tuple[str, str], ...]:
        """Return the links that were known before: one that has ended has none to tell of."""
        return () if self._last is None else self._last.links

    def _state(self) -> str:
        if self.run is None:
            return self.observations[0].state.value
        if not self.run.done:
            return STOPPING if self._stopped else RUNNING
        failure = self.run.failure
        if failure is None:
            return STOPPED if self._stopped else RunState.COMPLETED.value
        return RunState.CANCELLED.value if isinstance(failure, RunCancelledError) else RunState.FAILED.value

    def _counted(self, progress: Progress | None) -> tuple[Graph, RunCounts]:
        run = self.run
        if run is None or progress is None:
            return drawn(self.observations, ends=False)
        if run.plan is not None:
            return planned(run.plan, progress, parts_seen(self.observations))
        if self.observations or run.chain is None:
            return drawn(self.observations, ends=True)
        if self._outline is None:
            self._outline = outline(run.chain)
        return self._outline, only_sources(self._outline, progress.rows_in, progress.demand)


def text_of_run(chain: Chain) -> str:
    """Return the chain of a pipeline as people write it, with its branches."""
    source = chain.source
    if not isinstance(source, Branches):
        return str(chain)
    return f"{source.stream} | branch({', '.join(map(text_of, source.ends))})"


def _totals(graph: Graph, nodes: tuple[NodeFigures, ...], ways: tuple[WayFigures, ...]) -> Totals:
    """Add up what comes from the sources and what reaches the ends."""
    starts, ends = {way.start for way in graph.ways}, {way.end for way in graph.ways}
    sources = [figures for node, figures in zip(graph.nodes, nodes, strict=True) if node.key not in ends]
    first = [figures for way, figures in zip(graph.ways, ways, strict=True) if way.start not in ends]
    last = [figures for way, figures in zip(graph.ways, ways, strict=True) if way.end not in starts]
    demand = _sum(each.demand for each in first)
    return Totals(
        rows_in=_sum(each.delivered for each in sources),
        rate_in=_sum(each.rate for each in sources),
        rate_out=_sum(each.rate for each in last),
        demand=None if demand is None else min(demand, UNBOUNDED),
        held=_sum(each.held for each in nodes),
        errors=sum(each.errors for each in nodes),
    )


def _with_progress(totals: Totals, progress: Progress) -> Totals:
    return replace(
        totals,
        rows_in=progress.rows_in,
        rows_out=progress.rows_out,
        demand=progress.demand,
        held=None,  # the lag says it
        lag=progress.lag,
        batch_seconds=progress.batch_seconds,
        batches=progress.batches,
    )


def _sum(values: Iterable[Any]) -> Any:
    known = [value for value in values if value is not None]
    return sum(known) if known else None


def _query(said: QueryProgress) -> QueryFigures:
    return QueryFigures(
        said.name,
        said.batches,
        said.batch,
        said.batch_seconds,
        said.rows,
        said.rows_per_second,
        said.state_rows,
        said.watermark,
    )
