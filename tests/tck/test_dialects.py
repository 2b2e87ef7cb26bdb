"""The kit verifies subscribers and processors of the C++ and the .NET text, by their own rule numbers."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest

from penstock import Sink, Stream, flow, processor, subscriber
from penstock.bridges.cpp import CppSubscription, from_cpp, to_cpp
from penstock.bridges.dotnet import to_dotnet
from penstock.cli import main
from penstock.spec import Dialect, explain, rule
from penstock.spec.dialects.cpp import FromCpp
from penstock.tck import (
    Limits,
    Status,
    render,
    verify_processor,
    verify_publisher,
    verify_subscriber,
    verify_subscriber_blackbox,
)
from penstock.tck.outcome import Report
from penstock.testing import Probe
from tests.engine.watch import dropped, no_thread_is_left

__all__ = ["dropped", "no_thread_is_left"]

LIMITS = Limits(elements=20, timeout=1.0, quiet=0.02)


class CppTaker:
    """Be a subscriber of the C++ text that asks for one element after the other, by the subscription it is given."""

    def __init__(self, probe: Any = None) -> None:
        self.probe = probe
        self.subscription: Any = None
        self.over = False

    def start(self, subscription: Any) -> None:
        self.subscription = subscription
        if self.probe is None:
            self.ask(1)
        else:
            self.probe.subscribed(request=self.ask, cancel=self.leave, stop=self.leave)

    def ask(self, n: int) -> None:
        if not self.over:
            self.subscription.request(n)

    def leave(self) -> None:
        self.over = True
        self.subscription.cancel()

    def on_next(self, element: Any, /) -> None:
        if self.probe is not None:
            self.probe.processed(element)
        else:
            self.ask(1)

    def on_error(self, error: Exception, /) -> None:
        self.over = True
        if self.probe is not None:
            self.probe.failed(error)

    def on_complete(self) -> None:
        self.over = True
        if self.probe is not None:
            self.probe.completed()


class Asking(CppTaker):
    """Ask for more when it is told of the end."""

    def on_complete(self) -> None:
        super().on_complete()
        self.subscription.request(1)


class Raising(CppTaker):
    """Raise where signals must return."""

    def on_next(self, element: Any, /) -> None:
        raise LookupError("no")


class Silent:
    """Be a subscriber of the C++ text that leaves its subscription to the one who subscribed it."""

    def on_next(self, element: Any, /) -> None: ...

    def on_error(self, error: Exception, /) -> None: ...

    def on_complete(self) -> None: ...


def broken(report: Any) -> set[str]:
    return {outcome.rule for outcome in report.failed}


def numbers(report: Any, dialect: Dialect) -> set[str | None]:
    return {rule(outcome.rule).id_in(dialect) for outcome in report.outcomes}


def test_a_sound_subscriber_of_the_cpp_text_passes_by_its_numbers() -> None:
    inside = verify_subscriber(CppTaker, dialect="cpp", attach=CppTaker.start, limits=LIMITS)
    outside = verify_subscriber_blackbox(
        CppTaker, dialect="cpp", attach=CppTaker.start, stop=CppTaker.leave, limits=LIMITS
    )
    for report in (inside, outside):
        assert report.ok, render(report)
        assert None not in numbers(report, Dialect.CPP)
        assert "2.5 (JVM 2.6)" in render(report)
        assert render(report).splitlines()[0].endswith("by the C++ text")


@pytest.mark.parametrize(("kind", "expected"), [(Asking, {"2.3"}), (Raising, {"2.13"})])
def test_a_broken_subscriber_of_the_cpp_text_fails_the_rule_it_breaks(kind: type, expected: set[str]) -> None:
    report = verify_subscriber_blackbox(kind, dialect="cpp", attach=kind.start, limits=LIMITS)  # type: ignore[attr-defined]
    assert broken(report) >= expected
    assert broken(report) <= {*expected, "2.4", "2.1", "3.8"}


def test_a_subscriber_that_has_no_subscription_is_driven_by_the_kit_and_not_judged_by_what_the_kit_does() -> None:
    report = verify_subscriber_blackbox(Silent, dialect="cpp", limits=LIMITS)
    assert report.ok, render(report)
    assert report.outcome("blackbox.takes_all_it_asked_for").status is Status.NOT_APPLICABLE
    assert "give attach=" in report.outcome("blackbox.takes_all_it_asked_for").detail
    inside = verify_subscriber(lambda _: Silent(), dialect="cpp", limits=LIMITS)
    assert "processed" in render(inside)  # it tells the probe nothing


class Pascal:
    """Be a subscriber with the names of the .NET text, over one of ours."""

    def __init__(self, inner: Any) -> None:
        self.inner = inner
        outer = to_dotnet(inner)
        self.OnSubscribe, self.OnNext, self.OnError = outer.OnSubscribe, outer.OnNext, outer.OnError
        self.OnComplete = outer.OnComplete


def test_subscribers_of_the_dotnet_text() -> None:
    report = verify_subscriber_blackbox(lambda: Pascal(subscriber(Sink.count())), dialect="dotnet", limits=LIMITS)
    assert report.ok, render(report)
    assert render(report).splitlines()[0].endswith("by the .NET text")

    class Deaf(Pascal):
        def __init__(self) -> None:
            super().__init__(subscriber(Sink.count()))
            self.OnNext = lambda _: None  # which takes null too

    assert "2.13" in broken(verify_subscriber_blackbox(Deaf, dialect="dotnet", limits=LIMITS))


def same() -> Any:
    return processor(flow(lambda elements: elements))


def test_processors_of_the_dotnet_text(dropped: list[Any]) -> None:
    report = verify_processor(lambda: to_dotnet(same()), dialect="dotnet", limits=LIMITS)
    dropped.clear()
    assert report.ok, render(report)
    assert {"4.1", "4.2"} <= {outcome.rule for outcome in report.outcomes}


def passing(publisher: Any) -> Any:
    return to_cpp(from_cpp(publisher).map(lambda element: element))


def test_an_operator_of_the_cpp_text_is_verified_as_a_processor(dropped: list[Any]) -> None:
    report = verify_processor(lambda: passing, dialect="cpp", limits=LIMITS)
    assert report.ok, render(report)
    assert None not in numbers(report, Dialect.CPP)
    dropped.clear()


def test_an_operator_that_hands_its_subscriber_to_its_upstream_passes() -> None:
    class Same:
        def __init__(self, publisher: Any) -> None:
            self.publisher = publisher

        def subscribe(self, below: Any, /) -> Any:
            return self.publisher.subscribe(below)

    report = verify_processor(lambda: Same, dialect="cpp", limits=LIMITS)
    assert report.ok, render(report)


def test_an_operator_that_gives_too_much_is_found(dropped: list[Any]) -> None:
    def twice(publisher: Any) -> Any:
        class Twice:
            def subscribe(self, below: Any, /) -> Any:
                class Doubling(Silent):
                    def on_next(self, element: Any, /) -> None:
                        below.on_next(element)
                        below.on_next(element)

                    def on_error(self, error: Exception, /) -> None:
                        below.on_error(error)

                    def on_complete(self) -> None:
                        below.on_complete()

                return publisher.subscribe(Doubling())

        return Twice()

    assert "1.1" in broken(verify_processor(lambda: twice, dialect="cpp", limits=LIMITS))
    dropped.clear()


def test_an_end_that_comes_twice_before_the_subscription_is_found_as_that(dropped: list[Any]) -> None:
    class Twice:
        def __init__(self, count: int | None) -> None:
            self.count = count

        def subscribe(self, subscriber: Any, /) -> Any:
            if self.count == 0:
                subscriber.on_complete()
                subscriber.on_complete()
            return to_cpp(Stream.range(self.count or 10**6)).subscribe(subscriber) if self.count != 0 else Nothing()

    class Nothing:
        def request(self, n: int, /) -> None: ...

        def cancel(self) -> None: ...

    report = verify_publisher(Twice, dialect="cpp", limits=LIMITS)
    assert broken(report) == {"1.7"}, render(report)
    dropped.clear()


def test_of_elements_that_are_sent_before_they_can_be_asked_for_the_kit_sees_one_and_holds_no_more() -> None:
    class Eager:
        def subscribe(self, taker: Any, /) -> Any:
            for n in range(1000):
                taker.on_next(n)
            taker.on_complete()
            return CppSubscription()

    seen: list[object] = []

    class Recording(Silent):
        def on_subscribe(self, subscription: Any, /) -> None:
            seen.append("subscribe")

        def on_next(self, element: Any, /) -> None:
            seen.append(element)

        def on_complete(self) -> None:
            seen.append("complete")

    FromCpp(Eager()).subscribe(Recording())
    assert seen == ["subscribe", 0, "complete"]


@pytest.mark.parametrize(
    ("verify", "message"),
    [
        (
            lambda: verify_subscriber_blackbox(Probe, dialect="dotnet"),
            r"^verify_subscriber_blackbox: the factory must return a subscriber of the \.NET text, got ",
        ),
        (
            lambda: verify_processor(same, dialect="dotnet"),
            r"^verify_processor: the factory must return a processor of the \.NET text, got ",
        ),
    ],
)
def test_a_party_of_another_text_is_not_run(verify: Callable[[], Report], message: str) -> None:
    report = verify()
    assert not report.ok
    assert re.match(message, str(report.not_run))


def test_bad_arguments() -> None:
    with pytest.raises(ValueError, match=r"^verify_subscriber: dialect must be one of cpp, dotnet, jvm, got 'java'$"):
        verify_subscriber(CppTaker, dialect="java")  # type: ignore[arg-type]
    with pytest.raises(ValueError, match=r"^verify_processor: attach is for the C\+\+ text alone, .* got 'jvm'$"):
        verify_processor(same, attach=CppTaker.start)


def test_the_command_takes_a_dialect(capsys: pytest.CaptureFixture[str]) -> None:
    here = "tests.tck.test_dialects"
    arguments = ["verify", "subscriber", f"{here}:CppTaker", "--blackbox", "--dialect", "cpp", "--quiet", "0.02"]
    assert main([*arguments, "--attach", f"{here}:CppTaker.start"]) == 0
    assert "by the C++ text" in capsys.readouterr().out


@pytest.mark.parametrize("name", ["1.3", "C++ 1.11", ".NET 3.9", "B3", "F12", "demand", "serially"])
def test_the_command_explains_a_rule_a_property_or_a_term(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--explain", name]) == 0
    assert capsys.readouterr().out.rstrip("\n") == explain(name)


@pytest.mark.parametrize("name", ["9.9", "B99", "flux", ""])
def test_the_command_says_what_it_can_explain(name: str, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["verify", "--explain", name]) == 2
    told = "a rule like 1.3 or 'C++ 3.8', a property like B3 or a term like demand"
    assert capsys.readouterr().err == f"penstock verify: --explain takes {told}, got {name!r}\n"
