"""planned: what the kit itself raises into a subject, and why a verification cannot be run."""

from __future__ import annotations


class PlannedFailure(Exception):
    """The failure that a trial was made to have."""


class NotRun(Exception):
    """The reason why a verification could not be run: its factory does not make what is to be verified."""
