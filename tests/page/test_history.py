"""history: the last frames, the graphs that they need, and errors: bounded, for slow browsers and for files."""

from __future__ import annotations

import json
from typing import Any

from penstock.page.history import MOST_TROUBLES, History
from penstock.page.model import Graph, GraphNode, NodeKind, RunFrame, RunPicture


def picture(label: str = "range", state: str = "running") -> RunPicture:
    return RunPicture("title", Graph((GraphNode("a", label, NodeKind.SOURCE),)), RunFrame("r1", state, 1.0))


def whole(history: History) -> dict[str, Any]:
    found: dict[str, Any] = json.loads(history.whole())
    return found


def test_keeps_the_latest_frames_alone() -> None:
    history = History(most=3)
    for at in range(5):
        history.add(float(at), [picture()])
    assert [frame["number"] for frame in whole(history)["frames"]] == [3, 4, 5]


def test_graph_is_kept_as_long_as_a_frame_needs_it() -> None:
    history = History(most=2)
    for label in ("one", "one", "two", "two", "two"):
        history.add(0.0, [picture(label)])
    found = whole(history)
    assert [graph["runs"][0]["nodes"][0]["label"] for graph in found["graphs"]] == ["two"]
    assert {frame["version"] for frame in found["frames"]} == {2}


def test_browser_that_knows_nothing_gets_the_graph_and_the_newest_frame() -> None:
    history = History()
    history.add(1.0, [picture()])
    history.add(2.0, [picture()])
    version, trouble, texts = history.newest(0, 0)
    assert (version, trouble, [name for name, _ in texts]) == (1, 0, ["graph", "frame"])
    assert json.loads(texts[-1][1])["number"] == 2


def test_browser_that_was_slow_gets_the_newest_frame_and_all_errors_it_missed() -> None:
    history = History()
    history.add(1.0, [picture()])
    version, trouble, _ = history.newest(0, 0)
    for at in range(100):
        history.add(float(at), [picture()])
    history.trouble(1.0, "r1", "ValueError: one")
    history.trouble(2.0, "r1", "ValueError: two", ["in map(f)"])
    _, trouble, texts = history.newest(version, trouble)
    assert [name for name, _ in texts] == ["trouble", "trouble", "frame"]
    assert json.loads(texts[1][1]) == {
        "number": 2, "at": 2.0, "run": "r1", "what": "ValueError: two", "notes": ["in map(f)"],
    }  # fmt: skip
    assert [name for name, _ in history.newest(version, trouble)[2]] == ["frame"]


def test_errors_are_bounded() -> None:
    history = History()
    for number in range(2 * MOST_TROUBLES):
        history.trouble(0.0, "r1", f"error {number}")
    assert len(whole(history)["troubles"]) == MOST_TROUBLES


def test_nothing_is_a_whole_history_as_well() -> None:
    assert whole(History()) == {"graphs": [], "frames": [], "troubles": []}
    assert History().newest(0, 0) == (0, 0, [])
