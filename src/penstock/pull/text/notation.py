"""notation: write down what two modules say to each other in the notation of the text: `D: ask1(Ans1)`."""

from __future__ import annotations

from typing import Any

from penstock.pull.ground.protocol import Abort, Answer, Read, asks, end_of
from penstock.pull.module import PullThrough


def notation(log: list[str], down: str = "D", up: str = "U") -> PullThrough[Any, Any]:
    """Write down the events between two modules as the text of the protocol does.

    `down` is who asks and `up` who answers: "D" and "U", or, above a transformer "TI" and "U", below it "D" and "TO".

    >>> from penstock import pull
    >>> log = []
    >>> pull.pull(pull.values(["a"]), pull.notation(log), pull.drain())
    >>> log
    ['D: ask1(Ans1)', "U: Ans1=value('a')", 'D: ask2(Ans2)', 'U: Ans2=done']
    """
    kind = "T" if down == "TI" else ""

    def watch(read: Read) -> Read:
        count = 0

        def request(abort: Abort, answer: Answer | None = None, /) -> None:
            nonlocal count
            count += 1
            name = f"Ans{kind}{count}"
            reason = "" if asks(abort) or abort is True else f", {abort!r}"
            if answer is None:
                log.append(f"{down}: done{kind}{count}{reason}")
                read(abort)
                return
            heard = answer
            log.append(f"{down}: {'ask' if asks(abort) else 'abort'}{kind}{count}({name}{reason})")

            def answered(end: bool | Exception | None, value: Any = None, /) -> None:
                found = end_of(end)
                what = f"value({value!r})" if found is None else "done" if found is True else f"error({found!r})"
                log.append(f"{up}: {name}={what}")
                heard(None, value) if found is None else heard(found)

            read(abort, answered)

        return request

    return PullThrough(watch, name="notation")


__all__ = ["notation"]
