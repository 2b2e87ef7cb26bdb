"""map_batches: call a function with many elements at a time.

Group: change each element
Marble: a.map_batches(lambda ns: [sum(ns)], 2) over -1-2-3-4-|
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from importlib import import_module
from typing import Any, Literal, TypeVar, get_args

from penstock.engine.words.arguments import count_given, function_given
from penstock.engine.words.demand import UNBOUNDED
from penstock.stage import Body, Stage

A = TypeVar("A")
B = TypeVar("B")
Form = Literal["list", "numpy", "arrow"]

_GATHER = "{items}.append(v)\nif len({items}) < {size}: skip\nv = {items}\n{items} = []"
_STATE = (("items", "[]"),)
_LACKS = "{size} - len({items})"
_LISTS = Body(
    _GATHER, _STATE, each="{items_of}({fn}(v))", lacks=_LACKS, tail="{items_of}({fn}({items})) if {items} else ()"
)
_BATCHES = Body(
    _GATHER, _STATE, each="{items_of}({fn}({batch}(v)))", lacks=_LACKS,
    tail="{items_of}({fn}({batch}({items}))) if {items} else ()",
)  # fmt: skip


@dataclass(frozen=True, slots=True)
class MapBatches(Stage[A, B]):
    """Emit, one by one, the results that the function returns for each `size` elements; the last batch may be shorter.

    Emits when the current batch has another result; of what Arrow and pandas call a table these are its rows as
    dictionaries, of an array with one dimension its values, with more its rows. Backpressures when downstream does, in
    the middle of a batch if need be; demand counts elements, and upstream is asked for what fills the batches that
    would cover it. It holds fewer than `size` elements, or the results of one batch. Completes when upstream has
    completed and the results of the last batch are used up. Cancels when downstream cancels.
    """

    fn: Callable[[Any], Iterable[B]]
    size: int = 1024
    form: Form = "list"
    """What the function gets: a list, a NumPy array, or an Arrow record batch of dictionaries or array of values."""
    loops = (_LISTS, _BATCHES)

    def __post_init__(self) -> None:
        function_given("map_batches", "fn", self.fn)
        count_given("map_batches", "size", self.size, 1)
        if self.form not in get_args(Form):
            raise ValueError(f"map_batches: form must be 'list', 'numpy' or 'arrow', got {self.form!r}")

    @property
    def body(self) -> Body:
        """Pass lists on, or what is made of them."""
        return _LISTS if self.form == "list" else _BATCHES

    @property
    def batch(self) -> Callable[[list[Any]], Any]:
        """Return what makes a batch of a list."""
        return _array if self.form == "numpy" else _record_batch

    @staticmethod
    def items_of(given: Any) -> Iterable[Any]:
        """Return the elements of what the function returned: rows of a table, values of a column."""
        if type(given) is list:
            return given
        if callable(getattr(given, "to_pylist", None)):
            return given.to_pylist()  # type: ignore[no-any-return]
        if callable(getattr(given, "iterrows", None)):
            return given.to_dict("records")  # type: ignore[no-any-return]
        if getattr(given, "ndim", None) == 1 and callable(getattr(given, "tolist", None)):
            return given.tolist()  # type: ignore[no-any-return]
        if not isinstance(given, Iterable) or isinstance(given, str | bytes | Mapping):
            raise TypeError(f"map_batches: fn must return the results of a batch, got {given!r}")
        return given

    def demand(self, n: int) -> int:
        """Ask for what fills as many batches as give `n` results, if each element gives one."""
        return min(-(-n // self.size) * self.size, UNBOUNDED)


def _library(form: str, name: str) -> Any:
    try:
        return import_module(name)
    except ModuleNotFoundError as error:
        raise ModuleNotFoundError(f"map_batches: form={form!r} needs {name}; say pip install {name}") from error


def _array(items: list[Any]) -> Any:
    return _library("numpy", "numpy").asarray(items)


def _record_batch(items: list[Any]) -> Any:
    arrow = _library("arrow", "pyarrow")
    if not isinstance(items[0], Mapping):
        return arrow.array(items)
    # from_pylist would leave out, without a word, what the first row does not have.
    names = dict.fromkeys(name for row in items for name in row)
    return arrow.RecordBatch.from_pydict({name: [row.get(name) for row in items] for name in names})
