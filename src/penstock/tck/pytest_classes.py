"""pytest_classes: the verifications as classes to subclass, with one test method for each trial of a rule.

    class TestNumbers(PublisherVerification):
        def publisher(self, elements):
            return Numbers(elements)

pytest then shows `test_rule_1_01_demand_never_exceeded` and so on. The whole verification runs with the first of them
and the others look their outcome up, so the class costs no more than one run. What does not apply is skipped, with
the reason. Nothing here imports pytest: it takes AssertionError and SkipTest as they are.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, ClassVar
from unittest import SkipTest

from penstock.spec.properties.every import Property
from penstock.tck.contract import PULL, asked
from penstock.tck.outcome import Limits, Report, Status
from penstock.tck.processor.case import processor
from penstock.tck.processor.verify import verify_processor
from penstock.tck.publisher.trials import publisher_trials
from penstock.tck.publisher.verify import verify_publisher
from penstock.tck.pull.case import sink_trials, source_trials, through_trials
from penstock.tck.pull.sink import verify_pull_sink
from penstock.tck.pull.source import verify_pull_source
from penstock.tck.pull.through import verify_pull_through
from penstock.tck.subscriber.case import blackbox, whitebox
from penstock.tck.subscriber.verify import verify_subscriber, verify_subscriber_blackbox
from penstock.tck.trial import Trial

Optional = Any  # a method of the subclass, or None


class PublisherVerification:
    """A verification of what `publisher` makes; the other members are the options of `verify_publisher`."""

    limits: ClassVar[Limits] = Limits()
    dialect: ClassVar[str] = "jvm"
    unicast: ClassVar[bool] = False
    asynchronous: ClassVar[bool] = False
    max_elements: ClassVar[int | None] = None
    min_elements: ClassVar[int] = 0
    finite: ClassVar[bool] = True
    failing: Optional = None
    over: Optional = None
    closes: Optional = False
    settle: Optional = None

    def publisher(self, elements: int | None) -> Any:
        """Return a publisher of that many elements, or an endless one."""
        raise NotImplementedError

    def verify(self) -> Report:
        """Run the whole verification."""
        return verify_publisher(
            self.publisher,
            failing=self.failing,
            over=self.over,
            limits=self.limits,
            dialect=self.dialect,
            unicast=self.unicast,
            asynchronous=self.asynchronous,
            closes=self.closes,
            max_elements=self.max_elements,
            min_elements=self.min_elements,
            finite=self.finite,
            settle=self.settle,
            subject=type(self).__name__,
        )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _add_tests(cls, publisher_trials.of(cls.dialect))


class SubscriberVerification:
    """A verification, from inside, of what `subscriber` makes around a probe; the other members are options."""

    limits: ClassVar[Limits] = Limits()
    asynchronous: ClassVar[bool] = False
    ordered: ClassVar[bool] = True
    concurrent: ClassVar[bool] = False
    settle: Optional = None

    def subscriber(self, probe: Any) -> Any:
        """Return a fresh subscriber that tells `probe` what drives it and what it processes."""
        raise NotImplementedError

    def element(self, number: int) -> Any:
        """Return the element of that number, counted from 0."""
        return number

    def verify(self) -> Report:
        """Run the whole verification."""
        return verify_subscriber(
            self.subscriber,
            element=self.element,
            limits=self.limits,
            asynchronous=self.asynchronous,
            ordered=self.ordered,
            concurrent=self.concurrent,
            settle=self.settle,
            subject=type(self).__name__,
        )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _add_tests(cls, whitebox.of("jvm"))


class SubscriberBlackboxVerification:
    """A verification, from outside, of what `subscriber` makes; the other members are options."""

    limits: ClassVar[Limits] = Limits()
    expects: ClassVar[int] = 1
    trigger: Optional = None
    stop: Optional = None
    settle: Optional = None

    def subscriber(self) -> Any:
        """Return a fresh subscriber."""
        raise NotImplementedError

    def element(self, number: int) -> Any:
        """Return the element of that number, counted from 0."""
        return number

    def verify(self) -> Report:
        """Run the whole verification."""
        return verify_subscriber_blackbox(
            self.subscriber,
            element=self.element,
            expects=self.expects,
            trigger=self.trigger,
            stop=self.stop,
            limits=self.limits,
            settle=self.settle,
            subject=type(self).__name__,
        )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _add_tests(cls, blackbox.of("jvm"))


class ProcessorVerification:
    """A verification of both sides of what `processor` makes; the other members are options of `verify_processor`."""

    limits: ClassVar[Limits] = Limits()
    multicast: ClassVar[bool] = False
    recovers: ClassVar[bool] = False
    delays_errors: ClassVar[bool] = False
    cancels_upstream: ClassVar[bool] = True
    concurrent: ClassVar[bool] = True
    asynchronous: ClassVar[bool] = False
    settle: Optional = None

    def processor(self) -> Any:
        """Return a fresh processor that hands on the elements it gets."""
        raise NotImplementedError

    def element(self, number: int) -> Any:
        """Return the element of that number, counted from 0."""
        return number

    def verify(self) -> Report:
        """Run the whole verification."""
        return verify_processor(
            self.processor,
            element=self.element,
            limits=self.limits,
            multicast=self.multicast,
            recovers=self.recovers,
            delays_errors=self.delays_errors,
            cancels_upstream=self.cancels_upstream,
            concurrent=self.concurrent,
            asynchronous=self.asynchronous,
            settle=self.settle,
            subject=type(self).__name__,
        )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _add_tests(cls, [*publisher_trials.of("jvm"), *whitebox.of("jvm"), *processor.of("jvm")])


class PullSourceVerification:
    """A verification of the pull-stream sources that `source` makes; the other members are options."""

    limits: ClassVar[Limits] = Limits()
    exactly: ClassVar[int | None] = None
    finite: ClassVar[bool] = True
    failing: Optional = None
    over: Optional = None
    stuck: Optional = None
    combines: Optional = None
    settle: Optional = None

    def source(self, values: int | None) -> Any:
        """Return a source of that many values, or an endless one."""
        raise NotImplementedError

    def verify(self) -> Report:
        """Run the whole verification."""
        return verify_pull_source(
            self.source,
            failing=self.failing,
            over=self.over,
            stuck=self.stuck,
            combines=self.combines,
            exactly=self.exactly,
            finite=self.finite,
            limits=self.limits,
            settle=self.settle,
            subject=type(self).__name__,
        )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _add_tests(cls, source_trials.of(PULL))


class PullThroughVerification:
    """A verification of the pull-stream throughs that `through` makes; the other members are options."""

    limits: ClassVar[Limits] = Limits()
    eager: ClassVar[bool] = False
    recovers: ClassVar[bool] = False
    stopping: Optional = None
    failing: Optional = None
    working: Optional = None
    hooked: Optional = None
    flattens: Optional = None
    settle: Optional = None

    def through(self) -> Any:
        """Return a fresh through."""
        raise NotImplementedError

    def expects(self, values: list[Any]) -> list[Any]:
        """Return what comes out for the values that go in."""
        return values

    def verify(self) -> Report:
        """Run the whole verification."""
        return verify_pull_through(
            self.through,
            expects=self.expects,
            eager=self.eager,
            recovers=self.recovers,
            stopping=self.stopping,
            failing=self.failing,
            working=self.working,
            hooked=self.hooked,
            flattens=self.flattens,
            limits=self.limits,
            settle=self.settle,
            subject=type(self).__name__,
        )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _add_tests(cls, through_trials.of(PULL))


class PullSinkVerification:
    """A verification of the pull-stream sinks that `sink` makes; the other members are options."""

    limits: ClassVar[Limits] = Limits()
    stopping: Optional = None
    failing: Optional = None
    settle: Optional = None

    def sink(self, done: Any) -> Any:
        """Return a fresh sink that calls `done` when it is over."""
        raise NotImplementedError

    def verify(self) -> Report:
        """Run the whole verification."""
        return verify_pull_sink(
            self.sink,
            stopping=self.stopping,
            failing=self.failing,
            limits=self.limits,
            settle=self.settle,
            subject=type(self).__name__,
        )

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        _add_tests(cls, sink_trials.of(PULL))


def _add_tests(cls: type, trials: Iterable[Trial[Any]]) -> None:
    """Give the class one method for each trial, one for what no trial is about, and one that fails if none was run."""
    names = {trial.name for trial in trials}
    for trial in trials:
        setattr(cls, _method_name(trial), _method(trial.name))
    cls.test_it_was_run = _was_run  # type: ignore[attr-defined]
    cls.test_no_other_rule_was_broken = _leftovers(names)  # type: ignore[attr-defined]


def _method_name(trial: Trial[Any]) -> str:
    short = trial.name.partition(".")[2]
    if isinstance(asked(trial.rule), Property):
        return f"test_property_{trial.rule[0].lower()}{int(trial.rule[1:]):02d}_{short}"
    dialect, _, number = trial.rule.rpartition(" ")
    chapter, place = number.split(".")
    prefix = f"{dialect.replace('+', 'p').lower()}_" if dialect else ""
    return f"test_rule_{prefix}{chapter}_{int(place):02d}_{short}"


def _method(test: str) -> Callable[[Any], None]:
    def check(self: Any) -> None:
        report = _report(self)
        if report.not_run:
            raise SkipTest(f"not run: {report.not_run}")
        outcome = report.outcome(test)
        if outcome.status is Status.FAILED:
            raise AssertionError(f"{_kind(outcome.rule)} {outcome.rule}: {outcome.detail}\n{outcome.hint}")
        if outcome.status is Status.NOT_APPLICABLE:
            raise SkipTest(outcome.detail)

    return check


def _was_run(self: Any) -> None:
    not_run = _report(self).not_run
    if not_run:
        raise AssertionError(not_run)


def _leftovers(names: set[str]) -> Callable[[Any], None]:
    def check(self: Any) -> None:
        seen: set[str] = set()
        for outcome in _report(self).outcomes:
            first = outcome.test in names and outcome.test not in seen
            seen.add(outcome.test)
            if outcome.status is Status.FAILED and not first:
                hint = asked(outcome.rule).hint
                raise AssertionError(f"{_kind(outcome.rule)} {outcome.rule}: {outcome.detail}\n{hint}")

    return check


def _kind(name: str) -> str:
    return "property" if isinstance(asked(name), Property) else "rule"


def _report(instance: Any) -> Report:
    """Return the report of the instance's class, made once."""
    cls = type(instance)
    if "_report" not in vars(cls):
        cls._report = instance.verify()
    report: Report = cls._report
    return report
