"""griffe_doctests: the examples of docstrings as blocks of code, for the API reference.

An example of a docstring begins with `>>>` and ends with an empty line, without a fence around it, so Markdown would
take it for a quotation. mkdocstrings loads this module as an extension of griffe, which reads the docstrings.
"""

from __future__ import annotations

from typing import Any

from griffe import Extension, Object

from scripts.api_pages import with_fences


class Doctests(Extension):
    """The extension that rewrites the docstring of every object."""

    def on_object(self, *, obj: Object, **_kwargs: Any) -> None:
        """Rewrite a docstring before it is parsed."""
        if obj.docstring is not None:
            obj.docstring.value = with_fences(obj.docstring.value)
