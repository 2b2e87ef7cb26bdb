"""grammar: what the text of a body may say; `stage/body.py` lists the rules."""

from __future__ import annotations

import ast
import builtins
import re
from collections.abc import Collection, Sequence
from keyword import iskeyword
from textwrap import dedent
from typing import NoReturn

PLACEHOLDER = re.compile(r"\{(\w+)\}")

_WORDS = frozenset({"skip", "stop", "none"})
_BUILTINS = frozenset({"deque", *dir(builtins)})
_MARK = "placeholder_"
_MISPLACED = {
    "v": "v is the element, which only do and each have",
    **dict.fromkeys(_WORDS, "skip, stop and none are statements, each on its own line or after `if …:`"),
}
_ANYWHERE = frozenset({
    ast.Module, ast.Assert, ast.Assign, ast.AugAssign, ast.Delete, ast.If, ast.Pass, ast.Raise, ast.With, ast.withitem,
    ast.Attribute, ast.BinOp, ast.BoolOp, ast.Compare, ast.Constant, ast.Dict, ast.IfExp, ast.keyword, ast.List,
    ast.NamedExpr, ast.Slice, ast.Starred, ast.Subscript, ast.Tuple, ast.UnaryOp,
})  # fmt: skip
_NOT_HERE = "a body cannot say this: write a method of the stage, and call it"


class BodyReading:
    """The reading of one text of a body: it refuses what the text must not say, and keeps what it names and does."""

    def __init__(self, part: str, text: str, variables: Collection[str], *, element: bool = False) -> None:
        self._part = part
        self._text = text
        self._variables = variables
        self._element = element  # whether there is a `v` to speak of
        self._assigns = False
        self._own: frozenset[str] = frozenset()  # the variables of comprehensions, which nothing else sees
        self._loops = 0
        self._names: list[str] = PLACEHOLDER.findall(text)
        self.fields = [name for name in self._names if name not in variables]
        """What it names and the stage must have."""
        self.words: set[str] = set()
        self.calls = False
        """Whether it calls anything but a builtin."""

    def statements(self) -> list[ast.stmt]:
        """Read it as statements, and return them with their placeholders."""
        self._assigns = True
        tree = self._parsed(dedent(self._text))
        self._look(tree)
        self._all_read()
        return tree.body

    def expression(self) -> BodyReading:
        """Read it as an expression, and return this."""
        if "\n" in self._text:
            self._refuse("an expression must be on one line")
        (loop,) = self._parsed(f"for v in {self._text}: pass").body
        assert isinstance(loop, ast.For)
        self._look(loop.iter)
        self._all_read()
        return self

    def _parsed(self, text: str) -> ast.Module:
        for name in self._names:
            if name == "v" or not name.isidentifier() or iskeyword(name):
                self._refuse(f"{{{name}}} is not a placeholder; a set is written set(({name},))")
        try:
            return ast.parse(PLACEHOLDER.sub(rf"{_MARK}\1", text))
        except SyntaxError as error:
            self._refuse(error.msg if self._assigns else "an expression is due, without a comment", error)

    def _all_read(self) -> None:
        if self._names:
            self._refuse(f"{{{self._names[0]}}} must be a variable, not part of a string, an attribute or a keyword")

    def _refuse(self, message: str, at: object = None) -> NoReturn:
        lines = self._text.splitlines() or [""]
        line = min(getattr(at, "lineno", None) or 1, len(lines))
        where = f"{self._part}, line {line}" if len(lines) > 1 else self._part
        raise ValueError(f"Body: {where}: {lines[line - 1].strip()!r}: {message}") from None

    def _look(self, node: ast.AST) -> None:
        kind = type(node)
        if isinstance(node, ast.Name):
            self._name(node)
            return
        own, loops = self._own, self._loops
        if kind not in _ANYWHERE and self._judge(node):
            return
        for name in kind._fields:
            self._loops = loops + (name == "body" and (kind is ast.For or kind is ast.While))
            value = getattr(node, name)
            for child in value if type(value) is list else (value,):
                if isinstance(child, ast.AST) and (child._fields or isinstance(child, ast.stmt)):
                    self._look(child)
        self._own, self._loops = own, loops

    def _judge(self, node: ast.AST) -> bool:
        """Refuse what must not be here; tell whether there is nothing in it to look at."""
        match node:
            case ast.Expr(value=ast.Name(id=word)) if word in _WORDS:
                if self._loops:
                    self._refuse(f"{word} means the loop of the run, and cannot stand in a loop of the body", node)
                self.words.add(word)
                return True
            case ast.Call(func=called):
                self.calls |= not (isinstance(called, ast.Name) and called.id in _BUILTINS)
            case ast.DictComp() | ast.GeneratorExp() | ast.ListComp() | ast.SetComp():
                targets = [name for each in node.generators for name in ast.walk(each.target)]
                self._own |= {name.id for name in targets if isinstance(name, ast.Name)}
            case ast.Break() | ast.Continue() if not self._loops:
                self._refuse("there is no loop of the body to leave: write skip or stop", node)
            case ast.Set() | ast.JoinedStr():
                self._refuse("braces are for placeholders: write set((…,)) for a set, and % for an f-string", node)
            case ast.Expr(value=ast.Constant()) | ast.Try(finalbody=[_, *_]) | ast.ExceptHandler(name=str()):
                self._refuse(_NOT_HERE, node)
            case ast.Expr() | ast.Try() | ast.ExceptHandler() | ast.For() | ast.While() | ast.Break() | ast.Continue():
                return False
            case ast.comprehension(is_async=0):
                return False
            case _:
                self._refuse(_NOT_HERE, node)
        return False

    def _name(self, node: ast.Name) -> None:
        name = node.id.removeprefix(_MARK)
        placed = name != node.id and name in self._names
        if placed:
            self._names.remove(name)
            node.id = f"{{{name}}}"
        elif node.id in self._own or (_MARK in node.id and self._names):
            return  # of the second, a placeholder is left that is part of a name
        elements = self._element and node.id == "v"
        if isinstance(node.ctx, ast.Del):
            self._refuse(f"{node.id} cannot be deleted, only what is in it", node)
        if isinstance(node.ctx, ast.Store):
            if not (self._assigns and (elements or (placed and name in self._variables))):
                self._refuse(f"{node.id} cannot be assigned: only v and variables of the state can, in do", node)
        elif not (placed or elements or node.id in _BUILTINS):
            unknown = f"{node.id} is not known: all but v, builtins and deque is written in braces"
            self._refuse(_MISPLACED.get(node.id, unknown), node)


def leaves(statements: Sequence[ast.stmt]) -> bool:
    """Tell whether an element never gets past these statements."""
    match list(statements[-1:]):
        case [ast.Expr(value=ast.Name(id=word))]:
            return word in _WORDS
        case [ast.If(body=then, orelse=otherwise)]:
            return leaves(then) and leaves(otherwise)
        case [last]:
            return isinstance(last, ast.Raise)
    return False
