"""weaving: what is done with each value by itself, as data, and the one text that both ways to run it are woven from.

A step is a verb and a function: keep the value if the function says so, put what it makes in its place, and so on. The
steps of a chain become the lines of one function. Over values that can be iterated that is a generator, which loops;
over a source that is asked it is a function of one value. Both have the same lines, and differ only in how a line says
"nothing for this value" or "no more": what is joined does what its parts do.

A function of the stream may abort the stream it stands in. So after each call of one the woven function looks whether
the run was halted, and if so no further function gets the value.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

from penstock.pull.ground.marks import DROP, FAIL, HALT, STOP
from penstock.pull.ground.protocol import Done, End, at_fault, told


class Verb(Enum):
    """What is done with a value: the line that calls the function of the step, and what follows from it."""

    EACH = ("v = f{i}(v)", "")
    SCAN = ("v = s{i} = f{i}(s{i}, v)", "")
    TAP = ("f{i}(v)", "")
    PASS = ("", "")
    KEEP = ("k = not f{i}(v)", "if k: drop")
    REJECT = ("k = not not f{i}(v)", "if k: drop")
    WHILE = ("k = not f{i}(v)", "if k: stop")
    UNTIL = ("k = not f{i}(v)", "if k: last")
    TAKE = ("", "s{i} -= 1\nif not s{i}: last")


ONE_TO_ONE = frozenset({Verb.EACH, Verb.SCAN, Verb.TAP, Verb.PASS})
STOPPERS = frozenset({Verb.TAKE, Verb.UNTIL})

Parts = tuple[Callable[..., Any] | None, Any]
"""The function that a run calls, and the value that it begins with."""


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """What is done with each value: a verb, and what it needs in one run.

    `fn` is the user's function, for messages. `on_end` is told once how it ended.
    """

    name: str
    verb: Verb
    open: Callable[[], Parts]
    fn: object = None
    on_end: Done | None = None


def one_to_one(steps: tuple[Step, ...]) -> bool:
    """Tell whether the steps give one value for each one that comes."""
    return all(step.verb in ONE_TO_ONE for step in steps)


def step_failed(error: Exception, step: Step) -> Exception:
    """Note which function of which step raised."""
    return error if step.fn is None else at_fault(error, step.name, step.fn)


class JoinedRun:
    """A run of steps: the woven function, and where and why it came to its end."""

    __slots__ = ("at", "error", "go", "halt", "last", "steps")

    def __init__(self, steps: tuple[Step, ...], *, looped: bool) -> None:
        self.steps = steps
        self.at: int | None = None
        """The step that stopped, or whose function raised."""
        self.error: Exception | None = None
        """What it raised."""
        self.last = -1
        """The step that has let its last value pass; it stops at the next ask."""
        parts = [step.open() for step in steps]
        opened = _woven(tuple(step.verb for step in steps), looped)
        self.go: Callable[[Any], Any]
        """Loop over an iterator, or make of a value another one or a mark."""
        self.halt: Callable[[], None]
        """Let no function get a value any more."""
        self.go, self.halt = opened(self, [fn for fn, _ in parts], [start for _, start in parts])

    def failure(self) -> Exception:
        """Return what a step failed with, and note which."""
        assert self.error is not None
        assert self.at is not None
        return step_failed(self.error, self.steps[self.at])


@lru_cache(maxsize=512)
def _woven(verbs: tuple[Verb, ...], looped: bool) -> Callable[[JoinedRun, list[Any], list[Any]], tuple[Any, Any]]:
    scope: dict[str, Any] = {"DROP": DROP, "STOP": STOP, "HALT": HALT, "FAIL": FAIL}
    exec(compile(text_of(verbs, looped=looped), "<penstock.pull steps>", "exec"), scope)  # noqa: S102  our own text
    found: Callable[[JoinedRun, list[Any], list[Any]], tuple[Any, Any]] = scope["opened"]
    return found


def text_of(verbs: tuple[Verb, ...], *, looped: bool) -> str:
    """Write the function for these verbs: `opened(run, functions, starts)` returns it, and what halts it."""
    names = range(len(verbs))
    lines = ["def opened(run, functions, starts):"]
    lines += [f"    f{i} = functions[{i}]" for i in names]
    lines += [f"    s{i} = starts[{i}]" for i in names]
    lines += ["    over = False", "    def halt():", "        nonlocal over", "        over = True"]
    lines += [f"    if s{i} == 0: run.last = {i}" for i in names if verbs[i] is Verb.TAKE]
    states = [f"s{i}" for i in names if verbs[i] in {Verb.TAKE, Verb.SCAN}]
    nonlocals = [f"        nonlocal {', '.join(states)}"] if states else []
    stops = any(verb in STOPPERS for verb in verbs)
    body = _body(verbs, looped=looped)
    if looped:
        lines += ["    def go(items):", *nonlocals]
        if stops:
            lines += ["        last = run.last", "        if last >= 0: run.at = last; return"]
        lines += ["        for v in items:", "            if over: return"]
        lines += [f"            {line}" for line in body]
        lines.append("            yield v")
        if stops:
            lines.append("            if last >= 0: run.at = last; return")
    else:
        lines += ["    def go(v):", *nonlocals, "        if over: return HALT", *(f"        {line}" for line in body)]
        lines.append("        return v")
    lines.append("    return go, halt")
    return "\n".join(lines) + "\n"


def _body(verbs: tuple[Verb, ...], *, looped: bool) -> Iterator[str]:
    """Write the lines that are the same in both ways to run."""
    stopping = False
    for i, verb in enumerate(verbs):
        stopping = stopping or verb in STOPPERS
        again = "if last >= 0: run.at = last; return\n    continue" if stopping else "continue"
        ways = {
            "drop": f"\n    {again}" if looped else "return DROP",
            "stop": f"run.at = {i}; return" + ("" if looped else " STOP"),
            "last": f"last = {i}" if looped else f"run.last = {i}",
        }
        call, follow = verb.value
        if call:
            yield "try:"
            yield f"    {call.format(i=i)}"
            yield "except Exception as error:"
            yield f"    run.at = {i}; run.error = error; return" + ("" if looped else " FAIL")
            yield "if over: return" + ("" if looped else " HALT")
        for line in follow.format(i=i).splitlines():
            before, way = line.rsplit(" ", 1)
            yield from (f"{before} {ways[way]}" if way in ways else line).splitlines()


class Hooks:
    """The functions of steps that are told of the end, each once, in the order in which word of it passes them."""

    __slots__ = ("_left",)

    def __init__(self, steps: tuple[Step, ...]) -> None:
        self._left = {position: step.on_end for position, step in enumerate(steps) if step.on_end is not None}

    def up(self, at: int, end: End) -> None:
        """Tell those before a position, from there upwards: an abort goes up."""
        if self._left:
            for position in sorted((each for each in self._left if each < at), reverse=True):
                told(self._left.pop(position), end)

    def down(self, at: int, end: End) -> None:
        """Tell those from a position on: an end comes down."""
        if self._left:
            for position in sorted(each for each in self._left if each >= at):
                told(self._left.pop(position), end)
