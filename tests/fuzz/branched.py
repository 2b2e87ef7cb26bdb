"""branched: random chains as the branches of one run: each gives what it gives by itself."""

from __future__ import annotations

from penstock import NotCarriedError, Sink, branch, flow
from tests.fuzz import paths
from tests.fuzz.carried import ENOUGH, WIDE, CarriedSite, own_sources, stood_still
from tests.fuzz.check import UNBOUNDED_PULLS, DifferenceError, plain
from tests.fuzz.grammar import Chain, Grammar, Step, names
from tests.fuzz.models import Failure, Machine, UndeterminedError, World, open_lanes
from tests.fuzz.paths import RunPath, Site

AGAIN = {"cache", "partition_both", "partition_first", "partition_second", "repeat", "replay", "retry", "share"}
"""What subscribes to the stream more than once, in whose one run a branch takes part."""


def branches(g: Grammar) -> tuple[Chain, list[tuple[Step, ...]]]:
    """Draw a stream and what two or three branches do with it."""
    source = g.source()
    before = [step for _ in g.many(2, 2) for step in g.step(1)]
    behind = [tuple(step for _ in g.many(4, 3) for step in g.step(1)) for _ in range(2 + g.below(2))]
    return Chain(source, tuple(before)), behind


def check_branches(chain: Chain, behind: list[tuple[Step, ...]], path: RunPath, *, told: bool) -> bool:
    """Run the branches; raise DifferenceError, or return whether their results were known.

    Args:
        chain: The stream.
        behind: The steps of each branch.
        path: The kinds of the sources.
        told: Whether the sources of the stream are told what is done.
    """
    wholes = [Chain(chain.source, (*chain.steps, *steps)) for steps in behind]
    used = set().union(*map(names, wholes))
    if used & AGAIN:
        return False
    try:
        models = [_model(whole, path) for whole in wholes]
    except UndeterminedError:
        return False
    site = CarriedSite(path, own_sources(chain)) if told else Site(path)
    stream = site.stream(chain)
    ends = [flow(lambda some, steps=steps: site.applied(some, steps)) | Sink.to_list() for steps in behind]
    try:
        run = (stream | branch(*ends)).run()
    except NotCarriedError:
        return False
    narrow = told and path.window < WIDE
    try:
        found, error = run.wait(1.0 if narrow else paths.PATIENCE), None
    except TimeoutError:
        run.cancel()
        if narrow:
            return False
        raise DifferenceError("hangs", "the branches gave no result") from None
    except Exception as failure:
        found, error = (), failure
    if stood_still(error) and path.window < WIDE:
        return True
    failures = [model.end.error for model in models if isinstance(model.end, Failure)]
    if bool(failures) != (error is not None):
        raise DifferenceError("ends as its model", f"expected {failures}, got {error!r} and {found}")
    wanted = [model.elements for model in models]
    if error is None and plain(list(found)) != plain(wanted):
        raise DifferenceError("agrees with its model", f"expected {wanted}, got {found}")
    if isinstance(site, CarriedSite) and error is None:
        site.check(all_told=not used & ENOUGH)
    return True


def _model(chain: Chain, path: RunPath) -> Machine:
    if open_lanes(World(path), chain) is not None:
        raise UndeterminedError("the order is open")
    made = Machine(World(path), chain)
    made.pull(UNBOUNDED_PULLS)
    return made


__all__ = ["branches", "check_branches"]
