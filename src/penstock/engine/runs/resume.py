"""resume: what follows a failure that an operator is meant for."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from typing import Any

from penstock.engine.grounds.sequence import Following
from penstock.engine.runs.given import connect_to
from penstock.engine.runs.wiring import refuse
from penstock.engine.weaving.blame import blamed, caused_by, operator_name
from penstock.engine.weaving.handled_errors import When, caught
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint

Replace = Callable[[Exception], object]


def replaced(
    step: Joint[Any, Any], when: When | None, replace: Replace, fn: object, error: Exception
) -> Following | Exception:
    """Return what `replace` gives for an error that is meant, or the error; `fn` is whom to blame if it raises."""
    meant, error = caught(step, when, error)
    return Following(partial(_connect, step, replace, fn, error), last=True) if meant else error


def _connect(step: Joint[Any, Any], replace: Replace, fn: object, error: Exception, leg: Subscriber[Any]) -> None:
    try:
        connect_to(operator_name(step), replace(error), leg)
    except Exception as failure:  # noqa: BLE001  rule 1.4
        refuse(leg, error if failure is error else blamed(caused_by(failure, error), step, fn))
