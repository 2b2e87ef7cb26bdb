"""The pages about the text have all of it: terms, prefixes, pictures, and every difference from npm."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from penstock import pull
from penstock.pull.text.glossary import PREFIXES, TERMS, prefixes_table, terms_table
from penstock.pull.text.npm import COUNTERPARTS, differences_table
from tests.pull.parts import dropped

GUIDES = Path(pull.__file__).parents[3] / "docs" / "guides"
TEXT = (GUIDES / "pull-stream-text.md").read_text(encoding="utf-8")
GUIDE = (GUIDES / "pull-stream.md").read_text(encoding="utf-8")

# The text's own terms, with what it says others call them.
OF_THE_TEXT = {
    "Answer": {"callback"},
    "Downstream": set(),
    "Completed stream": set(),
    "Failed stream": set(),
    "Indication": {"read with no callback"},
    "Lazy generation": set(),
    "Module": set(),
    "Partial stream": set(),
    "Pipeline": set(),
    "Primitive sink": set(),
    "Primitive source": set(),
    "Request": {"read"},
    "Sink": {"consumer", "reader"},
    "Source": {"producer", "readable"},
    "Stream": set(),
    "Transformer": {"through"},
    "Upstream": set(),
}
NPM = {
    "values", "keys", "once", "count", "infinite", "empty", "error", "map", "asyncMap", "filter", "filterNot", "take",
    "unique", "nonUnique", "flatten", "through", "drain", "onEnd", "log", "find", "reduce", "collect", "concat",
    "collectAsPromise", "pull-cat", "pull-many", "pull-merge", "pull-sorted-merge", "pull-zip", "pull-paramap",
    "pull-pushable", "pull-notify", "pull-through", "pull-window", "pull-pair", "pull-defer", "pull-abortable",
    "pull-next", "pull-catch", "pull-flatmap", "pull-high-watermark", "pull-scan", "pull-tap", "pull-group",
    "pull-batch", "pull-map-last", "pull-looper", "pull-tee", "pull-fork", "pull-live", "pull-cont", "pull-async",
    "pull-reader", "pull-block", "pull-split", "pull-handshake", "pull-write", "pull-lend", "pull-limit", "pull-sync",
    "pull-stream-protocol-checker",
}  # fmt: skip
PICTURES = 15
"""Eight of the base protocol, seven of the abortable one; the layer of faults has none."""


def test_the_glossary_has_every_term_of_the_text_with_its_synonyms():
    assert {term.name: set(term.synonyms) for term in TERMS} == OF_THE_TEXT
    assert {prefix.name for prefix in PREFIXES} == {"D", "U", "TI", "TO"}


@pytest.mark.parametrize(
    ("page", "table"), [(TEXT, terms_table), (TEXT, prefixes_table), (GUIDE, differences_table)], ids=lambda each: ""
)
def test_a_page_has_the_table_as_the_data_have_it(page, table):
    assert table() in page


def test_every_picture_of_the_text_is_a_program_that_says_what_happens():
    headings = re.findall(r"^### (\d+)\. .*$", TEXT, re.MULTILINE)
    blocks = re.findall(r"^```python\nassert \(?said\(", TEXT, re.MULTILINE)
    assert headings == [str(number) for number in range(1, PICTURES + 1)]
    assert len(blocks) == PICTURES


def test_every_module_of_npm_has_its_counterpart():
    assert {each.npm for each in COUNTERPARTS} == NPM
    assert len(COUNTERPARTS) == len(NPM)


def test_counterparts_are_there():
    named = {name for each in COUNTERPARTS for name in re.findall(r"`(\w+)[`(]", each.here)}
    assert {name for name in named if name == "await" or hasattr(pull, name)} == named


def test_notation_writes_down_errors_and_indications():
    log, error = [], ValueError("bad")
    read = pull.pull(pull.error(error), pull.notation(log, "TI", "U"))
    with dropped() as reported:
        read(None, lambda end, value=None: None)
        read(error)
    assert reported == []
    assert log == [
        "TI: askT1(AnsT1)",
        "U: AnsT1=error(ValueError('bad'))",
        "TI: doneT2, ValueError('bad')",
    ]
