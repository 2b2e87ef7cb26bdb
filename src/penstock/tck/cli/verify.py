"""verify: `penstock verify`, which holds the rules against something importable and prints the matrix."""

from __future__ import annotations

import argparse
import logging
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from penstock.spec.rules.every import explain
from penstock.tck.cli.arguments import (
    STDOUT,
    Unusable,
    add_shared,
    factory_of,
    limits_of,
    optional,
    settle_files,
    whole,
)
from penstock.tck.cli.verify_pull import add_pull_sink, add_pull_source, add_pull_through
from penstock.tck.contract import DIALECTS
from penstock.tck.outcome import Report
from penstock.tck.report import render
from penstock.tck.report_formats import to_json, to_junit

_KINDS = "publisher|subscriber|processor|pull-..."
Verify = Callable[[argparse.Namespace], Report]


def add_verify(commands: Any) -> None:
    """Add the command `verify` to the subparsers of a parser."""
    verify = commands.add_parser("verify", help="verify a publisher or its like, or a module of pull-stream")
    verify.add_argument("--explain", metavar="RULE", help="say what a rule (1.3, 'C++ 3.8'), a property or a term is")
    kinds = verify.add_subparsers(dest="kind", metavar=_KINDS)
    verify.set_defaults(missing=verify.error)
    _add_publisher(kinds.add_parser("publisher", help="verify what a factory of publishers makes"))
    _add_subscriber(kinds.add_parser("subscriber", help="verify what a factory of subscribers makes"))
    _add_processor(kinds.add_parser("processor", help="verify what a factory of processors makes"))
    add_pull_source(kinds.add_parser("pull-source", help="verify what a factory of pull-stream sources makes"))
    add_pull_through(kinds.add_parser("pull-through", help="verify what a factory of pull-stream throughs makes"))
    add_pull_sink(kinds.add_parser("pull-sink", help="verify what a factory of pull-stream sinks makes"))


def run(arguments: argparse.Namespace) -> int:
    """Run the verification that was asked for, print what it found, and return the exit status."""
    if arguments.explain is not None:
        return _explain(arguments.explain)
    if arguments.kind is None:
        arguments.missing(f"the following arguments are required: {_KINDS}")
    here = str(Path.cwd())
    if here not in sys.path:
        sys.path.insert(0, here)  # an installed command does not look where it is called
    logging.getLogger().addHandler(logging.NullHandler())  # the kit provokes what subjects log
    verify: Verify = arguments.verify
    try:
        settle_files(arguments)
        report = verify(arguments)
        _hand_out(report, arguments)
    except Unusable as error:
        print(f"penstock verify: {error}", file=sys.stderr)
        return 2
    if report.not_run:
        print(f"penstock verify: {report.subject} was not run: {report.not_run}", file=sys.stderr)
        return 2
    return 0 if report.ok else 1


def _hand_out(report: Report, given: argparse.Namespace) -> None:
    """Write the report to the files that were named; print it, unless a format for programs is printed."""
    printed = [] if report.not_run else [render(report)]
    for file, form in ((given.json, to_json), (given.junit, to_junit)):
        if file == STDOUT:
            printed = [form(report)]
        elif file is not None:
            try:
                Path(file).write_text(form(report) + "\n", encoding="utf-8")
            except OSError as error:
                raise Unusable(f"{file} cannot be written: {error}") from error
    for text in printed:
        print(text)


def _explain(name: str) -> int:
    try:
        print(explain(name))
    except LookupError:
        known = "a rule like 1.3 or 'C++ 3.8', a property like B3 or a term like demand"
        print(f"penstock verify: --explain takes {known}, got {name!r}", file=sys.stderr)
        return 2
    return 0


def _add_publisher(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, "takes the number of elements, None for endless, and returns a publisher")
    add = parser.add_argument
    add("--failing", metavar="NAME", help="factory of a publisher that fails, after the number of elements it takes")
    add("--over", metavar="NAME", help="function that puts the publisher over an iterable")
    add("--closes", metavar="NAME", help="function that tells how often the source was closed (rule 3.14)")
    add("--closes-source", action="store_true", help="claims to close the iterator that --over gives it (rule 3.14)")
    add("--dialect", choices=sorted(DIALECTS), default="jvm", help="text whose shapes and numbers apply")
    add("--unicast", action="store_true", help="serves one subscriber and refuses the next")
    add("--asynchronous", action="store_true", help="claims that request never runs the subscriber (rule 3.4)")
    add("--max-elements", type=whole(0), metavar="N", help="most elements it can have; it is never made endless")
    add("--min-elements", type=whole(0), metavar="N", default=0, help="fewest elements it can have")
    add("--never-ends", action="store_true", help="cannot end by itself")
    parser.set_defaults(verify=_verify_publisher)


def _verify_publisher(given: argparse.Namespace) -> Report:
    from penstock.tck.publisher.verify import verify_publisher  # noqa: PLC0415  only what is asked for is loaded

    closes = optional(given.closes)
    over = optional(given.over)
    if given.closes_source and over is None:
        raise Unusable("--closes-source needs --over")
    return verify_publisher(
        factory_of(given.factory, "publisher", "the number of elements", 3),
        failing=optional(given.failing),
        over=over,
        limits=limits_of(given),
        dialect=given.dialect,
        unicast=given.unicast,
        asynchronous=given.asynchronous,
        closes=closes or given.closes_source,
        max_elements=given.max_elements,
        min_elements=given.min_elements,
        finite=not given.never_ends,
        settle=optional(given.settle),
        subject=f"publisher {given.factory}",
    )


def _add_subscriber(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, "takes a probe (with --blackbox nothing) and returns a fresh subscriber")
    add = parser.add_argument
    add("--element", metavar="NAME", help="function that makes the element of the number it takes")
    add("--blackbox", action="store_true", help="look at it from outside only")
    add("--asynchronous", action="store_true", help="claims that its signals return while it works (rule 2.2)")
    add("--unordered", action="store_true", help="does not process elements in the order they came")
    add("--concurrent", action="store_true", help="its triggers may be called from any thread (rule 2.7)")
    add("--expects", type=whole(1), metavar="N", default=1, help="blackbox: it asks for at least so many elements")
    add("--trigger", metavar="NAME", help="blackbox: function that makes the subscriber it takes ask for one more")
    add("--stop", metavar="NAME", help="blackbox: function that makes the subscriber it takes want no more")
    _add_dialect(parser)
    parser.set_defaults(verify=_verify_subscriber)


def _verify_subscriber(given: argparse.Namespace) -> Report:
    from penstock.tck.subscriber.verify import verify_subscriber, verify_subscriber_blackbox  # noqa: PLC0415

    shared: dict[str, Any] = {
        "element": optional(given.element) or int,
        "limits": limits_of(given),
        "settle": optional(given.settle),
        "subject": f"subscriber {given.factory}",
        "dialect": given.dialect,
        "attach": optional(given.attach),
    }
    if given.blackbox:
        return verify_subscriber_blackbox(
            factory_of(given.factory, "subscriber", "no argument"),
            expects=given.expects,
            trigger=optional(given.trigger),
            stop=optional(given.stop),
            **shared,
        )
    return verify_subscriber(
        factory_of(given.factory, "subscriber", "a probe (or say --blackbox)", None),
        asynchronous=given.asynchronous,
        ordered=not given.unordered,
        concurrent=given.concurrent,
        **shared,
    )


def _add_dialect(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--dialect", choices=sorted(DIALECTS), default="jvm", help="text whose shapes and numbers apply")
    add(
        "--attach", metavar="NAME", help="C++: function that hands a subscription to the subscriber, its first argument"
    )


def _add_processor(parser: argparse.ArgumentParser) -> None:
    add_shared(parser, "takes nothing and returns a fresh processor that hands on what it gets")
    add = parser.add_argument
    add("--element", metavar="NAME", help="function that makes the element of the number it takes")
    add("--multicast", action="store_true", help="serves several subscribers")
    add("--recovers", action="store_true", help="claims to recover from failures of its upstream (rule 4.2)")
    add("--delays-errors", action="store_true", help="delivers what it holds before it passes a failure on")
    add("--keeps-upstream", action="store_true", help="does not cancel its upstream with its last subscriber")
    add("--serial", action="store_true", help="must not be asked on one thread while elements come on another")
    add("--asynchronous", action="store_true", help="claims that request and signals return while subscribers work")
    _add_dialect(parser)
    parser.set_defaults(verify=_verify_processor)


def _verify_processor(given: argparse.Namespace) -> Report:
    from penstock.tck.processor.verify import verify_processor  # noqa: PLC0415

    return verify_processor(
        factory_of(given.factory, "processor", "no argument"),
        element=optional(given.element) or int,
        limits=limits_of(given),
        multicast=given.multicast,
        recovers=given.recovers,
        delays_errors=given.delays_errors,
        cancels_upstream=not given.keeps_upstream,
        concurrent=not given.serial,
        asynchronous=given.asynchronous,
        dialect=given.dialect,
        attach=optional(given.attach),
        settle=optional(given.settle),
        subject=f"processor {given.factory}",
    )
