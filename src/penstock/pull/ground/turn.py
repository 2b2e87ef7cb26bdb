"""turn: let one thread at a time work in a module, without making other threads wait.

An answer may come from another thread while the read that asked for it has not yet returned. What another thread brings
is put into a queue, which the thread at work empties before it leaves, and, in a long loop, as it goes. No thread waits
for a lock. What comes from the thread that is at work, from inside a function of the stream for example, runs at once
in a `Turn`, and in a `Line` when what runs now has returned: a line nests nothing.

The turn is a token in a list: `pop` and `append` of a list are atomic, and cost a fifth of what a Lock does. A thread
that finds no token has put its function into the queue before, and one that has had the token looks at the queue after
putting it back: nothing is left lying. Once something is in the queue, whatever comes from outside goes there, so that
what comes from one thread stays in order.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from threading import get_ident
from typing import Any

Left = deque[tuple[Callable[..., object], tuple[Any, ...]]]


class Turn:
    """A queue that runs functions one at a time, those of one thread in its order; the thread at work never waits."""

    __slots__ = ("owner", "queue", "token")

    def __init__(self) -> None:
        self.token = [True]
        self.owner = 0
        """The thread that is at work; only that thread finds itself here."""
        self.queue: Left = deque()
        """What other threads have left to be done."""

    def run(self, fn: Callable[..., object], *arguments: Any) -> None:
        """Run a function now, or leave it to the thread that is at work."""
        if self.owner == get_ident():
            fn(*arguments)
        elif not self.queue and self.begin():
            try:
                fn(*arguments)
            finally:
                self.leave()
        else:
            self.queue.append((fn, arguments))
            self.let_in()

    def begin(self) -> bool:
        """Take the turn, if no thread has it."""
        try:
            self.token.pop()
        except IndexError:
            return False
        self.owner = get_ident()
        return True

    def leave(self) -> None:
        """Give the turn back, and do what was left meanwhile."""
        self.owner = 0
        self.token.append(True)
        if self.queue:
            self.let_in()

    def let_in(self) -> None:
        """Do what other threads have left, unless one of them is at work itself."""
        if self.owner == get_ident():
            self._do()
            return
        while self.queue and self.begin():
            try:
                self._do()
            finally:
                self.owner = 0
                self.token.append(True)

    def _do(self) -> None:
        while self.queue:
            fn, arguments = self.queue.popleft()
            fn(*arguments)


class Line(Turn):
    """A queue that runs functions one after the other; one that comes while another runs waits until that returns."""

    __slots__ = ()

    def run(self, fn: Callable[..., object], *arguments: Any) -> None:
        """Run a function now, or after what runs now."""
        if self.queue or not self.begin():
            self.queue.append((fn, arguments))
            self.let_in()
            return
        try:
            fn(*arguments)
        finally:
            self.leave()

    def let_in(self) -> None:
        """Run what has come, unless something runs, which then does so."""
        while self.queue and self.begin():
            try:
                self._do()
            finally:
                self.owner = 0
                self.token.append(True)
