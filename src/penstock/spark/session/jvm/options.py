"""options: options with which the JVM of an embedded session has its first answer sooner.

Most of what a JVM does until Spark's first row is to load classes and to compile them. The archive of classes saves the
first. As for the second, a JVM compiles a method quickly when it has run a few hundred times, and thoroughly after some
thousands. Starting Spark alone runs thousands of methods that often and never again, and their thorough compilation
takes a third of the JVM's work until the first row. So that begins ten times later, which the loop over a query's rows
reaches within a moment. Loading classes also makes a JVM collect garbage whenever their number has doubled, in vain;
here it begins where Spark's classes end.
"""

from __future__ import annotations

from penstock.spark.session.java import Java

LATER = (
    "-XX:Tier4InvocationThreshold=50000",
    "-XX:Tier4MinInvocationThreshold=6000",
    "-XX:Tier4CompileThreshold=150000",
    "-XX:Tier4BackEdgeThreshold=400000",
)
"""Ten times the JVM's own numbers."""
ROOM = "-XX:MetaspaceSize=256m"


def quick_start(java: Java) -> str:
    """Return the options, none for a JVM that does not know them."""
    return " ".join((*LATER, ROOM)) if java.is_hotspot else ""


__all__ = ["LATER", "ROOM", "quick_start"]
