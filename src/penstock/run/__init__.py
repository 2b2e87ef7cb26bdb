"""run: what `pipeline.run()` returns: a handle on the run, its progress, and the plan it follows."""

from penstock.plan import Plan, PlannedPart
from penstock.run.handle import Controls, InProcess, Run
from penstock.run.progress import Progress
from penstock.run.valve import Valve, Valved

__all__ = ["Controls", "InProcess", "Plan", "PlannedPart", "Progress", "Run", "Valve", "Valved"]
