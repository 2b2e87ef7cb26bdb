"""broken_pull: for each property of the pull-stream protocol modules that break just that one."""

from __future__ import annotations

from collections import deque

from tests.tck.pull.broken_pull_sound import (
    Ahead,
    Cat,
    Drain,
    Flatten,
    Hooked,
    Map,
    Over,
    Sound,
    Take,
    Work,
    asks,
)

# The base


class AnswersWithNeither(Sound):
    """Answer the fourth ask with what is neither a value nor an end."""

    def give(self, answer, end, value=None):
        super().give(answer, 0 if self.given == 4 and end is None else end, value)


class Pushes(Sound):
    """Use an answer function again when there is something new."""

    def give(self, answer, end, value=None):
        super().give(answer, end, value)
        if end is None:
            super().give(answer, None, ("unasked", value))


class AnswersTwice(Sound):
    def give(self, answer, end, value=None):
        super().give(answer, end, value)
        if end is None:
            super().give(answer, end, value)


class ForgetsTheFourth(Sound):
    def value(self, value):
        if value == 3 and len(self.waiting) == 1:
            self.waiting.popleft()
        else:
            super().value(value)


class AnswersTheSecondFirst(Sound):
    """Hold an answer back until the next one was given, if several wait."""

    held = None

    def value(self, value):
        if self.held is None and len(self.waiting) > 1:
            self.held = (self.waiting.popleft(), value)
            return
        super().value(value)
        self.catch_up()

    def catch_up(self):
        if self.held is not None:
            (answer, value), self.held = self.held, None
            self.give(answer, None, value)

    def ended(self, end):
        self.catch_up()
        super().ended(end)

    def close(self, why):
        if self.held is not None:
            self.waiting.appendleft(self.held[0])
            self.held = None
        super().close(why)


class HasOneSlot(Sound):
    """Keep one ask, as npm's pushable does: the next takes its place."""

    def asked(self, answer):
        if self.end is None and not self.closing:
            self.waiting.clear()
        super().asked(answer)


class DropsWhoAskedInsideBefore(Sound):
    """Keep one ask of those made inside of an answer."""

    giving = False

    def give(self, answer, end, value=None):
        self.giving = True
        super().give(answer, end, value)
        self.giving = False

    def asked(self, answer):
        if self.giving and self.end is None:
            self.waiting.clear()
        super().asked(answer)


class SkipsAValueForWhoAsksInside(Sound):
    giving, skipped = False, 0

    def give(self, answer, end, value=None):
        self.giving = True
        super().give(answer, end, value)
        self.giving = False

    def asked(self, answer):
        self.skipped += self.giving
        super().asked(answer)

    def value(self, value):
        super().value(value + self.skipped)


class SkipsAValueWhereManyAskInside(SkipsAValueForWhoAsksInside):
    """Skips one for each that waits behind the third."""

    def asked(self, answer):
        self.skipped += self.giving and len(self.waiting) > 2
        Sound.asked(self, answer)


class TurnsAwayWhoAsksInside(Sound):
    giving = False

    def give(self, answer, end, value=None):
        self.giving = True
        super().give(answer, end, value)
        self.giving = False

    def asked(self, answer):
        if not self.giving:
            super().asked(answer)


class AsksForOneMore(Sound):
    """Ask upstream again as soon as a value was passed on."""

    def __init__(self, upstream):
        super().__init__(upstream)
        self.ahead = deque()

    def value(self, value):
        if self.waiting:
            super().value(value)
            self.out = True
            self.upstream(None, self.arrived)
        else:
            self.ahead.append(value)

    def ask(self):
        if self.ahead:
            super().value(self.ahead.popleft())
        else:
            super().ask()

    def ended(self, end):
        if not self.ahead:
            super().ended(end)


class AsksBeforeItIsAsked(Sound):
    """Ask upstream when the scheduler first runs; `AWAKE` holds what it is to run."""

    awake: list = []

    def __init__(self, upstream):
        super().__init__(upstream)
        self.ahead = None
        self.begun = False
        type(self).awake.append(self.begin)

    def begin(self):
        if not self.begun and self.end is None:
            self.begun = self.out = True
            self.upstream(None, self.keep)

    def keep(self, end, value=None):
        self.out = False
        self.ahead = (end, value)
        self.pump()

    def ask(self):
        self.begun = True
        if self.ahead is None:
            super().ask()
        else:
            (end, value), self.ahead = self.ahead, None
            self.arrived(end, value)


class TellsTheEndWithTheLast(Sound):
    """Look one value further, and give the end along with the last value."""

    def __init__(self, upstream):
        super().__init__(upstream)
        self.last = []

    def ask(self):
        super().ask()

    def value(self, value):
        self.last.append(value)
        if len(self.last) == 2:
            self.given += 1
            self.give(self.waiting.popleft(), None, self.last.pop(0))

    def ended(self, end):
        if self.last and self.waiting:
            answer = self.waiting.popleft()
            self.give(answer, None, self.last.pop())
            self.give(answer, end)
        super().ended(end)


class StartsAnew(Sound):
    """Give a value again when it has run out."""

    told = natural = False

    def ended(self, end):
        self.natural = end is True
        super().ended(end)

    def give(self, answer, end, value=None):
        super().give(answer, end, value)
        self.told = self.told or end is True

    def asked(self, answer):
        if self.natural and self.told:
            self.give(answer, None, "again")
        else:
            super().asked(answer)

    def aborted(self, why, answer):
        self.natural = False
        super().aborted(why, answer)


class AnswersAsksAfterTheEndNoMore(Sound):
    """Answer the asks that saw the end, and aborts, but no ask that comes later."""

    natural = False

    def ended(self, end):
        self.natural = end is True
        super().ended(end)

    def asked(self, answer):
        if self.natural and not self.waiting and not self.pumping:
            return
        super().asked(answer)


class ChangesItsEnd(Sound):
    told = natural = False

    def ended(self, end):
        self.natural = end is True
        super().ended(end)

    def asked(self, answer):
        if self.natural and self.told:
            self.give(answer, OSError("something else"))
        else:
            super().asked(answer)

    def give(self, answer, end, value=None):
        super().give(answer, end, value)
        self.told = self.told or end is True


class ChangesValuesWhenManyWait(Sound):
    def value(self, value):
        super().value(-value if len(self.waiting) > 1 else value)


class EndsWithAValue(Sound):
    def give(self, answer, end, value=None):
        if end is True:
            answer(True, "leftover")
        else:
            super().give(answer, end, value)


class TakesTheValueOfAnEnd(Sound):
    def arrived(self, end, value=None):
        if end is True and value is not None and self.end is None and self.waiting:
            self.value(value)
            self.end = True
        super().arrived(end, value)


class ClosesTwice(Over):
    def __call__(self, abort, answer=None):
        if not asks(abort) and self.end is not None:
            self.iterator.close()
        super().__call__(abort, answer)


class NeverCloses(Over):
    def finish(self, end):
        self.end = end


class ReadsAhead(Over):
    def __init__(self, iterator):
        super().__init__(iterator)
        self.ahead = deque()

    def next(self):
        if not self.ahead:
            self.ahead.extend(next(self.iterator) for _ in range(3))
        return self.ahead.popleft()


class LetsItsIteratorRaise(Over):
    def __call__(self, abort, answer=None):
        if asks(abort) and self.end is None and self.iterator._error is not None:
            answer(None, next(self.iterator))
        else:
            super().__call__(abort, answer)


class GivesUpOnTheSlow(Sound):
    """End when it has not been asked for a while; `rests` counts how often everything came to rest."""

    rests = 0

    def __init__(self, upstream):
        super().__init__(upstream)
        self.last = self.rests

    def asked(self, answer):
        if self.given and self.end is None and type(self).rests != self.last:
            self.end = True
        super().asked(answer)

    def value(self, value):
        super().value(value)
        self.last = type(self).rests


class ExpectsWhatItKnows(Sound):
    """Expect every answer as the first came: at once, or later."""

    at_once = None
    reading = False

    def ask(self):
        self.reading = True
        super().ask()
        self.reading = False

    def arrived(self, end, value=None):
        if self.at_once is None:
            self.at_once = self.reading
        if self.at_once is not self.reading and asks(end) and self.end is None:
            value = "unexpected"
        super().arrived(end, value)


class PilesUp(Sound):
    """Give each value a few frames deeper than the one before."""

    def give(self, answer, end, value=None):
        self.deeper(self.given // 4, answer, end, value)

    def deeper(self, left, answer, end, value):
        if left:
            self.deeper(left - 1, answer, end, value)
        else:
            super().give(answer, end, value)


class AsksWhenWired(Sound):
    def __init__(self, upstream):
        super().__init__(upstream)
        self.ahead = deque()
        self.begun = self.out = True
        upstream(None, self.keep)

    def keep(self, end, value=None):
        self.out = False
        self.ahead.append((end, value))
        self.pump()

    def ask(self):
        if self.ahead:
            self.arrived(*self.ahead.popleft())
        else:
            super().ask()


class SharesWithTheOneBefore(Sound):
    """Read from the upstream of the one made before, if that was not asked yet."""

    before = None

    def __init__(self, upstream):
        before = type(self).before
        super().__init__(before.upstream if before is not None and not before.touched else upstream)
        self.touched = False
        type(self).before = self

    def __call__(self, abort, answer=None):
        self.touched = True
        super().__call__(abort, answer)


class CountsForAllWirings:
    """Let six values through, counted in the through and not in what it makes of an upstream."""

    def __init__(self):
        self.left = 6

    def __call__(self, upstream):
        through = self

        class Counting(Sound):
            def ask(self):
                if through.left > 0:
                    super().ask()
                elif self.given < 6:
                    self.close(True)
                else:
                    super().ask()

            def value(self, value):
                through.left -= 1
                super().value(value)

        return Counting(upstream)


# Abortable


class ForgetsAFirstAbort(Sound):
    begun = False

    def asked(self, answer):
        self.begun = True
        super().asked(answer)

    def aborted(self, why, answer):
        first, self.begun = not self.begun, True
        super().aborted(why, None if first and why is True and answer is not None else answer)


class AnswersAnAbortWithAValue(Sound):
    def aborted(self, why, answer):
        if why is True and answer is not None and self.end is None:
            plain, answer = answer, lambda end, value=None: plain(None, "last")
        super().aborted(why, answer)


class CallsAnAnswerThatIsNotThere(Sound):
    def aborted(self, why, answer):
        if answer is None and why is True and self.end is None:
            self.waiting.append(None)
        super().aborted(why, answer)

    def give(self, answer, end, value=None):
        if answer is None:
            answer(end)
        super().give(answer, end, value)


class IgnoresAnAbortWithoutAnswer(Sound):
    def aborted(self, why, answer):
        if answer is None and why is True and self.end is None and not self.waiting:
            self.upstream(True, lambda end, value=None: None)
            self.ask = self.invent
            return
        super().aborted(why, answer)

    def invent(self):
        self.value("still here")


class AnswersAnAbortFirst(Sound):
    def aborted(self, why, answer):
        if self.right(why) and answer is not None and self.waiting and self.end is None:
            self.waiting.appendleft(answer)
            answer = None
        super().aborted(why, answer)

    def right(self, why):
        return why is True


class AnswersAnErrorFirst(AnswersAnAbortFirst):
    def right(self, why):
        return why is not True


class GivesWaitingAsksAValue(Sound):
    """Answer what waits with a value when an abort comes, as npm's para_map does."""

    def aborted(self, why, answer):
        late, self.waiting = self.waiting, deque()
        if self.end is not None or not self.right(why):
            self.waiting = late
        for each in late if late is not self.waiting else ():
            self.waiting.append(lambda end, value=None, each=each: each(None, "in flight"))
        super().aborted(why, answer)

    def right(self, why):
        return why is True


class GivesWaitingAsksAValueOnError(GivesWaitingAsksAValue):
    def right(self, why):
        return why is not True


class ForgetsTheAbort(Sound):
    """Answer an abort and go on, as npm's values does."""

    gone_on = False

    def asked(self, answer):
        if self.end is True and self.by_abort and not self.closing and not self.gone_on:
            self.gone_on = True
            self.give(answer, None, "again")
        else:
            super().asked(answer)

    by_abort = False

    def aborted(self, why, answer):
        self.by_abort = self.by_abort or (self.end is None and why is True and answer is not None)
        super().aborted(why, answer)


class IgnoresAbortsAfterTheEnd(Sound):
    natural = False

    def ended(self, end):
        self.natural = end is True
        super().ended(end)

    def aborted(self, why, answer):
        if not (self.natural and why is True and answer is not None):
            super().aborted(why, answer)


class PassesEveryAbortOn(Sound):
    def aborted(self, why, answer):
        if self.end is not None and self.closed:
            self.upstream(why, lambda end, value=None: None)
        super().aborted(why, answer)

    closed = False

    def close(self, why):
        self.closed = True
        super().close(why)


class ConfirmsByItself(Sound):
    def close(self, why):
        self.upstream(why, lambda end, value=None: None)
        self.end, self.out = why, False
        self.pump()


class WaitsForItsAsk(Sound):
    """Pass an abort on when the ask upstream is answered."""

    held = None

    def close(self, why):
        if self.out:
            self.held = why
        else:
            super().close(why)

    def arrived(self, end, value=None):
        if self.held is not None and self.end is None:
            self.out, why, self.held = False, self.held, None
            if asks(end):
                super().close(why)
            else:
                self.end = end
                self.pump()
            return
        super().arrived(end, value)


class StopsWithoutAbort(Take):
    def close(self, why):
        if self.left:
            super().close(why)
        else:
            self.end = True


class StopsBeforeItIsConfirmed(Take):
    def ask(self):
        if self.left:
            super().ask()
        else:
            self.end = True
            self.upstream(True, lambda end, value=None: None)


class AsksAfterTheEnd(Sound):
    def asked(self, answer):
        if self.end is not None and not self.closing:
            self.upstream(None, lambda end, value=None: None)
        super().asked(answer)


class DeliversWhatItHolds(Ahead):
    """Empty the buffer before looking at the end."""

    def aborted(self, why, answer):
        held = list(self.held)
        super().aborted(why, answer)
        if why is True and answer is not None and not self.kept:
            self.kept = deque(held)

    kept: deque = deque()

    def asked(self, answer):
        if self.kept and self.end is not None and not self.closing:
            self.give(answer, None, self.kept.popleft())
        else:
            super().asked(answer)


class WaitsForItsWork(Work):
    """Pass an abort on when the work under way is finished."""

    held = None

    def close(self, why):
        if self.working:
            self.held = why
        else:
            super().close(why)

    def finished(self, error, result):
        if self.held is None:
            super().finished(error, result)
        else:
            self.working = self.out = False
            why, self.held = self.held, None
            super().close(why)


class TellsTwice(Hooked):
    def tell(self, end):
        self.hook(end if isinstance(end, Exception) else None)
        super().tell(end)


class TellsNobodyOfAnAbort(Hooked):
    def close(self, why):
        Sound.close(self, why)


class LeavesTheLastOpen(Cat):
    def open_inputs(self):
        return self.inputs[:2] if len(self.inputs) == 3 else self.inputs


class ConfirmsWithTheFirst(Cat):
    def confirmed(self, count):
        super().confirmed(1)


# Fault handling


class ForgetsTheErrorItConfirmed(Sound):
    """Says that it is done, having confirmed an abort with its error."""

    def close(self, why):
        self.why = why
        super().close(why)

    def confirmed(self, end, value=None):
        super().confirmed(end, value)
        if isinstance(self.why, Exception):
            self.end = True


class ForgetsTheError(Sound):
    def give(self, answer, end, value=None):
        super().give(answer, end, value)
        if isinstance(end, Exception) and self.failed:
            self.end = True

    failed = False

    def ended(self, end):
        self.failed = isinstance(end, Exception)
        super().ended(end)


class AnswersWithAnotherError(Sound):
    def confirmed(self, end, value=None):
        if isinstance(self.end, Exception) and len(self.waiting) == 1:
            self.end = OSError("another")
        super().confirmed(end, value)


class AbortsWithoutTheReason(Sound):
    def __init__(self, upstream):
        super().__init__(lambda abort, answer: upstream(abort if asks(abort) else True, answer))


class IgnoresAnErrorWithoutAnswer(Sound):
    def aborted(self, why, answer):
        if answer is not None or why is True or self.end is not None or self.waiting:
            super().aborted(why, answer)
            return
        self.upstream(why, lambda end, value=None: None)
        self.ask = self.invent

    def invent(self):
        self.value("still here")


class TakesTheLaterError(Sound):
    natural = False

    def ended(self, end):
        self.natural = end is True
        super().ended(end)

    def aborted(self, why, answer):
        if self.natural and isinstance(why, Exception) and answer is not None:
            answer(why)
        else:
            super().aborted(why, answer)


class HidesAFailedClose(Sound):
    def confirmed(self, end, value=None):
        super().confirmed(True)


class FailsWithoutAbort(Map):
    def failed(self, error):
        self.end = error


class FailsBeforeItIsConfirmed(Map):
    def failed(self, error):
        self.end = error
        self.upstream(error, lambda end, value=None: None)


class WrapsErrors(Sound):
    def ended(self, end):
        super().ended(OSError("wrapped") if isinstance(end, Exception) else end)


class AbortsTheInputThatFailed(Cat):
    def arrived(self, end, value=None):
        if isinstance(end, Exception):
            self.inputs[0](end, lambda end, value=None: None)
        super().arrived(end, value)


class LeavesTheOthersAlone(Cat):
    def close(self, why):
        if isinstance(why, Exception) and len(self.inputs) == 2:
            self.end = why
        else:
            super().close(why)


class SwallowsErrors(Sound):
    def ended(self, end):
        super().ended(True)


class DropsTheLast(Sound):
    """Hold one value back, and forget it at the end."""

    def __init__(self, upstream):
        super().__init__(upstream)
        self.held = []

    def value(self, value):
        self.held.append(value)
        if len(self.held) == 2:
            super().value(self.held.pop(0))


class LetsItRaise(Map):
    def failed(self, error):
        self.close(error)
        raise error


class StopsWhereAnAnswerRaised(Sound):
    """Leave the loop in the middle when an answer function raises."""

    def give(self, answer, end, value=None):
        if end is None:
            answer(None, value)
        else:
            super().give(answer, end, value)


class AbortsTheOuterWithTheError(Flatten):
    def inner_failed(self, error):
        Sound.close(self, error)


class ClosesTheOuterFirst(Flatten):
    def close(self, why):
        if self.inner is None:
            super().close(why)
            return
        self.end, self.closing = why, True
        inner, self.inner = self.inner, None
        self.upstream(why, lambda end, value=None: inner(why, self.confirmed))


# Sinks


class CountsTheValueOfAnEnd(Drain):
    def ended(self, end):
        super().ended(end)

    def answered(self, end, value=None):
        if value is not None and not asks(end):
            self.seen.append(value)
        super().answered(end, value)


class LosesWhatComesLate(Drain):
    """Take answers as the first came: at once, or later."""

    at_once = None

    def answered(self, end, value=None):
        if self.at_once is None:
            self.at_once = self.looping
        if self.at_once is not self.looping and asks(end):
            value = "unexpected"
        super().answered(end, value)


class AsksFromInside(Drain):
    def loop(self):
        if not self.over and self.stopped is None:
            self.ask()


class ReadsTwo(Drain):
    def __call__(self, read):
        self.read = None
        self.looping = self.over = False
        super().__call__(read)


class AbortsTwice(Drain):
    def stop(self, why):
        super().stop(why)
        self.read(why, lambda end, value=None: None)


class AbortsWhatHasEnded(Drain):
    def ended(self, end):
        self.read(True, lambda end, value=None: None)
        super().ended(end)


class AsksOnceMore(Drain):
    def ended(self, end):
        self.read(None, lambda end, value=None: None)
        super().ended(end)


class TellsTheEndTwice(Drain):
    def tell(self, error):
        super().tell(error)
        super().tell(error)


class TellsNoEndOfNothing(Drain):
    def tell(self, error):
        if self.seen:
            super().tell(error)


class KeepsErrorsToItself(Drain):
    def tell(self, error):
        super().tell(None if error is not None and self.stopped is None else error)


class ReportsItsStop(Drain):
    """Tell a stop of its own as True, as npm's drain does."""

    def closed(self, end, value=None):
        self.finish(self.stopped)


class LeavesWithoutAbort(Drain):
    """Just ask no more, once it has what it wants."""

    def stop(self, why):
        if why is True:
            self.stopped = why
            self.finish(None)
        else:
            super().stop(why)


class AsksOnAndOn(Drain):
    """Have never had enough."""

    def stop(self, why):
        if why is not True:
            super().stop(why)


class KeepsItsFailureToItself(Drain):
    def closed(self, end, value=None):
        self.finish(None)


class LetsItsFunctionRaise(Drain):
    def failed(self, error):
        super().failed(error)
        raise error
