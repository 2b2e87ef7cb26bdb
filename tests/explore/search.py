"""search: go through the schedules of a scenario: all with at most two preemptions, then random ones (PCT).

A scenario is a part, what was called before, and calls that overlap. First the calls are run one after the other, in
every order: what comes of that is what may come of any schedule, but for elements that a cancel or a failure cuts off.
Then every schedule with one preemption is run, at every point. These runs tell at which points a thread touches what
another one touches too without a lock that both hold; a second preemption, and the first one of two, is tried there
only, since elsewhere it makes no difference.

PCT (Burckhardt et al., 2010) gives tasks random ranks and lets the one at hand fall to the last rank at random points.
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import combinations, combinations_with_replacement, permutations, product

from tests.explore import on_loops, points, scheduler, threads
from tests.explore.bench import LATE, Bench, Boom, Outcome
from tests.explore.part import Part

RESTS = "it rests as no order of calls leaves it"
ENDS = "it ends as no order of calls ends it"
FAILING = (".error", ".fails", ".fail", ".bad")
CUTTING = (".cancel", ".close", ".ends", ".breaks", "tick")
"""Calls that may cut off what others would still have delivered."""

Plan = tuple[tuple[int, int | None], ...]
Light = list[tuple[int, tuple[int, ...]]]
Stop = tuple[int, str, int, int]
"""Who is stopped, where, when it comes there for the nth time, and who goes on."""


@dataclass(frozen=True, slots=True)
class Schedule:
    """Say who begins, and after how many points who goes on; with ranks it is one of PCT's."""

    first: int
    plan: Plan = ()
    ranks: tuple[int, ...] = ()

    def __str__(self) -> str:
        turns = " ".join(f"{count}{'-' if to is None else _letter(to)}" for count, to in self.plan)
        ranks = f" ranks {' '.join(map(str, self.ranks))}" if self.ranks else ""
        return f"{_letter(self.first)} {turns}".rstrip() + ranks


_STOP = re.compile(r"(\w) (\d+) (\w) (.*) \(line \d+\)")


def _number(letter: str) -> int:
    return ord(letter) - ord("A")


def _letter(task: int) -> str:
    return chr(ord("A") + task)


def read_schedule(text: str) -> Schedule:
    """Return what `str` has made."""
    text, _, ranks = text.partition(" ranks ")
    first, *turns = text.split()
    plan = tuple((int(turn[:-1]), None if turn[-1] == "-" else _number(turn[-1])) for turn in turns)
    return Schedule(_number(first), plan, tuple(map(int, ranks.split())))


@dataclass(frozen=True, slots=True)
class Scenario:
    """Name a part, what is called before, and what is called at once."""

    part: Part
    before: tuple[str, ...]
    calls: tuple[str, ...]

    def __str__(self) -> str:
        return f"{self.part.name}: {' '.join(self.before) or '-'} then {' | '.join(self.calls)}"


def scenarios(part: Part) -> list[Scenario]:
    """Return every pair of calls that may overlap, in every state of a part."""
    scheduler.open_run()
    points.noting(False)
    bench = Bench()
    part.build(bench)
    lanes = {name: lane for name, (lane, _) in bench.calls.items() if not name.endswith((".all", ".fails"))}
    scheduler.close_run()
    found = [
        Scenario(part, state, pair)
        for state in part.states
        for pair in combinations_with_replacement(lanes, 2)
        if _overlap(lanes[pair[0]], lanes[pair[1]]) and not (part.even and _mirrored(pair))
    ]
    if part.late and "down.ask" in lanes:
        late = [name for name in lanes if name.startswith("down.") or lanes[name]]
        late += [name for name in bench.calls if name.endswith(".fails")]
        found += [Scenario(part, (), ("subscribe", name)) for name in late]
    return found


def _overlap(one: str, other: str) -> bool:
    """Tell whether calls of two lanes may overlap."""
    return one != other or not one


def _mirrored(pair: tuple[str, str]) -> bool:
    """Tell whether a pair is another one with `a` and `b` changed over."""
    one, other = pair
    return one[:2] == "b." or (one[:2] == "a." and other[:2] == "b." and one[2:] > other[2:])


def triples(part: Part, seed: int) -> Iterator[Scenario]:
    """Return calls that may overlap, three at a time, at random, for ever."""
    chance = random.Random(f"{part.name} {seed}")
    scheduler.open_run()
    points.noting(False)
    bench = Bench()
    part.build(bench)
    lanes = {name: lane for name, (lane, _) in bench.calls.items() if not name.endswith(".fails")}  # that is two calls
    scheduler.close_run()
    possible = [
        calls
        for calls in product(lanes, repeat=3)
        if all(_overlap(lanes[one], lanes[other]) for one, other in combinations(calls, 2))
    ]
    while possible:
        yield Scenario(part, chance.choice(part.states), chance.choice(possible))


@dataclass(frozen=True, slots=True)
class Violation:
    """Say what went wrong, under which schedule, and where the threads were stopped."""

    scenario: Scenario
    schedule: Schedule
    what: str
    stops: tuple[str, ...] = ()

    @property
    def kind(self) -> str:
        """Return what went wrong without what came of it."""
        return self.what.partition(": [")[0]

    def __str__(self) -> str:
        stops = "".join(f"\n        {stop}" for stop in self.stops)
        return f"{self.scenario}\n    {self.what}\n    schedule {self.schedule}{stops}"


@dataclass(slots=True)
class Run:
    """Be one run under a schedule, looked at."""

    faults: list[str]
    quiet: Outcome
    end: Outcome
    log: list[scheduler.Passed]
    threads: bool = False
    """Whether the part has threads of its own."""


def run_once(
    scenario: Scenario,
    schedule: Schedule,
    *,
    note: bool = False,
    places: Sequence[Stop] | None = None,
    settled: bool = False,
) -> Run:
    """Build a part, make the calls under a schedule, bring it to its end, and look.

    Calls that are `settled` are made one after the other, each when the part has come to rest.
    """
    on_loops.collect()
    threads.now = 1000.0
    points.noting(note or places is not None)
    scheduler.open_run()
    bench = Bench(late="subscribe" in scenario.calls)
    on_loops.begin(bench)
    scenario.part.build(bench)
    scheduler.settle()
    for name in scenario.before:
        bench.calls[name][1]()
        scheduler.settle()
    calls = [(name, bench.calls[name][1]) for name in scenario.calls]
    if settled:
        tasks = [task for each in calls for task in scheduler.run([each], 0, ())]
    else:
        ranks, note = schedule.ranks or None, note or places is not None
        tasks = scheduler.run(calls, schedule.first, schedule.plan, ranks=ranks, note=note, places=places)
    log, scheduler.log = scheduler.log or [], None
    for task in tasks:
        if task.error is not None:
            bench.fault(f"{task.name} raised {task.error!r}")
    for task in scheduler.tasks:
        if task.spawned and task.error is not None and not (bench.exits and isinstance(task.error, SystemExit)):
            bench.fault(f"{task.name} raised {task.error!r}")
    quiet = bench.outcome()
    if scheduler.aborting is not None:
        bench.fault(scheduler.aborting)
        return Run(bench.faults, quiet, quiet, log)
    bench.leaks()
    try:
        bench.finish()
    except scheduler.Abandoned as why:
        bench.fault(f"afterwards {why}")
        scheduler.throw_out(str(why))
    except Exception as error:
        bench.fault(f"a call afterwards raised {error!r}")
    on_loops.leave()
    bench.last_faults(scheduler.close_run())
    on_loops.end(bench)
    failing = any(name.endswith(FAILING) for name in (*scenario.calls, *scenario.before))
    for dropped in bench.dropped:
        if dropped.what in bench.drops:
            continue
        ours = isinstance(dropped.error, Boom) and failing
        if not ((ours or type(dropped.error).__name__ in bench.errors) and dropped.what.startswith(LATE)):
            bench.fault(f"dropped: {dropped.what}: {dropped.error!r}")
    return Run(bench.faults, quiet, bench.outcome(), log, any(task.spawned for task in scheduler.tasks))


@dataclass(slots=True)
class Search:
    """Go through the schedules of one scenario."""

    scenario: Scenario
    count: int = 0
    violations: dict[str, Violation] = field(default_factory=dict)
    _quiet: set[Outcome] = field(default_factory=set)
    _end: set[Outcome] = field(default_factory=set)
    _hot: set[int] = field(default_factory=set)
    _length: int = 0

    def serial(self) -> bool:
        """Run the calls one after the other in every order; tell whether there is anything to look for."""
        busy: set[int] = set()
        for order in permutations(range(len(self.scenario.calls))):
            ranks = tuple(order.index(task) for task in range(len(order)))
            schedule = Schedule(order[0], (), ranks)
            run = run_once(self.scenario, schedule, note=True)
            self.count += 1
            busy |= {task for task, *_ in run.log}
            self._length = max(self._length, len(run.log))
            self._quiet.add(run.quiet)
            self._end.add(run.end)
            self._learn(run.log)
            for fault in run.faults:
                self._found(schedule, fault)
            if run.threads:
                calls = tuple(self.scenario.calls[task] for task in order)
                run = run_once(Scenario(self.scenario.part, self.scenario.before, calls), schedule, settled=True)
                self._quiet.add(run.quiet)
                self._end.add(run.end)
        return len(busy) > 1 and not self.violations

    def bounded(self, preemptions: int = 2) -> Iterator[None]:
        """Run all schedules with at most so many preemptions; yield after each."""
        if not preemptions:
            return
        bases = [
            (first, _light(run_once(self.scenario, Schedule(first), note=True).log))
            for first in range(len(self.scenario.calls))
        ]
        once: dict[Schedule, Light] = {}
        hot = -1
        while hot != len(self._hot):  # a run may show places that no run before it has shown
            hot = len(self._hot)
            for first, base in bases:
                for schedule in self._further(Schedule(first), base):
                    if schedule not in once:
                        run = self._try(schedule, note=True)
                        self._learn(run.log)
                        once[schedule] = _light(run.log)
                        yield
        for schedule, log in once.items():
            yield from self._deeper(schedule, log, preemptions - 1)

    def _deeper(self, schedule: Schedule, log: Light, preemptions: int) -> Iterator[None]:
        """Run what follows a schedule with so many more preemptions."""
        for further in self._further(schedule, log) if preemptions else ():
            run = self._try(further, note=preemptions > 1)
            yield
            if preemptions > 1:
                yield from self._deeper(further, _light(run.log), preemptions - 1)

    def _further(self, schedule: Schedule, log: Light) -> Iterator[Schedule]:
        """Return what follows a schedule with one more preemption, at the places where it can matter."""
        begun = sum(count for count, _ in schedule.plan)
        for step in range(begun, len(log)):
            place, others = log[step]
            for other in others if place in self._hot else ():
                yield Schedule(schedule.first, (*schedule.plan, (step + 1 - begun, other)))

    def spread(self, count: int) -> None:
        """Run a few schedules with one preemption, spread over all of them."""
        found = [
            schedule
            for first in range(len(self.scenario.calls))
            for schedule in self._further(
                Schedule(first), _light(run_once(self.scenario, Schedule(first), note=True).log)
            )
        ]
        for schedule in found[:: max(1, len(found) // count)]:
            self._try(schedule)

    def again(self, schedule: Schedule, stops: Sequence[str]) -> tuple[list[str], list[str]]:
        """Run a schedule that has failed before, as it was and by the places where its threads were stopped."""
        places = [match.groups() for match in map(_STOP.fullmatch, stops) if match is not None]
        by_place = [(_number(task), place, int(nth), _number(to)) for task, nth, to, place in places]
        as_it_was = self._try(schedule)
        placed = self._try(Schedule(schedule.first, (), schedule.ranks), places=by_place)
        return as_it_was.faults, placed.faults

    def random(self, seed: int) -> Iterator[None]:
        """Run random schedules of depth three, for ever."""
        chance = random.Random(seed)
        length = max(self._length, 2)
        tasks = len(self.scenario.calls)
        while True:
            ranks = list(range(tasks))
            chance.shuffle(ranks)
            steps = sorted(chance.randint(1, length) for _ in range(2))
            plan = ((steps[0], None), (max(1, steps[1] - steps[0]), None))
            self._try(Schedule(ranks.index(0), plan, tuple(ranks)))
            yield

    def _try(self, schedule: Schedule, *, note: bool = False, places: Sequence[Stop] | None = None) -> Run:
        run = run_once(self.scenario, schedule, note=note, places=places)
        self.count += 1
        if not run.faults:
            if not self._known(run.quiet, self._quiet) or self._ended_oddly(run.quiet, self._quiet):
                run.faults.append(f"{RESTS}: {run.quiet}")
            elif not self._known(run.end, self._end):
                run.faults.append(f"{ENDS}: {run.end}")
        stops = tuple(f"{_letter(task)} {nth} {_letter(to)} {name}" for task, name, nth, to in places or ())
        for fault in run.faults:
            self._found(schedule, fault, stops)
        return run

    def _known(self, outcome: Outcome, known: set[Outcome]) -> bool:
        if outcome in known or self.scenario.part.loose or "subscribe" in self.scenario.calls:
            return True
        if any(map(outcome.agrees, known)):
            return True
        if not any(call.endswith((*FAILING, *CUTTING)) for call in self.scenario.calls):
            return False
        return all(
            any(_cut_off(taker, one.takers[place]) for one in known if place < len(one.takers))
            for place, taker in enumerate(outcome.takers)
        ) and not self._ended_oddly(outcome, known)

    def _ended_oddly(self, outcome: Outcome, known: set[Outcome]) -> bool:
        """Tell whether somebody has seen an end that no order of calls leads to, where all else may differ."""
        if "subscribe" in self.scenario.calls:
            return False
        ends = {taker[2] for one in known for taker in one.takers} | {
            "open",
            "cancelled",
            *self.scenario.part.ends,
        }
        return not {taker[2] for taker in outcome.takers} <= ends

    def _found(self, schedule: Schedule, what: str, stops: tuple[str, ...] = ()) -> None:
        violation = Violation(self.scenario, schedule, what, stops)
        self.violations.setdefault(violation.kind, violation)

    def _learn(self, log: list[scheduler.Passed]) -> None:
        """Find the places where tasks touch the same without a lock that both hold."""
        seen: dict[tuple[int, str], set[tuple[int, int, tuple[object, ...]]]] = {}
        for task, place, where, locks, _ in log:
            if where is not None:
                seen.setdefault(where, set()).add((task, place, locks))
        places, hot = points.places, self._hot
        for touches in seen.values():
            if len({task for task, _, _ in touches}) < 2:
                continue
            for task, place, locks in touches:
                if place not in hot and any(
                    other != task
                    and (places[place].writes or places[there].writes)
                    and not any(lock in held for lock in locks)
                    for other, there, held in touches
                ):
                    hot.add(place)
        hot.update(place for _, place, *_ in log if places[place].twin in hot)


def _light(log: list[scheduler.Passed]) -> Light:
    """Return the places passed and who else could have gone on, without what was touched."""
    return [(place, others) for _, place, _, _, others in log]


def _cut_off(taker: tuple[str, tuple[str, ...], str], known: tuple[str, tuple[str, ...], str]) -> bool:
    """Tell whether one has taken what is known, less elements that a cancel, a failure or a timer has cut off."""
    _, taken, end = taker
    _, more, other = known
    if end in {"completed", "open"}:
        return taken == more and end == other
    return taken == more[: len(taken)]


def stops_of(violation: Violation) -> Violation:
    """Return a violation with the places where its threads were stopped."""
    if violation.stops:
        return violation
    run = run_once(violation.scenario, violation.schedule, note=True)
    stops: list[str] = []
    step = 0
    names = points.names()
    for count, to in violation.schedule.plan:
        step += count
        if step <= len(run.log):
            task, place, *_ = run.log[step - 1]
            nth = sum(one[:2] == (task, place) for one in run.log[:step])
            goes_on = _letter(run.log[step][0] if to is None and step < len(run.log) else to or 0)
            stops.append(f"{_letter(task)} {nth} {goes_on} {names[place]} (line {points.places[place].line})")
    return Violation(violation.scenario, violation.schedule, violation.what, tuple(stops))
