"""verify_pull: `penstock verify` for the modules of pull-stream."""

from __future__ import annotations

import argparse

from penstock.tck.cli.arguments import add_shared, factory_of, limits_of, optional, whole
from penstock.tck.outcome import Report


def add_pull_source(parser: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_shared(parser, "takes the number of values, None for endless, and returns a source")
    add = parser.add_argument
    add("--failing", metavar="NAME", help="factory of a source that fails after the number of values it takes")
    add("--over", metavar="NAME", help="function that puts the source over an iterator")
    add("--stuck", metavar="NAME", help="factory of a source whose next value does not come")
    add("--combines", metavar="NAME", help="function that makes a source of the list of inputs it takes")
    add("--exactly", type=whole(0), metavar="N", help="always has so many values")
    add("--never-ends", action="store_true", help="cannot end by itself")
    parser.set_defaults(verify=_verify_pull_source)


def _verify_pull_source(given: argparse.Namespace) -> Report:
    from penstock.tck.pull.source import verify_pull_source  # noqa: PLC0415

    return verify_pull_source(
        factory_of(given.factory, "source", "the number of values", None),
        failing=optional(given.failing),
        over=optional(given.over),
        stuck=optional(given.stuck),
        combines=optional(given.combines),
        exactly=given.exactly,
        finite=not given.never_ends,
        limits=limits_of(given),
        settle=optional(given.settle),
        subject=f"source {given.factory}",
    )


def add_pull_through(parser: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_shared(parser, "takes nothing and returns a fresh through")
    add = parser.add_argument
    add("--expects", metavar="NAME", help="function that tells what comes out for the list of values it takes")
    add("--eager", action="store_true", help="claims to read ahead once it was asked (property B5)")
    add("--recovers", action="store_true", help="claims to make a good end of an error (property F7)")
    add("--stopping", metavar="NAME", help="factory of one that lets as many values pass as it takes (property A8)")
    add("--failing", metavar="NAME", help="factory of one whose function raises the error it takes (property F5)")
    add("--working", metavar="NAME", help="factory of one that works by the function it takes (property A11)")
    add("--hooked", metavar="NAME", help="factory of one that tells its end to the function it takes (property A12)")
    add("--flattens", metavar="NAME", help="factory of one that gives the values of sources (property F12)")
    parser.set_defaults(verify=_verify_pull_through)


def _verify_pull_through(given: argparse.Namespace) -> Report:
    from penstock.tck.pull.through import verify_pull_through  # noqa: PLC0415

    claims = {name: optional(getattr(given, name)) for name in ("stopping", "failing", "working", "hooked", "flattens")}
    return verify_pull_through(
        factory_of(given.factory, "through", "no argument"),
        expects=optional(given.expects) or list,
        eager=given.eager,
        recovers=given.recovers,
        limits=limits_of(given),
        settle=optional(given.settle),
        subject=f"through {given.factory}",
        **claims,
    )


def add_pull_sink(parser: argparse.ArgumentParser) -> None:
    """Add its arguments."""
    add_shared(parser, "takes a function to be told the end and returns a fresh sink")
    add = parser.add_argument
    add("--stopping", metavar="NAME", help="factory of one that wants so many values: takes that function and a number")
    add("--failing", metavar="NAME", help="factory of one whose function raises: takes that function and the error")
    parser.set_defaults(verify=_verify_pull_sink)


def _verify_pull_sink(given: argparse.Namespace) -> Report:
    from penstock.tck.pull.sink import verify_pull_sink  # noqa: PLC0415

    return verify_pull_sink(
        factory_of(given.factory, "sink", "a function to be told the end", print),
        stopping=optional(given.stopping),
        failing=optional(given.failing),
        limits=limits_of(given),
        settle=optional(given.settle),
        subject=f"sink {given.factory}",
    )
