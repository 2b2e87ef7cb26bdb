"""nursery_call: the program that Spark starts in the place of a Python process that the nursery forks.

It hands over what it was given and waits for the end of the child, as which it then ends. Where there is no nursery, or
the nursery declines, it becomes Python itself. So it imports as little as possible, and without `site`.

It is run by its path: nursery_call.py SOCKET PYTHON FILE [ARGUMENTS OF FILE].
"""

from __future__ import annotations

import os
import socket
import struct
import sys

TAKEN = b"+"


def asked(place: str, arguments: list[str]) -> socket.socket | None:
    """Ask the nursery for a child; return the line on which its end is told, or None."""
    files = struct.pack("3i", 0, 1, 2)
    try:
        folder = os.getcwd()  # noqa: PTH109  to import pathlib takes longer than all the rest
        words = [folder, *arguments, *(f"{name}={value}" for name, value in os.environ.items())]
        text = os.fsencode("\0".join(words))
        line = socket.socket(socket.AF_UNIX)
        line.connect(place)
        head = struct.pack("!ii", len(text), len(arguments))
        line.sendmsg([head], [(socket.SOL_SOCKET, socket.SCM_RIGHTS, files)])
        line.sendall(text)
        return line if line.recv(1) == TAKEN else None
    except OSError:
        return None


def main() -> None:
    """Run a file of Python, forked if that can be."""
    place, python, *arguments = sys.argv[1:]
    line = asked(place, arguments)
    if line is None:
        os.execv(python, [python, "-P", *arguments])
    told = line.recv(4, socket.MSG_WAITALL)
    (status,) = struct.unpack("!i", told) if len(told) == 4 else (1,)
    if status < 0:
        os.kill(os.getpid(), -status)  # as the child was ended
    os._exit(status)


if __name__ == "__main__":
    main()
