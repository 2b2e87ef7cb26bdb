"""The package has every module of the must-have set, under its name, with its parameters; nothing else is exported."""

from __future__ import annotations

import ast
import inspect
import re
from pathlib import Path

import pytest

from penstock import pull

PACKAGE = Path(pull.__file__).parent
GUIDE = PACKAGE.parents[2] / "docs" / "guides" / "pull-stream.md"

# name: its parameters, those in brackets with a default, those after a star by keyword only
MODULES = {
    "pull": "*modules",
    "values": "items [on_abort]",
    "keys": "items [on_abort]",
    "once": "value [on_abort]",
    "count": "[stop]",
    "infinite": "[generate]",
    "empty": "",
    "error": "exception",
    "from_iter": "items",
    "from_async_iter": "items",
    "pushable": "[on_close]",
    "defer_source": "",
    "defer_through": "",
    "defer_sink": "",
    "cont": "start",
    "map": "fn",
    "async_map": "fn",
    "filter": "predicate",
    "filter_not": "predicate",
    "take": "count",
    "take_while": "predicate * [last]",
    "unique": "[key]",
    "non_unique": "[key]",
    "flatten": "",
    "flat_map": "fn",
    "through": "[op] [on_end]",
    "scan": "fn [initial] * [create]",
    "para_map": "fn [width] * [in_order]",
    "batch": "[size] [seconds] * [clock]",
    "sliding": "fn width",
    "queue_through": "write [end]",
    "buffer": "high [low]",
    "catch": "[fn]",
    "abortable": "[on_end]",
    "cat": "sources",
    "many": "[sources]",
    "merge": "sources [key]",
    "zip_sources": "*sources * [strict] [fill]",
    "pair": "",
    "notify": "",
    "drain": "[op] [done]",
    "collect": "[done]",
    "reduce": "fn [initial] [done] * [create]",
    "find": "predicate [done]",
    "concat": "[done]",
    "on_end": "[done]",
    "log": "[done]",
    "reader": "",
    "handshake": "",
    "to_iter": "source",
    "to_async_iter": "source",
    "dataflow": "source",
    "from_dataflow": "source",
    "to_publisher": "source [concurrency]",
    "from_publisher": "publisher",
    "through_flow": "flow",
    "checker": "* [strict]",
    "probe": "log",
    "notation": "log [down] [up]",
    "ref_source": "[n] [end] [sync] [schedule]",
    "ref_sink": "[r] [index] [abort] [answer] [sync] [cont] [done]",
    "ref_through": "[index] [abort] [answer] [f]",
}
METHODS = {
    pull.Pushable: {"push", "end", "abort", "read", "buffer"},
    pull.DeferredSource: {"resolve", "abort", "read"},
    pull.DeferredThrough: {"resolve", "abort"},
    pull.DeferredSink: {"resolve", "abort"},
    pull.Many: {"add", "cap", "read"},
    pull.Abortable: {"abort"},
    pull.Drain: {"abort"},
    pull.SinkResult: {"get", "done", "so_far", "__await__"},
    pull.ByteReader: {"read", "read_line", "read_prefixed", "rest", "abort"},
    pull.Handshake: {"read", "read_line", "read_prefixed", "write", "rest", "abort", "source", "sink"},
    pull.Notify: {"listen", "end", "abort", "listeners"},
    pull.Pair: {"source", "sink"},
    pull.Dataflow: {"ask", "abort"},
    pull.Checker: {"verify", "pending"},
}


def parameters(fn):
    words, starred = [], False
    for each in inspect.signature(fn).parameters.values():
        if each.kind is each.VAR_POSITIONAL:
            words.append(f"*{each.name}")
            continue
        if each.kind is each.KEYWORD_ONLY and not starred:
            starred = True
            words.append("*")
        words.append(each.name if each.default is each.empty else f"[{each.name}]")
    return " ".join(words)


@pytest.mark.parametrize("name", MODULES)
def test_every_module_is_there_with_its_parameters(name):
    assert parameters(getattr(pull, name)) == MODULES[name]


@pytest.mark.parametrize("kind", METHODS, ids=lambda kind: kind.__name__)
def test_handles_have_their_methods(kind):
    assert [name for name in METHODS[kind] if not hasattr(kind, name)] == []


def test_exports_are_on_purpose():
    assert len(set(pull.__all__)) == len(pull.__all__)
    functions = {name for name in pull.__all__ if name.islower()}
    assert functions == set(MODULES)
    assert [name for name in pull.__all__ if not hasattr(pull, name)] == []


@pytest.mark.parametrize("name", pull.__all__)
def test_everything_says_what_it_is_in_a_sentence(name):
    found = getattr(pull, name)
    if inspect.isfunction(found) or inspect.isclass(found):
        assert re.match(r"[A-Z][^\n]*[.;:]$", (inspect.getdoc(found) or "").partition("\n")[0]), name


def test_the_guide_names_every_module():
    text = GUIDE.read_text(encoding="utf-8")
    assert [name for name in MODULES if f"`{name}`" not in text and f"{name}(" not in text] == []


@pytest.mark.parametrize("path", sorted(PACKAGE.glob("*.py")), ids=lambda path: path.stem)
def test_each_file_says_its_name_and_what_it_is(path):
    if path.stem == "__init__":
        return
    doc = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    assert doc.startswith(f"{path.stem}: ")


def test_names_that_shadow_stay_in_the_namespace():
    import penstock

    assert not hasattr(penstock, "map")
    assert pull.map is not map
