"""checker names the property that a neighbour breaks, keeps that from the other one, and lets all else pass."""

from __future__ import annotations

import pytest

from penstock import pull
from tests.pull.parts import Asker, Upstream, refuses, values_of

ERROR = ValueError("bad")


def watched(source, *, strict=False):
    checker = pull.checker(strict=strict)
    return checker, Asker(checker(source))


def faults(checker):
    return [(fault.property_id, str(fault).partition(": ")[2]) for fault in checker.faults]


def test_what_keeps_the_protocol_passes():
    checker, asker = watched(pull.values([1, None]), strict=True)
    asker.ask(3)
    assert asker.answers == [(None, 1), (None, None), (True, None)]
    assert (checker.pending, checker.faults) == (0, [])
    checker.verify()


def test_it_stands_in_a_pipeline():
    checker = pull.checker(strict=True)
    assert values_of(pull.count(9), checker, pull.map(str), pull.take(2)) == ["0", "1"]
    checker.verify()


def test_a_request_that_was_never_answered_is_told_by_verify():
    checker, asker = watched(Upstream())
    asker.ask(2)
    assert checker.pending == 2
    with refuses(pull.PullError, "property B2: 2 requests were never answered, first request 1"):
        checker.verify()


# What a producer may do wrong: script, faults, answers that are passed on


def script(*moves):
    """Answer by a script: each move is made at one request, with all answer functions so far."""

    def source(abort, answer=None):
        answers.append(answer)
        steps.pop(0)(*answers)

    answers, steps = [], list(moves)
    return source


NOT_CALLABLE = TypeError("'NoneType' object is not callable")


def nothing(*answers):
    """Do not answer."""


PRODUCERS = {
    "answers twice": (
        [lambda a: [a(None, 1), a(None, 1)]],
        ["ask"],
        [("B2", "request 1 was answered twice")],
        [(None, 1)],
    ),
    "ends twice": (
        [lambda a: [a(True), a(ERROR)]],
        ["ask"],
        [("B2", "request 1 was answered twice")],
        [(True, None)],
    ),
    "pushes": (
        [lambda a: [a(None, 1), a(None, 2)]],
        ["ask"],
        [("B1", "the value 2 came by request 1, which was answered before")],
        [(None, 1)],
    ),
    "ends with a value": (
        [lambda a: [a(None, 1), a(True)]],
        ["ask"],
        [("B6", "request 1 was answered with a value and with an end")],
        [(None, 1)],
    ),
    "answers out of turn": (
        [nothing, lambda a, b: [b(None, 2), a(None, 1)]],
        ["ask", "ask"],
        [("B3", "request 2 was answered before request 1, which came first")],
        [(None, 1), (None, 2)],
    ),
    "gives a value after the end": (
        [lambda a: a(True), lambda a, b: b(None, 1)],
        ["ask", "ask"],
        [("B7", "request 2 was answered with the value 1 after the end")],
        [(True, None), (True, None)],
    ),
    "changes its end": (
        [lambda a: a(True), lambda a, b: b(ERROR)],
        ["ask", "ask"],
        [("B8", "request 2 was answered with ValueError('bad'), and the end was True")],
        [(True, None), (True, None)],
    ),
    "forgets its error": (
        [lambda a: a(ERROR), lambda a, b: b(True)],
        ["ask", "ask"],
        [("F1", "request 2 was answered with True, and the end was ValueError('bad')")],
        [(ERROR, None), (ERROR, None)],
    ),
    "forgets the error it confirmed": (
        [lambda a: a(ERROR), lambda a, b: b(True)],
        [ERROR, "ask"],
        [("F1", "request 2 was answered with True, and the end was ValueError('bad')")],
        [(ERROR, None), (ERROR, None)],
    ),
    "gives a value with an end": (
        [lambda a: a(True, 7)],
        ["ask"],
        [("B10", "request 1 was answered with True and with the value 7")],
        [(True, None)],
    ),
    "answers an abort with a value": (
        [lambda a: a(None, 1)],
        [True],
        [("A2", "request 1 was answered with the value 1, though it aborts")],
        [(True, None)],
    ),
    "answers an error with a value": (
        [lambda a: a(None, 1)],
        [ERROR],
        [("F2", "request 1 was answered with the value 1, though it aborts")],
        [(ERROR, None)],
    ),
    "answers an abort first": (
        [nothing, lambda a, b: [b(True), a(True)]],
        ["ask", True],
        [("A4", "request 2 was answered before request 1, which came first")],
        [(True, None), (True, None)],
    ),
    "answers an error first": (
        [nothing, lambda a, b: [b(ERROR), a(ERROR)]],
        ["ask", ERROR],
        [("F11", "request 2 was answered before request 1, which came first")],
        [(ERROR, None), (ERROR, None)],
    ),
    "gives a waiting ask a value after an abort": (
        [nothing, lambda a, b: [a(None, 1), b(True)]],
        ["ask", True],
        [("A4", "request 1 was answered with the value 1 after the abort")],
        [(True, None), (True, None)],
    ),
    "gives a waiting ask a value after an error": (
        [nothing, lambda a, b: [a(None, 1), b(True)]],
        ["ask", ERROR],
        [("F11", "request 1 was answered with the value 1 after the abort")],
        [(ERROR, None), (True, None)],
    ),
    "goes on after an abort": (
        [lambda a: a(True), lambda a, b: b(None, 1)],
        [True, "ask"],
        [("A5", "request 2 was answered with the value 1, though it came after the abort")],
        [(True, None), (True, None)],
    ),
    "goes on after an error": (
        [lambda a: a(True), lambda a, b: b(None, 1)],
        [ERROR, "ask"],
        [("F2", "request 2 was answered with the value 1, though it came after the abort")],
        [(True, None), (True, None)],
    ),
    "goes on after an abort without answer": (
        [nothing, lambda a, b: b(None, 1)],
        ["done", "ask"],
        [("A3", "request 2 was answered with the value 1, though it came after the abort")],
        [(True, None)],
    ),
    "takes a later error for the end": (
        [lambda a: a(True), lambda a, b: b(ERROR)],
        ["ask", ERROR],
        [("F4", "request 2 was answered with ValueError('bad'), and the end was True")],
        [(True, None), (True, None)],
    ),
    "raises": (
        [lambda a: raise_error()],
        ["ask"],
        [("F10", "read(None) raised ValueError('bad'); failures are answers, not exceptions")],
        [(ERROR, None)],
    ),
    "raises for want of an answer function": (
        [lambda a: a(True)],
        ["done"],
        [("A3", f"read(True) raised {NOT_CALLABLE!r}; failures are answers, not exceptions")],
        [],
    ),
}


def raise_error():
    raise ERROR


@pytest.mark.parametrize("name", PRODUCERS)
def test_a_producer_that_breaks_the_protocol_is_named_and_kept_from_the_consumer(name):
    moves, requests, wanted, passed = PRODUCERS[name]
    checker, asker = watched(script(*moves))
    for request in requests:
        if request == "ask":
            asker.ask()
        elif request == "done":
            asker.read(True)
        else:
            asker.abort(request)
    assert faults(checker) == wanted
    assert asker.answers == passed
    with pytest.raises(pull.PullError) as caught:
        checker.verify()
    assert caught.value is checker.faults[0]


ALLOWED = {
    "a failed close in the answer of an abort": ([nothing, lambda a, b: [a(True), b(ERROR)]], ["ask", True]),
    "done for an error": ([nothing, lambda a, b: [a(ERROR), b(True)]], ["ask", ERROR]),
    "the error for an error": ([nothing, lambda a, b: [a(True), b(ERROR)]], ["ask", ERROR]),
    "an end of its own for an error": ([lambda a: a(OSError("own"))], [ERROR]),
    "the same end for a late abort": ([lambda a: a(True), lambda a, b: b(True)], ["ask", ERROR]),
}


@pytest.mark.parametrize("name", ALLOWED)
def test_what_is_allowed_is_no_fault(name):
    moves, requests = ALLOWED[name]
    checker, asker = watched(script(*moves))
    for request in requests:
        asker.ask() if request == "ask" else asker.abort(request)
    assert checker.faults == []


# What a consumer may do wrong


def test_a_strict_checker_holds_the_consumer_to_more():
    for strict in (False, True):
        checker, asker = watched(pull.values([]), strict=strict)
        asker.ask(2).abort()
        found = [("A9", "request 2 asks after the end"), ("A7", "request 3 aborts what has ended already")]
        assert faults(checker) == (found if strict else [])
        checker, asker = watched(pull.values([1]), strict=strict)
        asker.abort().abort(ERROR).ask()
        found = [("A7", "request 2 aborts what has ended already"), ("A9", "request 3 asks after the end")]
        assert faults(checker) == (found if strict else [])


@pytest.mark.parametrize("end", [True, ERROR], ids=["done", "failed"])
def test_a_strict_checker_keeps_requests_after_the_end_from_the_producer(end):
    asked = []

    def producer(abort, answer=None):
        asked.append(abort)
        answer(end)

    checker, asker = watched(producer, strict=True)
    asker.ask().ask().abort(ERROR)
    asker.read(True)
    assert asked == [None]
    assert asker.answers == [(end, None)] * 3
    assert [fault.property_id for fault in checker.faults] == ["A9", "A7", "A7"]


def test_what_a_strict_checker_answers_itself_waits_for_what_was_asked_before():
    upstream = Upstream()
    checker, asker = watched(upstream, strict=True)
    asker.ask().abort().ask()
    assert asker.answers == []
    upstream.confirm()
    assert asker.answers == [(True, None)] * 3
    assert [fault.property_id for fault in checker.faults] == ["A9"]


def test_an_ask_without_an_answer_function_is_kept_from_the_producer():
    upstream = Upstream()
    checker, asker = watched(upstream)
    asker.read(None)
    assert faults(checker) == [("B6", "request 1 asks without an answer function")]
    assert upstream.waiting == []


def test_an_answer_function_that_raises_is_the_consumers_fault_and_kept_from_the_producer():
    checker = pull.checker()
    read = checker(pull.values([1]))

    def answer(end, value=None):
        raise ERROR

    read(None, answer)
    assert faults(checker) == [("F10", "the answer function of request 1 raised ValueError('bad')")]


def test_a_checker_is_used_at_one_place():
    checker = pull.checker()
    checker(pull.empty())
    with refuses(pull.PullError, "property B15: checker watches a source already; use one for each place"):
        checker(pull.empty())


@pytest.mark.parametrize("answered", [True, False])
@pytest.mark.parametrize("reason", [True, ERROR])
def test_a_source_is_not_blamed_for_an_abort_that_it_has_not_heard_of(reason, answered):
    heard, found = [], []

    def source(abort, answer=None):
        heard.append(abort)
        if answer is not None:
            answer(abort, None if abort is not None else len(heard))

    def ask_and_abort(end, value=None):
        found.append((end, value))
        for _ in range(2):
            read(None, lambda end, value=None: found.append((end, value)))
        read(reason, (lambda end, value=None: found.append((end, value))) if answered else None)

    checker = pull.checker()
    read = pull.pull(source, checker)
    read(None, ask_and_abort)
    assert found == [(None, 1)] + [(reason, None)] * (3 if answered else 2)
    assert heard == [None, reason]
    checker.verify()
