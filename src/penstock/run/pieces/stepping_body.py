"""stepping_body: the body of a stage with its variables in a cell, so that they can be taken out and put back.

Not everything in a body is state. A variable that is set from a field's attribute and never again, such as a clock's
`now`, is set anew for each piece; one that each element sets before it is read is not kept either.
"""

from __future__ import annotations

import ast
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from textwrap import dedent
from typing import Any

from penstock.stage import Body
from penstock.stage.grammar import PLACEHOLDER

_MARK = "placeholder_"
_NAMES = {"deque": deque}


@dataclass(frozen=True, slots=True)
class SteppingBody:
    """A body that has its variables in a cell, and what is to be known about them."""

    body: Body | None
    """None for a joint that is only watched."""
    kept: tuple[str, ...]
    """The variables that are the state."""
    fresh: Callable[[Any, Any], None]
    """Sets all variables of a cell as a run begins with them."""
    ended: Callable[[Any, Any], bool] | None
    """Tells whether the stage has ended, where it may."""
    quiet: bool
    """Whether a run that has just begun has nothing to say at its end, and began without a word."""


_known: dict[Body, SteppingBody] = {}


def stepping_body(body: Body) -> SteppingBody:
    """Return a body with its variables in a cell."""
    found = _known.get(body)
    if found is None:
        found = _known[body] = _written(body)
    return found


def _written(body: Body) -> SteppingBody:
    variables = dict(body.state)

    def moved(text: str) -> str:
        return PLACEHOLDER.sub(lambda at: f"{{stepping_cell}}.{at[1]}" if at[1] in variables else at[0], text)

    def plain(text: str) -> str:
        return PLACEHOLDER.sub(lambda at: f"{'cell' if at[1] in variables else 'stage'}.{at[1]}", text)

    def maybe(text: str | None) -> str | None:
        return None if text is None else moved(text)

    head = None if body.head is None else f"({moved(body.head)}) if {{stepping_run}}.begins() else ()"
    tail = None if body.tail is None else f"({moved(body.tail)}) if {{stepping_run}}.over() else ()"
    woven = Body(
        moved(body.do), head=head, each=maybe(body.each), ends=maybe(body.ends), room=maybe(body.room),
        lacks=maybe(body.lacks), tail=tail,
    )  # fmt: skip
    scope: dict[str, Any] = dict(_NAMES)
    lines = [f"    cell.{name} = {plain(initial)}" for name, initial in body.state]
    exec("\n".join(["def fresh(stage, cell):", *lines, "    return None"]), scope)  # noqa: S102  a constant's text
    ended = None
    if body.ends is not None:
        ended = eval(f"lambda stage, cell: bool({plain(body.ends)})", dict(_NAMES))
    passing = _passing(body)
    return SteppingBody(
        woven, tuple(name for name in variables if name not in passing), scope["fresh"], ended, _is_quiet(body)
    )


def _is_quiet(body: Body) -> bool:
    """Tell whether it is known that a fresh run says nothing by itself; only builtins are called to find out."""
    if body.head is not None or body.calls_first:
        return False
    if body.tail is None:
        return True
    if any(f"{{{name}}}" in body.tail for name in body.fields) or any(
        PLACEHOLDER.search(text) and any(f"{{{name}}}" in text for name in body.fields) for _, text in body.state
    ):
        return False  # it depends on the stage
    values: dict[str, Any] = {}
    for name, text in body.state:
        values[name] = eval(PLACEHOLDER.sub(r"\1", text), dict(_NAMES), values)
    return not tuple(eval(PLACEHOLDER.sub(r"\1", body.tail), dict(_NAMES), values))


def _passing(body: Body) -> set[str]:
    """Return the variables that need not be kept: a field's attribute looked up early, and those that are set anew."""
    tree = ast.parse(PLACEHOLDER.sub(rf"{_MARK}\1", dedent(body.do)))
    stored = {node.id for node in ast.walk(tree) if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)}
    elsewhere = " ".join(text for text in (body.ends, body.room, body.lacks, body.tail, body.each) if text)
    passing: set[str] = set()
    for name, initial in body.state:
        mark = _MARK + name
        looked_up = PLACEHOLDER.match(initial) is not None and initial.rpartition("}")[2].startswith(".")
        is_constant = looked_up and "(" not in initial and mark not in stored
        if is_constant or (f"{{{name}}}" not in elsewhere and _set_first(tree.body, mark)):
            passing.add(name)
    return passing


def _set_first(statements: Sequence[ast.stmt], name: str) -> bool:
    """Tell whether the first statement that names a variable sets it, whatever the element."""
    for statement in statements:
        found = [node for node in ast.walk(statement) if isinstance(node, ast.Name) and node.id == name]
        if found:
            return isinstance(statement, ast.Assign) and all(isinstance(node.ctx, ast.Store) for node in found)
    return False


__all__ = ["SteppingBody", "stepping_body"]
