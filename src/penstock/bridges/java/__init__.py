"""java: `java.util.concurrent.Flow` in a JVM that is reached by Py4J, in both directions."""

from penstock.bridges.java.errors import JavaError, JavaTypeError, JavaValueError
from penstock.bridges.java.inflow import from_flow_publisher
from penstock.bridges.java.outflow import to_flow_publisher

__all__ = ["JavaError", "JavaTypeError", "JavaValueError", "from_flow_publisher", "to_flow_publisher"]
