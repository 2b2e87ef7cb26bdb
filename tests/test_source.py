"""source: habits that the linters do not check, read off the text of src/penstock."""

from __future__ import annotations

import ast
import io
import re
import tokenize
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import Stream

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "penstock"
MODULES = sorted(PACKAGE.rglob("*.py"))
OPERATORS = sorted(path.stem for path in (PACKAGE / "operators").glob("*.py") if path.stem != "__init__")
NAMES_THAT_SAY_NOTHING = {"utils", "helpers", "common", "base", "manager", "impl"}

# What a class is, is said by a noun phrase. These verbs began the docstrings of classes that said what a class does.
VERBS = {
    "Add", "Answer", "Ask", "Attach", "Be", "Begin", "Bound", "Bring", "Build", "Call", "Carry", "Check", "Close",
    "Collect", "Compare", "Convert", "Count", "Cut", "Decode", "Deliver", "Describe", "Drive", "Emit", "End", "Feed",
    "Find", "Follow", "Give", "Hand", "Hide", "Hold", "Keep", "Know", "Let", "Make", "Mark", "Name", "Note", "Open",
    "Own", "Pass", "Pick", "Provide", "Put", "Queue", "Read", "Receive", "Record", "Register", "Relay", "Remember",
    "Report", "Return", "Run", "Save", "Say", "See", "Send", "Serve", "Set", "Show", "Signal", "Stand", "Start", "Stay",
    "Stop", "Subscribe", "Take", "Tell", "Track", "Translate", "Try", "Turn", "Unpack", "Verify", "Wait", "Watch",
    "Write",
}  # fmt: skip
# Words that leave the reader to guess who or what is meant.
RIDDLES = re.compile(
    r"\b(nobody|whoever|somebody|anybody|at\s+hand|of\s+(its|their)\s+own|another\s+make|other\s+makes|"
    r"neither\s+here\s+nor\s+there)\b",
    re.IGNORECASE,
)
# Sentences that are data: the pages of rules and properties are written from them.
RULES_AND_PROPERTIES = {PACKAGE / "spec" / "rules", PACKAGE / "spec" / "properties"}

each_module = pytest.mark.parametrize("module", MODULES, ids=lambda path: path.relative_to(PACKAGE).as_posix())


def caught_names(tree: ast.AST) -> Iterator[str]:
    for node in ast.walk(tree):
        if isinstance(node, ast.ExceptHandler):
            yield from (
                [] if node.type is None else [name.id for name in ast.walk(node.type) if isinstance(name, ast.Name)]
            )


def test_every_folder_of_modules_is_a_package() -> None:
    assert {path.parent for path in MODULES if not (path.parent / "__init__.py").exists()} == set()


def test_names_say_what_a_module_holds() -> None:
    assert [path for path in MODULES if path.stem.strip("_") in NAMES_THAT_SAY_NOTHING] == []


@each_module
def test_nothing_catches_base_exception(module: Path) -> None:
    assert "BaseException" not in set(caught_names(ast.parse(module.read_text())))


@each_module
def test_nothing_sleeps(module: Path) -> None:
    calls = [node.func for node in ast.walk(ast.parse(module.read_text())) if isinstance(node, ast.Call)]
    assert "time.sleep" not in {ast.unparse(call) for call in calls}


def operator_classes(module: Path, tree: ast.Module) -> set[str]:
    """Return the classes that the reference of the operators is written from: what an operator does, it says itself."""
    if module.parent != PACKAGE / "operators":
        return set()
    public = [node for node in tree.body if isinstance(node, ast.ClassDef) and not node.name.startswith("_")]
    return {node.name for node in public if "dataclass" in "".join(map(ast.unparse, node.decorator_list))}


def prose(text: str) -> Iterator[str]:
    """Return the docstrings without their examples, the messages, and the comments, each run of them as one text."""
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Constant) and isinstance(node.value, str) and " " in node.value:
            yield "\n".join(line for line in node.value.splitlines() if not line.lstrip().startswith((">>>", "...")))
    lines: list[str] = []
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type == tokenize.COMMENT:
            lines.append(token.string.lstrip("# "))
        elif token.type != tokenize.NL:
            yield " ".join(lines)
            lines = []


@each_module
def test_a_class_is_described_by_what_it_is(module: Path) -> None:
    tree = ast.parse(module.read_text(encoding="utf-8"))
    classes = [node for node in ast.walk(tree) if isinstance(node, ast.ClassDef)]
    first_words = {
        node.name: (ast.get_docstring(node) or "The").split()[0].rstrip(",:;")
        for node in classes
        if node.name not in operator_classes(module, tree)
    }
    assert {name: word for name, word in first_words.items() if word in VERBS} == {}


@each_module
def test_sentences_say_who_does_what(module: Path) -> None:
    if module.parent in RULES_AND_PROPERTIES:
        return
    assert [text for text in prose(module.read_text(encoding="utf-8")) if RIDDLES.search(text)] == []


@pytest.mark.parametrize(
    "line", ["x = 1  # nobody asks", "# of\n# its own", '"""Call whoever\nasks."""', 'f("at hand")']
)
def test_prose_is_read_wherever_it_stands(line: str) -> None:
    assert any(RIDDLES.search(text) for text in prose(f"{line}\n"))


@pytest.mark.parametrize("line", ["nobody()", 'NOBODY = "nobody"', 'f("""Say it.\n>>> nobody()\n""")'])
def test_names_and_examples_are_not_prose(line: str) -> None:
    assert not any(RIDDLES.search(text) for text in prose(f"{line}\n"))


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_is_a_documented_method_of_stream(operator: str) -> None:
    docstring = getattr(Stream, operator).__doc__
    assert docstring.split("\n")[0].endswith(".")
    assert ">>>" in docstring


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_has_its_own_tests(operator: str) -> None:
    assert (ROOT / "tests" / "operators" / f"test_{operator}.py").exists()


def test_no_module_is_longer_than_400_lines_and_no_room_larger_than_18_files() -> None:
    long = {"stream.py"}  # a flat catalogue
    lines = {path.relative_to(PACKAGE).as_posix(): path.read_text(encoding="utf-8").count("\n") for path in MODULES}
    assert {name for name, count in lines.items() if count > 400} == long, "split it by what it holds"
    rooms = Counter(path.parent.relative_to(PACKAGE).as_posix() for path in MODULES)
    assert {room for room, count in rooms.items() if count > 18} == {"operators"}, "make rooms of it"
