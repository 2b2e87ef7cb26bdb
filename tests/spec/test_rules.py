"""Rules are data: complete in every dialect, well formed, found by name, printed as a table."""

from __future__ import annotations

import pickle
import re
import subprocess
import sys
from collections import Counter

import pytest

from penstock.spec import (
    GLOSSARY,
    RULES,
    Dialect,
    Level,
    Party,
    Rule,
    Term,
    explain,
    glossary_table,
    markdown_table,
    rule,
    rules_of,
    term,
)
from penstock.spec.glossary import TEXTS
from penstock.spec.rules.intents import INTENTS

CHAPTERS = {
    Dialect.JVM: {1: 11, 2: 13, 3: 17, 4: 2},
    Dialect.DOTNET: {1: 11, 2: 13, 3: 17, 4: 2},
    Dialect.CPP: {1: 11, 2: 11, 3: 16},
}
PARTY_OF_CHAPTER = {1: Party.PUBLISHER, 2: Party.SUBSCRIBER, 3: Party.SUBSCRIPTION, 4: Party.PROCESSOR}
ADVICE = {"2.2", "3.4"}
FREEDOM = {"1.2", "1.11", "3.10", "3.11", "3.14"}
CPP_LACKS = {"1.10", "2.5", "2.12", "3.9", "4.1", "4.2"}
CPP_OTHER_NUMBER = {
    "1.11": "1.10",
    **{f"2.{n}": f"2.{n - 1}" for n in range(6, 12)},
    "2.13": "2.11",
    **{f"3.{n}": f"3.{n - 1}" for n in range(10, 18)},
}

each_rule = pytest.mark.parametrize("each", RULES, ids=lambda each: each.id)
each_dialect = pytest.mark.parametrize("dialect", Dialect, ids=lambda dialect: dialect.value)


def parts(number: str | None) -> tuple[int, int]:
    chapter, place = (number or "").split(".")
    return int(chapter), int(place)


@pytest.mark.parametrize(("dialect", "count"), [(Dialect.JVM, 43), (Dialect.DOTNET, 43), (Dialect.CPP, 38)])
def test_every_dialect_has_all_its_rules(dialect: Dialect, count: int) -> None:
    numbers = [parts(each.id_in(dialect)) for each in rules_of(dialect)]
    assert len(numbers) == count
    assert numbers == [(chapter, n + 1) for chapter, size in CHAPTERS[dialect].items() for n in range(size)]


def test_one_rule_is_cpp_alone() -> None:
    assert len(RULES) == 44
    assert [each.id for each in RULES if not each.id_in(Dialect.JVM)] == ["C++ 1.11"]
    assert rule("C++ 1.11").id_in(Dialect.CPP) == "1.11"
    assert rule("C++ 1.11").id_in(Dialect.DOTNET) is None


def test_numbers_map_from_the_jvm_text_to_the_others() -> None:
    for each in rules_of(Dialect.JVM):
        assert each.id == each.id_in(Dialect.JVM) == each.id_in(Dialect.DOTNET)
        expected = None if each.id in CPP_LACKS else CPP_OTHER_NUMBER.get(each.id, each.id)
        assert each.id_in(Dialect.CPP) == expected


@each_rule
def test_speaks_of_every_dialect_once(each: Rule) -> None:
    assert [variant.dialect for variant in each.variants] == list(Dialect)


@each_rule
def test_says_why_a_dialect_lacks_it(each: Rule) -> None:
    assert [variant.difference for variant in each.variants if variant.id is None and not variant.difference] == []


@each_rule
def test_is_written_in_whole_sentences(each: Rule) -> None:
    for text in (each.sentence, each.hint, *(variant.difference for variant in each.variants if variant.difference)):
        assert re.fullmatch(r"\S.*[^.]\.", text)
        assert ". " not in text
        assert not set("|<>*`") & set(text), "would need escaping in the table"


@each_rule
def test_belongs_to_the_party_of_its_chapter(each: Rule) -> None:
    chapter, _ = parts(each.id.removeprefix("C++ "))
    assert each.party is PARTY_OF_CHAPTER[chapter]


def test_levels_follow_the_strongest_word_of_each_text() -> None:
    assert {each.id for each in RULES if each.level is Level.SHOULD} == ADVICE
    assert {each.id for each in RULES if each.level is Level.MAY} == FREEDOM


@each_rule
def test_names_the_tests_that_show_it(each: Rule) -> None:
    assert each.tests
    for test in each.tests:
        assert re.fullmatch(r"(publisher|subscriber|blackbox|processor|monitor)\.[a-z0-9_]+", test)


def test_a_test_shows_one_rule() -> None:
    assert [test for test, times in Counter(test for each in RULES for test in each.tests).items() if times > 1] == []


def test_sentences_and_hints_are_all_different() -> None:
    assert len({each.sentence for each in RULES}) == len({each.hint for each in RULES}) == len(RULES)


@each_rule
def test_is_a_value(each: Rule) -> None:
    assert pickle.loads(pickle.dumps(each)) == each
    assert len({each, each}) == 1
    with pytest.raises(AttributeError):
        each.sentence = "Anything goes."  # type: ignore[misc]


@each_dialect
def test_is_found_by_its_name_in_every_dialect(dialect: Dialect) -> None:
    assert [rule(f"{dialect.value} {each.id_in(dialect)}") for each in rules_of(dialect)] == list(rules_of(dialect))


def test_is_found_by_its_own_id() -> None:
    assert [rule(each.id) for each in RULES] == list(RULES)
    assert rule("1.11") is not rule("C++ 1.11")
    assert rule("1.11") is rule("C++ 1.10")


@pytest.mark.parametrize("name", ["9.9", "", "3", "C++ 3.17", "JVM 3.18", "Ada 1.1"])
def test_refuses_a_name_that_is_no_rule(name: str) -> None:
    with pytest.raises(LookupError) as caught:
        rule(name)
    assert str(caught.value) == f"rule: name must be like '3.9' or 'C++ 1.11', got {name!r}"


def test_texts_differ_where_they_are_known_to() -> None:
    assert rule("1.3").difference_in(Dialect.DOTNET) == "Says it outright: in sequence, no two notifications at a time."
    assert "has to name this rule" in rule("3.9").difference_in(Dialect.DOTNET)
    assert "zero is legal" in rule("3.9").difference_in(Dialect.CPP)
    assert "no on_subscribe" in rule("1.9").difference_in(Dialect.CPP)
    assert rule("1.1").difference_in(Dialect.CPP) == ""


def test_explains_a_rule_in_a_few_lines() -> None:
    assert explain("C++ 3.11").splitlines() == [
        "rule 3.12 (MUST, subscription): cancel makes the publisher stop signalling, at once or a little later.",
        "  what for: Whoever cancels can count on it, though perhaps not at this very moment.",
        "  C++ 3.11: Dropping the subscription has the same effect.",
        "  if it fails: Look at whether the emitting loop sees a cancel that comes while it has demand left.",
        (
            "  shown by: publisher.cancel_stops_the_stream, publisher.cancel_elsewhere_stops_the_stream, "
            "publisher.dropping_the_subscription_cancels"
        ),
    ]


def test_explains_that_a_dialect_lacks_the_rule() -> None:
    assert explain("4.1").splitlines()[2] == "  not in C++: That text has no processor."


@each_rule
def test_says_what_it_is_for(each: Rule) -> None:
    assert re.fullmatch(r"[A-Z].*[^.]\.", each.intent)
    assert not set("|<>*`") & set(each.intent)
    assert f"  what for: {each.intent}" in explain(each.id)


def test_intents_are_all_different_and_none_is_left_over() -> None:
    assert set(INTENTS) == {each.id for each in RULES}
    assert len({each.intent for each in RULES}) == len(RULES)


def test_versions_of_the_jvm_text_are_told_apart() -> None:
    assert {each.id for each in RULES if each.changed} == {"1.3", "2.7"}
    for each in RULES:
        assert not each.changed or set(each.versions) == {"1.0.1", "1.0.3"}
        for version, said in each.versions.items():
            assert f"  JVM {version}: {said}" in explain(each.id).splitlines()
    assert "serial" in rule("1.3").versions["1.0.3"]
    assert "external synchronization" in rule("2.7").versions["1.0.1"]
    assert rule("1.1").versions == {}


@pytest.mark.parametrize("each", GLOSSARY, ids=lambda each: each.name)
def test_a_term_says_what_it_means_and_which_text_explains_it(each: Term) -> None:
    assert each.texts
    assert set(each.texts) <= set(TEXTS)
    assert re.fullmatch(r"[A-Z].*[^.]\.", each.meaning)
    assert explain(each.name).splitlines()[0].endswith(each.meaning)
    assert all(term(name) is each for name in (each.name, *each.also))
    assert any(line.startswith(f"| {each.name}") for line in glossary_table().splitlines())


def test_the_glossary_has_every_term_of_the_texts() -> None:
    """Those that their own glossaries, or the notes of the .NET text, explain."""
    explained = {text: {each.name for each in GLOSSARY if text in each.texts} for text in TEXTS}
    shared = {"signal", "demand", "return normally", "responsivity", "non-obstructing", "terminal state", "NOP"}
    assert explained["C++"] >= shared
    assert explained["JVM 1.0.1"] >= {*shared, "synchronous", "external synchronization"}
    assert explained["JVM 1.0.3"] >= {*shared, "synchronous", "serial", "thread-safe"}
    assert explained[".NET"] >= {"signal", "synchronous", "return normally"}


def test_refuses_a_term_that_is_none() -> None:
    with pytest.raises(LookupError, match=r"^term: name must be one of signal, demand, .*, got 'flux'$"):
        term("flux")


def test_table_has_a_section_for_each_party_and_a_row_for_each_rule() -> None:
    lines = markdown_table().splitlines()
    assert [line for line in lines if line.startswith("#")] == [
        "## Publisher",
        "## Subscriber",
        "## Subscription",
        "## Processor",
    ]
    rows = [line.strip("| ").split(" | ") for line in lines if re.match(r"\| (\d|- )", line)]
    assert {len(row) for row in rows} == {8}
    assert [row[:4] for row in rows] == [
        [*(each.id_in(dialect) or "-" for dialect in Dialect), each.level.value] for each in RULES
    ]


def test_table_shows_all_there_is_to_a_rule() -> None:
    row = next(line for line in markdown_table().splitlines() if line.startswith("| 2.6 "))
    assert row == (
        "| 2.6 | 2.6 | 2.5 | MUST "
        "| A subscriber that needs no more cancels its subscription instead of forgetting it."
        "<br>.NET 2.6: Speaks of a subscriber that is no longer valid though the publisher has not ended the stream."
        "<br>C++ 2.5: Dropping the subscription does as well as cancel. "
        "| A publisher can let go of files, threads and buffers only when it knows that no subscriber waits for it. "
        "| Look at every way the work can stop early, a failure in `on_next` included, for a missing cancel. "
        "| `subscriber.unneeded_subscription_is_cancelled`<br>`blackbox.unneeded_subscription_is_cancelled`"
        "<br>`processor.last_cancel_reaches_upstream`<br>`processor.refusal_reaches_upstream`"
        "<br>`processor.raising_subscriber_reaches_upstream`"
        "<br>`processor.late_upstream_is_cancelled`<br>`processor.early_upstream_is_cancelled` |"
    )


def test_command_prints_the_table_without_a_warning() -> None:
    result = subprocess.run(
        [sys.executable, "-W", "error", "-m", "penstock.spec.rules.every"], capture_output=True, text=True, check=False
    )
    assert (result.returncode, result.stderr) == (0, "")
    assert result.stdout == markdown_table()
