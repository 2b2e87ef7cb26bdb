"""points: put a call of the scheduler wherever the code under test touches what threads may share.

The text of a module is changed as it is imported: `x.idle` becomes `__point__(x, 17).idle`, where 17 says which place
that is. A thread can be stopped there, after `x` is known and before it is looked at. Only what can matter gets a
point: attributes that are stored anywhere but in `__init__`, methods and tests of containers, locks. Between two of
them a thread touches nothing that another one could see, so stopping it there would show nothing new.

Places are named by function and attribute and not by bytecode, so a schedule means the same in every version of Python.
"""

from __future__ import annotations

import ast
import builtins
import sys
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.abc import MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from pathlib import Path
from types import CodeType, ModuleType
from typing import Any

from tests.explore import scheduler, threads

WRITERS = frozenset(
    {"append", "appendleft", "extend", "insert", "pop", "popleft", "popitem", "remove", "discard", "add", "clear",
     "update", "setdefault", "put", "set", "notify", "notify_all", "acquire", "release", "rotate", "sort"}
)  # fmt: skip
READERS = frozenset({"get", "items", "keys", "values", "copy", "count", "index", "is_set", "wait", "locked", "empty"})
LOOKED_AT = frozenset(
    {"len", "list", "tuple", "set", "sorted", "sum", "min", "max", "any", "all", "bool", "iter", "dict", "enumerate",
     "reversed", "zip", "map"}
)  # fmt: skip
BOUND = frozenset({"append", "take", "put", "popleft", "extend"})
CONTAINERS = (deque, list, dict, set, bytearray)
SHARED = (threads.Lock, threads.Condition, threads.Event, threads.SimpleQueue)
THREADS = frozenset({"_thread", "threading", "queue", "time"})
"""Modules for which `threads` stands."""
MAKERS = frozenset({"deque", "list", "dict", "set"})
PACKAGES = (
    "penstock.engine", "penstock.operators", "penstock.stage", "penstock.run.valves.valve",
    "penstock.run.carrying.entrance", "penstock.run.carrying.marks", "penstock.run.carrying.parts",
    "penstock.connectors.reading_commits", "penstock.connectors.reading_run", "tests.explore.planted",
)  # fmt: skip
LEFT_OUT = ("penstock.engine.places.trio_loop",)


@dataclass(frozen=True, slots=True)
class Place:
    """Say what is touched at a point, and how."""

    name: str
    line: int
    attribute: str
    """Empty where it is the thing itself, a container or a lock."""
    writes: bool
    twin: int = -1
    """The place that this one only comes before."""


places: list[Place] = [Place("inside a signal or a request", 0, "", True)]
mutable: set[str] = set()
containers: set[str] = set()


def add_place(name: str, line: int, attribute: str, writes: bool, twin: int = -1) -> int:
    """Return the number of a new place."""
    same = sum(place.name.rpartition("#")[0] == name for place in places[-400:])
    places.append(Place(f"{name}#{same}", line, attribute, writes, twin))
    scheduler.place_names[:] = []  # written anew by whoever needs them
    return len(places) - 1


def names() -> list[str]:
    """Return the names of all places."""
    if len(scheduler.place_names) != len(places):
        scheduler.place_names[:] = [place.name for place in places]
    return scheduler.place_names


def touched(thing: Any, place: int) -> scheduler.Touched:
    """Return what is touched at a point: an object and its attribute, or None if no thread can see it."""
    attribute = places[place].attribute
    if attribute:
        return None if isinstance(thing, threads.local) else (id(thing), attribute)
    if isinstance(thing, CONTAINERS + SHARED):
        return id(thing), ""
    owner = getattr(thing, "__self__", None)
    if isinstance(owner, CONTAINERS + SHARED):
        return id(owner), ""
    return (id(thing), "") if place == 0 else None


class _Stores(ast.NodeVisitor):
    """Find the attributes that change after an object was made, and those that hold containers."""

    def __init__(self) -> None:
        self._making = False

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        before, self._making = self._making, node.name in {"__init__", "__post_init__"}
        self.generic_visit(node)
        self._making = before

    def visit_Attribute(self, node: ast.Attribute) -> None:
        if not isinstance(node.ctx, ast.Load) and not self._making:
            mutable.add(node.attr)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        for target in node.targets:
            self._holds(target, node.value)
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        self._holds(node.target, node.value)
        self.generic_visit(node)

    def _holds(self, target: ast.expr, value: ast.expr | None) -> None:
        made = isinstance(value, ast.List | ast.Dict | ast.Set | ast.ListComp | ast.DictComp | ast.SetComp) or (
            isinstance(value, ast.Call) and isinstance(value.func, ast.Name) and value.func.id in MAKERS
        )
        if made and isinstance(target, ast.Attribute):
            containers.add(target.attr)


class _Points(ast.NodeTransformer):
    """Put points into a module."""

    def __init__(self, module: str) -> None:
        self._module = module.removeprefix("penstock.")
        self._within: list[str] = []
        self._known: set[str] = set()

    # Where we are.

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        if any(_word(each) in {"threading.local", "local"} for each in node.bases):
            return node  # no other thread sees it, and a thread that is used again does not make it anew
        self._within.append(node.name)
        node.body = [self.visit(each) for each in node.body]
        self._within.pop()
        return node

    def visit_FunctionDef(self, node: ast.FunctionDef) -> ast.AST:
        self._within.append(node.name)
        before, self._known = self._known, set(self._known)
        node.body = self._statements(node.body)
        self._known = before
        self._within.pop()
        return node

    def visit_AsyncFunctionDef(self, node: ast.AsyncFunctionDef) -> ast.AST:
        self._within.append(node.name)
        node.body = self._statements(node.body)
        self._within.pop()
        return node

    def _statements(self, body: list[ast.stmt]) -> list[ast.stmt]:
        found: list[ast.stmt] = []
        for statement in body:
            made = self.visit(statement)
            found.extend(made if isinstance(made, list) else [made])
        return found

    # What is put in.

    def _point(self, node: ast.expr, attribute: str, what: str, writes: bool, twin: int = -1) -> tuple[ast.expr, int]:
        name = f"{self._module}:{'.'.join(self._within)}: {what}"
        number = add_place(name, getattr(node, "lineno", 0), attribute, writes, twin)
        call = ast.Call(ast.Name("__point__", ast.Load()), [node, ast.Constant(number)], [])
        return ast.copy_location(call, node), number

    def _may_hold(self, node: ast.expr) -> bool:
        if isinstance(node, ast.Attribute):
            return node.attr in containers
        return isinstance(node, ast.Name) and (
            node.id in self._known or node.id in containers or f"_{node.id}" in containers
        )

    def visit_Attribute(self, node: ast.Attribute) -> ast.AST:
        word = _word(node)
        node.value = self.visit(node.value)
        loads = isinstance(node.ctx, ast.Load)
        if node.attr in mutable and not node.attr.startswith("__"):
            what = f"{'read' if loads else 'write'} {word}"
            node.value = self._point(node.value, node.attr, what, not loads)[0]
        elif loads and node.attr in WRITERS | READERS:
            writes = node.attr in WRITERS
            node.value = self._point(node.value, "", f"{'write' if writes else 'read'} {word}", writes)[0]
        return node

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        if isinstance(node.value, ast.Name) and (
            node.value.id[:1].isupper() or node.value.id in MAKERS | {"tuple", "type"}
        ):
            return node
        word, loads = _word(node.value), isinstance(node.ctx, ast.Load)
        node.value, node.slice = self.visit(node.value), self.visit(node.slice)
        node.value = self._point(node.value, "", f"{'read' if loads else 'write'} {word}[]", not loads)[0]
        return node

    def visit_Call(self, node: ast.Call) -> ast.AST:
        simple = all(isinstance(arg, ast.Name | ast.Constant) for arg in node.args) and not node.keywords
        was, words = list(node.args), [_word(arg) for arg in node.args]
        node.func = self.visit(node.func)
        touches = len(places) - 1
        node.args = [self.visit(arg) for arg in node.args]
        node.keywords = [ast.keyword(each.arg, self.visit(each.value)) for each in node.keywords]
        func = node.func
        if isinstance(func, ast.Name):
            if func.id == "compile":
                func.id = "__compile__"
            elif func.id in LOOKED_AT and len(was) == 1 and not isinstance(was[0], ast.GeneratorExp | ast.Starred):
                if not isinstance(was[0], ast.Call | ast.ListComp):
                    node.args[0] = self._point(node.args[0], "", f"read {words[0]}", False)[0]
            elif func.id in BOUND:
                node.func = self._point(func, "", f"write by {func.id}", True)[0]
        elif isinstance(func, ast.Attribute) and func.attr in WRITERS and not simple and _single(was):
            # What is put in was looked at after the point: here is another, just before it is put in.
            node.args[0] = self._point(node.args[0], "", f"before {func.attr}", False, touches)[0]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        was, words = list(node.comparators), [_word(each) for each in node.comparators]
        node.left = self.visit(node.left)
        node.comparators = [self.visit(each) for each in node.comparators]
        for place, op in enumerate(node.ops):
            if isinstance(op, ast.In | ast.NotIn) and isinstance(was[place], ast.Name | ast.Attribute):
                node.comparators[place] = self._point(node.comparators[place], "", f"read {words[place]}", False)[0]
        return node

    def _test(self, node: ast.expr) -> ast.expr:
        """Put a point before something is looked at that can be a container."""
        word = _word(node) if self._may_hold(node) else None
        node = self.visit(node)
        return node if word is None else self._point(node, "", f"read {word}", False)[0]

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        node.values = [self._test(each) for each in node.values]
        return node

    def visit_UnaryOp(self, node: ast.UnaryOp) -> ast.AST:
        node.operand = self._test(node.operand) if isinstance(node.op, ast.Not) else self.visit(node.operand)
        return node

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self._test(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_If(self, node: ast.If) -> ast.AST:
        node.test = self._test(node.test)
        node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
        return node

    def visit_While(self, node: ast.While) -> ast.AST:
        node.test = self._test(node.test)
        node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
        return node

    def visit_For(self, node: ast.For) -> ast.AST:
        node.iter = self._test(node.iter)
        node.target = self.visit(node.target)
        node.body, node.orelse = self._statements(node.body), self._statements(node.orelse)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = self._test(node.iter)
        node.ifs = [self._test(each) for each in node.ifs]
        return node

    def visit_With(self, node: ast.With) -> ast.AST:
        for item in node.items:
            expression, word = item.context_expr, _word(item.context_expr)
            item.context_expr = self.visit(expression)
            if isinstance(expression, ast.Attribute | ast.Name):
                item.context_expr = self._point(item.context_expr, "", f"lock {word}", True)[0]
        node.body = self._statements(node.body)
        return node

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        for target in node.targets:
            self._note(target, node.value)
        node.value = self.visit(node.value)
        node.targets = [self.visit(each) for each in node.targets]
        return node

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
            if isinstance(node.target, ast.Attribute):
                node.target = self.visit(node.target)
        return node

    def visit_AugAssign(self, node: ast.AugAssign) -> ast.AST:
        if isinstance(node.target, ast.Attribute):
            read = ast.copy_location(ast.Attribute(node.target.value, node.target.attr, ast.Load()), node.target)
            value = ast.copy_location(ast.BinOp(read, node.op, node.value), node)
            assign = ast.Assign([node.target], value)
            return self.visit_Assign(_copied(ast.copy_location(assign, node)))
        node.value, node.target = self.visit(node.value), self.visit(node.target)
        return node

    def _note(self, target: ast.expr, value: ast.expr) -> None:
        """Remember the names that stand for containers."""
        if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple) and len(target.elts) == len(value.elts):
            for one, other in zip(target.elts, value.elts, strict=True):
                self._note(one, other)
        elif isinstance(target, ast.Name) and self._may_hold(value):
            self._known.add(target.id)

    # Threads are ours.

    def visit_ImportFrom(self, node: ast.ImportFrom) -> ast.AST:
        if node.module in THREADS:
            node.module = "tests.explore.threads"
        return node

    def visit_Import(self, node: ast.Import) -> Any:
        return [self._imported(alias, node) for alias in node.names]

    def _imported(self, alias: ast.alias, node: ast.Import) -> ast.stmt:
        if alias.name in THREADS:
            name = alias.asname or alias.name
            made: ast.stmt = ast.ImportFrom("tests.explore", [ast.alias("threads", name)], 0)
        else:
            made = ast.Import([alias])
        return ast.copy_location(made, node)


def _single(arguments: list[ast.expr]) -> bool:
    return len(arguments) == 1 and not isinstance(arguments[0], ast.Starred)


def _copied(node: ast.Assign) -> ast.Assign:
    """Return a tree in which nothing occurs twice."""
    made = ast.parse(ast.unparse(node)).body[0]
    assert isinstance(made, ast.Assign)
    for each in ast.walk(made):
        if isinstance(each, ast.expr | ast.stmt):
            ast.copy_location(each, node)
    return made


def _word(node: ast.expr) -> str:
    text = ast.unparse(node)
    return text if len(text) < 40 else f"{text[:37]}..."


def with_points(text: str, module: str, path: str) -> CodeType:
    """Compile a text with points in it."""
    tree = _Points(module).visit(ast.parse(text, path))
    return compile(ast.fix_missing_locations(tree), path, "exec")


def _woven(text: Any, path: str, mode: str) -> CodeType:
    """Compile the text of a loop that the engine has written."""
    return with_points(text, "woven", path) if mode == "exec" else compile(text, path, mode)


class _Loader(SourceFileLoader):
    """Load a module with points in it."""

    def get_code(self, fullname: str) -> CodeType:
        path = self.get_filename(fullname)
        return with_points(Path(path).read_text(encoding="utf-8"), fullname, path)


class _Finder(MetaPathFinder):
    """Find the modules under test."""

    def find_spec(
        self, fullname: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if not fullname.startswith(PACKAGES) or fullname.startswith(LEFT_OUT):
            return None
        spec = PathFinder.find_spec(fullname, path, target)
        if spec is not None and spec.origin is not None and spec.origin.endswith(".py"):
            spec.loader = _Loader(fullname, spec.origin)
        return spec


def install(source: Path, *more: Path) -> None:
    """Import the modules under test with points from now on; penstock must not have been imported before."""
    if "penstock" in sys.modules:
        raise RuntimeError("points: penstock is imported already, without points")
    for folder in ("engine", "operators", "stage", "run"):
        more = (*more, *(source / "penstock" / folder).rglob("*.py"))
    connectors = source / "penstock" / "connectors"
    more = (*more, connectors / "reading_run.py", connectors / "reading_commits.py")
    for path in more:
        _Stores().visit(ast.parse(path.read_text(encoding="utf-8")))
    builtins.__point__ = scheduler.point  # type: ignore[attr-defined]
    builtins.__compile__ = _woven  # type: ignore[attr-defined]
    sys.meta_path.insert(0, _Finder())


def noting(on: bool) -> None:
    """Note what is touched from now on, or no more."""
    wanted = scheduler.noting_point if on else scheduler.point
    if getattr(builtins, "__point__", None) is not wanted:  # every change costs all who have looked it up
        builtins.__point__ = wanted  # type: ignore[attr-defined]
    if on:
        scheduler.touched = touched
        names()
