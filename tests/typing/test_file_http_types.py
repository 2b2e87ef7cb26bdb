"""file_http_types: what mypy and pyright must both infer of files and web servers; run by pytest as well."""

from __future__ import annotations

from typing import Any, assert_type

from penstock import Sink, Stream
from penstock.connectors import files, http


def test_sources_of_files_have_the_elements_of_their_form() -> None:
    assert_type(files.read("a"), Stream[str])
    assert_type(files.read("a", files.Csv()), Stream[dict[str, str]])
    assert_type(files.read("a", files.JsonLines()), Stream[Any])
    assert_type(files.read("a", files.Parquet()), Stream[dict[str, Any]])
    assert_type(files.tail("a"), Stream[str])
    assert_type(files.tail("a", files.Csv(), begin="end"), Stream[dict[str, str]])
    assert_type(files.folder("a", pattern="*.csv"), Stream[str])
    assert_type(files.folder("a", files.Csv(), order="time"), Stream[dict[str, str]])


def test_sources_and_sinks_of_web_servers_have_their_elements() -> None:
    assert_type(http.pages("http://localhost"), Stream[Any])
    assert_type(http.events("http://localhost"), Stream[http.ServerEvent])
    assert_type(http.websocket("ws://localhost"), Stream[str | bytes])
    assert_type(http.to_websocket("ws://localhost"), Sink[str | bytes, int])
