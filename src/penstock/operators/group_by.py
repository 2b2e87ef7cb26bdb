"""group_by: split a stream into one per key.

Group: split a stream
Marble: a.group_by(lambda n: 'odd' if n % 2 else 'even') over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable, Hashable
from dataclasses import dataclass
from math import inf
from typing import Any, ClassVar, NoReturn, TypeVar

from penstock.engine.grounds.outlet import element_or_raise
from penstock.engine.many.branch import Branch, untold
from penstock.engine.many.substreams import Trunk
from penstock.engine.places.clocks import SYSTEM_CLOCK, Clock, clock_given, seconds_of
from penstock.engine.runs.chain import Chain
from penstock.engine.weaving.blame import blamed
from penstock.engine.words.arguments import count_given, function_given, stays_here
from penstock.errors import OverflowedError
from penstock.spec.interfaces import Subscriber
from penstock.stage import Joint, MakeDividing, Results, Source, Tie

T = TypeVar("T")
G = TypeVar("G")


class _ByKey:
    """The rule, in pieces: an element goes to the group of its key, and groups end with upstream."""

    __slots__ = ("_key", "_make", "due", "most", "seconds")
    kept: ClassVar[tuple[str, ...]] = ()
    timed: ClassVar[bool] = False
    named: ClassVar[bool] = True

    def __init__(self, step: GroupBy[Any, Any]) -> None:
        self._key = step.key
        self._make = step.make
        self.most = step.groups
        self.seconds = inf
        self.due: float | None = None

    def begin(self, now: float, /) -> None:
        pass

    def into(self, element: Any, now: float, /) -> tuple[Hashable, bool]:
        return self._key(element), False

    def ended(self) -> None:
        pass

    def made(self, name: Any, chain: Any, /) -> Any:
        return self._make(name, chain)


@dataclass(frozen=True, slots=True)
class GroupBy(Joint[T, G]):
    """Emit a stream for each key, which emits the elements of that key in their order.

    Emits a group when an element with a new key comes; the element is the first of the group, and goes with it if it is
    cancelled before. After a group was cancelled, the next element of its key begins a new one. Backpressures when
    neither elements of the groups nor more groups are asked for: at most `size` elements wait, for all groups together,
    and a slow group holds the others back. Fails when more than `groups` are open, and when all elements that wait are
    in groups that have no subscriber and get none within `patience` seconds. Completes when upstream and the groups
    that are read have completed. Cancels upstream when the stream of groups and all groups are cancelled; groups
    without a subscriber are gone then.
    """

    results: ClassVar[Results] = Results.AS_MANY
    tie: ClassVar[Tie] = Tie.STREAMS
    divides: ClassVar[MakeDividing | None] = _ByKey
    key: Callable[[T], Hashable]
    make: Callable[[Any, Chain], G]
    groups: int = 1024
    size: int = 256
    patience: float = 5.0
    clock: Clock = SYSTEM_CLOCK

    def __post_init__(self) -> None:
        function_given("group_by", "key", self.key)
        function_given("group_by", "make", self.make)
        count_given("group_by", "groups", self.groups, 1)
        count_given("group_by", "size", self.size, 1)
        seconds_of("group_by", "patience", self.patience)
        clock_given("group_by", self.clock)

    def open(self, downstream: Subscriber[G], /) -> Subscriber[T]:
        """Put the trunk of the groups in front of what follows."""
        return _GroupByRun(self, downstream)


@dataclass(frozen=True, slots=True, eq=False)
class _Group(Source[Any]):
    """The source of one group."""

    branch: Branch

    def connect(self, downstream: Subscriber[Any], /) -> None:
        self.branch.claim(downstream)

    def __reduce__(self) -> NoReturn:
        raise stays_here("group_by", "a group", "its elements come from a run that is under way; collect them")


class _GroupByRun(Trunk):
    """A trunk in which a group that was cancelled is followed by another of its key, its heir.

    The heir takes over what the subscriber of the group had not asked for, in front of what has come since, and is sent
    out when the group has been let go of. So that there can be one, the outer stream completes after the groups that
    have a subscriber.
    """

    _renews = True

    def __init__(self, step: GroupBy[Any, Any], downstream: Subscriber[Any]) -> None:
        super().__init__("group_by", downstream, step.size, step.patience, step.clock)
        self._step = step
        self._key = step.key
        self.drops = getattr(step.make, "drops", untold)
        self._groups: dict[Hashable, Branch] = {}
        self._sending = 0
        """How many groups are on their way to the outer subscriber."""
        self.outer.on_taken = self._sent

    def on_next(self, element: Any, /) -> None:
        if element is None:
            element_or_raise(element, "on_next")
        if self.done:
            return
        try:
            key = self._key(element)
            group = self._groups.get(key)
        except Exception as error:  # noqa: BLE001  rule 1.4
            self.fail(blamed(error, self._step, self._key))
            return
        if group is None or not self.hand_on(group, element):
            self._sort(key, [element])

    def on_chunk(self, elements: list[Any], /) -> None:
        """Sort several elements at once; each group gets its own together."""
        key_of = self._key
        sorted_: dict[Hashable, list[Any]] = {}
        failure: Exception | None = None
        for element in elements:
            try:
                key = key_of(element)
                if key in sorted_:
                    sorted_[key].append(element)
                else:
                    sorted_[key] = [element]
            except Exception as error:  # noqa: BLE001  rule 1.4
                failure = blamed(error, self._step, key_of)
                break
        for key, some in sorted_.items():
            if self.done:
                return
            self._sort(key, some)
        if failure is not None:
            self.fail(failure)

    def _sort(self, key: Hashable, elements: list[Any]) -> None:
        """Give elements to the group of their key, which may be cancelled and follow itself meanwhile."""
        while elements and not self.done:
            group, begins = self._groups.get(key), False
            if group is None:
                group, begins = self._begin(key)
            if group is None:
                self.let_go(elements)
                return
            if self.put(group, elements):
                return
            if begins:  # it was cancelled before its first element came, which goes with it
                self.let_go(elements[:1], group)
                elements = elements[1:]

    def _begin(self, key: Hashable) -> tuple[Branch | None, bool]:
        """Open a group and send it out, or return the heir that has come since no group was found; tell which."""
        with self.lock:
            heir = self._groups.get(key)
            full = heir is None and len(self._groups) >= self._step.groups
            group = heir if heir is not None or full else self.fresh(key)
        if full:
            self.fail(
                OverflowedError(
                    f"group_by: {self._step.groups} groups are open and an element came for another, {key!r}; end "
                    "groups when they are done, with take or timeout say, or say group_by(..., groups=n) with a "
                    "greater n"
                ),
                now=True,
            )
        elif group is not None and heir is None:
            self.send(group)
        return group, heir is None

    def entered(self, branch: Branch) -> None:
        self._groups[branch.key] = branch

    def made(self, branch: Branch) -> object:
        return self._step.make(branch.key, Chain(_Group(branch)))

    def name_of(self, branch: Branch) -> str:
        return f"the group of {branch.key!r}"

    def left(self, branch: Branch) -> None:
        if self._groups.get(branch.key) is branch:
            del self._groups[branch.key]

    # Heirs.

    def send(self, branch: Branch) -> None:
        with self.lock:
            self._sending += 1
        super().send(branch)

    def _sent(self, count: int) -> None:
        with self.lock:
            self._sending -= count
        self._complete_outer()

    def _follows(self) -> bool:
        return bool(self._claimed or self._sending)

    def _retire(self, branch: Branch) -> None:
        if branch.left:
            return
        super()._retire(branch)
        if not (self._failed or self._outer_done or self.outer.closed):
            heir = branch.heir = self._enter(branch.key)
            heir.done = self.done

    def _heir_of(self, branch: Branch, rest: list[Any]) -> Branch | None:
        if rest:
            self._retire(branch)
        heir, branch.heir = branch.heir, None
        if heir is None or heir.left:
            return None
        left = rest[0 if branch._taken else 1 :]  # the first goes with its group, or one could follow another for ever
        del rest[len(rest) - len(left) :]
        heir.queue.extendleft(reversed(left))
        heir.held += len(left)
        branch.held -= len(left)
        self._unclaimed += len(left)
        if not heir.queue:
            heir.left = True
            self._leave(heir)
            self._orphans.pop(heir, None)
            return None
        if heir.done:
            self._open.pop(heir, None)
        return heir
