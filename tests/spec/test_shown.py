"""A thing of a subject is shown as it says, and else as what it is."""

from __future__ import annotations

import re

from penstock.spec.shown import shown


class Unspeakable:
    def __repr__(self) -> str:
        raise RuntimeError("cannot be shown")


PLAIN = r"<tests\.spec\.test_shown\.Unspeakable object at 0x[0-9a-f]+>"


def test_shows_what_repr_says() -> None:
    assert shown([1, "two"]) == "[1, 'two']"


def test_shows_the_class_of_what_does_not_say_what_it_is() -> None:
    assert re.fullmatch(PLAIN, shown(Unspeakable()))


def test_shows_what_it_can_of_a_list() -> None:
    assert re.fullmatch(rf"\[1, {PLAIN}\]", shown([1, Unspeakable()]))
