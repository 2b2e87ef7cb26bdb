"""`_repr_html_`: in a notebook streams, flows, sinks, pipelines, runs and reports show themselves; text stays text."""

from __future__ import annotations

from xml.etree import ElementTree as ET

import pytest

from penstock import Sink, Stream, flow
from penstock.spark import frame
from penstock.tck.outcome import Outcome, Report, Status


def drawn(html: str) -> str:
    """Return the text of what is shown, which must be well formed."""
    return " ".join(" ".join(ET.fromstring(html).itertext()).split())


def bad(n):
    raise ValueError("<b>no</b> & more")


SHOUT = flow(lambda words: words.map(str.upper))


@pytest.mark.parametrize(
    ("shown", "text"),
    [
        (Stream.range(3).map(str), "range | map(str)"),
        (SHOUT, "input a stream then map(str.upper)"),
        (SHOUT | Sink.count(), "end count"),
        (Stream.just("a") | SHOUT | Sink.to_list(), "end to_list"),
        ((Stream.just("a") | Sink.to_list()).explain(), "in this process source just"),
    ],
    ids=["stream", "flow", "sink", "pipeline", "plan"],
)
def test_what_is_composed_is_shown_as_a_drawing(shown, text):
    assert shown._repr_html_().startswith("<svg ")
    assert text in drawn(shown._repr_html_())


def test_a_pipeline_that_cannot_run_says_why():
    pipeline = Stream.just("<a>") | frame(str) | Sink.to_list()
    told = drawn(pipeline._repr_html_())
    assert told.startswith("Pipeline(frame | to_list) PlanError: run: the rows of just must have a schema")


def test_a_run_shows_its_figures_and_its_plan():
    run = (Stream.range(1234).map(str) | Sink.count()).run()
    run.wait(30)
    told = drawn(run._repr_html_())
    assert told.startswith("penstock ended after 0 s rows in 1,234 ")
    assert "source range | map(str) end count" in told


def test_a_run_that_has_failed_shows_its_error_as_text():
    run = (Stream.range(3).map(bad) | Sink.count()).run()
    with pytest.raises(ValueError, match="no"):
        run.wait(30)
    assert "failed after 0 s: ValueError: <b>no</b> & more" in drawn(run._repr_html_())
    assert "<b>no</b>" not in run._repr_html_()


def test_a_report_shows_what_failed_before_what_passed():
    outcomes = (
        Outcome("1.1", "passes", Status.PASSED),
        Outcome("1.3", "fails", Status.FAILED, "saw <two>", "look there"),
        Outcome("1.9", "not here", Status.NOT_APPLICABLE, "no need"),
    )
    html = Report("publisher <mine>", outcomes)._repr_html_()
    told = drawn(html.replace("<br>", "<br/>"))
    assert told.startswith(
        "publisher <mine> 1 passed, 1 failed, 1 not applicable rule test outcome seen 1.3 fails failed"
    )
    assert "saw <two>" in told
    assert "2 others" in told
