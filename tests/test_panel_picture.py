"""panel_picture: the picture of the panel has what the panel shows, and fetches nothing."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from itertools import islice

import pytest

from penstock import Sink, Stream, VirtualClock
from scripts.panel_picture import drawn


@pytest.mark.slow
def test_the_panel_of_a_run_is_drawn_without_fonts_from_elsewhere() -> None:
    clock = VirtualClock()
    run = (Stream.interval(1.0, clock=clock) | Sink.count()).run()
    clock.advance(3)
    try:
        picture = drawn(islice(run.progress_every(0.01), 2), "penstock run feed.py")
    finally:
        run.cancel()
    text = "".join(ET.fromstring(picture).itertext()).replace("\xa0", " ")
    assert "penstock run feed.py" in text
    assert "rows in" in text
    assert "running for" in text
    assert "url(http" not in picture
    assert "@font-face" not in picture
