"""arguments: what the commands of `penstock verify` share: limits, numbers, and names to import."""

from __future__ import annotations

import argparse
import importlib
import inspect
from collections.abc import Callable
from typing import Any

from penstock.tck.outcome import Limits

STDOUT = "-"
"""What stands for the standard output in place of the name of a file."""


class Unusable(Exception):
    """The error of unusable arguments of a command."""


def settle_files(given: argparse.Namespace) -> None:
    """See that there is a factory: one that follows `--json` or `--junit` looks like the name of a file."""
    for option in ("json", "junit"):
        named = getattr(given, option)
        if given.factory is None and named is not None and ":" in named:
            given.factory = named
            setattr(given, option, STDOUT)
    if given.factory is None:
        raise Unusable("say what to verify, as package.module:factory")
    if given.json == given.junit == STDOUT:
        raise Unusable("--json and --junit cannot both be printed: name a file for one of them")


def add_shared(parser: argparse.ArgumentParser, takes: str) -> None:
    """Add what every verification takes."""
    add, limits = parser.add_argument, Limits()
    add("factory", nargs="?", metavar="package.module:factory", help=takes)
    add(
        "--json",
        nargs="?",
        const=STDOUT,
        metavar="FILE",
        help="write the report as JSON, to the file or in place of it",
    )
    add("--junit", nargs="?", const=STDOUT, metavar="FILE", help="write it as JUnit XML, to the file or in place of it")
    add("--elements", type=whole(1), metavar="N", default=limits.elements, help="elements of the longest streams")
    add("--timeout", type=_seconds, metavar="S", default=limits.timeout, help="patience for what must come")
    add("--quiet", type=_seconds, metavar="S", default=limits.quiet, help="how long nothing must come")
    add("--depth", type=whole(1), metavar="N", default=limits.depth, help="bound of recursion (rule 3.3)")
    add("--settle", metavar="NAME", help="function that runs its scheduler dry, in place of waiting for quiet")


def limits_of(given: argparse.Namespace) -> Limits:
    """Return the limits that were given."""
    return Limits(given.elements, given.timeout, given.quiet, given.depth)


def whole(least: int) -> Callable[[str], int]:
    """Make a reader of whole numbers."""

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


def factory_of(name: str, kind: str, takes: str, *arguments: Any) -> Any:
    """Return the callable of that name, which must be callable with such arguments."""
    found = _load(name)
    if kind == "processor" and callable(getattr(found, "processor", None)):
        return found  # a Flow, which makes processors by itself
    try:
        inspect.signature(found).bind(*arguments)
    except TypeError as error:
        raise Unusable(f"a {kind} factory takes {takes}, but {name} cannot be called so: {error}") from error
    except ValueError:
        pass  # some builtins tell no signature
    return found


def optional(name: str | None) -> Any:
    """Import what a name stands for, if there is one."""
    return None if name is None else _load(name)


def _load(name: str) -> Any:
    """Import what `package.module:attribute` names."""
    module, colon, path = name.partition(":")
    if not (module and colon and path):
        raise Unusable(f"a name must be like package.module:factory, got {name!r}")
    try:
        found: Any = importlib.import_module(module)
    except Exception as error:
        cure = f"; a module is named without .py: {module.removesuffix('.py')}:{path}" if module.endswith(".py") else ""
        raise Unusable(f"importing {module} failed: {type(error).__name__}: {error}{cure}") from error
    for part in path.split("."):
        if not hasattr(found, part):
            raise Unusable(f"{module} has no {path}")
        found = getattr(found, part)
    if not callable(found):
        raise Unusable(f"{name} must be a function, got {found!r}")
    return found
