"""benchmarks: the moving picture of the home page is drawn from runs, and its words are those of the page."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from pathlib import Path

import pytest

from benchmarks.flood import PROGRAMS, WINDOW, Trial, measured, with_penstock, with_reactivex
from benchmarks.flood_picture import Sample, picture, sentence

ROOT = Path(__file__).parent.parent
SVG = "{http://www.w3.org/2000/svg}"
RUNS = {
    "reactivex": [Sample(0.0, 0, 0, 0.0), Sample(1.0, 900, 100, 0.9), Sample(2.0, 1800, 200, 20.4)],
    "penstock": [Sample(0.0, 0, 0, 0.0), Sample(1.0, 150, 100, 0.1), Sample(2.0, 240, 200, 0.1)],
}


@pytest.mark.slow
def test_messages_pile_up_with_reactivex() -> None:
    trial = Trial(seconds=60.0)
    end = with_reactivex(trial)
    try:
        while trial.most <= 4 * WINDOW and trial.made < 1_000_000:
            trial.stopped.wait(0.01)
    finally:
        trial.stopped.set()
        end()
    assert trial.most > 4 * WINDOW


@pytest.mark.slow
def test_no_more_messages_wait_with_penstock_than_its_window_holds() -> None:
    trial = Trial(seconds=60.0)
    end = with_penstock(trial)
    try:
        while trial.taken < 2 * WINDOW:
            trial.stopped.wait(0.01)
    finally:
        trial.stopped.set()
        end()
    assert 0 < trial.most <= WINDOW


@pytest.mark.slow
@pytest.mark.parametrize("name", PROGRAMS)
def test_samples_are_taken_from_the_beginning_to_the_end(name: str) -> None:
    samples = measured(PROGRAMS[name], 0.2, 4)
    assert len(samples) == 5
    assert samples == sorted(samples)
    assert samples[-1].made >= samples[-1].taken > 0


def test_the_sentence_has_the_figures_of_both() -> None:
    assert sentence(RUNS) == (
        "A fast source and a slow consumer, for 2 seconds. With reactivex, 1,600 messages wait at the end; they take "
        "20 MB, and both numbers keep growing. With penstock, never more than 50 messages wait, in 0.1 MB: the source "
        "makes only what the consumer has asked for."
    )


def test_the_picture_has_its_words_its_numbers_and_no_motion_for_those_who_want_none() -> None:
    drawn = picture(RUNS)
    found = ET.fromstring(drawn)
    assert found.findtext(f"{SVG}desc") == sentence(RUNS)
    words = [each.text for each in found.iter(f"{SVG}text")]
    assert [each for each in words if each and each.endswith("waiting")] == [
        *("0 waiting", "800 waiting", "1,600 waiting"),
        *("0 waiting", "50 waiting", "40 waiting"),
    ]
    still, _, moving = drawn.partition("@media (prefers-reduced-motion: no-preference)")
    assert "animation" not in still
    assert moving.count("@keyframes") == moving.count("animation: ")


@pytest.mark.parametrize("page", ["README.md", "docs/index.md"])
def test_a_page_says_in_words_what_its_picture_shows(page: str) -> None:
    drawn = ET.fromstring((ROOT / "docs" / "images" / "demand.svg").read_text(encoding="utf-8"))
    text = " ".join((ROOT / page).read_text(encoding="utf-8").split())
    assert drawn.findtext(f"{SVG}desc") in text
