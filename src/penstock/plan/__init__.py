"""plan: what of a chain or a pipeline runs where and what bounds it, to be read and drawn; nothing runs for it."""

from penstock.plan.parts import Plan, PlannedPart

__all__ = ["Plan", "PlannedPart"]
