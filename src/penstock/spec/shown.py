"""shown: things of a subject as text, those included that do not say what they are."""

from __future__ import annotations


def shown(thing: object) -> str:
    """Return what `repr` says of a thing; where that raises, its class, or what is in it if it is a list."""
    try:
        return repr(thing)
    except Exception:  # noqa: BLE001  whatever it raises, it is shown
        if type(thing) is list:
            return f"[{', '.join(map(shown, thing))}]"
        return object.__repr__(thing)
