"""What Spark raises is told in words that help."""

from __future__ import annotations

from pyspark.errors.exceptions.captured import CapturedException

from penstock.spark.wire import failure


def test_an_error_without_a_message_is_named(spark):
    java = spark.session._jvm.java
    silent = java.lang.IllegalStateException("the query failed: ", java.io.EOFException())
    error = failure.original(failure.original(CapturedException(origin=silent)))
    (note,) = error.__notes__
    first, *places = note.splitlines()
    assert first == "Spark's own error was java.io.EOFException"
    assert places
    assert all(place.startswith("  at ") for place in places)


def test_an_error_with_a_message_has_no_note(spark):
    java = spark.session._jvm.java
    told = java.lang.IllegalStateException("the query failed", java.io.EOFException("the planner has gone"))
    assert not hasattr(failure.original(CapturedException(origin=told)), "__notes__")


class Unsayable(Exception):
    """An error of a JVM that has gone, which would say what it says."""

    def __str__(self):
        raise ConnectionRefusedError


def test_an_error_that_cannot_say_anything_arrives_as_it_is():
    error = Unsayable()
    assert failure.original(error) is error
