"""catch makes a good end of an error, and abortable ends a stream from outside."""

from __future__ import annotations

import pytest

from penstock import pull
from penstock.pull.modules import switching
from tests.pull.parts import Asker, Upstream, collected, raising, refuses, values_of

ERROR = ValueError("bad")


def failing():
    yield 1
    raise ERROR


def test_catch_makes_a_good_end_of_an_error():
    assert values_of(pull.values(failing()), pull.catch()) == [1]


def test_catch_gives_a_last_value_first():
    assert values_of(pull.values(failing()), pull.catch(str)) == [1, "bad"]
    assert values_of(pull.values(failing()), pull.catch(lambda error: None)) == [1]
    assert values_of(pull.values(failing()), pull.catch(lambda error: 0)) == [1, 0]


def test_catch_may_pass_the_error_on_or_put_another_in_its_place():
    other = OSError("other")

    def again(error):
        raise error

    assert collected(pull.values(failing()), pull.catch(again)) == (ERROR, [1])
    assert collected(pull.values(failing()), pull.catch(raising(other))) == (other, [1])


def test_catch_leaves_a_good_end_and_an_abort_alone():
    assert values_of(pull.values([1]), pull.catch(raising(OSError("never")))) == [1]
    told = []
    asker = Asker(pull.pull(pull.values([1], told.append), pull.catch(raising(OSError("never"))))).abort(ERROR)
    assert (asker.ends, told) == ([ERROR], [ERROR])


def test_catch_asks_no_more_after_an_error():
    upstream = Upstream()
    asker = Asker(pull.pull(upstream, pull.catch(str))).ask(3)
    upstream.end(ERROR)
    assert asker.answers == [(None, "bad"), (True, None), (True, None)]
    assert (upstream.waiting, upstream.aborts) == ([], [])


# abortable


@pytest.mark.parametrize("error", [None, ERROR])
def test_abortable_ends_who_waits_and_aborts_upstream(error):
    upstream, told = Upstream(), []
    switch = pull.abortable(told.append)
    asker = Asker(pull.pull(upstream, switch)).ask(2)
    switch.abort(error)
    end = True if error is None else error
    assert (upstream.aborts, told, asker.answers) == ([end], [error], [])
    upstream.confirm(end)
    assert asker.answers == [(end, None)] * 2
    switch.abort(OSError("again"))
    assert asker.ask().ends == [end] * 3
    assert told == [error]


def test_abortable_may_be_switched_off_before_it_is_wired_and_asks_nothing_then():
    upstream, switch = Upstream(), pull.abortable()
    switch.abort()
    source = pull.pull(upstream, switch)
    assert upstream.aborts == []
    asker = Asker(source).ask()
    assert upstream.aborts == [True]
    upstream.confirm()
    assert asker.ends == [True]


def test_abortable_passes_an_abort_from_below_on():
    upstream, told = Upstream(), []
    switch = pull.abortable(told.append)
    asker = Asker(pull.pull(upstream, switch)).abort(ERROR)
    assert (upstream.aborts, told) == ([ERROR], [ERROR])
    switch.abort()
    upstream.confirm(ERROR)
    assert (upstream.aborts, asker.ends) == ([ERROR], [ERROR])


def test_abortable_does_nothing_after_the_end():
    told = []
    switch = pull.abortable(told.append)
    assert values_of(pull.values([1]), switch) == [1]
    switch.abort(ERROR)
    assert told == [None]


def test_abortable_is_wired_once():
    switch = pull.abortable()
    switch(pull.empty())
    with refuses(pull.PullError, "property B15: abortable reads from a source already; make one for each pipeline"):
        switch(pull.empty())


def test_refuses_what_cannot_be_called():
    with refuses(TypeError, "catch: fn must be callable, got 5"):
        pull.catch(5)
    with refuses(TypeError, "abortable: on_end must be callable, got 5"):
        pull.abortable(5)


def test_an_abort_that_comes_while_it_is_wired_is_not_lost(monkeypatch):
    switch, wired, told = pull.abortable(), switching._Switched, []

    def wired_meanwhile(*arguments):
        made = wired(*arguments)
        switch.abort(ERROR)
        return made

    monkeypatch.setattr(switching, "_Switched", wired_meanwhile)
    pull.pull(pull.pushable(), switch, pull.drain(None, told.append))
    assert told == [ERROR]
