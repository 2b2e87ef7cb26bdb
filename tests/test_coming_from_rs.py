"""The page for users of rs maps every entry of that library's reference to something that is there."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import penstock
from penstock import Stream
from penstock.bridges import cpp

PAGE = (Path(__file__).parent.parent / "docs" / "operators" / "coming-from-rs.md").read_text(encoding="utf-8")
ROWS = dict(re.findall(r"^\| ([A-Z][^|]*?) \| (.*) \|$", PAGE, re.MULTILINE))

ENTRIES = """
All(Predicate); AnyPublisher; AnySubscriber; AnySubscription; Append(Publisher...); Average(); BuildPipe(Operator...);
Catch(Publisher); Concat(Publisher...); ConcatMap(Mapper); Contains(Value); Count(Publisher...);
DefaultIfEmpty(Value...); ElementAt(size_t); ElementCount; Empty(); EndWith(Value...); EndWithGet(MakeValue...);
Filter(Predicate); First(); First(Predicate); From(Container); IfEmpty(Publisher); IsPublisher; IsRvalue; IsSubscriber;
IsSubscription; Just(Value...); Last(); MakePublisher(Callback); MakeSubscriber();
MakeSubscriber(OnNext, OnError, OnComplete); MakeSubscription(); MakeSubscription(RequestCb, CancelCb); Map(Mapper);
Max(Compare?); Merge(Publisher...); Min(Compare?); Never(); Pipe(Publisher, Operator...); Prepend(Publisher...);
Publisher; PureVirtualSubscription; Range(Value, size_t); Reduce(Accumulator, Reducer);
ReduceGet(MakeInitial, Reducer); ReduceWithoutInitial<Accumulator>(Reducer); Repeat(Value, size_t); RequireRvalue;
Scan(Accumulator, Mapper); Skip(size_t); SkipWhile(Predicate); Some(Predicate); Splat(Functor); Start(CreateValue...);
StartWith(Value...); StartWithGet(MakeValue...); Subscriber; Subscription; Sum(); Take(Count); TakeWhile(Predicate);
Throw(Exception); Throw(const std::exception_ptr &); VirtualSubscription; Zip(Publisher...)
"""
NAMES = [" ".join(entry.split()) for entry in ENTRIES.split(";")]
KNOWN = {*dir(Stream), *dir(penstock), *dir(cpp), *dir(penstock.ElementCount), "int"}


def test_all_66_entries_are_there_in_order() -> None:
    assert len(NAMES) == 66
    assert [row for row in ROWS if row != "rs"] == NAMES


@pytest.mark.parametrize("entry", NAMES)
def test_an_entry_leads_to_something_that_is_there(entry: str) -> None:
    cell = ROWS[entry]
    named = re.findall(r"`([^`]+)`", cell)
    assert named or "nothing is needed" in cell or "on_" in cell
    for name in named:
        last = re.sub(r"\(\)$", "", name).rpartition(".")[2]
        parameters = {"equal", "required", "create", "less", "initial", "count"}
        assert last in KNOWN or last in parameters or last in {"|", "on_", "request", "cancel", "flow"}, name
