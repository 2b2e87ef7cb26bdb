"""processor: chapter 4 of the contract, what joins a subscriber and a publisher."""

from __future__ import annotations

from typing import Final

from penstock.spec.rules.model import Level, Party, Rule, in_texts

_NO_PROCESSOR = "That text has no processor."

PROCESSOR_RULES: Final = (
    Rule(
        id="4.1",
        party=Party.PROCESSOR,
        level=Level.MUST,
        sentence="A processor keeps the rules of a subscriber on one side and those of a publisher on the other.",
        hint="Look at the rules of the side that failed; what crosses from one side to the other is the likely place.",
        tests=(
            "processor.keeps_both_contracts",
            "processor.elements_pass_in_order",
            "processor.elements_pass_between_threads",
        ),
        variants=in_texts("4.1", cpp=None, cpp_differs=_NO_PROCESSOR),
    ),
    Rule(
        id="4.2",
        party=Party.PROCESSOR,
        level=Level.MUST,
        sentence="A processor passes an error on at once, or recovers and treats its own subscription as cancelled.",
        hint="Look for an error that waits behind elements or for demand, and for calls upstream after recovery.",
        tests=("processor.error_is_passed_on_at_once", "processor.recovery_ends_upstream"),
        variants=in_texts("4.2", cpp=None, cpp_differs=_NO_PROCESSOR),
    ),
)
