"""laws: what holds for every operator, as one call.

An operator is held against a model, a function from the list of all elements to the list of all results. `check_stage`,
`check_joint` and `check_source` hold what a stage, a function of a stream and a source give against it:

- it agrees with its model however demand is sliced, whether upstream is iterated, signals, or is asynchronous;
- it never emits more than was requested, and keeps the other rules a subscriber can see;
- two runs of it share nothing;
- it closes its upstream on completion, on error and on cancel, and says nothing after a cancel;
- a failure of upstream ends it: it is passed on, unless the operator had ended already;
- a stage pickles to an equal value that does the same;
- a stage that says it treats each element alone (Sight.ITEM) gives the same for a stream that is cut in two;
- a stage gives the same as a through of a pull-stream.

`check_contract` holds it to the engine's contract on every path: however upstream gives its elements (`Form`) and
however they are taken (`Way`). What an operator states beyond its model is a `Promise`.

1. an end needs no demand;
2. the end comes with the last element;
3. reads no more than it states;
4. agrees with its model however it is taken, and what was produced before a failure comes before it;
5. makes the four calls of a subscriber and no other;
6. a subscriber that raises is let go, and whatever is raised arrives;
7. everything is let go;
8. two runs share nothing.

hypothesis makes the examples; it is imported when a check is called.
"""

from penstock.testing.laws.answers import Laws
from penstock.testing.laws.checks import check_joint, check_source, check_stage
from penstock.testing.laws.contract import LAWS, Law, check_contract
from penstock.testing.laws.forms import Foreign, Form, UpstreamError
from penstock.testing.laws.promise import Make, Model, Promise
from penstock.testing.laws.ways import Way

__all__ = [
    "LAWS",
    "Foreign",
    "Form",
    "Law",
    "Laws",
    "Make",
    "Model",
    "Promise",
    "UpstreamError",
    "Way",
    "check_contract",
    "check_joint",
    "check_source",
    "check_stage",
]
