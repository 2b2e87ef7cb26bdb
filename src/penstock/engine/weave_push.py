"""weave_push: the text of a segment as a function that is called with each element.

Where no stage of a segment adds or ends anything, no loop has to be left half-way: behind a joint its elements can be
pushed through a function. For `map(f)`, `filter(p)`, `scan(g, 0)`:

    def run(where, c0_fn, c1_predicate, c2_initial, c2_fn):
        s2_result = c2_initial
        def push(v):
            nonlocal s2_result
            try:
                v = c0_fn(v)
                if not c1_predicate(v): return starved
                v = s2_result = c2_fn(s2_result, v)
                return v
            except Exception as error: ...        # names the stage and the function by the line it happened in
        def tails(): ...                          # a generator of what follows when upstream has completed
        return push, tails
"""

from __future__ import annotations

import re

from penstock.engine.demand import UNBOUNDED
from penstock.engine.segment import Segment
from penstock.engine.weave import MOST_TAILS, Weaver
from penstock.stage import Body

MOST_STAGES = 100
_CALLS = re.compile(r"\}\(")


class PushWeaver(Weaver):
    """Write a segment as a function of one element."""

    arguments = "where"

    def leave(self, ends: list[str], owner: int) -> None:
        """Say that nothing comes of this element, or go on with the next one of a tail."""
        self.line("continue" if self.inner else "return starved", owner)

    def _body(self, first: int, last: str) -> None:
        for index in range(first, len(self.bodies)):
            if self.bodies[index].do:
                self.statements(index, [])
        self.line(last)

    def _function(self, name: str, argument: str) -> None:
        self.line(f"def {name}({argument}):")
        self.depth = 2
        variables = [f"s{index}_{name}" for index, body in enumerate(self.bodies) for name, _ in body.state]
        if variables:
            self.line(f"nonlocal {', '.join(variables)}")
        self.line("try:")
        self.depth = 3

    def _fails(self) -> None:
        self.depth = 2
        self.line("except Exception as error:")
        self.line("    raise fail(None, where, error)")
        self.depth = 1

    def write(self) -> str:
        """Write the whole function and return its text."""
        self.line("")  # the signature, once the fields are known
        self.depth = 1
        self.line("pass")
        for index, body in enumerate(self.bodies):
            for variable, initial in body.state:
                self.line(f"s{index}_{variable} = {self.fill(index, initial)}", index)
        self._function("push", "v")
        self._body(0, "return v")
        self._fails()
        self._function("tails", "")
        for index, body in enumerate(self.bodies):
            if body.tail is not None:
                self.line(f"for v in {self.fill(index, body.tail)}:", index)
                self.depth += 1
                self.line("if v is None: raise no_element()", index)
                self.inner.append("")
                self._body(index + 1, "yield v")
                self.inner.pop()
                self.depth -= 1
        self.line("yield from ()")
        self._fails()
        self.line("return push, tails")
        names = "".join(f", {name}" for name in self.fields.values())
        self.lines[0] = f"def run({self.arguments}{names}):"
        return "\n".join(self.lines)


def drops_all(body: Body) -> bool:
    """Tell whether a stage lets nothing through before the end."""
    return body.do.splitlines()[-1:] == ["skip"]


def pushable(segment: Segment) -> bool:
    """Tell whether elements can be pushed through a segment: one by one as they are asked for, or all of them."""
    if segment.expands or segment.capped or segment.headed or not 0 < len(segment.stages) <= MOST_STAGES:
        return False
    bodies = [stage.body for stage in segment.stages]
    if any(body.ends is not None for body in bodies):
        return False
    if any(_CALLS.search(initial) for body in bodies for _, initial in body.state):
        return False  # what is called when a run begins must be called when somebody asks, not before
    tails = sum(body.tail is not None for body in bodies)
    if segment.demand(1) == UNBOUNDED:
        return tails <= MOST_TAILS and any(map(drops_all, bodies))
    return not tails and segment.demand(1) == 1 and segment.demand(7) == 7
