"""names: for every operator there is a module, a class, a method of Stream, a test and an entry in the docs."""

from __future__ import annotations

import ast
import dataclasses
import importlib
import inspect
import re
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest

from penstock import Stream
from penstock.engine.weaving.blame import operator_name
from penstock.stage import Joint, Sight, Source, Stage
from scripts.operator_notes import NAMES, group_of, page
from scripts.operator_reference import reference_page
from tests.operators.proof import proof_of

ROOT = Path(__file__).parent.parent
SOURCE = ROOT / "src" / "penstock"

# What Stream offers besides its operators: ways to run it, and composition.
NOT_OPERATORS = {"apply", "explain", "from_source", "get", "open", "subscribe", "via"}
# The operators that treat each element alone; for all others order or neighbours matter.
ITEM = {
    "cast", "checkpoint", "concat_map", "expand", "filter", "flat_map", "flatten", "limit_rate", "log", "map",
    "map_async", "map_error", "of_type", "parallel", "publish_on", "starmap", "tap",
}  # fmt: skip
# A joint that passes every signal on says more about the stream than about an element.
SEES_SIGNALS = {"TapSignals"}

each_name = pytest.mark.parametrize("name", NAMES)


def module_of(name: str) -> ModuleType:
    return importlib.import_module(f"penstock.operators.{name}")


def steps_of(name: str) -> list[type[Any]]:
    """Return the public classes of an operator's module that are steps of a chain."""
    return [
        member
        for member in vars(module_of(name)).values()
        if isinstance(member, type)
        and member.__module__ == f"penstock.operators.{name}"
        and issubclass(member, Stage | Joint | Source)
        and not member.__name__.startswith("_")
    ]


def class_name(name: str) -> str:
    return "".join(word.capitalize() for word in name.split("_"))


def is_proven(name: str) -> bool:
    try:
        return bool(proof_of(name))
    except LookupError:
        return False


def method_doc(name: str) -> str:
    return inspect.getdoc(getattr(Stream, name)) or ""


def test_there_are_operators() -> None:
    assert len(NAMES) >= 43


@each_name
def test_module_says_its_name_and_what_it_is(name: str) -> None:
    assert re.match(rf"{name}: [^\n]+\.$", (module_of(name).__doc__ or "").partition("\n")[0])


@each_name
def test_module_holds_the_class_of_that_name(name: str) -> None:
    names = [step.__name__ for step in steps_of(name)]
    assert {class_name(name), f"{class_name(name)}Source"} & {*names}  # Stream.subject() returns a Subject
    assert [other for other in names if not other.startswith(class_name(name))] == []


@each_name
def test_classes_are_frozen_dataclasses_with_slots(name: str) -> None:
    for step in steps_of(name):
        assert dataclasses.is_dataclass(step), step
        assert step.__dataclass_params__.frozen, step  # type: ignore[attr-defined]
        assert "__slots__" in vars(step), step


@each_name
def test_a_note_calls_the_operator_as_users_write_it(name: str) -> None:
    assert {operator_name(object.__new__(step)) for step in steps_of(name)} == {name}


@each_name
def test_sight_is_declared(name: str) -> None:
    for step in steps_of(name):
        if issubclass(step, Source):
            continue
        said = step.sight is Sight.ITEM and is_proven(name)  # the laws try what a proven operator says
        item = (name in ITEM or said) and step.__name__ not in SEES_SIGNALS
        assert step.sight is (Sight.ITEM if item else Sight.STREAM), step
        assert ("sight" in vars(step)) == item, f"{step}: what treats each element alone must say so itself"


@each_name
def test_docstring_says_when_it_emits_backpressures_completes_and_cancels(name: str) -> None:
    for step in steps_of(name):
        sentence, _, rest = inspect.cleandoc(step.__doc__ or "").partition("\n\n")
        assert sentence.endswith("."), step
        words = re.findall(r"\b(Emits|Backpressures|Completes|Cancels)\b", rest)
        asked = ["Emits", "Backpressures", "Completes", "Cancels"]
        assert words == asked, f"src/penstock/operators/{name}.py: {step.__name__}'s docstring says when it {asked}"


@each_name
def test_stream_has_the_method(name: str) -> None:
    assert callable(getattr(Stream, name, None)), f"src/penstock/stream.py: add the method {name} to Stream"


def test_stream_has_no_method_without_an_operator() -> None:
    public = {name for name in vars(Stream) if not name.startswith("_")}
    assert public - NOT_OPERATORS - set(NAMES) == set()
    assert NOT_OPERATORS - public == set()


@each_name
def test_method_says_what_it_does_and_shows_it_in_four_lines(name: str) -> None:
    sentence, _, rest = method_doc(name).partition("\n\n")
    assert re.match(r"[A-Z].*\.$", sentence, re.DOTALL)
    typed = [line for line in rest.splitlines() if line.startswith((">>>", "..."))]
    assert 1 <= len(typed) <= 4, f"src/penstock/stream.py: {name} has a doctest of one to four lines"


@each_name
def test_method_uses_its_class(name: str) -> None:
    assert re.search(rf"\b{class_name(name)}\w*\(", inspect.getsource(getattr(Stream, name)))


@each_name
def test_operator_has_tests_that_begin_with_its_promise(name: str) -> None:
    tests = ROOT / "tests" / "operators" / f"test_{name}.py"
    assert tests.exists(), f"write tests/operators/test_{name}.py, with PROOF = Proof(...)"
    tree = ast.parse(tests.read_text(encoding="utf-8"))
    begins = (ast.get_docstring(tree) or "").startswith(f"{name}: ")
    assert begins, f"tests/operators/test_{name}.py: begin its docstring with '{name}: '"
    assert any(isinstance(node, ast.FunctionDef) and node.name.startswith("test_") for node in tree.body)


def test_no_test_is_left_without_its_operator() -> None:
    found = {path.stem.removeprefix("test_") for path in (ROOT / "tests" / "operators").glob("test_*.py")}
    assert found - set(NAMES) == set()


@each_name
def test_operator_is_in_the_table_and_in_the_reference(name: str) -> None:
    group = group_of(name)  # which names the file and the line if there is none
    assert re.search(rf"\*\*{group}\*\* \| .*`{name}`", page("index.md"))
    assert f"\n## {name}\n" in reference_page()


# The operators of the C++ library `rs`, all of which have a counterpart.
RS = [
    "All", "Append", "Average", "Catch", "Concat", "ConcatMap", "Contains", "Count", "DefaultIfEmpty", "ElementAt",
    "Empty", "EndWith", "Filter", "First", "From", "IfEmpty", "IsEmpty", "Just", "Last", "Map", "Max", "Merge", "Min",
    "Never", "Pipe", "Prepend", "Range", "Reduce", "Repeat", "Scan", "Skip", "SkipWhile", "Some", "Splat", "Start",
    "StartWith", "Sum", "Take", "TakeWhile", "Throw", "Zip",
]  # fmt: skip


@pytest.mark.parametrize("theirs", RS)
def test_what_rs_has_is_here_too(theirs: str) -> None:
    section = (ROOT / "docs" / "operators" / "index.md").read_text(encoding="utf-8").partition("## Names of the C++")[2]
    renamed = dict(re.findall(r"^\| (\w+) \| `(\w+)`", section, re.MULTILINE))
    ours = renamed.get(theirs) or re.sub(r"(?<!^)(?=[A-Z])", "_", theirs).lower()
    assert hasattr(Stream, ours)


# What users of this field expect, most of all and besides.
FIRST_TIER = [
    "just", "from_iterable", "from_async_iterable", "from_awaitable", "from_callable", "from_publisher", "create",
    "generate", "range", "empty", "never", "error", "defer", "using", "interval", "timer", "map", "map_async",
    "flat_map", "concat_map", "switch_map", "flatten", "scan", "stateful_map", "starmap", "enumerate", "materialize",
    "dematerialize", "filter", "of_type", "distinct", "drop_repeats", "take", "take_last", "take_while", "take_until",
    "skip", "skip_while", "skip_until", "element_at", "ignore_elements", "merge", "concat", "zip", "combine_latest",
    "with_latest_from", "race", "start_with", "end_with", "default_if_empty", "switch_if_empty", "delay", "timeout",
    "debounce", "throttle", "sample", "on_error_return", "on_error_resume", "on_error_complete", "map_error", "retry",
    "repeat", "tap", "do_finally", "on_backpressure_buffer", "on_backpressure_drop", "on_backpressure_latest",
    "on_backpressure_error", "limit_rate", "conflate", "buffer", "buffer_timeout", "buffer_until", "window", "group_by",
    "publish", "share", "replay", "publish_on", "subscribe_on", "to_list", "to_dict", "reduce", "count", "first",
    "last", "all", "any", "for_each",
]  # fmt: skip
SECOND_TIER = [
    "pairwise", "sliding", "split_when", "buffer_while", "skip_last", "partition", "merge_sorted", "interleave",
    "sequence_equal", "delay_subscription", "timestamp", "time_interval", "throttle_first", "keep_alive", "expand",
    "cast", "sum", "average", "min", "max", "contains", "is_empty", "single", "to_set", "cache", "parallel", "join",
    "checkpoint", "log", "metrics", "with_context", "map_batches",
]  # fmt: skip


@pytest.mark.parametrize("name", [*FIRST_TIER, *SECOND_TIER])
def test_what_users_expect_is_an_operator(name: str) -> None:
    assert name in NAMES


def test_the_tiers_name_nothing_twice() -> None:
    named = [*FIRST_TIER, *SECOND_TIER]
    assert len(named) == len(set(named)) == 121


def test_a_class_has_a_name_that_no_other_class_has() -> None:
    places: dict[str, list[str]] = {}
    for path in sorted(SOURCE.rglob("*.py")):
        for node in ast.parse(path.read_text(encoding="utf-8")).body:
            if isinstance(node, ast.ClassDef) and not node.name.startswith("_"):
                places.setdefault(node.name, []).append(str(path.relative_to(SOURCE)))
    del places["FromQueue"]  # one meaning in two bridges, and the operator's name in both
    twice = {name: where for name, where in places.items() if len(where) > 1}
    assert twice == {}, f"rename all but one of each, by what it is: {twice}"
