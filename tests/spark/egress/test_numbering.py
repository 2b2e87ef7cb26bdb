"""numbering: the places of rows of a micro-batch that several ends share, however it is cut."""

from __future__ import annotations

import pytest

from penstock.spark.egress.numbering import Numbered, NumberedByEnd

PAIRS = [(0, "a"), (0, "b"), (1, "x"), (2, "-"), (1, "y"), (0, "c")]


@pytest.mark.parametrize("cut", range(len(PAIRS) + 1))
def test_each_end_has_its_own_count_and_its_own_last_row(cut):
    numbers = NumberedByEnd(7, {0, 1})
    found = [*numbers.rows(PAIRS[:cut], ends=False), *numbers.rows(PAIRS[cut:], ends=True)]
    assert [one for end, one in found if end == 0] == [
        Numbered(7, 0, False, "a"),
        Numbered(7, 1, False, "b"),
        Numbered(7, 2, True, "c"),
    ]
    assert [one for end, one in found if end == 1] == [Numbered(7, 0, False, "x"), Numbered(7, 1, True, "y")]
    assert [one for end, one in found if end == 2] == ["-"]
