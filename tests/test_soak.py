"""soak: what its verdict says of samples that stay, and of samples that grow."""

from __future__ import annotations

from dataclasses import fields, replace
from typing import Any

import pytest

from benchmarks.soak.report import CURVES, ENOUGH, PANELS, Curve, grown, picture, table
from benchmarks.soak.samples import Sample

STEADY = Sample(**{field.name: 100 for field in fields(Sample)})
JUDGED = [curve for curve in CURVES if curve.share is not None]


def soaked(count: int = 40, **growing: Any) -> list[Sample]:
    """Return samples in which some quantities grow by so much each time."""
    return [
        replace(STEADY, batches=50 * (n + 1), **{name: 100 + step * n for name, step in growing.items()})
        for n in range(count)
    ]


def test_what_stays_has_not_grown() -> None:
    assert grown(soaked()) == []


@pytest.mark.parametrize("curve", JUDGED, ids=lambda curve: curve.field)
def test_whatever_grows_is_named(curve: Curve) -> None:
    assert grown(soaked(**dict.fromkeys([curve.field], 5))) == [curve.title]


def test_a_first_quarter_that_is_still_warming_up_does_not_count() -> None:
    samples = soaked()
    assert grown([replace(each, python_rss=50) for each in samples[:10]] + samples[10:]) == []


def test_few_samples_tell_nothing() -> None:
    few = soaked(ENOUGH - 1, python_rss=50.0)
    assert grown(few) == []
    assert table(few) == f"{ENOUGH - 1} samples are too few to tell"


def test_the_picture_has_a_line_for_each_quantity_that_is_drawn() -> None:
    assert picture(soaked()).count("<polyline ") == sum(len(panel.curves) for panel in PANELS)
