"""verification: what every verification does around its trials.

It looks after the factories it is given: one that raises, or makes something else than a subject, says nothing about
any rule, so the verification is not run. It keeps to itself what the trials provoke: exceptions that they planted are
neither printed nor logged. It leaves objects that are older than the run out of its collections. And it tells which
threads the subject left running.
"""

from __future__ import annotations

import functools
import gc
import inspect
import logging
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import replace
from typing import Any, Final, ParamSpec

from penstock.spec.predicates import (
    PROCESSOR_METHODS,
    PUBLISHER_METHODS,
    SUBSCRIBER_METHODS,
    missing_methods,
)
from penstock.tck.outcome import Limits, Report
from penstock.tck.patience import Patience
from penstock.tck.planned import NotRun, PlannedFailure
from penstock.tck.probe import Runaway

P = ParamSpec("P")
Verify = Callable[P, Report]

_METHODS: Final = {
    "publisher": PUBLISHER_METHODS,
    "subscriber": SUBSCRIBER_METHODS,
    "processor": PROCESSOR_METHODS,
    "dotnet publisher": ("Subscribe",),
}
_OWN = "penstock"  # how the names of threads begin that belong to the kit, or that the engine keeps for all
_PATIENCE = 10  # times quiet, for threads that are about to end
_here = threading.local()


def verification(kind: str, *makers: str) -> Callable[[Verify[P]], Verify[P]]:
    """Return the decorator of a function that verifies what a factory of that kind, its first parameter, makes.

    `makers` names its other parameters that make subjects of that kind.
    """

    def decorated(verify: Verify[P]) -> Verify[P]:
        signature = inspect.signature(verify)
        first = next(iter(signature.parameters))

        @functools.wraps(verify)
        def verified(*args: P.args, **kwargs: P.kwargs) -> Report:
            if getattr(_here, "verifying", False):  # one side of a processor: it is looked after already
                return verify(*args, **kwargs)
            bound = signature.bind(*args, **kwargs)
            given = bound.arguments
            dialect = given.get("dialect", "jvm")
            for name in (first, *makers):
                if given.get(name) is not None:
                    given[name] = _looked_after(given[name], name, kind, dialect)
            before = set(threading.enumerate())
            try:
                with _undisturbed():
                    report = verify(*bound.args, **bound.kwargs)
            except NotRun as reason:
                shown = given.get("subject", signature.parameters["subject"].default)
                return Report(shown, (), "pull" if kind in _PULL else dialect, not_run=str(reason))
            return replace(report, left_running=_left_running(before, given.get("limits") or Limits()))

        return verified

    return decorated


# Factories.


def _looked_after(make: Callable[..., Any], name: str, kind: str, dialect: str) -> Callable[..., Any]:
    """Return the factory with every way in which it may fail turned into NotRun."""
    if kind == "processor" and _is_flow(make):
        flow = make
        make = lambda: flow  # noqa: E731  a Flow makes a fresh processor by itself

    @functools.wraps(make)
    def made(*args: Any) -> Any:
        shown = f"the factory `{name}`" if name != "factory" else "the factory"
        called = f"{shown}, called with {', '.join(map(_shown, args))}," if args else shown
        try:
            found = make(*args)
        except (NotRun, PlannedFailure):
            raise  # what the kit itself made fail
        except Exception as error:
            raise NotRun(f"{called} raised {error!r}{_cure(make, args, kind)}") from error
        found = _as_processor(found) if kind == "processor" else found
        lack = _PULL[kind](found) if kind in _PULL else _lack(found, kind, dialect)
        if lack:
            raise NotRun(f"{called} returned {found!r}, which is no {kind}: {lack}")
        return found

    return made


def _shown(argument: object) -> str:
    return repr(argument) if argument is None or isinstance(argument, int) else type(argument).__name__


def _cure(make: Callable[..., Any], args: tuple[Any, ...], kind: str) -> str:
    """Say what to do about a factory that makes finite ones but none without an end."""
    if args != (None,) or kind not in ("publisher", "pull-stream source"):
        return ""
    try:
        make(3)
    except Exception:
        return ""
    option = "max_elements" if kind == "publisher" else "exactly"
    return f": None asks for one without an end; if it has none, say how many it can have with {option}"


def _lack(found: object, kind: str, dialect: str) -> str:
    """Say what an object lacks to be of that kind, or nothing."""
    methods = _METHODS.get(f"{dialect} {kind}", _METHODS[kind])
    lacking = missing_methods(found, methods)
    if dialect != "jvm" and kind != "publisher":
        return ""  # its adapter is the one to say
    if not lacking or (kind == "processor" and set(lacking) < set(methods)):
        return ""  # one that has some of them is a processor that breaks rule 4.1
    if isinstance(found, type):
        return "it is a class, and a factory returns what it makes of it"
    other = next((name for name, those in _OTHERS.items() if not missing_methods(found, those)), "")
    return f"it lacks {', '.join(lacking)}" + (
        f"; verify it with dialect={other!r}" if other != dialect and other else ""
    )


_OTHERS: Final = {"dotnet": ("Subscribe",), "jvm": PUBLISHER_METHODS}


def _as_processor(found: Any) -> Any:
    """Return the processor that a Flow can be made into, or what was found."""
    return found.processor() if _is_flow(found) else found


def _is_flow(found: Any) -> bool:
    """Tell whether something is no processor but makes one, as a Flow does."""
    makes = not isinstance(found, type) and callable(getattr(found, "processor", None))
    return makes and bool(missing_methods(found, PROCESSOR_METHODS))


def _no_source(found: object) -> str:
    return "" if callable(found) or callable(getattr(found, "read", None)) else "it is not callable and has no read"


def _no_function(found: object) -> str:
    return "" if callable(found) else "it is not callable"


_PULL: Final = {
    "pull-stream source": _no_source,
    "pull-stream through": _no_function,
    "pull-stream sink": _no_function,
}


# Surroundings.


@contextmanager
def _undisturbed() -> Iterator[None]:
    """Keep what the trials provoke out of sight, and objects that were there before out of their collections."""
    _here.verifying = True
    silent, root = logging.NullHandler(), logging.getLogger()
    handlers = [*root.handlers, silent]
    root.addHandler(silent)  # without any handler the last resort prints
    for handler in handlers:
        handler.addFilter(_not_planned)
    hook = threading.excepthook
    threading.excepthook = functools.partial(_excepthook, hook)
    frozen = gc.get_freeze_count() == 0
    if frozen:
        gc.freeze()
    try:
        yield
    finally:
        if frozen:
            gc.unfreeze()
        threading.excepthook = hook
        for handler in handlers:
            handler.removeFilter(_not_planned)
        root.removeHandler(silent)
        _here.verifying = False


def _not_planned(record: logging.LogRecord) -> bool:
    """Tell whether a record is about something else than what a trial made fail."""
    return not isinstance((record.exc_info or (None, None))[1], PlannedFailure)


def _excepthook(hook: Callable[[Any], object], thrown: threading.ExceptHookArgs) -> None:
    if not isinstance(thrown.exc_value, PlannedFailure | Runaway):
        hook(thrown)


def _left_running(before: set[threading.Thread], limits: Limits) -> tuple[str, ...]:
    """Return the names of the threads that began meanwhile and do not end, nor belong to the kit or the engine."""

    def left() -> list[threading.Thread]:
        found = set(threading.enumerate()) - before
        return [thread for thread in found if thread.is_alive() and not thread.name.startswith(_OWN)]

    def gone(seconds: float) -> bool:
        for thread in left()[:1]:
            thread.join(seconds)
        return not left()

    if left():
        Patience(min(limits.timeout, _PATIENCE * limits.quiet)).wait(gone)
    return tuple(sorted(thread.name for thread in left()))
