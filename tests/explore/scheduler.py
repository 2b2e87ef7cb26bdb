"""scheduler: run calls on threads of which only one moves at a time, changing between them where a schedule says so.

The code under test comes here at every point where it touches what threads may share (`points.py`). A schedule is a
list of turns: after so many points the next task goes on. A task that waits for a lock gives its turn away; when all
wait, that is a deadlock. Everything else happens in one order only, so a schedule can be run again.

The state is in this module and not in an object, since `point` is called for everything that is looked at.
"""

from __future__ import annotations

import _thread
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from itertools import count
from typing import Any, Protocol

LIMIT = 20_000
"""How many points a run may pass; one that passes more goes round in circles."""
PATIENCE = 20.0
"""Seconds after which a run that does not come back waits for something that the scheduler does not know."""


class Waitable(Protocol):
    """Be what a task waits for."""

    def ready(self) -> bool:
        """Tell whether the wait is over."""
        ...


class Abandoned(BaseException):
    """End a task of a run that has come to a deadlock or to no end."""


@dataclass(slots=True)
class Task:
    """Be a call that is run beside others."""

    call: Callable[[], object]
    name: str
    rank: float = 0.0
    """Who is chosen when somebody has to be: the least."""
    spawned: bool = False
    waiting: Waitable | None = None
    begun: bool = False
    done: bool = False
    error: BaseException | None = None
    gate: Any = None
    started_at: int = -1
    held: list[object] = field(default_factory=list)
    ident: int = field(default_factory=lambda: next(idents))
    """What stands for the identity of its thread."""
    keeps_thread: bool = False
    """Whether nothing else may run on its thread afterwards, since it has left something there."""


idents = count(1)
Touched = tuple[int, str] | None
"""An object, by its number, and its attribute; None if no other thread can see it."""
Passed = tuple[int, int, Touched, tuple[object, ...], tuple[int, ...]]
"""A point that was passed: the task, the place, what is touched, the locks held, and who else could have gone on."""


tasks: list[Task] = []
current = 0
left = LIMIT
"""Points until the next turn, or until the run is given up when the schedule has no more of them."""
turns: list[tuple[int, int | None]] = []
aborting: str | None = None
log: list[Passed] | None = None
things: list[object] | None = []
"""What was touched, kept so that no number stands for two; None where it matters when something is let go of."""
steps = 0
"""The order in which calls begin and cancels return."""
_idle: list[_Worker] = []


class _Worker:
    """Own a thread that runs one task after another."""

    def __init__(self) -> None:
        self.gate = _thread.allocate_lock()
        self.gate.acquire()
        self.index = 0
        threading.Thread(target=self._work, name="explore", daemon=True).start()

    def _work(self) -> None:
        while True:
            self.gate.acquire()
            task = tasks[self.index]
            _run(task)
            task.gate = None
            ends = task.keeps_thread
            if not ends:
                _idle.append(self)
            del task
            _resume(_choose())
            if ends:
                return


def _run(task: Task) -> None:
    global steps
    steps += 1
    task.started_at = steps
    try:
        if aborting is None:
            task.call()
    except Abandoned:
        pass
    except BaseException as error:  # a test looks at whatever was raised
        task.error = error
    task.done = True
    task.call = _nothing


def _nothing() -> None:
    pass


def _runnable(task: Task) -> bool:
    return not task.done and (task.waiting is None or task.waiting.ready())


def _choose() -> int:
    """Return who goes on when the current task cannot: the least rank; the first task if there is no other."""
    best, found = float("inf"), 0
    for index, task in enumerate(tasks):
        if index and task.rank < best and _runnable(task):
            best, found = task.rank, index
    first = tasks[0]
    return 0 if first.rank < best and _runnable(first) else found


def _resume(index: int) -> None:
    """Let a task go on; the caller waits at its gate after this, or ends."""
    global current
    current = index
    task = tasks[index]
    if not task.begun:
        task.begun = True
        worker = _idle.pop() if _idle else _Worker()
        worker.index = index
        task.gate = worker.gate
    task.gate.release()


def change(index: int) -> None:
    """Let another task go on, and wait for the next turn."""
    mine = tasks[current]
    gate, me = mine.gate, current
    _resume(index)
    if not gate.acquire(timeout=PATIENCE) and me == 0:
        raise RuntimeError("a task waits for something that the scheduler does not know")
    if aborting is not None:
        raise Abandoned(aborting)


def point(thing: Any, place: int = 0) -> Any:
    """Be passed by the task that runs; give the turn away if the schedule says so."""
    global left
    left -= 1
    if left:
        return thing
    _turn()
    return thing


def _untouched(_: object, __: int) -> Touched:
    return None


touched: Callable[[Any, int], Touched] = _untouched
"""What tells what is touched at a point; `points` says it."""


def noting_point(thing: Any, place: int = 0) -> Any:
    """Be passed, and note by whom and what is touched."""
    global left
    if log is not None:
        held = tasks[current].held
        log.append((current, place, touched(thing, place), tuple(held) if held else (), _others()))
        if things is not None:
            things.append(thing)
        if by_place is not None:
            _turn_by_place()
    left -= 1
    if not left:
        _turn()
    return thing


def _others() -> tuple[int, ...]:
    if len(tasks) == 2:
        other = tasks[1 - current]
        if other.done or (other.waiting is not None and not other.waiting.ready()):
            return ()
        return (1 - current,)
    return tuple(index for index, other in enumerate(tasks) if index != current and _runnable(other))


by_place: list[tuple[int, str, int, int]] | None = None
place_names: list[str] = []
_passed: dict[tuple[int, str], int] = {}


def _turn_by_place() -> None:
    """Take the next of the turns that are said by place: a task passes a place for the nth time."""
    assert log is not None
    key = (log[-1][0], place_names[log[-1][1]])
    _passed[key] = _passed.get(key, 0) + 1
    if by_place and by_place[0][:2] == key and by_place[0][2] == _passed[key]:
        target = by_place.pop(0)[3]
        tasks[current].rank += 1000  # as a turn without a target would have it
        if _runnable(tasks[target]) and target != current:
            change(target)


def _turn() -> None:
    """Take the next turn of the schedule."""
    global left
    if not turns:
        abort("it does not come to an end")
        return
    _, target = turns.pop(0)
    left = turns[0][0] if turns else LIMIT
    if target is None:  # the one at hand becomes the last in rank
        tasks[current].rank += 1000
        target = _choose()
    if target < len(tasks) and target != current and _runnable(tasks[target]):
        change(target)


def abort(why: str) -> None:
    """Give a run up: every task that has begun is thrown out of where it is."""
    global aborting
    if aborting is None:
        aborting = why
    raise Abandoned(why)


def block(on: Waitable) -> None:
    """Wait, letting others go on."""
    global aborting
    if aborting is not None:
        raise Abandoned(aborting)
    me = tasks[current]
    me.waiting = on
    try:
        while not on.ready():
            index = _choose()
            if index == current or not _runnable(tasks[index]):
                if current == 0:
                    abort("deadlock")
                aborting = "deadlock"  # the first task was waiting too: it is told
                index = 0
            change(index)
    finally:
        me.waiting = None


class _Quiet:
    """Wait until no task can go on."""

    def ready(self) -> bool:
        return True


def spawn(call: Callable[[], object], name: str) -> Task:
    """Add a task that the code under test has started."""
    task = Task(call, name, rank=float(len(tasks)), spawned=True)
    tasks.append(task)
    return task


def open_run() -> None:
    """Begin anew, with the calling thread as the first task."""
    global current, left, aborting, log, steps, by_place, idents, things
    things = []
    idents = count(1)
    gate = _thread.allocate_lock()
    gate.acquire()
    tasks[:] = [Task(_nothing, "main", rank=1e9, begun=True, gate=gate)]
    current, left, aborting, log, steps, by_place = 0, LIMIT, None, None, 0, None
    turns.clear()
    _passed.clear()


def run(
    calls: Sequence[tuple[str, Callable[[], object]]],
    first: int,
    plan: Sequence[tuple[int, int | None]],
    *,
    ranks: Sequence[float] | None = None,
    note: bool = False,
    places: Sequence[tuple[int, str, int, int]] | None = None,
) -> list[Task]:
    """Run calls beside each other: `first` begins; each turn is (points since the last one, who goes on).

    The calling thread runs the first of them itself, which saves two changes of thread for each run.
    """
    global left, log, by_place, steps
    spawned = tasks[1:]
    main = tasks[0]
    mine = [Task(call, name, rank=ranks[index] if ranks else float(index)) for index, (name, call) in enumerate(calls)]
    mine[0], mine[first] = mine[first], mine[0]
    # The first task stands for the main thread, whichever call that is; `translated` says who is where.
    order = list(range(len(calls)))
    order[0], order[first] = order[first], order[0]
    mine[0].gate, mine[0].begun, mine[0].ident = main.gate, True, main.ident
    tasks[:] = [*mine, *spawned]
    for index, task in enumerate(spawned):
        task.rank = 100.0 + index

    def where(index: int) -> int:
        return order.index(index) if index < len(order) else index

    turns[:] = [(count, None if target is None else where(target)) for count, target in plan]
    left = turns[0][0] if turns else LIMIT
    log = [] if note else None
    by_place = None if places is None else [(where(who), name, nth, where(to)) for who, name, nth, to in places]
    _passed.clear()
    _run(mine[0])
    _finish(mine)
    mine[0], mine[first] = mine[first], mine[0]
    if log is not None and first:
        log = [
            (where(task), place, thing, locks, tuple(sorted(map(where, others))))
            for task, place, thing, locks, others in log
        ]
    return mine


def _finish(mine: list[Task]) -> None:
    """Let all others go on until none can."""
    global left, tasks
    rest = Task(_nothing, "main", rank=1e9, begun=True, gate=mine[0].gate, ident=mine[0].ident)
    # The main thread waits as a task that is chosen last of all.
    tasks[0] = rest
    settle()
    stuck = [task for task in tasks if not task.done and task is not rest and not task.spawned]
    if stuck and aborting is None:
        throw_out("deadlock")
    elif aborting is not None:
        throw_out(aborting)
    left = LIMIT


def settle() -> None:
    """Let every other task go on until it ends or waits."""
    while aborting is None:
        index = _choose()
        if index == 0:
            return
        try:
            change(index)
        except Abandoned:
            return


def throw_out(why: str) -> None:
    """Throw all tasks out of where they are."""
    global aborting, left
    aborting = why
    left = LIMIT
    for index, task in enumerate(tasks):
        if index and task.begun and not task.done:
            task.waiting = None
            with suppress(Abandoned):
                change(index)
        task.done = True


def close_run() -> list[str]:
    """End the tasks that the code under test has started; return the names of those that had not ended."""
    settle()
    living = [task.name for task in tasks[1:] if not task.done]
    if living:
        throw_out("over")
    return living
