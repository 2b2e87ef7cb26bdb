"""body: what a body may say is read when it is made; what follows from it is known from then on."""

from __future__ import annotations

import importlib
import pkgutil
import re
from dataclasses import dataclass
from typing import Any, ClassVar

import pytest

import penstock.operators
from penstock import Stream
from penstock.stage import Body, Stage

NOT_HERE = "a body cannot say this: write a method of the stage, and call it"
WORDS = "skip, stop and none are statements, each on its own line or after `if …:`"
BRACES = "braces are for placeholders: write set((…,)) for a set, and % for an f-string"
LEFT = (("left", "0"),)


def assigned(name: str) -> str:
    return f"{name} cannot be assigned: only v and variables of the state can, in do"


def unknown(name: str) -> str:
    return f"{name} is not known: all but v, builtins and deque is written in braces"


def in_loop(word: str) -> str:
    return f"{word} means the loop of the run, and cannot stand in a loop of the body"


def a_variable(name: str) -> str:
    return f"{{{name}}} must be a variable, not part of a string, an attribute or a keyword"


@pytest.mark.parametrize(
    ("do", "line", "message"),
    [
        # the three words
        ("v = skip", 0, WORDS),
        ("none if v is None else 1", 0, WORDS),
        ("if stop: v = 1", 0, WORDS),
        ("skip()", 0, WORDS),
        ("for {left} in v:\n    if {left}: skip", 2, in_loop("skip")),
        ("while v:\n    {left} = 1\n    stop", 3, in_loop("stop")),
        ("while v:\n    if {left}:\n        none", 3, in_loop("none")),
        ("stop", -1, "stop needs `ends`, a condition that is true by then"),
        ("{left} += 1\nbreak", 2, "there is no loop of the body to leave: write skip or stop"),
        ("if v: continue", 0, "there is no loop of the body to leave: write skip or stop"),
        ("for {left} in v: pass\nelse: break", 2, "there is no loop of the body to leave: write skip or stop"),
        # what is assigned
        ("source = v\nv = source", 1, assigned("source")),
        ("gate = v", 0, assigned("gate")),
        ("left -= 1", 0, assigned("left")),
        ("{limit} = v", 0, assigned("{limit}")),
        ("v, where = v", 0, assigned("where")),
        ("for i in v: pass", 0, assigned("i")),
        ("with {limit} as run: pass", 0, assigned("run")),
        ("v = [(run := x) for x in v]", 0, assigned("run")),
        ("del v", 0, "v cannot be deleted, only what is in it"),
        ("del {left}", 0, "{left} cannot be deleted, only what is in it"),
        # what is known
        ("v = gate.over", 0, unknown("gate")),
        ("v = math.sqrt(v)", 0, unknown("math")),
        ("v = limit", 0, unknown("limit")),
        ("v = [x for x in v] + x", 0, unknown("x")),
        ("v = placeholder_limit", 0, unknown("placeholder_limit")),
        # placeholders
        ("v = {v}", 0, "{v} is not a placeholder; a set is written set((v,))"),
        ("v = {1}", 0, "{1} is not a placeholder; a set is written set((1,))"),
        ("v = {None}", 0, "{None} is not a placeholder; a set is written set((None,))"),
        ("v = { v }", 0, BRACES),
        ("v = {v, 1}", 0, BRACES),
        ("v = f'{v!r}'", 0, BRACES),
        ("v = 'over {limit}'", 0, a_variable("limit")),
        ("v = v.{limit}", 0, a_variable("limit")),
        ("v = dict({limit}=v)", 0, a_variable("limit")),
        ("v = a{limit}", 0, a_variable("limit")),
        # what only functions and modules say
        ("return v", 0, NOT_HERE),
        ("v = yield v", 0, NOT_HERE),
        ("yield from v", 0, NOT_HERE),
        ("v = await v", 0, NOT_HERE),
        ("import math", 0, NOT_HERE),
        ("from math import sqrt", 0, NOT_HERE),
        ("global v", 0, NOT_HERE),
        ("nonlocal v", 0, NOT_HERE),
        ("def f(): pass", 0, NOT_HERE),
        ("class C: pass", 0, NOT_HERE),
        ("v = lambda: v", 0, NOT_HERE),
        ("async for v in v: pass", 0, NOT_HERE),
        ("v = [x async for x in v]", 0, NOT_HERE),
        ("match v:\n    case 1: skip", 1, NOT_HERE),
        ("try: v += 1\nfinally: skip", 1, NOT_HERE),
        ("try: v += 1\nexcept* ValueError: skip", 1, NOT_HERE),
        ("try: v += 1\nexcept ValueError as e: skip", 2, NOT_HERE),
        ("v: int = 3", 0, NOT_HERE),
        ("'''\nskip\n'''", 1, NOT_HERE),
        # what is not Python
        ("v +=", 0, "invalid syntax"),
        ("if v:\nskip", 2, "expected an indented block after 'if' statement on line 1"),
        ("v += 1\n  skip", 2, "unexpected indent"),
    ],
)
def test_lines_that_mean_something_else_are_refused(do: str, line: int, message: str) -> None:
    text = f": {do.splitlines()[max(line - 1, 0)].strip()!r}" if line >= 0 else ""
    where = f"do, line {line}" if line > 0 else "do"
    with pytest.raises(ValueError, match=f"^{re.escape(f'Body: {where}{text}: {message}')}$"):
        Body(do, state=LEFT)


ELEMENT = "v is the element, which only do and each have"
EXPRESSION = "an expression is due, without a comment"


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        ({"head": "(v,)"}, f"head: '(v,)': {ELEMENT}"),
        ({"ends": "v > 3"}, f"ends: 'v > 3': {ELEMENT}"),
        ({"room": "v"}, f"room: 'v': {ELEMENT}"),
        ({"tail": "(v,)"}, f"tail: '(v,)': {ELEMENT}"),
        ({"state": (("first", "v"),)}, f"state 'first': 'v': {ELEMENT}"),
        ({"tail": "items"}, f"tail: 'items': {unknown('items')}"),
        ({"tail": "{items}  # the rest"}, f"tail: '{{items}}  # the rest': {EXPRESSION}"),
        ({"tail": "{items}\n"}, "tail: '{items}': an expression must be on one line"),
        ({"tail": "x for x in {items}"}, f"tail: 'x for x in {{items}}': {EXPRESSION}"),
        ({"tail": ""}, f"tail: '': {EXPRESSION}"),
        ({"each": "skip"}, f"each: 'skip': {WORDS}"),
        ({"each": "(v := {fn}(v))"}, f"each: '(v := {{fn}}(v))': {assigned('v')}"),
        ({"each": "{v}"}, "each: '{v}': {v} is not a placeholder; a set is written set((v,))"),
        ({"state": (("left", "{left}"),)}, "state 'left': '{left}': a variable is set from those before it alone"),
        (
            {"state": (("left", "{right}"), ("right", "0"))},
            "state 'left': '{right}': a variable is set from those before it alone",
        ),
        ({"state": (("v", "0"),)}, "state 'v': a variable must have a name that is not taken"),
        ({"state": (("a", "0"), ("a", "1"))}, "state 'a': a variable must have a name that is not taken"),
        ({"state": (("a b", "0"),)}, "state 'a b': a variable must have a name that is not taken"),
    ],
)
def test_expressions_that_mean_something_else_are_refused(texts: dict[str, Any], message: str) -> None:
    with pytest.raises(ValueError, match=f"^{re.escape(f'Body: {message}')}$"):
        Body(**texts)


def outcome(body: Body) -> list[Any]:
    """Run a stage with this body over 0 to 5, pulled and pushed, and return what both give."""

    @dataclass(frozen=True, slots=True)
    class Mine(Stage[int, Any]):
        limit: int = 3
        loop: ClassVar[Body] = body

    found = list(Stream(Stream.range(6)._chain.then(Mine())))
    assert list(Stream(Stream.range(6).limit_rate(2)._chain.then(Mine()))) == found
    return found


@pytest.mark.parametrize(
    ("body", "expected"),
    [
        (Body("if v > {limit}: skip "), [0, 1, 2, 3]),
        (Body("if v > {limit}: skip  # too large"), [0, 1, 2, 3]),
        (Body("if v < {limit}: v += 1\nelse: skip"), [1, 2, 3]),
        (Body("if v < {limit}: v += 1\nelif v == 5: pass\nelse:\n  skip"), [1, 2, 3, 5]),
        (Body("if v > {limit}:\n  skip\nv += 1"), [1, 2, 3, 4]),
        (Body("if v > {limit}:\n\tskip\nv += 1"), [1, 2, 3, 4]),
        (Body("\n    if v > {limit}:\n        skip\n\n    # and then\n    v += 1\n"), [1, 2, 3, 4]),
        (Body("if v > {limit}: v = 9; skip\nv += 1"), [1, 2, 3, 4]),
        (Body("if not (\n  v > {limit}\n): skip"), [4, 5]),
        (Body("try: v = 6 // v\nexcept ZeroDivisionError: skip"), [6, 3, 2, 1, 1]),
        (Body("for {left} in range({limit}):\n    if {left} == v: break\nelse: skip", LEFT), [0, 1, 2]),
        (Body("while v > {limit}: v -= 1"), [0, 1, 2, 3, 3, 3]),
        (Body("v = [v for v in range(v)]\nv = len(v) + sum(x for x in v if x)"), [0, 1, 3, 6, 10, 15]),
        (Body("v = {'{}': v, **dict(a=1)}\nv = '%d' % v['{}']"), ["0", "1", "2", "3", "4", "5"]),
        (Body("v = '''a\nskip\n'''"), ["a\nskip\n"] * 6),
        (Body("{left}, *{rest} = v, v\nv = {rest}", (*LEFT, ("rest", "None"))), [[n] for n in range(6)]),
        (Body("{left} = v == {limit}\nif {left}: stop", LEFT, ends="{left}"), [0, 1, 2]),
        (Body("# nothing"), [0, 1, 2, 3, 4, 5]),
        (Body("{seen}.append(v)\ndel {seen}[:-1]\nskip", (("seen", "[]"),), tail="{seen}"), [5]),
        (Body(head="[x * x for x in range({limit})]", each="(v, v)"), [0, 1, 4, *(n // 2 for n in range(12))]),
    ],
)
def test_lines_that_keep_the_rules_do_what_they_say(body: Body, expected: list[Any]) -> None:
    assert outcome(body) == expected


@pytest.mark.parametrize(
    ("do", "drops", "drops_all"),
    [
        ("", False, False),
        ("v += 1\nif v is None: none", False, False),
        ("if v: skip", True, False),
        ("if v: skip  # not this one", True, False),
        ("if v:\n    {left} = True\n    stop", True, False),
        ("skip", True, True),
        ("if v: {left} = 1\nskip", True, True),
        ("if v: skip\nelse:\n    {left} = 1\n    skip", True, True),
        ("if v: skip\nelif {left}: skip", True, False),
        ("if v: skip\nraise ValueError(v)", True, True),
        ("skip\nv = 'skip'", True, False),
    ],
)
def test_a_body_knows_what_it_drops(do: str, drops: bool, drops_all: bool) -> None:
    body = Body(do, LEFT, ends="{left}")
    assert (body.drops, body.drops_all) == (drops, drops_all)


@pytest.mark.parametrize(
    ("initial", "calls"),
    [
        ("0", False),
        ("{start}", False),
        ("deque(maxlen={size})", False),
        ("{clock}.now", False),
        ("{create}()", True),
        ("{clock}.now()", True),
        ("[{create}()]", True),
    ],
)
def test_a_body_knows_what_it_calls_when_a_run_begins(initial: str, calls: bool) -> None:
    assert Body("v = {fn}(v)", state=(("kept", initial),)).calls_first is calls


def test_a_body_knows_what_it_needs_of_its_stage() -> None:
    body = Body(
        "v = {fn}({kept}, {fn})",
        state=(("kept", "{start}"),),
        head="{head}",
        each="{each}",
        ends="{ends}",
        room="{room}",
        tail="{tail}",
    )
    assert body.fields == ("start", "fn", "head", "each", "ends", "room", "tail")


def test_a_stage_must_have_what_its_body_names() -> None:
    for chosen in ({"loop": Body("if v > {limt}: skip")}, {"loops": (Body(), Body(tail="({limt},)"))}):
        with pytest.raises(TypeError, match=r"^Mine: \{limt\} is neither in the state of its body nor a field$"):
            type("Mine", (Stage,), {"__annotations__": {"limit": int}, **chosen})


@pytest.mark.parametrize("slots", [True, False])
def test_a_body_may_name_fields_properties_and_methods(slots: bool) -> None:
    @dataclass(frozen=True, slots=slots)
    class Above(Stage[int, int]):
        limit: int

    @dataclass(frozen=True, slots=slots)
    class Mine(Above):
        more: int = 1
        loop: ClassVar[Body] = Body("if v > {twice}: skip\nv = {added}(v) + {limit} + {more}")

        @property
        def twice(self) -> int:
            return 2 * self.limit

        @staticmethod
        def added(number: int) -> int:
            return number + 10

    assert list(Stream(Stream.range(6)._chain.then(Mine(2)))) == [13, 14, 15, 16, 17]


def test_a_body_is_equal_to_itself_alone() -> None:
    body = Body("skip")
    assert {body, body} == {body}
    assert {body, Body("skip")} != {body}
    assert repr(body) == "Body(do='skip', state=(), head=None, each=None, ends=None, room=None, lacks=None, tail=None)"


NAMES = sorted(found.name for found in pkgutil.iter_modules(penstock.operators.__path__))


@pytest.mark.parametrize("name", NAMES)
def test_the_stages_of_an_operator_say_all_their_bodies(name: str) -> None:
    module = importlib.import_module(f"penstock.operators.{name}")
    stages = [each for each in vars(module).values() if isinstance(each, type) and issubclass(each, Stage)]
    bodies = {each for each in vars(module).values() if isinstance(each, Body)}
    assert bodies <= {body for stage in stages for body in stage.loops}
    for stage in stages:
        assert stage is Stage or ("body" in vars(stage)) is bool(stage.loops)
