"""status: the exit statuses of the `penstock` command."""

from __future__ import annotations

WELL, FAILED, UNUSABLE = 0, 1, 2
"""All is well; something was found wrong, or a pipeline failed; the command could not be carried out."""
