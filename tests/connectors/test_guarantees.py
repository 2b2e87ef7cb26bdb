"""guarantees: the table in the docs says what the tests prove, and no more."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.guarantees import PAGE, guarantees, page


def test_the_page_is_what_the_tests_say() -> None:
    assert PAGE.read_text(encoding="utf-8") == page(guarantees()), "run python -m scripts.guarantees --write"


def test_a_connector_has_one_outcome_for_a_situation() -> None:
    seen: dict[tuple[str, str], set[str]] = {}
    for each in guarantees():
        seen.setdefault((each.connector, each.situation), set()).add(each.outcome)
    assert {key: outcomes for key, outcomes in seen.items() if len(outcomes) > 1} == {}


def test_every_connector_says_what_a_cancel_releases() -> None:
    found = guarantees()
    silent = {each.connector for each in found} - {each.connector for each in found if each.situation == "cancel"}
    assert silent == set()


def test_a_mark_with_other_words_is_refused(tmp_path: Path) -> None:
    (tmp_path / "test_one.py").write_text('@pytest.mark.proves("a", "b")\ndef test_it(): ...\n')
    message = r"^test_one.py, line 1: proves takes three texts: a connector, a situation, what holds$"
    with pytest.raises(ValueError, match=message):
        guarantees(tmp_path)
