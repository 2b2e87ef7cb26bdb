"""numpy: arrays as streams of numbers or of smaller arrays, and back."""

from __future__ import annotations

from typing import Any

try:
    import numpy as np
except ModuleNotFoundError as missing:
    raise ModuleNotFoundError(
        "penstock.bridges.numpy needs numpy, which is not installed: pip install 'penstock[numpy]'", name="numpy"
    ) from missing

from penstock.bridges.shared.framed import FromFrame
from penstock.engine.runs.chain import Chain
from penstock.engine.words.arguments import count_given
from penstock.stream import Stream

TOGETHER = 1024
"""Numbers that are made Python's at a time."""


def from_array(array: Any, *, chunk: int | None = None) -> Stream[Any]:
    """Emit the numbers of an array as Python's; of an array with several axes, its parts along the first one.

    With `chunk` emit arrays of so many along the first axis, views of the array. Emits when downstream asks.
    Backpressures by cutting off a part only then. Completes with the last one. Cancels by stopping there. Each run
    begins anew. Moments finer than a microsecond stay numpy's. A masked number, or a None in an array of objects, is
    None and no element: it fails the stream.

    >>> import numpy as np
    >>> list(from_array(np.arange(3)))
    [0, 1, 2]
    """
    if not isinstance(array, np.ndarray) or not array.ndim:
        raise TypeError(f"from_array: array must be a numpy.ndarray with at least one axis, got {array!r}")
    if chunk is not None:
        count_given("from_array", "chunk", chunk, 1)
        return Stream(Chain(FromFrame(array, len(array), chunk, lambda some: (some,), _cut)))
    make = (lambda some: some.tolist()) if array.ndim == 1 and not _finer(array.dtype) else iter
    return Stream(Chain(FromFrame(array, len(array), TOGETHER, make, _cut)))


def _cut(array: Any, at: int, size: int) -> Any:
    return array[at : at + size]


def _finer(kind: np.dtype[Any]) -> bool:
    """Tell whether these are moments that Python has no type for; `tolist` would make bare numbers of them."""
    return kind.kind in "mM" and np.datetime_data(kind)[0] in {"ns", "ps", "fs", "as"}


def to_array(stream: Stream[Any], dtype: Any = None, *, count: int | None = None, chunks: bool = False) -> Stream[Any]:
    """Collect numbers, or arrays of one shape, as an array: a stream of one element, for `.get()` or `await`.

    With `chunks` elements are parts of the array, which are joined along the first axis. With `count` no more than so
    many elements are taken. `dtype` is what `numpy.asarray` takes. Emits when the stream has completed. Holds
    everything. Cancels the stream.

    >>> to_array(Stream.range(4), "float32").get().tolist()
    [0.0, 1.0, 2.0, 3.0]
    """
    if not isinstance(stream, Stream):
        raise TypeError(f"to_array: stream must be a Stream, got {stream!r}; Stream.from_publisher makes one")
    kind = None if dtype is None else np.dtype(dtype)
    if count is not None:
        count_given("to_array", "count", count, 0)
        stream = stream.take(count)

    def made(elements: list[Any]) -> Any:
        if chunks and elements:
            return np.concatenate(elements, dtype=kind)
        return np.asarray(elements, dtype=kind)

    return stream.to_list().map(made)


__all__ = ["from_array", "to_array"]
