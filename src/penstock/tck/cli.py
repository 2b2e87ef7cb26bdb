"""cli: `penstock verify`, which holds the rules against something importable and prints the matrix."""

from __future__ import annotations

import argparse
import importlib
import inspect
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.tck.contract import DIALECTS
from penstock.tck.outcome import Limits, Report
from penstock.tck.report import render

Verify = Callable[[argparse.Namespace], Report]


class Unusable(Exception):
    """Say what is wrong with the arguments of a command."""


def add_verify(commands: Any) -> None:
    """Add the command `verify` to the subparsers of a parser."""
    verify = commands.add_parser("verify", help="verify a publisher or its like, or a module of pull-stream")
    kinds = verify.add_subparsers(dest="kind", required=True, metavar="publisher|subscriber|processor|pull-...")
    _add_publisher(kinds.add_parser("publisher", help="verify what a factory of publishers makes"))
    _add_subscriber(kinds.add_parser("subscriber", help="verify what a factory of subscribers makes"))
    _add_processor(kinds.add_parser("processor", help="verify what a factory of processors makes"))
    _add_pull_source(kinds.add_parser("pull-source", help="verify what a factory of pull-stream sources makes"))
    _add_pull_through(kinds.add_parser("pull-through", help="verify what a factory of pull-stream throughs makes"))
    _add_pull_sink(kinds.add_parser("pull-sink", help="verify what a factory of pull-stream sinks makes"))


def run(arguments: argparse.Namespace) -> int:
    """Run the verification that was asked for, print what it found, and return the exit status."""
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # an installed command does not look where it is called
    logging.getLogger().addHandler(logging.NullHandler())  # the kit provokes what subjects log
    verify: Verify = arguments.verify
    try:
        report = verify(arguments)
    except Unusable as error:
        print(f"penstock verify: {error}", file=sys.stderr)
        return 2
    print(render(report))
    return 0 if report.ok else 1


def _add_publisher(parser: argparse.ArgumentParser) -> None:
    _add_shared(parser, "takes the number of elements, None for endless, and returns a publisher")
    add = parser.add_argument
    add("--failing", metavar="NAME", help="factory of a publisher that fails, after the number of elements it takes")
    add("--over", metavar="NAME", help="function that puts the publisher over an iterable")
    add("--closes", metavar="NAME", help="function that tells how often the source was closed (rule 3.14)")
    add("--closes-source", action="store_true", help="claims to close the iterator that --over gives it (rule 3.14)")
    add("--dialect", choices=sorted(DIALECTS), default="jvm", help="text whose shapes and numbers apply")
    add("--unicast", action="store_true", help="serves one subscriber and refuses the next")
    add("--asynchronous", action="store_true", help="claims that request never runs the subscriber (rule 3.4)")
    add("--max-elements", type=_count(0), metavar="N", help="most elements it can have; it is never made endless")
    add("--min-elements", type=_count(0), metavar="N", default=0, help="fewest elements it can have")
    add("--never-ends", action="store_true", help="cannot end by itself")
    parser.set_defaults(verify=_verify_publisher)


def _verify_publisher(given: argparse.Namespace) -> Report:
    from penstock.tck.publisher import verify_publisher  # noqa: PLC0415  only what is asked for is loaded

    closes = _optional(given.closes)
    over = _optional(given.over)
    if given.closes_source and over is None:
        raise Unusable("--closes-source needs --over")
    return verify_publisher(
        _factory(given.factory, "publisher", "the number of elements", 3),
        failing=_optional(given.failing),
        over=over,
        limits=_limits(given),
        dialect=given.dialect,
        unicast=given.unicast,
        asynchronous=given.asynchronous,
        closes=closes or given.closes_source,
        max_elements=given.max_elements,
        min_elements=given.min_elements,
        finite=not given.never_ends,
        settle=_optional(given.settle),
        subject=f"publisher {given.factory}",
    )


def _add_subscriber(parser: argparse.ArgumentParser) -> None:
    _add_shared(parser, "takes a probe (with --blackbox nothing) and returns a fresh subscriber")
    add = parser.add_argument
    add("--element", metavar="NAME", help="function that makes the element of the number it takes")
    add("--blackbox", action="store_true", help="look at it from outside only")
    add("--asynchronous", action="store_true", help="claims that its signals return while it works (rule 2.2)")
    add("--unordered", action="store_true", help="does not process elements in the order they came")
    add("--concurrent", action="store_true", help="its triggers may be called from any thread (rule 2.7)")
    add("--expects", type=_count(1), metavar="N", default=1, help="blackbox: it asks for at least so many elements")
    add("--trigger", metavar="NAME", help="blackbox: function that makes the subscriber it takes ask for one more")
    add("--stop", metavar="NAME", help="blackbox: function that makes the subscriber it takes want no more")
    parser.set_defaults(verify=_verify_subscriber)


def _verify_subscriber(given: argparse.Namespace) -> Report:
    from penstock.tck.subscriber import verify_subscriber, verify_subscriber_blackbox  # noqa: PLC0415

    shared: dict[str, Any] = {
        "element": _optional(given.element) or int,
        "limits": _limits(given),
        "settle": _optional(given.settle),
        "subject": f"subscriber {given.factory}",
    }
    if given.blackbox:
        return verify_subscriber_blackbox(
            _factory(given.factory, "subscriber", "no argument"),
            expects=given.expects,
            trigger=_optional(given.trigger),
            stop=_optional(given.stop),
            **shared,
        )
    return verify_subscriber(
        _factory(given.factory, "subscriber", "a probe (or say --blackbox)", None),
        asynchronous=given.asynchronous,
        ordered=not given.unordered,
        concurrent=given.concurrent,
        **shared,
    )


def _add_processor(parser: argparse.ArgumentParser) -> None:
    _add_shared(parser, "takes nothing and returns a fresh processor that hands on what it gets")
    add = parser.add_argument
    add("--element", metavar="NAME", help="function that makes the element of the number it takes")
    add("--multicast", action="store_true", help="serves several subscribers")
    add("--recovers", action="store_true", help="claims to recover from failures of its upstream (rule 4.2)")
    add("--delays-errors", action="store_true", help="delivers what it holds before it passes a failure on")
    add("--keeps-upstream", action="store_true", help="does not cancel its upstream with its last subscriber")
    add("--serial", action="store_true", help="must not be asked on one thread while elements come on another")
    add("--asynchronous", action="store_true", help="claims that request and signals return while subscribers work")
    parser.set_defaults(verify=_verify_processor)


def _verify_processor(given: argparse.Namespace) -> Report:
    from penstock.tck.processor import verify_processor  # noqa: PLC0415

    return verify_processor(
        _factory(given.factory, "processor", "no argument"),
        element=_optional(given.element) or int,
        limits=_limits(given),
        multicast=given.multicast,
        recovers=given.recovers,
        delays_errors=given.delays_errors,
        cancels_upstream=not given.keeps_upstream,
        concurrent=not given.serial,
        asynchronous=given.asynchronous,
        settle=_optional(given.settle),
        subject=f"processor {given.factory}",
    )


def _add_pull_source(parser: argparse.ArgumentParser) -> None:
    _add_shared(parser, "takes the number of values, None for endless, and returns a source")
    add = parser.add_argument
    add("--failing", metavar="NAME", help="factory of a source that fails after the number of values it takes")
    add("--over", metavar="NAME", help="function that puts the source over an iterator")
    add("--stuck", metavar="NAME", help="factory of a source whose next value does not come")
    add("--combines", metavar="NAME", help="function that makes a source of the list of inputs it takes")
    add("--exactly", type=_count(0), metavar="N", help="always has so many values")
    add("--never-ends", action="store_true", help="cannot end by itself")
    parser.set_defaults(verify=_verify_pull_source)


def _verify_pull_source(given: argparse.Namespace) -> Report:
    from penstock.tck.pull_source import verify_pull_source  # noqa: PLC0415

    return verify_pull_source(
        _factory(given.factory, "source", "the number of values", None),
        failing=_optional(given.failing),
        over=_optional(given.over),
        stuck=_optional(given.stuck),
        combines=_optional(given.combines),
        exactly=given.exactly,
        finite=not given.never_ends,
        limits=_limits(given),
        settle=_optional(given.settle),
        subject=f"source {given.factory}",
    )


def _add_pull_through(parser: argparse.ArgumentParser) -> None:
    _add_shared(parser, "takes nothing and returns a fresh through")
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
    from penstock.tck.pull_through import verify_pull_through  # noqa: PLC0415

    claims = {
        name: _optional(getattr(given, name)) for name in ("stopping", "failing", "working", "hooked", "flattens")
    }
    return verify_pull_through(
        _factory(given.factory, "through", "no argument"),
        expects=_optional(given.expects) or list,
        eager=given.eager,
        recovers=given.recovers,
        limits=_limits(given),
        settle=_optional(given.settle),
        subject=f"through {given.factory}",
        **claims,
    )


def _add_pull_sink(parser: argparse.ArgumentParser) -> None:
    _add_shared(parser, "takes a function to be told the end and returns a fresh sink")
    add = parser.add_argument
    add("--stopping", metavar="NAME", help="factory of one that wants so many values: takes that function and a number")
    add("--failing", metavar="NAME", help="factory of one whose function raises: takes that function and the error")
    parser.set_defaults(verify=_verify_pull_sink)


def _verify_pull_sink(given: argparse.Namespace) -> Report:
    from penstock.tck.pull_sink import verify_pull_sink  # noqa: PLC0415

    return verify_pull_sink(
        _factory(given.factory, "sink", "a function to be told the end", print),
        stopping=_optional(given.stopping),
        failing=_optional(given.failing),
        limits=_limits(given),
        settle=_optional(given.settle),
        subject=f"sink {given.factory}",
    )


def _add_shared(parser: argparse.ArgumentParser, takes: str) -> None:
    add, limits = parser.add_argument, Limits()
    add("factory", metavar="package.module:factory", help=takes)
    add("--elements", type=_count(1), metavar="N", default=limits.elements, help="elements of the longest streams")
    add("--timeout", type=_seconds, metavar="S", default=limits.timeout, help="patience for what must come")
    add("--quiet", type=_seconds, metavar="S", default=limits.quiet, help="how long nothing must come")
    add("--depth", type=_count(1), metavar="N", default=limits.depth, help="bound of recursion (rule 3.3)")
    add("--settle", metavar="NAME", help="function that runs its scheduler dry, in place of waiting for quiet")


def _limits(given: argparse.Namespace) -> Limits:
    return Limits(given.elements, given.timeout, given.quiet, given.depth)


def _count(least: int) -> Callable[[str], int]:
    def number(text: str) -> int:
        if not text.isascii() or not text.isdigit() or int(text) < least:
            raise argparse.ArgumentTypeError(f"must be a whole number >= {least}, got {text!r}")
        return int(text)

    return number


def _seconds(text: str) -> float:
    try:
        seconds = float(text)
    except ValueError:
        seconds = 0.0
    if not 0 < seconds < float("inf"):
        raise argparse.ArgumentTypeError(f"must be a number of seconds > 0, got {text!r}")
    return seconds


def _factory(name: str, kind: str, takes: str, *arguments: Any) -> Any:
    """Return the callable of that name, which must be callable with such arguments."""
    found = _load(name)
    try:
        inspect.signature(found).bind(*arguments)
    except TypeError as error:
        raise Unusable(f"a {kind} factory takes {takes}, but {name} cannot be called so: {error}") from error
    except ValueError:
        pass  # some builtins tell no signature
    return found


def _optional(name: str | None) -> Any:
    return None if name is None else _load(name)


def _load(name: str) -> Any:
    """Import what `package.module:attribute` names."""
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        raise Unusable(f"a name must be like package.module:factory, got {name!r}")
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        raise Unusable(f"importing {module} failed: {type(error).__name__}: {error}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise Unusable(f"{module} has no {path}")
        found = getattr(found, part)
    if not callable(found):
        raise Unusable(f"{name} must be callable, got {found!r}")
    return found
