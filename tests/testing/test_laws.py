"""laws: a correct operator passes, and each law is failed by an operator that breaks just that law."""

from __future__ import annotations

import operator
import re
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any, ClassVar

import pytest
from hypothesis import strategies as st

from penstock import Stream, Subscriber, Subscription
from penstock.engine.runs.chain import Chain
from penstock.operators.map import Map
from penstock.operators.scan import Scan
from penstock.stage import Body, Joint, Sight, Source, Stage
from penstock.testing import Form, Tracked, VerificationError, check_joint, check_source, check_stage
from penstock.testing.laws import Laws

NUMBERS = st.integers(0, 5)


def same(elements: list[Any]) -> list[Any]:
    return elements


def test_a_correct_stage_passes() -> None:
    check_stage(Map(operator.neg), lambda xs: [-x for x in xs], NUMBERS, examples=5)


def test_a_correct_joint_passes() -> None:
    check_joint(lambda stream: stream.do_finally(int), same, NUMBERS, examples=5)


def test_a_correct_source_passes() -> None:
    check_source(lambda: Stream.just(1, 2, 3), [1, 2, 3], examples=5)


def failure_of(check: Any, *args: Any, **options: Any) -> str:
    with pytest.raises(VerificationError) as caught:
        check(*args, **options)
    return str(caught.value)


def test_a_stage_that_differs_from_its_model_fails() -> None:
    found = failure_of(check_stage, Map(operator.neg), same, st.just(1))
    assert found == (
        "check_stage(Map(fn=<built-in function neg>)): law 'agrees with its model when [1] are requested', "
        "upstream iterated: for [1] expected [1], got [-1]"
    )


def test_a_source_that_differs_fails() -> None:
    found = failure_of(check_source, lambda: Stream.just(1), [2])
    assert found == ("check_source: law 'agrees with its model when [1] are requested': for [] expected [2], got [1]")


def test_order_counts_unless_told() -> None:
    def backwards(stream: Stream[int]) -> Stream[int]:
        return stream.to_list().map(lambda all_of_them: all_of_them[::-1]).flatten()

    check_joint(backwards, same, NUMBERS, ordered=False, examples=5)
    assert "law 'agrees with its model" in failure_of(check_joint, backwards, same, NUMBERS)


def test_a_stage_that_cannot_be_pickled_fails_unless_told() -> None:
    stage = Scan(lambda total, n: total + n, 0)
    check_stage(stage, lambda xs: [sum(xs[: i + 1]) for i in range(len(xs))], NUMBERS, pickles=False, examples=3)
    found = failure_of(check_stage, stage, same, NUMBERS)
    assert re.match(
        r"check_stage\(Scan\(.*\)\): law 'pickles to an equal value': .*; use functions of a module, or", found
    )


@dataclass(frozen=True, eq=False)
class NeverEqual(Stage[Any, Any]):
    loop: ClassVar[Body] = Body("")


def test_a_stage_that_pickles_to_another_value_fails() -> None:
    assert failure_of(check_stage, NeverEqual(), same, NUMBERS) == (
        "check_stage(NeverEqual()): law 'pickles to an equal value': got NeverEqual()"
    )


@dataclass(frozen=True)
class SharesState(Stage[Any, Any]):
    """Keep its state in the description: the second run goes on counting."""

    seen: list[int] = field(default_factory=list)
    loop: ClassVar[Body] = Body("{seen}.append(v)\nv = len({seen})")


def test_a_stage_whose_runs_share_state_fails() -> None:
    def make(stream: Stream[Any]) -> Stream[Any]:
        return Stream(stream._chain.then(SharesState()))

    assert failure_of(check_joint, make, lambda xs: [i + 1 for i, _ in enumerate(xs)], st.just(7)) == (
        "check_joint: law 'two runs share nothing', upstream iterated: for [7] expected [1], got [2]"
    )


@dataclass(frozen=True)
class SaysItem(Stage[Any, Any]):
    """Number the elements, and say that each is treated alone."""

    sight: ClassVar[Sight] = Sight.ITEM
    loop: ClassVar[Body] = Body("{number} += 1\nv = {number}", state=(("number", "0"),))


def test_a_stage_that_is_wrong_about_its_sight_fails() -> None:
    assert failure_of(check_stage, SaysItem(), lambda xs: [i + 1 for i, _ in enumerate(xs)], st.just(7)) == (
        "check_stage(SaysItem()): law 'treats each element alone, cut at 1', upstream iterated: "
        "for [7, 7] expected [1, 2], got [1, 1]"
    )


@pytest.mark.parametrize(
    ("change", "found"),
    [
        (lambda n: n + 1, "for [7] expected [7], got [8]"),
        (lambda n: n / 0, "for [7] its ends were [ZeroDivisionError('division by zero')]"),
    ],
)
def test_what_gives_something_else_as_a_pull_through_fails(change: Any, found: str) -> None:
    with Laws("check", same) as laws, pytest.raises(VerificationError) as caught:
        laws.pulled(lambda stream: stream.map(change), [7])
    assert str(caught.value) == f"check: law 'agrees with its model as a pull through': {found}"


class Passing:
    """Pass every signal on; the ground of the broken joints below."""

    def __init__(self, downstream: Subscriber[Any]) -> None:
        self.downstream = downstream
        self.upstream: Subscription | None = None

    def on_subscribe(self, subscription: Subscription, /) -> None:
        self.upstream = subscription
        self.downstream.on_subscribe(self)

    def request(self, n: int, /) -> None:
        assert self.upstream is not None
        self.upstream.request(n)

    def cancel(self) -> None:
        assert self.upstream is not None
        self.upstream.cancel()

    def on_next(self, element: Any, /) -> None:
        self.downstream.on_next(element)

    def on_error(self, error: Exception, /) -> None:
        self.downstream.on_error(error)

    def on_complete(self) -> None:
        self.downstream.on_complete()


class Doubling(Passing):
    def on_next(self, element: Any, /) -> None:
        super().on_next(element)
        super().on_next(element)


class DeafToCancel(Passing):
    def cancel(self) -> None:
        pass


class SwallowsErrors(Passing):
    """Turn a failure into an end, too early for what was promised."""

    def on_error(self, error: Exception, /) -> None:
        self.on_next("surprise")
        self.on_complete()


class ReplacesErrors(Passing):
    def on_error(self, error: Exception, /) -> None:
        self.downstream.on_error(ValueError("another"))


class Fails(Passing):
    def on_complete(self) -> None:
        self.downstream.on_error(ValueError("no end"))


class CompletesOnCancel(Passing):
    """Answer a cancel with an end, while more could have come."""

    def on_complete(self) -> None:
        self.upstream = None
        super().on_complete()

    def cancel(self) -> None:
        if self.upstream is not None:
            self.upstream.cancel()
            self.downstream.on_complete()


@dataclass(frozen=True)
class Broken(Joint[Any, Any]):
    run: type[Passing]

    def open(self, downstream: Subscriber[Any], /) -> Subscriber[Any]:
        return self.run(downstream)


@pytest.mark.parametrize(
    ("run", "message"),
    [
        (Doubling, r"law 'keeps the contract', upstream iterated: rule 1\.1: \d+ elements came, \d were requested"),
        (DeafToCancel, r"law '(closes its upstream on cancel|says nothing after a cancel)"),
        (SwallowsErrors, r"law 'a failure of upstream ends it, unless it had ended', upstream iterated: for \[\]"),
        (ReplacesErrors, r"law 'passes a failure on', upstream iterated: expected UpstreamError, got ValueError"),
        (
            Fails,
            r"law 'agrees with its model when .* are requested', upstream iterated: for \[\] it failed with ValueError",
        ),
        (
            CompletesOnCancel,
            r"law 'says nothing after a cancel', upstream iterated: it was cancelled inside on_next after 1",
        ),
    ],
)
def test_a_joint_that_breaks_a_law_fails_by_its_name(run: type[Passing], message: str) -> None:
    def make(stream: Stream[Any]) -> Stream[Any]:
        return Stream(stream._chain.then(Broken(run)))

    assert re.match(
        f"check_joint: {message}", failure_of(check_joint, make, same, st.just(1), forms=[Form.ITERATED], patience=0)
    )


def test_a_joint_that_handles_failures_is_not_held_to_pass_them_on() -> None:
    check_joint(lambda stream: stream.on_error_resume(lambda error: []), same, NUMBERS, fails=False, examples=3)


@dataclass(frozen=True, slots=True)
class LeavesOpen(Source[Any]):
    """Open an iterator of its own and forget it."""

    stream: Chain

    def opener(self) -> Any:
        source = self.stream.source
        return lambda gate: [iter(source.items), iter(())][1]  # type: ignore[attr-defined]


def test_an_operator_that_leaves_upstream_open_fails() -> None:
    def make(stream: Stream[Any]) -> Stream[Any]:
        return Stream(Chain(LeavesOpen(stream._chain)))

    assert failure_of(check_joint, make, lambda _: [], NUMBERS, forms=[Form.ITERATED], patience=0) == (
        "check_joint: law 'closes its upstream on completion, iterated': tracked: 1 runs of the upstream were left open"
    )


def test_forms_of_upstream_are_what_they_say() -> None:
    items = Tracked([1, 2])
    assert [list(form.over(items)) for form in Form] == [[1, 2]] * len(Form)
    assert Form.ITERATED.over(items)._pulled() is not None
    assert Form.SIGNALLED.over(items)._pulled() is None
    assert items.open_runs == 0


def test_says_that_hypothesis_is_missing() -> None:
    code = (
        "import sys; sys.modules['hypothesis'] = None\n"
        "from penstock.testing import check_source\n"
        "from penstock import Stream\n"
        "check_source(lambda: Stream.just(1), [1])\n"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.splitlines()[-1] == (
        "ModuleNotFoundError: check_source: the laws need hypothesis; say pip install hypothesis"
    )


def test_testing_needs_no_test_framework() -> None:
    code = "import penstock.testing, sys; print(sorted({'pytest', 'hypothesis', 'unittest'} & set(sys.modules)))"
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert result.stdout == "[]\n"
