"""extend: what operators of the user are made of; docs/guides/own-operators.md builds one of each kind.

A `Stage` is a synchronous step: its `Body` says what to do with one element, and the engine weaves the bodies of
neighbours into one loop. A `Joint` sees signals and demand; a `JointRelay` is the usual ground for one. A `Source` is
where elements come from. `Stream.apply` adds a stage or a joint to a stream, `Stream.from_source` begins one with a
source. What is exported here is stable; the rest of the engine is not.
"""

from penstock.engine.grounds.joint_relay import JointRelay
from penstock.engine.words.arguments import count_given, function_given
from penstock.stage import Again, AsyncOpener, Body, Gives, Joint, LoopGate, Opener, Results, Sight, Source, Stage

__all__ = [
    "Again",
    "AsyncOpener",
    "Body",
    "Gives",
    "Joint",
    "JointRelay",
    "LoopGate",
    "Opener",
    "Results",
    "Sight",
    "Source",
    "Stage",
    "count_given",
    "function_given",
]
