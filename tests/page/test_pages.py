"""pages: a page as users have it: what it shows, that it is on loopback, and that it lets go."""

from __future__ import annotations

import gc
import io
import json
import socket
import subprocess
import sys
import threading
import weakref
from pathlib import Path
from threading import Event
from typing import Any
from urllib.parse import urlsplit

import pytest

from penstock import RunCancelledError, Sink, Stream
from penstock.errors import PenstockError
from penstock.page import Page, observe_page, page_of
from penstock.page.watch import MOST_SHOWN
from tests.page.conftest import ask, token_of


def runs(page: Page) -> list[dict[str, Any]]:
    page.look()
    history = json.loads(page.history.whole())
    frame = history["frames"][-1]
    graphs = next(graph for graph in history["graphs"] if graph["version"] == frame["version"])
    return [
        {**drawing, **run, "labels": [node["label"] for node in drawing["nodes"]]}
        for drawing, run in zip(graphs["runs"], frame["runs"], strict=True)
    ]


def troubles(page: Page) -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = json.loads(page.history.whole())["troubles"]
    return found


def test_address_is_printed_with_the_token(capsys: pytest.CaptureFixture[str]) -> None:
    with observe_page() as page:
        assert capsys.readouterr().err == f"penstock page: {page.address}\n"
        assert token_of(page) not in repr(page)


def test_address_can_be_printed_elsewhere() -> None:
    out = io.StringIO()
    Page(say=out).close()
    assert out.getvalue().startswith("penstock page: http://127.0.0.1:")


def test_page_listens_on_loopback_alone(page: Page) -> None:
    port = urlsplit(page.address).port
    assert ask(page, f"/?token={token_of(page)}").status == 200
    with socket.socket() as other:
        other.bind(("127.0.0.2", port or 0))  # free, since not every address was taken


@pytest.mark.parametrize("port", [-1, 65536, "8080", 80.5])
def test_what_is_no_port_is_refused(port: Any) -> None:
    with pytest.raises(ValueError, match=r"^page: port must be a whole number from 0 to 65535, got "):
        Page(port=port)


def test_port_that_is_taken_is_refused() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(
            PenstockError, match=rf"^page: port {port} on 127\.0\.0\.1 is not free: .*; leave it out for any$"
        ):
            Page(port=port, say=False)


def test_refuses_to_look_all_the_time() -> None:
    with pytest.raises(ValueError, match=r"^page: every must be > 0, got 0$"):
        Page(every=0)


def test_streams_and_pipelines_inside_the_block_are_shown(page: Page) -> None:
    assert list(Stream.range(3).map(str)) == ["0", "1", "2"]
    assert (Stream.range(5) | Sink.count()).run().wait() == 5
    stream, pipeline = runs(page)
    assert (stream["title"], stream["state"], stream["controlled"]) == ("range | map(str)", "completed", False)
    assert (pipeline["title"], pipeline["state"], pipeline["controlled"]) == ("range | count", "completed", True)
    assert pipeline["totals"]["in"] == 5


def test_reports_of_progress_are_not_shown_as_runs(page: Page) -> None:
    run = (Stream.range(3) | Sink.count()).run()
    assert [report.done for report in run.progress_every(0.001)][-1]
    assert len(runs(page)) == 1


def test_streams_outside_the_block_are_not() -> None:
    page = Page(say=False)
    assert list(Stream.range(3)) == [0, 1, 2]
    assert runs(page) == []
    page.close()


def test_run_inside_the_block_has_the_page_of_the_block(page: Page) -> None:
    run = (Stream.range(3) | Sink.count()).run()
    assert run.page() is page
    run.wait()


def test_run_without_a_listener_has_a_page_of_its_own_with_what_it_reports(capsys: pytest.CaptureFixture[str]) -> None:
    go_on = Event()
    run = (Stream.range(100).map(lambda n: go_on.wait(60) and n) | Sink.count()).run()
    page = run.page()
    assert page_of(run) is page
    (found,) = runs(page)
    assert (found["state"], found["labels"][0], found["labels"][-1]) == ("running", "range", "count")
    go_on.set()
    assert run.wait() == 100
    (found,) = runs(page)
    assert (found["state"], found["totals"]["in"]) == ("completed", 100)
    page.close()
    assert capsys.readouterr().err.startswith("penstock page: ")


def test_run_is_stopped_and_cancelled_by_its_key(page: Page) -> None:
    ending = Event()
    pipeline = Stream.generate(0, lambda n: (n, n + 1)).take_while(lambda _: not ending.is_set()) | Sink.count()
    token = {"X_Penstock_Token": token_of(page)}
    one, two = pipeline.run(), pipeline.run()
    assert ask(page, "/stop/r1", "POST").status == 403
    assert ask(page, "/stop/r1", "POST", **token).status == 200
    assert one.wait(60) >= 0
    assert ask(page, "/cancel/r2", "POST", **token).status == 200
    with pytest.raises(RunCancelledError):
        two.wait(60)
    assert [run["state"] for run in runs(page)] == ["stopped", "cancelled"]
    assert troubles(page) == []
    ending.set()


def test_streams_cannot_be_controlled(page: Page) -> None:
    assert list(Stream.range(3)) == [0, 1, 2]
    assert ask(page, "/cancel/r1", "POST", X_Penstock_Token=token_of(page)).status == 404


def test_errors_are_kept_as_text_with_their_notes_and_once(page: Page) -> None:
    run = (Stream.just("1", "two").map(int) | Sink.count()).run()
    with pytest.raises(ValueError):
        run.wait()
    (found,) = runs(page)
    page.look()
    assert (found["state"], found["totals"]["errors"]) == ("failed", 1)
    (trouble,) = troubles(page)
    assert trouble["what"] == "ValueError: invalid literal for int() with base 10: 'two'"
    assert trouble["notes"] == ["in map(int), step 1 of 2"]


class MuteError(Exception):
    """The error of a library that has forgotten what it wanted to say."""

    __notes__ = (b"no text",)

    def __str__(self) -> str:
        raise KeyError("reason")


def test_errors_that_cannot_say_what_they_are_are_shown_all_the_same(page: Page) -> None:
    with pytest.raises(MuteError):
        (Stream.error(MuteError()) | Sink.count()).run().wait()
    assert [run["state"] for run in runs(page)] == ["failed"]
    assert [(each["what"], each["notes"]) for each in troubles(page)] == [("MuteError: <exception str() failed>", [])]


def test_only_so_many_runs_are_shown_those_under_way_first(page: Page) -> None:
    go_on = Event()
    first = (Stream.just(1).map(lambda n: go_on.wait(60) and n) | Sink.count()).run()
    for _ in range(3 * MOST_SHOWN):
        list(Stream.range(2))
        page.look()
    found = runs(page)
    assert len(found) == MOST_SHOWN
    assert found[0]["state"] == "running"
    go_on.set()
    first.wait()


def test_page_that_is_closed_lets_go_of_everything() -> None:
    class Element:
        pass

    element = Element()
    gone = weakref.ref(element)
    before = threading.active_count()
    with Page(say=False) as page:
        run = (Stream.just(element).map(lambda each: str(each)) | Sink.count()).run()
        assert run.wait() == 1
        page.look()
    del run, element
    assert threading.active_count() <= before
    page.close()  # once more does no harm
    del page
    gc.collect()
    assert gone() is None


def test_export_is_a_file_that_names_the_run(page: Page, tmp_path: Path) -> None:
    list(Stream.range(3).map(str))
    page.export(tmp_path / "run.html")
    text = (tmp_path / "run.html").read_text(encoding="utf-8")
    assert "range | map(str)" in text
    assert token_of(page) not in text
    assert "{{" not in text.replace("{{history}}", "", 1)


def test_listener_that_raises_does_not_harm(page: Page, monkeypatch: pytest.MonkeyPatch) -> None:
    def broken(_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(page.watch, "add", broken)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("penstock.engine.words.dropped._hook", lambda _: None)
        assert (Stream.range(3) | Sink.count()).run().wait() == 3


def test_without_uvicorn_the_cure_is_named() -> None:
    code = (
        "import sys; sys.modules['uvicorn'] = None\n"
        "from penstock.page import Page\n"
        "try: Page()\n"
        "except ImportError as error: print(error)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "page: the live page needs uvicorn; say pip install 'penstock[page]'\n"
