"""export: a page as one file that needs nothing else, to be looked at later and elsewhere.

The file is the page with its styles and scripts inside, and a place for the history. The same file is filled in by
Python (`Page.export`) and by a browser, which also can when the server is gone.
"""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable
from hashlib import sha256

PLACE = "{{history}}"
"""Where the history stands in the file."""

Static = Callable[[str], str]


def shell(static: Static) -> str:
    """Return the file without a history."""
    whole = static("page.html").replace("{{token}}", "")
    hashes: list[str] = []

    def styled(found: re.Match[str]) -> str:
        return f"<style>{static(found[1])}</style>"

    def scripted(found: re.Match[str]) -> str:
        text = static(found[1])
        hashes.append(f"'sha256-{b64encode(sha256(text.encode()).digest()).decode()}'")
        return f"<script>{text}</script>"

    whole = re.sub(r'<link rel="icon"[^>]*>\n?', "", whole)
    whole = re.sub(r'<link rel="stylesheet" href="static/([\w.]+)">', styled, whole)
    whole = re.sub(r'<script src="static/([\w.]+)"></script>', scripted, whole)
    policy = f"default-src 'none'; style-src 'unsafe-inline'; script-src {' '.join(hashes)}; base-uri 'none'"
    whole = whole.replace("<head>", f'<head>\n<meta http-equiv="Content-Security-Policy" content="{policy}">', 1)
    data = f'<script type="application/json" id="history">{PLACE}</script>\n<script>'
    return whole.replace("<script>", data, 1)


def exported(static: Static, history: str) -> str:
    """Return the file with a history, the text of a JSON object."""
    # In JSON a `<` can be written in another way, and so no text in it can end the script.
    return shell(static).replace(PLACE, history.replace("<", "\\u003c"), 1)
