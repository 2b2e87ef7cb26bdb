"""model: what the live page shows, as frozen values: graphs, what was counted at one moment, and frames of figures.

A `Graph` is what a run is made of, and stays. `RunCounts` is what was counted in it up to one moment, node by node and
way by way, in the order of the graph. A `RunFrame` is what follows from two such moments: rates, shares, states.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from penstock.engine.words.demand import UNBOUNDED

ALL = -1
"""How unbounded demand is written: JavaScript's numbers do not reach that far."""


class NodeKind(Enum):
    """What a node of the graph is."""

    SOURCE = "source"
    STEP = "step"
    BOUNDARY = "boundary"
    GATE = "gate"
    STAGE = "stage"
    SINK = "sink"


class Flowing(Enum):
    """How a way between two nodes is doing."""

    IDLE = "idle"
    """Nothing was asked for, or the run is over."""
    FLOWING = "flowing"
    """Elements come as they are asked for."""
    WAITING = "waiting"
    """What comes before waits: what follows is busy, or asks for no more."""
    HUNGRY = "hungry"
    """What follows waits: it has asked, and nothing comes."""


@dataclass(frozen=True, slots=True)
class GraphNode:
    """A part of a run."""

    key: str
    label: str
    kind: NodeKind
    where: str = "this process"
    note: str = ""


@dataclass(frozen=True, slots=True)
class GraphWay:
    """The way from one node to another, by their keys."""

    start: str
    end: str


@dataclass(frozen=True, slots=True)
class Graph:
    """The nodes of a run and the ways between them."""

    nodes: tuple[GraphNode, ...] = ()
    ways: tuple[GraphWay, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "nodes": [
                {"key": each.key, "label": each.label, "kind": each.kind.value, "where": each.where, "note": each.note}
                for each in self.nodes
            ],
            "ways": [{"start": each.start, "end": each.end} for each in self.ways],
        }


@dataclass(frozen=True, slots=True)
class NodeCounts:
    """What was counted in a node up to one moment; None is what is not known."""

    delivered: int | None = None
    seconds: float = 0.0
    waited: float = 0.0
    errors: int = 0
    held: int | None = None
    bound: int | None = None


@dataclass(frozen=True, slots=True)
class WayCounts:
    """What was counted on a way up to one moment; None is what is not known."""

    delivered: int | None = None
    demand: int | None = None
    """Elements that were asked for and have not come."""
    held: int | None = None
    """Elements that wait at the end of the way."""
    bound: int | None = None
    """How many may wait there at most."""


@dataclass(frozen=True, slots=True)
class RunCounts:
    """What was counted in a run up to one moment, in the order of its graph."""

    nodes: tuple[NodeCounts, ...] = ()
    ways: tuple[WayCounts, ...] = ()


@dataclass(frozen=True, slots=True)
class NodeFigures:
    """What a node does at a moment: `busy` and `waiting` are shares of the time just gone."""

    delivered: int | None
    rate: float | None
    seconds: float
    busy: float
    waiting: float
    errors: int
    held: int | None
    bound: int | None

    def data(self) -> list[Any]:
        """Return it as JSON values, in the order in which `static/figures.js` reads them."""
        shares = [round(self.busy, 3), round(self.waiting, 3)]
        return [self.delivered, _tenth(self.rate), round(self.seconds, 3), *shares, self.errors, self.held, self.bound]


@dataclass(frozen=True, slots=True)
class WayFigures:
    """What happens on a way at a moment."""

    rate: float | None
    demand: int | None
    held: int | None
    bound: int | None
    state: Flowing

    def data(self) -> list[Any]:
        """Return it as JSON values, in the order in which `static/figures.js` reads them."""
        return [_tenth(self.rate), demand_data(self.demand), self.held, self.bound, self.state.value]


@dataclass(frozen=True, slots=True)
class QueryFigures:
    """What Spark says of one query."""

    name: str
    batches: int
    batch: int
    batch_seconds: float
    rows: int
    rows_per_second: float
    state_rows: int | None
    watermark: str | None

    def data(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "name": self.name,
            "batches": self.batches,
            "batch": self.batch,
            "seconds": round(self.batch_seconds, 3),
            "rows": self.rows,
            "rate": _tenth(self.rows_per_second),
            "state": self.state_rows,
            "watermark": self.watermark,
        }


@dataclass(frozen=True, slots=True)
class Totals:
    """What is known of a run as a whole."""

    rows_in: int | None = None
    rows_out: int | None = None
    rate_in: float | None = None
    rate_out: float | None = None
    demand: int | None = None
    held: int | None = None
    lag: int | None = None
    batch_seconds: float | None = None
    batches: int | None = None
    errors: int = 0

    def data(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "in": self.rows_in,
            "out": self.rows_out,
            "rateIn": _tenth(self.rate_in),
            "rateOut": _tenth(self.rate_out),
            "demand": demand_data(self.demand),
            "held": self.held,
            "lag": self.lag,
            "batchSeconds": self.batch_seconds,
            "batches": self.batches,
            "errors": self.errors,
        }


@dataclass(frozen=True, slots=True)
class RunFrame:
    """What a run does at a moment."""

    key: str
    state: str
    elapsed: float
    nodes: tuple[NodeFigures, ...] = ()
    ways: tuple[WayFigures, ...] = ()
    slowest: int | None = None
    """The number of the node that holds the others up."""
    totals: Totals = field(default_factory=Totals)
    queries: tuple[QueryFigures, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {
            "key": self.key,
            "state": self.state,
            "elapsed": round(self.elapsed, 2),
            "nodes": [each.data() for each in self.nodes],
            "ways": [each.data() for each in self.ways],
            "slowest": self.slowest,
            "totals": self.totals.data(),
            "queries": [each.data() for each in self.queries],
        }


@dataclass(frozen=True, slots=True)
class RunPicture:
    """A run as it is shown at a moment: what it is made of, and what it does."""

    title: str
    graph: Graph
    frame: RunFrame
    controlled: bool = False
    """Whether it can be stopped and cancelled."""
    links: tuple[tuple[str, str], ...] = ()
    """Where else it can be looked at: names and addresses."""

    def drawing(self) -> dict[str, Any]:
        """Return what stays from one moment to the next, as JSON values."""
        links = [{"name": name, "address": address} for name, address in self.links]
        return {
            "key": self.frame.key,
            "title": self.title,
            "controlled": self.controlled,
            "links": links,
            **self.graph.data(),
        }


@dataclass(frozen=True, slots=True)
class Trouble:
    """An error that was seen, as text."""

    number: int
    at: float
    run: str
    what: str
    notes: tuple[str, ...] = ()

    def data(self) -> dict[str, Any]:
        """Return it as JSON values."""
        return {"number": self.number, "at": self.at, "run": self.run, "what": self.what, "notes": list(self.notes)}


def demand_data(demand: int | None) -> int | None:
    """Return a demand as a JSON value."""
    return ALL if demand is not None and demand >= UNBOUNDED else demand


def _tenth(value: float | None) -> float | None:
    return None if value is None else round(value, 1)
