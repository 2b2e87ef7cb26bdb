"""sight: how much of a stream an operator has to see, and what ties it to the one run it stands in.

An engine that cuts a stream into parts asks here what it may run where. An operator that treats each element alone is
right wherever the elements are; any other says what it is that a part of the stream does not have.
"""

from __future__ import annotations

from enum import Enum


class Sight(Enum):
    """Whether a step treats each element alone, or whether order and neighbours matter."""

    ITEM = "item"
    STREAM = "stream"


class Tie(Enum):
    """What ties an operator to the whole of one run; of no matter where it treats each element alone."""

    ORDER = "order and neighbours matter to it"
    FAILURE = "it ends the whole stream in place of a failure"
    RUN = "it sees the beginning and the end of a run"
    AGAIN = "it subscribes again"
    SHARED = "it keeps one run for all its subscribers"
    TIME = "it goes by a clock, between elements too"
    DEMAND = "it goes by what is asked for"
    INPUTS = "it has other inputs"
    STREAMS = "it gives streams, or follows them, while they run"
    BOOKS = "it keeps its books in the process that reads them"
    PLACE = "it says where and how a run is subscribed"
    START = "it begins a stream"
