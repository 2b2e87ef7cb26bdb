"""source: habits that the linters do not check, read off the text of src/penstock."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from pathlib import Path

import pytest

from penstock import Stream

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "src" / "penstock"
MODULES = sorted(PACKAGE.rglob("*.py"))
OPERATORS = sorted(path.stem for path in (PACKAGE / "operators").glob("*.py") if path.stem != "__init__")
NAMES_THAT_SAY_NOTHING = {"utils", "helpers", "common", "base", "manager", "impl"}

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


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_is_a_documented_method_of_stream(operator: str) -> None:
    docstring = getattr(Stream, operator).__doc__
    assert docstring.split("\n")[0].endswith(".")
    assert ">>>" in docstring


@pytest.mark.parametrize("operator", OPERATORS)
def test_every_operator_has_its_own_tests(operator: str) -> None:
    assert (ROOT / "tests" / "operators" / f"test_{operator}.py").exists()


def test_every_operator_is_in_the_reference() -> None:
    reference = "".join(page.read_text(encoding="utf-8") for page in (ROOT / "docs" / "operators").glob("*.md"))
    assert [operator for operator in OPERATORS if f"`{operator}`" not in reference] == []
