"""page: a live page of runs: the graph with its demand, in a browser; with the extra `page`."""

from penstock.page.pages import Page, observe_page, page_of

__all__ = ["Page", "observe_page", "page_of"]
