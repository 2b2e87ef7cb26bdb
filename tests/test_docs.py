"""docs: every Python block of the README and of docs/ runs, and prints what its comments say.

The blocks of one page run in order in one module, as a reader would type them. A statement that ends in a comment
`# -> text` must evaluate to something whose `repr` is that text, or print it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import sys
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from penstock.spec import GLOSSARY, PROPERTIES, RULES, Layer, Party
from scripts.mkdocs_hooks import expand, properties_page, rules_page

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if "```python" in page.read_text(encoding="utf-8")
    # Run by tests/spark/test_guide.py and test_java_guide.py.
    and page.name not in {"spark.md", "pipelines.md", "java-flow.md"}
)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
EXPECTED = re.compile(r"# -> (.*)$")


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Give each block with the number of lines above it."""
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start(1)), match[1]


def run(code: CodeType, namespace: dict[str, object]) -> str:
    """Give what the statement prints, or the repr of its value."""
    with contextlib.redirect_stdout(io.StringIO()) as output:
        value = eval(code, namespace)
    return output.getvalue().strip() if value is None else repr(value)


def run_block(
    source: str, page: Path, lines_above: int, namespace: dict[str, object], parsed: ast.Module | None = None
) -> int:
    """Run a block statement by statement, compare, and count the comparisons."""
    compared = 0
    lines = source.splitlines()
    for statement in (parsed or ast.parse(source)).body:
        expected = EXPECTED.search(lines[(statement.end_lineno or 0) - 1])
        ast.increment_lineno(statement, lines_above)  # so that a traceback points into the page
        if expected is None:
            exec(compile(ast.Module([statement], []), str(page), "exec", dont_inherit=True), namespace)
            continue
        assert isinstance(statement, ast.Expr), f"{page}:{statement.lineno}: only an expression can have a result"
        actual = run(compile(ast.Expression(statement.value), str(page), "eval", dont_inherit=True), namespace)
        assert actual == expected[1].strip(), f"{page}:{statement.lineno}: {ast.unparse(statement)}"
        compared += 1
    return compared


def run_page(page: Path, namespace: dict[str, object]) -> None:
    """Run all blocks of a page in order."""
    # All are parsed before one runs: CPython 3.11 may raise SystemError if threads of an example use `ast` meanwhile.
    parsed = [(above, source, ast.parse(source)) for above, source in blocks(page.read_text(encoding="utf-8"))]
    compared = sum(run_block(source, page, above, namespace, tree) for above, source, tree in parsed)
    assert compared, "a page with examples shows at least one result"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.relative_to(ROOT).as_posix())
def test_examples_of(page: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    module = ModuleType("example")
    monkeypatch.setitem(sys.modules, module.__name__, module)
    run_page(page, vars(module))


def test_a_wrong_result_in_an_example_is_noticed() -> None:
    with pytest.raises(AssertionError, match=r"page.md:8: 1 \+ 1"):
        run_block("1 + 1  # -> 3\n", Path("page.md"), 7, {})


def test_readme_has_examples() -> None:
    assert ROOT / "README.md" in PAGES


def test_page_of_the_rules_names_every_rule_and_its_tests() -> None:
    page = rules_page()
    rows = len(RULES) + len(GLOSSARY)
    assert page.count("\n| ") == rows + 2 * (len(Party) + 1)  # each table has a heading and a line under it
    assert all(each.intent.split(".")[0].split("on_")[0] in page for each in RULES)
    assert all(each.meaning in page for each in GLOSSARY)
    for rule in RULES:
        assert all(f"`{test}`" in page for test in rule.tests)


def test_page_of_the_properties_names_every_property_and_its_tests() -> None:
    page = properties_page()
    assert page.count("\n| ") == len(PROPERTIES) + 2 * len(Layer)
    for each in PROPERTIES:
        assert all(f"`{test}`" in page for test in each.tests)


def test_navigation_takes_in_the_pages_of_a_folder(tmp_path: Path) -> None:
    folder = tmp_path / "operators"
    folder.mkdir()
    for name in ("map.md", "index.md", "filter.md"):
        (folder / name).touch()
    navigation = ["index.md", {"Operators": "operators/*"}]
    assert expand(navigation, tmp_path) == [
        "index.md",
        {"Operators": ["operators/index.md", "operators/filter.md", "operators/map.md"]},
    ]
