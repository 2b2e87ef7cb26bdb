"""stage: what a step of a chain is."""

from penstock.stage.again import Again, Gives
from penstock.stage.body import Body
from penstock.stage.gate import SIZED, InnerGate, LoopGate, used_up
from penstock.stage.results import Results
from penstock.stage.sight import Sight, Tie
from penstock.stage.step import AsyncOpener, Joint, Opener, Source, Stage, Step
from penstock.stage.waiting import MakeWaiting, Waiting

__all__ = [
    "SIZED",
    "Again",
    "AsyncOpener",
    "Body",
    "Gives",
    "InnerGate",
    "Joint",
    "LoopGate",
    "MakeWaiting",
    "Opener",
    "Results",
    "Sight",
    "Source",
    "Stage",
    "Step",
    "Tie",
    "Waiting",
    "used_up",
]
