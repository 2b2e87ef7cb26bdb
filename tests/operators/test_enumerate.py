"""enumerate: each element with its number."""

from __future__ import annotations

import pytest
from hypothesis import strategies as st

from penstock import Stream
from penstock.operators.enumerate import Enumerate
from penstock.testing import check_stage


@pytest.mark.parametrize("start", [0, 7])
def test_laws(start: int) -> None:
    check_stage(Enumerate(start), lambda xs: list(enumerate(xs, start)), st.sampled_from("abc"), examples=15)


def test_refuses_a_negative_start() -> None:
    with pytest.raises(ValueError, match=r"^enumerate: start must be >= 0, got -1$"):
        Stream.range(3).enumerate(-1)


def test_refuses_what_is_no_number() -> None:
    with pytest.raises(TypeError, match=r"^enumerate: start must be a whole number, got 0.5$"):
        Stream.range(3).enumerate(0.5)  # type: ignore[arg-type]
