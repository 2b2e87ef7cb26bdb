"""broken_pull_sound: pull-stream modules that keep every property, from which the broken ones are made.

Written apart from penstock.pull, so that the kit is tried against modules it was not made for.
"""

from __future__ import annotations

from collections import deque


def asks(abort):
    return abort is None or abort is False


class Supply:
    """Give 0, 1, 2 and so on, at once or, what is due, when its schedule is run; sound, and the ground of sources."""

    def __init__(self, count, schedule=None, error=None):
        self.count, self.schedule, self.error = count, schedule, error
        self.given = 0
        self.end = None
        self.waiting = deque()

    def __call__(self, abort, answer=None):
        if asks(abort):
            self.waiting.append(answer)
            self.later(self.next)
            return
        if self.end is None:
            self.end = abort
        if answer is not None:
            self.waiting.append(answer)
        self.later(self.settle)

    def later(self, move):
        if self.schedule is None:
            move()
        else:
            self.schedule.append(move)

    def settle(self):
        while self.waiting:
            self.waiting.popleft()(self.end)

    def next(self):
        if not self.waiting:
            return
        if self.end is None and self.given == self.count:
            self.end = self.error or True
        if self.end is not None:
            self.settle()
            return
        self.given += 1
        self.waiting.popleft()(None, self.given - 1)


class Sound:
    """Pass everything on, with one ask at a time upstream."""

    def __init__(self, upstream):
        self.upstream = upstream
        self.waiting = deque()
        self.end = None
        self.out = False
        self.closing = False
        self.pumping = False
        self.given = 0

    def __call__(self, abort, answer=None):
        if asks(abort):
            self.asked(answer)
        else:
            self.aborted(abort, answer)

    def asked(self, answer):
        self.waiting.append(answer)
        self.pump()

    def pump(self):
        if self.pumping or self.closing:
            return
        self.pumping = True
        while self.waiting and not self.out and not self.closing:
            if self.end is not None:
                self.give(self.waiting.popleft(), self.end)
            else:
                self.ask()
        self.pumping = False

    def ask(self):
        self.out = True
        self.upstream(None, self.arrived)

    def arrived(self, end, value=None):
        self.out = False
        if self.end is None:
            if asks(end):
                self.value(value)
            else:
                self.ended(end)
        self.pump()

    def value(self, value):
        self.given += 1
        self.give(self.waiting.popleft(), None, value)

    def ended(self, end):
        self.end = end

    def give(self, answer, end, value=None):
        try:
            if end is None:
                answer(None, value)
            else:
                answer(end)
        except Exception:
            pass  # a consumer's fault, which harms nobody else

    def aborted(self, why, answer):
        if answer is not None:
            self.waiting.append(answer)
        if self.end is None:
            self.close(why)
        else:
            self.pump()

    def close(self, why):
        self.end = why
        self.closing = True
        self.upstream(why, self.confirmed)

    def confirmed(self, end, value=None):
        self.closing = False
        self.out = False
        if self.end is True and isinstance(end, Exception):
            self.end = end
        self.pump()


class Take(Sound):
    """Let a few values through and stop."""

    def __init__(self, upstream, count):
        super().__init__(upstream)
        self.left = count

    def ask(self):
        if self.left:
            super().ask()
        else:
            self.close(True)

    def value(self, value):
        self.left -= 1
        super().value(value)


class Map(Sound):
    """Give what a function makes of each value."""

    def __init__(self, upstream, fn):
        super().__init__(upstream)
        self.fn = fn

    def value(self, value):
        try:
            made = self.fn(value)
        except Exception as error:
            self.failed(error)
        else:
            super().value(made)

    def failed(self, error):
        self.close(error)


class Ahead(Sound):
    """Read up to three values ahead, and keep them."""

    def __init__(self, upstream):
        super().__init__(upstream)
        self.held = deque()
        self.last = None

    def ask(self):
        if self.held:
            self.given += 1
            self.give(self.waiting.popleft(), None, self.held.popleft())
        elif self.last is not None:
            self.end = self.last
        else:
            super().ask()

    def pump(self):
        super().pump()
        if len(self.held) < 3 and self.last is None and self.end is None and not self.out and self.given:
            super().ask()

    def value(self, value):
        self.held.append(value)

    def ended(self, end):
        self.last = end

    def aborted(self, why, answer):
        self.held.clear()
        if self.last is not None and self.end is None:
            self.end = self.last
        super().aborted(why, answer)


class Work(Sound):
    """Work on each value by `start(value, finished)`, and give the result."""

    def __init__(self, upstream, start):
        super().__init__(upstream)
        self.start = start
        self.working = False
        self.confirmation = None

    def value(self, value):
        self.working = self.out = True
        self.start(value, self.finished)

    def finished(self, error, result):
        self.working = self.out = False
        if self.end is None:
            super().value(result)
        elif self.confirmation is not None:
            super().confirmed(*self.confirmation)
        self.pump()

    def confirmed(self, end, value=None):
        if self.working:
            self.confirmation = (end,)
        else:
            super().confirmed(end)


class Hooked(Sound):
    """Tell a function of the end, once."""

    def __init__(self, upstream, hook):
        super().__init__(upstream)
        self.hook = hook

    def tell(self, end):
        hook, self.hook = self.hook, lambda end: None
        hook(end if isinstance(end, Exception) else None)

    def ended(self, end):
        self.tell(end)
        super().ended(end)

    def close(self, why):
        self.tell(why)
        super().close(why)


class Flatten(Sound):
    """Give the values of the sources that come."""

    def __init__(self, upstream):
        super().__init__(upstream)
        self.inner = None

    def ask(self):
        if self.inner is None:
            super().ask()
        else:
            self.out = True
            self.inner(None, self.inner_arrived)

    def value(self, value):
        self.inner = value

    def inner_arrived(self, end, value=None):
        self.out = False
        if self.end is None:
            if asks(end):
                super().value(value)
            else:
                self.inner = None
                if isinstance(end, Exception):
                    self.inner_failed(end)
        self.pump()

    def inner_failed(self, error):
        self.end = error
        self.closing = True
        self.upstream(True, self.confirmed)

    def close(self, why):
        if self.inner is None:
            super().close(why)
            return
        self.end, self.closing = why, True
        inner, self.inner = self.inner, None
        inner(why, lambda end, value=None: self.upstream(why, self.confirmed))


class Cat:
    """Give the values of one source after the other."""

    def __init__(self, inputs):
        self.inputs = list(inputs)
        self.waiting = deque()
        self.end = None
        self.closing = self.out = self.pumping = False

    def __call__(self, abort, answer=None):
        if answer is not None:
            self.waiting.append(answer)
        if not asks(abort) and self.end is None:
            self.close(abort)
        self.pump()

    def pump(self):
        if self.pumping:
            return
        self.pumping = True
        while self.waiting and not self.out and not self.closing:
            if self.end is None and not self.inputs:
                self.end = True
            if self.end is not None:
                self.waiting.popleft()(self.end)
            else:
                self.out = True
                self.inputs[0](None, self.arrived)
        self.pumping = False

    def arrived(self, end, value=None):
        self.out = False
        if self.end is None:
            if asks(end):
                self.waiting.popleft()(None, value)
            else:
                self.inputs.pop(0)
                if isinstance(end, Exception):
                    self.close(end)
        self.pump()

    def close(self, why):
        self.end = why
        left = self.open_inputs()
        self.closing = bool(left)
        self.confirmed_by = 0
        for each in left:
            each(why, lambda end, value=None: self.confirmed(len(left)))

    def open_inputs(self):
        return list(self.inputs)

    def confirmed(self, count):
        self.confirmed_by += 1
        if self.confirmed_by == count:
            self.closing = self.out = False
            self.pump()


class Over:
    """Give what an iterator has, and close it at the end."""

    def __init__(self, iterator):
        self.iterator = iterator
        self.end = None

    def __call__(self, abort, answer=None):
        value = None
        if self.end is None:
            if not asks(abort):
                self.finish(abort)
            else:
                try:
                    value = self.next()
                except StopIteration:
                    self.finish(True)
                except Exception as error:
                    self.finish(error)
        if answer is not None:
            answer(self.end) if self.end is not None else answer(None, value)

    def next(self):
        return next(self.iterator)

    def finish(self, end):
        self.end = end
        self.iterator.close()


class Drain:
    """Read everything; `op` may return False to stop, and `done` is told the end."""

    def __init__(self, op, done):
        self.op, self.done = op, done
        self.seen = []
        self.read = None
        self.stopped = None
        self.over = False
        self.looping = False
        self.now = False

    def __call__(self, read):
        if self.read is not None:
            raise RuntimeError("it is wired once")
        self.read = read
        self.loop()

    def loop(self):
        if self.looping:
            return
        self.looping = True
        while not self.over and self.stopped is None:
            self.now = False
            self.ask()
            if not self.now:
                break
        self.looping = False

    def ask(self):
        self.read(None, self.answered)

    def answered(self, end, value=None):
        self.now = True
        if self.stopped is not None:
            return
        if not asks(end):
            self.ended(end)
            return
        try:
            self.seen.append(value)
            if self.op is not None and self.op(value) is False:
                self.stop(True)
        except Exception as error:
            self.failed(error)
        self.loop()

    def ended(self, end):
        self.finish(end if isinstance(end, Exception) else None)

    def failed(self, error):
        self.stop(error)

    def stop(self, why):
        self.stopped = why
        self.read(why, self.closed)

    def closed(self, end, value=None):
        self.finish(self.stopped if isinstance(self.stopped, Exception) else None)

    def finish(self, error):
        if not self.over:
            self.over = True
            self.tell(error)

    def tell(self, error):
        self.done(error, tuple(self.seen))
