"""law_reads: nothing is read before the first request, and no more than the results need and the operator states."""

from __future__ import annotations

from penstock.engine.words.demand import UNBOUNDED
from penstock.testing.laws.case import Case
from penstock.testing.laws.ways import ask
from penstock.testing.signals import VerificationError


def reads_no_more_than_it_states(case: Case) -> None:
    """Read nothing before a request, and then what the results need."""
    if not case.form.counted or case.promise.eager:
        return
    upstream = case.upstream()
    probe = case.probe(case.over(upstream))
    probe.cancel()
    case.let_go(upstream, "a cancel before the first request")
    if upstream.taken or upstream.requested:
        read = f"{upstream.requested} elements were asked for and {upstream.taken} read"
        raise case.broken(f"{read} before the first request")
    count = len(case.expected.of(case.items))
    for size in range(1, count + 1):
        _reads(case, [size])
        _reads(case, [1] * size)


def _reads(case: Case, sizes: list[int]) -> None:
    """Request by these sizes, then look at what was read."""
    upstream = case.upstream()
    probe = case.probe(case.over(upstream))
    try:
        for size in sizes:
            if probe.ended:
                break
            ask(probe, size)
    except VerificationError as error:
        probe.cancel()
        raise case.broken(f"requested by {sizes}: {error}") from None
    probe.cancel()
    case.let_go(upstream, "a cancel")
    needed = case.expected.needed(case.items, len(probe.elements))
    if not case.promise.ordered:  # another stream could have given them, and did not
        needed = max(needed, len(probe.elements))
    _bounded(case, sizes, "read", upstream.taken, needed)
    _bounded(
        case, sizes, "asked for", upstream.requested, max(needed, case.expected.needed_at_most(case.items, sum(sizes)))
    )


def _bounded(case: Case, sizes: list[int], what: str, read: int, needed: int) -> None:
    on_their_way = 1 if case.promise.reads is None else case.promise.reads(max(sizes))
    bound = max(needed, needed - 1 + on_their_way) * case.promise.runs + case.promise.ahead + case.form.ahead
    if read > min(bound, UNBOUNDED):
        raise case.broken(f"{sizes} were requested and {read} elements {what}; {bound} are needed or stated")
