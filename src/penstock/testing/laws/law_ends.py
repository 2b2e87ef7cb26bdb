"""law_ends: ends need no demand, come with the last element, and come behind what was produced before them."""

from __future__ import annotations

from penstock.testing.laws.case import Case
from penstock.testing.laws.ways import Seen, Way, ask
from penstock.testing.signals import VerificationError


def an_end_needs_no_demand(case: Case) -> None:
    """Tell an end that has nothing before it at once, and one behind the last requested element with it."""
    expected, promise = case.expected, case.promise
    if not promise.tells:
        return
    if not case.items:
        for error in (None, case.failure):
            first = expected.of([]) if error is None else expected.produced([])
            if error is not None and callable(promise.fails):
                first = promise.fails([])
            elif error is not None and not case.passes_failures:
                continue
            upstream = case.form.ended(error)
            if upstream is not None and not first:
                what = "upstream is empty" if error is None else "upstream has failed"
                probe = case.probe(case.make(upstream))
                case.ended(probe, f"{what} and nothing is requested: expected the end")
                if promise.fails is True and probe.error is not error:
                    raise case.broken(f"{what}: expected {error!r}, got {probe.error!r}")
        return
    produced = expected.produced(case.items)
    told = case.form.knows and case.form.counted and promise.knows  # a list fails only when it is read on
    if told and produced and case.passes_failures and expected.needed(case.items, len(produced)) == len(case.items):
        probe = case.probe(case.over(case.upstream(case.failure)), len(produced))
        case.ended(probe, f"{len(produced)} were requested and upstream failed behind the last: expected the failure")


def the_end_comes_with_the_last_element(case: Case) -> None:
    """Complete when exactly as many as there are have been requested, if upstream knows its last element."""
    expected, promise = case.expected, case.promise
    results = expected.of(case.items)
    last = expected.needed(case.items, len(results))
    early = promise.knows and expected.settled(case.items[:last])
    seen = case.form.knows and promise.knows and last == len(case.items) and (last > 0 or promise.tells)
    # What the end itself has brought shows that it came.
    late = promise.knows and promise.runs == 1 and len(expected.produced(case.items)) < len(results)
    if not results or not (early or seen or late):
        return
    probe = case.probe(case.over(case.upstream()), len(results))
    case.ended(probe, f"{len(results)} of {len(results)} were requested: expected completion with the last of them")
    probe = case.probe(case.over(case.upstream()))
    try:
        for _ in results:
            ask(probe, 1)
    except VerificationError as error:
        probe.cancel()
        raise case.broken(f"requested one by one: {error}") from None
    case.ended(probe, f"{len(results)} of {len(results)} were requested one by one: expected completion")


def agrees_however_it_is_taken(case: Case) -> None:
    """Give what the model gives on every way of taking the elements."""
    for way in Way:
        results = case.expected.of(case.items)
        seen = way.take(case.over(case.upstream()), case.session)
        _sound(case, way, seen)
        if seen.error is not None:
            raise case.broken(f"taken {way.value} expected {results!r}, got {seen.elements!r} and {seen.error!r}")
        _same(case, way, seen, results)


def a_failure_comes_behind_what_was_produced(case: Case) -> None:
    """Deliver what was produced before a failure of upstream, then the failure, on every way of taking the elements."""
    promise, expected = case.promise, case.expected
    if promise.fails is False:
        return
    for way in Way:
        error = case.failure
        seen = way.take(case.over(case.upstream(error)), case.session)
        _sound(case, way, seen)
        if callable(promise.fails) or expected.settled(case.items):
            results = promise.fails(list(case.items)) if callable(promise.fails) else expected.of(case.items)
            if seen.error is not None:
                raise case.broken(f"and a failure, taken {way.value}, expected completion, got {seen.error!r}")
            _same(case, way, seen, results)
            continue
        results = expected.produced(case.items)
        if promise.overtakes:
            if not expected.among(seen.elements, expected.of(case.items)):
                raise case.broken(f"and a failure, taken {way.value}, got {seen.elements!r}")
        elif way.first_only and results:
            _same(case, way, seen, results)
            continue
        else:
            _same(case, way, seen, results)
        if seen.error is not error and not (way.first_only and seen.elements):
            raise case.broken(f"and a failure, taken {way.value}, expected {error!r}, got {seen.error!r}")


def _sound(case: Case, way: Way, seen: Seen) -> None:
    if seen.stuck:
        raise case.broken(f"taken {way.value}: {seen.stuck}")
    if seen.breaches:
        raise case.broken(f"taken {way.value}: {seen.breaches[0]}")


def _same(case: Case, way: Way, seen: Seen, results: list[object]) -> None:
    if way.first_only:
        right = len(seen.elements) == min(1, len(results)) and case.expected.among(seen.elements, results)
    else:
        right = case.expected.same(seen.elements, results)
    if not right:
        raise case.broken(f"taken {way.value} expected {results!r}, got {seen.elements!r}")
