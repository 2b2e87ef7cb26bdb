"""status: the exit statuses of the `penstock` command."""

from __future__ import annotations

WELL, FAILED, UNUSABLE, LEFT = 0, 1, 2, 141
"""All is well; something was found wrong, or a pipeline failed; the command could not be carried out; who read its
output has left, for which shells have this number (128 and SIGPIPE)."""
