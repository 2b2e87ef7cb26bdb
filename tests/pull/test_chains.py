"""What is joined does what its parts do: a fixed share of all chains of up to three modules, over all kinds of sources.

`python -m tests.pull.chains` runs all of them.
"""

from __future__ import annotations

import itertools

import pytest

from penstock import pull
from tests.pull.chains import CASES, CATALOGUE, chains, differs
from tests.pull.parts import values_of

SHARE = 41
"""One of so many chains is run here, the same ones each time; all modules and all cases are among them."""


def test_the_law_is_about_sixty_thousand_chains():
    assert sum(len(CATALOGUE) ** length for length in (1, 2, 3)) > 60_000


@pytest.mark.parametrize("name", CATALOGUE)
def test_a_module_by_itself_does_what_it_does_between_plain_functions(name):
    assert [found for source, plan in CASES if (found := differs((name,), source, plan))] == []


@pytest.mark.parametrize("first", CATALOGUE)
def test_two_modules_joined_do_what_they_do_apart(first):
    """Each pair in one case of each kind of source; which of the plans is up to its number."""
    pairs = [(first, second) for second in CATALOGUE]
    found = [
        differs(names, *case)
        for number, names in enumerate(pairs, start=len(first))
        for case in itertools.islice(CASES, number % 6, None, 6)
    ]
    assert [each for each in found if each is not None] == []


@pytest.mark.slow
def test_three_modules_joined_do_what_they_do_apart():
    found = [
        differs(names, *CASES[number // SHARE % len(CASES)])
        for number, names in enumerate(chains(3))
        if len(names) == 3 and not number % SHARE
    ]
    assert len(found) > 2_000
    assert [each for each in found if each is not None] == []


def test_take_stops_where_it_stands_whatever_follows_drops():
    assert values_of(pull.values([1, 2, 3, 4, 5, 6]), pull.take(3), pull.filter(lambda n: n % 2 == 0)) == [2]
    assert values_of(pull.count(), pull.take(3), pull.filter(lambda n: False)) == []
    assert values_of(pull.count(), pull.take_while(lambda n: n < 3, last=True), pull.filter(lambda n: n < 2)) == [0, 1]


def test_steps_that_are_put_on_one_by_one_are_joined_too():
    hooks: list[int] = []
    source = pull.pull(lambda abort, answer=None: answer(True), pull.through(None, lambda error: hooks.append(1)))
    assert values_of(source | pull.through(None, lambda error: hooks.append(2)) | pull.map(str)) == []
    assert hooks == [1, 2]
