"""docs: every Python block of the README and of docs/ runs, and prints what its comments say.

The blocks of one page run in order in one module, as a reader would type them. A statement that ends in a comment
`# -> text` must evaluate to something whose `repr` is that text, or print it.
"""

from __future__ import annotations

import ast
import contextlib
import io
import re
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path
from types import CodeType, ModuleType

import pytest

from penstock.spec import GLOSSARY, PROPERTIES, RULES, Layer, Party
from scripts.made_parts import with_parts
from scripts.mkdocs_hooks import expand
from scripts.operator_reference import summary_and_example, wrapped

ROOT = Path(__file__).parent.parent
PAGES = sorted(
    page
    for page in [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    if "```python" in page.read_text(encoding="utf-8")
    # Run by tests/spark/test_guide.py and test_java_guide.py.
    and page.name not in {"spark.md", "pipelines.md", "resuming.md", "websocket-into-spark.md", "java-flow.md"}
    # Run by tests/connectors/*/test_guide.py, beside the servers that they need.
    and page.name not in {"nats.md", "your-own.md"}
)
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
SHOWN = re.compile(r"^```py\n(.*?)^```$", re.MULTILINE | re.DOTALL)
"""Blocks that need more than a page has: a cluster, servers, the data of an example."""
SHOWN_RUN_BY = {
    "README.md": "tests/connectors/test_readme.py",
    "docs/guides/demo.md": "tests/spark/test_examples.py",
    "docs/guides/pipelines.md": "tests/spark/test_shown_sessions.py",
    "docs/guides/spark.md": "tests/spark/test_shown_sessions.py",
}
EXPECTED = re.compile(r"# -> (.*)$")


def blocks(text: str) -> Iterator[tuple[int, str]]:
    """Give each block with the number of lines above it."""
    for match in BLOCK.finditer(text):
        yield text.count("\n", 0, match.start(1)), match[1]


def shown_blocks(page: Path) -> list[str]:
    """Return the blocks of a page that are run elsewhere."""
    return SHOWN.findall(page.read_text(encoding="utf-8"))


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


def test_blocks_that_a_page_cannot_run_are_run_by_tests_with_what_they_need() -> None:
    pages = [*ROOT.glob("*.md"), *(ROOT / "docs").rglob("*.md")]
    assert {page.relative_to(ROOT).as_posix() for page in pages if shown_blocks(page)} == set(SHOWN_RUN_BY)
    assert [test for test in SHOWN_RUN_BY.values() if "shown" not in (ROOT / test).read_text()] == []


def test_a_wrong_result_in_an_example_is_noticed() -> None:
    with pytest.raises(AssertionError, match=r"page.md:8: 1 \+ 1"):
        run_block("1 + 1  # -> 3\n", Path("page.md"), 7, {})


def test_readme_has_examples() -> None:
    assert ROOT / "README.md" in PAGES


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_there_is_an_install_line_for_everything_that_a_user_may_need(page: str) -> None:
    extras = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    ours = {"bench", "check", "demo", "docs", "test"}  # what the targets of make need
    listed = set(re.findall(r'"\.\[(\w+)\]"`', (ROOT / page).read_text(encoding="utf-8")))
    assert listed == set(extras) - ours


def test_the_pipeline_of_the_readme_explains_itself_as_shown(tmp_path: Path) -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    (tmp_path / "feed.py").write_text(next(source for _, source in blocks(text) if "pipeline = " in source))
    command = [sys.executable, "-m", "penstock", "run", str(tmp_path / "feed.py"), "--explain"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    assert f"$ penstock run feed.py --explain\n{said}```" in text


def test_page_of_the_rules_names_every_rule_and_its_tests() -> None:
    page = with_parts((ROOT / "docs" / "rules.md").read_text(encoding="utf-8"))
    rows = len(RULES) + len(GLOSSARY)
    assert page.count("\n| ") == rows + 2 * (len(Party) + 1)  # each table has a heading and a line under it
    assert all(each.intent.split(".")[0].split("on_")[0] in page for each in RULES)
    assert all(each.meaning in page for each in GLOSSARY)
    for rule in RULES:
        assert all(f"`{test}`" in page for test in rule.tests)


def test_page_of_the_properties_names_every_property_and_its_tests() -> None:
    page = with_parts((ROOT / "docs" / "properties.md").read_text(encoding="utf-8"))
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


def test_decisions_are_listed_with_their_titles() -> None:
    page = with_parts((ROOT / "docs" / "decisions" / "index.md").read_text(encoding="utf-8"))
    assert "\n- [0001: Stages are loop bodies](0001-stages-are-loop-bodies.md)\n" in page
    assert page.count("\n- [") == len(list((ROOT / "docs" / "decisions").glob("0*.md")))


def test_the_reference_takes_sentences_and_examples_of_a_docstring_and_leaves_its_lists() -> None:
    parts = ("Do it.", "More.", "Emits when asked.", "Args:\n    n: How\n        often.", "    m: x")
    text = "\n\n".join((*parts, "Example:\n    >>> 1\n    1", ">>> 2\n2"))
    assert summary_and_example(text) == ("Do it.\n\nMore.", ">>> 1\n1\n\n>>> 2\n2")


def test_a_long_signature_has_a_parameter_on_each_line() -> None:
    short = "stream.take(count: int) -> Stream[T]"
    assert wrapped(short) == short
    long = f"stream.{'a' * 60}(fn: Callable[[T, U], V], *, size: int = len((1, 2))) -> Stream[T]"
    parameters = ["    fn: Callable[[T, U], V],", "    *,", "    size: int = len((1, 2)),"]
    assert wrapped(long).splitlines() == [f"stream.{'a' * 60}(", *parameters, ") -> Stream[T]"]
