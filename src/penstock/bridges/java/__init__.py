"""java: `java.util.concurrent.Flow` and org.reactivestreams in a JVM reached by Py4J, in both directions."""

from penstock.bridges.java.errors import JavaError, JavaTypeError, JavaValueError
from penstock.bridges.java.inflow import from_flow_publisher
from penstock.bridges.java.outflow import to_flow_publisher
from penstock.bridges.java.parties import from_java, to_java

__all__ = [
    "JavaError",
    "JavaTypeError",
    "JavaValueError",
    "from_flow_publisher",
    "from_java",
    "to_flow_publisher",
    "to_java",
]
