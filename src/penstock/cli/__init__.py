"""cli: the `penstock` command, one module for each of its commands."""

from penstock.cli.command import main

__all__ = ["main"]
