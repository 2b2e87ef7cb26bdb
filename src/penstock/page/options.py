"""options: the live page on the command line: `--page`, and `--open` for a browser with it."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from threading import Event

from penstock.errors import PenstockError


class PageNotServedError(PenstockError):
    """The error that a page was asked for and cannot be served, with the reason."""


def add_page(command: argparse.ArgumentParser) -> None:
    """Add the options to a command."""
    command.add_argument("--page", action="store_true", help="serve a live page of the run on loopback, for a browser")
    command.add_argument("--open", action="store_true", help="open the live page in a browser; implies --page")


@contextmanager
def paged(arguments: argparse.Namespace) -> Iterator[None]:
    """Serve a page of what runs inside the block, if it is asked for; on a terminal it stays until Ctrl-C."""
    if not (arguments.page or arguments.open):
        yield
        return
    from penstock.page.pages import Page  # noqa: PLC0415  most runs have no page

    try:
        page = Page(browser=arguments.open)
    except ImportError as error:
        raise PageNotServedError(str(error)) from error
    with page:
        yield
        if sys.stderr.isatty():
            page.look()
            try:
                print("penstock run: it has ended; the page stays until Ctrl-C", file=sys.stderr)
                Event().wait()
            except KeyboardInterrupt:
                print(file=sys.stderr)
