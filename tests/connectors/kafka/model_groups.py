"""model_groups: the groups of the model broker: members, generations, and the offsets that are committed."""

from __future__ import annotations

import threading
import time
from collections import defaultdict
from dataclasses import dataclass, field

from tests.connectors.kafka.model_logs import Place
from tests.connectors.kafka.wire import Answer, Asked

UNKNOWN_MEMBER, ILLEGAL_GENERATION, REBALANCE = 25, 22, 27


@dataclass(slots=True)
class Member:
    """A consumer in a group."""

    session: float
    seen: float
    metadata: bytes = b""
    joins: bool = True
    """Whether it has asked to be in the next generation."""


@dataclass(slots=True)
class Group:
    """Its members, and how the leader has shared the partitions among them."""

    members: dict[str, Member] = field(default_factory=dict)
    generation: int = 0
    protocol: str = ""
    shared: dict[str, bytes] | None = None
    rebalances: bool = False

    def lacks(self, member: str, generation: int) -> int:
        """Return why a member of a generation is none, 0 if it is."""
        if member not in self.members:
            return UNKNOWN_MEMBER
        return 0 if generation == self.generation else ILLEGAL_GENERATION

    def gathered(self) -> bool:
        """Tell whether all members have joined; those that were not heard of are given up."""
        now = time.monotonic()
        for name, one in list(self.members.items()):
            if not one.joins and now - one.seen > one.session:
                del self.members[name]
        return all(one.joins for one in self.members.values())


class Groups:
    """The groups of a cluster; called while the broker's lock is held, which `changed` waits without."""

    def __init__(self, changed: threading.Condition) -> None:
        self._changed = changed
        self._groups: dict[str, Group] = defaultdict(Group)
        self._count = 0
        self.offsets: dict[str, dict[Place, int]] = defaultdict(dict)

    def lacks(self, name: str, member: str, generation: int) -> int:
        """Return why a member of a generation is none, 0 if it is, or if it says of itself that it is none."""
        return 0 if generation < 0 and not member else self._groups[name].lacks(member, generation)

    def shared(self, name: str) -> bool:
        """Tell whether the members of a group have their partitions."""
        return self._groups[name].shared is not None

    def give_up(self, name: str) -> None:
        """Have no members in a group."""
        self._groups[name].members.clear()

    def forget(self, name: str) -> None:
        """Know nothing of a group."""
        self._groups.pop(name, None)
        self.offsets.pop(name, None)

    def join(self, asked: Asked, answer: Answer, version: int) -> None:
        """Take a member into the next generation, which begins when all members have joined."""
        group = self._groups[asked.text()]
        session = asked.int32() / 1000
        if version >= 1:
            asked.int32()
        name = asked.text()
        asked.text()
        protocols = asked.several(lambda: (asked.text(), asked.data())) or []
        if not name:
            self._count += 1
            name = f"member-{self._count}"
        one = group.members[name] = Member(session, time.monotonic(), protocols[0][1])
        group.rebalances = True
        before = group.generation
        self._changed.notify_all()
        while group.generation == before:
            if group.gathered():
                group.generation += 1
                group.protocol, group.shared, group.rebalances = protocols[0][0], None, False
                for each in group.members.values():
                    each.joins = False
                self._changed.notify_all()
            else:
                self._changed.wait(0.05)
        one.seen = time.monotonic()
        leader = next(iter(group.members))
        shown = group.members.items() if name == leader else ()
        answer.numbers("hi", 0, group.generation).text(group.protocol).text(leader).text(name)
        answer.several(shown, lambda each: answer.text(each[0]).data(each[1].metadata))

    def sync(self, asked: Asked, answer: Answer, _: int) -> None:
        """Tell a member its partitions, as the leader says."""
        group = self._groups[asked.text()]
        generation, name = asked.int32(), asked.text()
        given = dict(asked.several(lambda: (asked.text(), asked.data())) or [])
        error = group.lacks(name, generation)
        if given and not error:
            group.shared = given
            self._changed.notify_all()
        while not error and group.shared is None:
            self._changed.wait(0.05)
            error = REBALANCE if group.rebalances else group.lacks(name, generation)
        shared = group.shared or {}
        answer.numbers("h", error).data(b"" if error else shared.get(name, b""))

    def heartbeat(self, asked: Asked, answer: Answer, _: int) -> None:
        """Hear of a member, and tell it that others have come or gone."""
        group = self._groups[asked.text()]
        generation, name = asked.int32(), asked.text()
        error = group.lacks(name, generation)
        if not error:
            group.members[name].seen = time.monotonic()
        answer.numbers("h", error or (REBALANCE if group.rebalances else 0))

    def leave(self, asked: Asked, answer: Answer, _: int) -> None:
        """Let a member go."""
        group = self._groups[asked.text()]
        group.members.pop(asked.text(), None)
        group.rebalances = bool(group.members)
        answer.numbers("h", 0)


__all__ = ["Groups"]
