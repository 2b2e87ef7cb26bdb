"""stage: what a step of a chain is."""

from penstock.stage.again import Again, Gives
from penstock.stage.body import Body
from penstock.stage.dividing import Dividing, MakeDividing
from penstock.stage.gate import SIZED, InnerGate, LeftLoop, LoopGate, used_up
from penstock.stage.results import Results
from penstock.stage.sight import Sight, Tie
from penstock.stage.step import AsyncOpener, Joint, Opener, Source, Stage, Step
from penstock.stage.waiting import Holding, MakeWaiting, Silence, Waiting

__all__ = [
    "SIZED",
    "Again",
    "AsyncOpener",
    "Body",
    "Dividing",
    "Gives",
    "Holding",
    "InnerGate",
    "Joint",
    "LeftLoop",
    "LoopGate",
    "MakeDividing",
    "MakeWaiting",
    "Opener",
    "Results",
    "Sight",
    "Silence",
    "Source",
    "Stage",
    "Step",
    "Tie",
    "Waiting",
    "used_up",
]
