"""step: what a chain is made of: a Source, then Stages (synchronous) and Joints (signals)."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Iterator
from typing import Any, ClassVar, Generic, TypeVar

from penstock.spec.interfaces import Subscriber
from penstock.stage.again import Again, Gives
from penstock.stage.body import Body
from penstock.stage.dividing import MakeDividing
from penstock.stage.gate import LoopGate
from penstock.stage.results import Results
from penstock.stage.sight import Sight, Tie
from penstock.stage.waiting import MakeWaiting

A_contra = TypeVar("A_contra", contravariant=True)
B_co = TypeVar("B_co", covariant=True)
T = TypeVar("T")

Opener = Callable[[LoopGate | None], Iterator[T]]
"""Start one run; it stops at the gate, or, without one, when it is closed."""
AsyncOpener = Callable[[LoopGate | None], AsyncIterator[T]]


class Stage(Generic[A_contra, B_co]):
    """A synchronous step: a frozen dataclass with a body that the engine weaves into a loop."""

    __slots__ = ()
    loop: ClassVar[Body]
    """The body, where it does not depend on the stage's fields."""
    loops: ClassVar[tuple[Body, ...]] = ()
    """The bodies that `body` chooses among, where it does."""
    sight: ClassVar[Sight] = Sight.STREAM
    tie: ClassVar[Tie] = Tie.ORDER
    gives: ClassVar[Gives] = Gives.ANY
    """What it makes of one element; by this a position in a source is known behind its steps."""
    results: ClassVar[Results] = Results.ANY
    """How many elements it gives; by this `await` and `get` know a stream of one result."""
    keeps: ClassVar[int] = 0
    """How many of the elements before it still needs for the next, besides those in its variable `items`."""
    tallies: ClassVar[bool] = False
    """Whether it is done with each element at once, and says at the end how many there were."""

    def __init_subclass__(cls) -> None:
        """Refuse a body that names what the stage does not have."""
        super().__init_subclass__()
        # Fields are annotations alone until `dataclass` has made them.
        fields = {name for each in cls.__mro__ for name in getattr(each, "__annotations__", ())}
        for body in (*cls.loops, cls.loop) if hasattr(cls, "loop") else cls.loops:
            if not isinstance(body, Body):
                raise TypeError(f"{cls.__name__}: loop must be a Body, got {body!r}; Body(text) makes one")
            for name in body.fields:
                if name not in fields and not hasattr(cls, name):
                    raise TypeError(f"{cls.__name__}: {{{name}}} is neither in the state of its body nor a field")

    @property
    def body(self) -> Body:
        """Return what to do with one element."""
        try:
            return self.loop
        except AttributeError:
            raise TypeError(f"{type(self).__name__}: a Stage must have a Body, in `loop`") from None

    @property
    def steady(self) -> bool:
        """Tell whether it gives the same in another run that gets the same; its functions are taken to do so."""
        return True

    def demand(self, n: int) -> int:
        """Return how many elements of upstream may be asked for when `n` are wanted."""
        return n

    @property
    def cap(self) -> int | None:
        """Return the most elements this step will ever take, or None."""
        return None

    def saw(self, error: Exception) -> None:
        """Look at a failure of upstream that passes on its way down."""


class Joint(Generic[A_contra, B_co]):
    """A step that sees signals and demand: time, other threads, several inputs, sharing."""

    __slots__ = ()
    sight: ClassVar[Sight] = Sight.STREAM
    tie: ClassVar[Tie] = Tie.ORDER
    gives: ClassVar[Gives] = Gives.ANY
    """What it makes of one element; it may look at the next before it gives that."""
    results: ClassVar[Results] = Results.ANY
    """How many elements it gives; by this `await` and `get` know a stream of one result."""
    waits: ClassVar[MakeWaiting | None] = None
    """What makes its rule, where it is one that time wakes and that can run piece by piece."""
    divides: ClassVar[MakeDividing | None] = None
    """What makes its rule, where it gives streams, and the next step can make elements of these piece by piece."""

    @property
    def reads(self) -> int:
        """Return how many of the streams that its function `fn` returns it reads at a time; 0 if it reads none."""
        return 0

    @property
    def steady(self) -> bool:
        """Tell whether it gives the same in another run that gets the same, whatever the time and the threads do."""
        return False

    def open(self, downstream: Subscriber[B_co], /) -> Subscriber[A_contra]:
        """Return the subscriber that stands in front of `downstream` for one run."""
        raise NotImplementedError(f"{type(self).__name__}: a Joint must have open(downstream)")


class Source(Generic[T]):
    """The place where elements come from: by iteration, by asynchronous iteration, or by signals."""

    __slots__ = ()
    tie: ClassVar[Tie] = Tie.START
    clean: ClassVar[bool] = False
    """Whether None can never be among the elements, so that no loop has to look for it."""
    passes: ClassVar[bool] = False
    """Whether it emits nothing, and needs no request to end, where that holds for the stream in its field `stream`."""
    follows: ClassVar[bool] = False
    """Whether another run of it gives the same where that holds for all the chains that it holds."""
    results: ClassVar[Results] = Results.ANY
    """How many elements it gives; as many as come in if it says so and all the chains that it holds do."""
    waits: ClassVar[MakeWaiting | None] = None
    """What makes its rule, where it does to the stream in its field `stream` what such a step would."""

    @property
    def again(self) -> Again:
        """Return what another run gives; for a source that holds chains, it is these that are asked."""
        return Again.UNSAID

    @property
    def pace(self) -> float | None:
        """Return how many seconds apart its elements come, where it is a clock's ticks and nothing else."""
        return None

    def after(self, count: int) -> Source[T] | None:
        """Return a source of what follows the first `count` elements, where it need not touch these; or None."""
        return None

    @property
    def may_hold_none(self) -> bool:
        """Tell whether a loop has to look for None in this very source."""
        return not self.clean

    @property
    def plain(self) -> bool:
        """Tell whether its iterator can neither fail nor be closed; None may be among its items all the same."""
        return False

    def opener(self) -> Opener[T] | None:
        """Return how to iterate over a fresh run, or None if that would block or is impossible."""
        return None

    def waiting_opener(self) -> Opener[T] | None:
        """Return how to iterate over a fresh run on a thread that may wait for elements, or None."""
        return None

    def length(self) -> int | None:
        """Return the number of elements where it is known without touching the source."""
        return None

    def async_opener(self) -> AsyncOpener[T] | None:
        """Return how to iterate asynchronously over a fresh run, or None."""
        return None

    def connect(self, downstream: Subscriber[T], /) -> None:
        """Start a run that signals `downstream`; only for sources that cannot be iterated."""
        raise NotImplementedError(f"{type(self).__name__}: a Source must have opener, async_opener or connect")


Step = Stage[Any, Any] | Joint[Any, Any]
