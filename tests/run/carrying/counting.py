"""counting: a program that writes numbers to a file and is killed in the middle, over and over.

`python counting.py RESULTS CHECKPOINT` tells each number on its output as well, in long lines, so that it is never far
ahead of the process that reads them.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Iterator

from penstock import Sink, Stream

COUNT = 3000


def numbers(after: int | None) -> Iterator[tuple[int, int]]:
    print("opened", after or 0, flush=True)
    for number in range((after or 0) + 1, COUNT + 1):
        yield number, number


def main(results: str, checkpoint: str) -> None:
    file = os.open(results, os.O_WRONLY | os.O_CREAT | os.O_APPEND)

    def take(number: int) -> None:
        os.write(file, f"{number}\n".encode())
        print(f"{number:2000}", flush=True)

    (Stream.resumable(numbers) | Sink.for_each(take)).run(checkpoint=checkpoint).wait()


if __name__ == "__main__":
    main(*sys.argv[1:])
