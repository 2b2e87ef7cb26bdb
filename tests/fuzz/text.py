"""text: a chain as the penstock expression that it stands for, sources and all."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from tests.fuzz.functions import Breaks
from tests.fuzz.grammar import Chain, Inner, Made, Src, Step

SORTED = ".to_list().map(InOrder()).flatten()"
# A macro as text: what stands for `{0}` is the stream before it, `{1}` its arguments.
MACROS = {
    "combined_last": "{0}.combine_latest({1}).last()",
    "do_finally": "{0}.tap(on_subscribe=runs.open).do_finally(runs.close)",
    "expanded": "{0}.expand({1[0]}, concurrency={1[1]})" + SORTED,
    "flat_mapped": "{0}.flat_map({1})" + SORTED,
    "groups_listed": "{0}.group_by({1}).flat_map(lambda g: g.to_list().map(lambda some: (g.key, some)), concurrency=64)"
    + SORTED,
    "joined": "{0}.join({1[0]}, {1[1]}, how={1[2]})" + SORTED,
    "map_async_unordered": "{0}.map_async({1[0]}, concurrency={1[1]}, ordered=False)" + SORTED,
    "merged": "{0}.merge({1})" + SORTED,
    "parallel_mapped": "{0}.parallel({1[0]}, lambda s: s.map({1[1]}).filter({1[2]}), prefetch=4)",
    "partition_both": "merge_both({0}.partition({1}))" + SORTED,
    "partition_first": "{0}.partition({1})[0]",
    "partition_second": "{0}.partition({1})[1]",
    "race_never": "Stream.never().race({0})",
    "skip_until_now": "{0}.skip_until(Stream.just(0))",
    "switched_once": "{0}.take(1).switch_map({1})",
    "take_until_never": "{0}.take_until(Stream.never())",
    "windows_begun": "{0}.window({1}).concat_map(lambda w: w.take(1))",
    "windows_listed": "{0}.window({1}).concat_map(lambda w: w.to_list())",
    "windows_whole": "{0}.window({1}).concat_map(lambda w: w)",
    "with_latest_from_one": "{0}.with_latest_from(Stream.just(60))",
}

MADE = {
    "clock": "VirtualClock()",
    "runs": "runs",
    "inline": "inline()",
    "pool": "pool(2)",
    "recorder": "Recorder()",
    "registry": "Registry()",
}


class _Arguments(list[str]):
    def __format__(self, spec: str) -> str:
        return ", ".join(self)


def text(value: Any, kind: Callable[[Src], str]) -> str:
    """Print a chain, or an argument of a step, as code; `kind` says how a source gives its items."""
    match value:
        case Chain(Src() as source, steps, _):
            made = source_text(source, kind(source))
        case Chain(inside, steps, "defer"):
            made = f"Stream.defer(lambda: {text(inside, kind)})"
        case Chain(inside, steps, _):
            made = f"Stream.using(lambda: 0, lambda _: {text(inside, kind)}, lambda _: None)"
        case Inner(chain, shifted):
            return f"lambda x: {text(chain, kind)}{'.map(Add(weight(x)))' if shifted else ''}"
        case Breaks(Inner() as inner, where, name):
            return f"Breaks({text(inner, kind)}, {where}, {name!r})"
        case Made(what):
            return MADE.get(what, what)
        case _:
            return getattr(value, "__name__", repr(value))
    for step in steps:
        made = _after(made, step, kind)
    return made


def _after(before: str, step: Step, kind: Callable[[Src], str]) -> str:
    arguments = _Arguments(text(argument, kind) for argument in step.args)
    arguments.extend(f"{key}={text(argument, kind)}" for key, argument in step.options)
    return MACROS.get(step.name, f"{{0}}.{step.name}({{1}})").format(before, arguments)


def source_text(source: Src, kind: str) -> str:
    """Print a source of a kind."""
    failing = f", error={source.error!r}" if source.error else ""
    failing += f", flaky={source.flaky}" if source.flaky else ""
    return f"{kind}({list(source.items)}{failing})"
