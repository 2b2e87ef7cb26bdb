"""examples: what the examples promise is what they do."""

from __future__ import annotations

import runpy
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).parent.parent / "examples"
PICTURES = """\
every step: 5 elements, [0, 4, 16, 36, 64]
origin | map(f) | filter(p) | consume
- R1 - | - R2 - | --- R3 -- | -- R4 -

before the consumer: 5 elements, [0, 4, 16, 36, 64]
origin map(f) filter(p) | consume
---------- R1 --------- | -- R2 -

after the origin: 5 elements, [0, 4, 16, 36, 64]
origin | map(f) filter(p) consume
- R1 - | ---------- R2 ----------

"""


def test_three_placements_of_boundaries_give_one_result_and_three_thread_pictures(
    capsys: pytest.CaptureFixture[str],
) -> None:
    runpy.run_path(str(EXAMPLES / "three_boundaries.py"), run_name="__main__")
    assert capsys.readouterr().out == PICTURES


def test_the_source_is_never_ahead_by_more_than_the_window(capsys: pytest.CaptureFixture[str]) -> None:
    runpy.run_path(str(EXAMPLES / "demand.py"), run_name="__main__")
    out = capsys.readouterr().out
    assert "the consumer took 4,200" in out
    held = int(out.split("Never were more than ")[1].split()[0])
    assert 0 < held <= 16
