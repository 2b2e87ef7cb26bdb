"""trials: the registry that every file of publisher trials adds to."""

from __future__ import annotations

from penstock.tck.publisher.case import PublisherCase
from penstock.tck.trial import Trials

publisher_trials: Trials[PublisherCase] = Trials("publisher")
HAS_ON_SUBSCRIBE = ("jvm", "dotnet")  # the C++ text has no on_subscribe: subscribe returns the subscription
