"""amounts: trials of how demand adds up: in large amounts, from inside signals, past what can be counted.

Programs keep demand in words of 32 or 64 bits, in flags and in levels. Each of these holds as long as little is asked
for at a time, so these trials ask for much, in several goes, and from wherever a subscriber may (rules 3.8, 3.17).
"""

from __future__ import annotations

from itertools import cycle

from penstock.spec.shown import shown
from penstock.tck.elements import alike
from penstock.tck.environment import NotApplicable
from penstock.tck.probe import UNBOUNDED, TrialProbe
from penstock.tck.publisher.case import PublisherCase
from penstock.tck.publisher.trials import publisher_trials

_SOME = 5  # elements to be seen: more than a demand that was cut to fewer bits leaves
_TWELVE = 12
_OFTEN = 300
_LARGE = (2**31 - 1, 2**31, 2**32, 2**32 + 1, 2**33 + 2, 2**53 + 1, 2**62, 2**63 - 2)
_SUMS = (
    (2**31 - 1, 3),
    (2**32 - 1, 3),
    (2**62, 2**62, 3),
    (UNBOUNDED - 1, 3),
    (UNBOUNDED, 1),
    (UNBOUNDED, UNBOUNDED, 3),
    (1, UNBOUNDED),
    (2, UNBOUNDED, 1),
)


@publisher_trials.add("3.8")
def one_request_for_many(case: PublisherCase) -> None:
    """Ask for all the elements of the limits at once: every one of them comes."""
    publisher, count = case.running(case.environment.limits.elements)
    probe = case.subscribe(publisher)
    probe.request(count)
    case.environment.comes(lambda: len(probe.elements) >= count or probe.ended)
    got = len(probe.elements)
    case.environment.check(got >= count, f"request({count}) brought {got} elements")


@publisher_trials.add("3.8")
def requests_inside_signals_add_up(case: PublisherCase) -> None:
    """Ask for several elements inside on_next and on_subscribe, while others are owed: all that was asked for comes."""
    case.reentry_works()
    _asks_inside_on_next(case)
    _asks_often_inside_one_on_next(case)
    if case.subject.dialect != "cpp":
        _asks_inside_on_subscribe(case)


def _asks_inside_on_next(case: PublisherCase) -> None:
    publisher, count = case.running(40)
    amounts = cycle((3, 2, 1, 5, 1, 4))

    def ask(probe: TrialProbe, element: object) -> None:
        for _ in range(1 + len(probe.elements) % 2):  # now and then twice inside one on_next
            left = count - probe.requested
            if left > 0 and len(probe.elements) % 3:
                probe.request(min(next(amounts), left))

    probe = case.subscribe(publisher, on_next=ask)
    probe.request(min(3, count))
    _all_that_was_asked_for(case, probe, "on_next")


def _asks_often_inside_one_on_next(case: PublisherCase) -> None:
    """Ask more often than a queue of requests may hold before on_next returns."""
    publisher, count = case.running(_OFTEN)

    def ask(probe: TrialProbe, element: object) -> None:
        while probe.requested < count and len(probe.elements) == 1:
            probe.request(1)

    probe = case.subscribe(publisher, on_next=ask)
    case.environment.elsewhere(lambda: probe.request(1))
    if not case.environment.comes(lambda: len(probe.elements) >= count or probe.ended):
        stuck = probe.stuck_in()
        if stuck is not None:
            case.unmet(*stuck)
    _all_that_was_asked_for(case, probe, "on_next")


def _asks_inside_on_subscribe(case: PublisherCase) -> None:
    publisher, count = case.running(6)
    if count < 6:
        return

    def ask(probe: TrialProbe) -> None:
        for n in (2, 3, 1):
            probe.request(n)

    probe = case.subscribe(publisher, on_subscribe=ask)
    case.needs(lambda: bool(probe.elements), "3.2", "request inside on_subscribe was lost")
    _all_that_was_asked_for(case, probe, "on_subscribe")


def _all_that_was_asked_for(case: PublisherCase, probe: TrialProbe, where: str) -> None:
    case.environment.comes(lambda: len(probe.elements) >= probe.requested or probe.ended)
    got, wanted = len(probe.elements), probe.requested
    case.environment.check(got >= wanted, f"{wanted} elements were requested, some inside {where}, {got} came")


@publisher_trials.add("3.8")
def elements_are_additional(case: PublisherCase) -> None:
    """Ask for the same stream at once and bit by bit: a request brings the elements after those that came."""
    runs = [case.some(_TWELVE) for _ in range(3)]
    count = runs[0][1]
    first, again, sliced = (case.subscribe(publisher) for publisher, _ in runs)
    case.take(first, count)
    case.take(again, count)
    if not alike(first.elements[:count], again.elements[:count]):  # a clock goes on until it is asked, say
        raise NotApplicable("its elements differ from run to run")
    for n in (1, 2, 1, 3, 5):
        case.take(sliced, min(n, count - len(sliced.elements)))
    same = alike(sliced.elements[:count], first.elements[:count])
    if not same and case.differs(count):
        raise NotApplicable("its elements differ from run to run")
    case.environment.check(same, f"asked bit by bit it sent {shown(sliced.elements)}, at once {shown(first.elements)}")


@publisher_trials.add("3.17")
def large_demand(case: PublisherCase) -> None:
    """Request amounts around the words that demand may be kept in: elements come as for any other."""
    for n in _LARGE:
        _elements_come(case, n)


@publisher_trials.add("3.17")
def large_demand_adds_up(case: PublisherCase) -> None:
    """Request more inside on_next while very much is owed already: elements come all the same."""
    case.reentry_works()
    for amounts in _SUMS:
        _elements_come(case, *amounts)


def _elements_come(case: PublisherCase, first: int, *more: int) -> None:
    publisher, count = case.running(_SOME)
    if more and count < _SOME:
        raise NotApplicable(f"it has no more than {count} elements")

    def ask_and_stop(probe: TrialProbe, element: object) -> None:
        if len(probe.elements) == 1:
            for n in more:
                probe.request(n)
        if len(probe.elements) == count:
            probe.cancel()

    probe = case.subscribe(publisher, on_next=ask_and_stop)
    probe.request(first)
    case.environment.comes(lambda: len(probe.elements) >= count or probe.ended)
    calls = " and then ".join(f"request({n})" for n in (first, *more))
    error = probe.error
    case.environment.check(error is None, f"{calls} brought on_error({shown(error)})")
    case.environment.check(len(probe.elements) >= count, f"{calls} brought {len(probe.elements)} elements")
