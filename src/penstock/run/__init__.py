"""run: what `pipeline.run()` returns: a handle on the run, its progress, and the plan it follows."""

from penstock.plan import Plan, PlannedPart
from penstock.run.handle import Controls, Run
from penstock.run.in_process import InProcess
from penstock.run.progress import PlannedProgress, Progress, QueryProgress
from penstock.run.valves.valve import Valve, Valved

__all__ = [
    "Controls", "InProcess", "Plan", "PlannedPart", "PlannedProgress", "Progress", "QueryProgress", "Run", "Valve",
    "Valved",
]  # fmt: skip
