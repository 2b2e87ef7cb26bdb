"""links: every link of the pages leads somewhere, in the repository and in the site."""

from __future__ import annotations

from pathlib import Path

import pytest

from scripts.links import repository_anchors, repository_faults, site_anchors
from scripts.site_links import site_faults

ROOT = Path(__file__).parent.parent


def test_every_link_of_the_repository_leads_somewhere() -> None:
    assert list(repository_faults(ROOT)) == []


@pytest.mark.parametrize(
    ("link", "fault"),
    [
        ("[a](OTHER.md)", None),
        ("[a](OTHER.md#what-it-is)", None),
        ("[a](#here)", None),
        ("[a](https://example.org/x#y)", None),
        ("`[a](none.md)`", None),
        ("```text\n[a](none.md)\n```", None),
        ("[a](none.md)", "none.md leads to no file"),
        ("![a](none.svg)", "none.svg leads to no file"),
        ('<img src="none.svg">', "none.svg leads to no file"),
        ("[a]: none.md", "none.md leads to no file"),
        ("[a](/OTHER.md)", "/OTHER.md must be relative to the page"),
        ("[a](OTHER.md#why)", "OTHER.md#why leads to no heading in the site"),
        ("[a](OTHER.md#this-that)", "OTHER.md#this-that leads to no heading in the repository"),
    ],
)
def test_a_link_that_leads_nowhere_is_found(tmp_path: Path, link: str, fault: str | None) -> None:
    (tmp_path / "OTHER.md").write_text("# Other\n\n## What it is\n\n## This & that\n", encoding="utf-8")
    (tmp_path / "README.md").write_text(f"# Here\n\n{link}\n", encoding="utf-8")
    assert list(repository_faults(tmp_path)) == ([] if fault is None else [f"README.md: {fault}"])


def test_anchors_of_headings_that_come_again_are_numbered_by_each_in_its_way() -> None:
    text = "# `a` *b*\n\n## [c](d.md), e\n\n## c, e\n"
    assert site_anchors(text) == {"a-b", "c-e", "c-e_1"}
    assert repository_anchors(text) == {"a-b", "c-e", "c-e-1"}


def test_a_link_of_the_site_that_leads_nowhere_is_found(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "sub" / "index.html").write_text('<h1 id="top">Sub</h1>', encoding="utf-8")
    (tmp_path / "style.css").touch()
    (tmp_path / "index.html").write_text(
        '<link href="style.css"><a href="sub/#top"></a><a href="https://example.org/"></a><a href="sub/#end"></a>'
        '<img src="none.svg"><a href="#here"></a>',
        encoding="utf-8",
    )
    assert list(site_faults(tmp_path)) == [
        "index.html: #here leads to no heading",
        "index.html: none.svg leads to no file of the site",
        "index.html: sub/#end leads to no heading",
    ]
