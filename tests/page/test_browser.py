"""The live page in a real browser: the graph appears, numbers move, demand is seen, and the controls work."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from pathlib import Path
from threading import Event
from time import sleep

import pytest
from playwright.sync_api import BrowserContext, expect
from playwright.sync_api import Page as Tab

from penstock import Sink, Stream, branch, flow, thread
from penstock.page import Page

PATIENT = 60_000
"""Milliseconds: how long to wait for what must come, on a busy machine."""


@pytest.fixture
def tab(browser: BrowserContext) -> Iterator[Tab]:
    opened = browser.new_page()
    opened.set_default_timeout(PATIENT)
    expect.set_options(timeout=PATIENT)
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda said: complaints.append(said.text) if said.type == "error" else None)
    yield opened
    opened.close()
    assert complaints == []


@pytest.fixture
def ending() -> Iterator[Event]:
    """Say when the sources of a test are to end."""
    event = Event()
    yield event
    event.set()


def endless(ending: Event) -> Stream[int]:
    return Stream.generate(0, lambda number: (number, number + 1)).take_while(lambda _: not ending.is_set())


def slow(_: object) -> None:
    sleep(0.002)  # what makes it slow


def number(tab: Tab, tile: str) -> float:
    text = tab.locator(f'.tile[data-name="{tile}"]').get_attribute("title") or ""
    return float(text.replace(",", ""))


def grows(tab: Tab, read: Callable[[], float]) -> None:
    """Wait until a number on the page is larger than it was."""
    before = read()
    frames = int(tab.locator("body").get_attribute("data-number") or 0)
    tab.wait_for_function("n => Number(document.body.dataset.number) > n + 4", arg=frames)
    assert read() > before


def test_graph_appears_with_sources_steps_boundaries_and_sinks(page: Page, tab: Tab, ending: Event) -> None:
    both = endless(ending).map(abs).merge(Stream.range(5).map(str))
    pipeline = both.publish_on(thread(), prefetch=64) | branch(
        Sink.for_each(slow), flow(lambda each: each.filter(bool)) | Sink.count()
    )
    pipeline.run()
    tab.goto(page.address)
    expect(tab.locator('.node[data-label="merge"]')).to_be_visible()
    expect(tab.locator('.node[data-kind="sink"]')).to_have_count(2)
    assert {each.get_attribute("data-label") for each in tab.locator(".node").all()} == {
        "generate", "take_while(endless.<lambda>)", "map(abs)", "range", "map(str)", "merge", "publish_on",
        "for_each(slow)", "count", "filter(bool)",
    }  # fmt: skip
    assert [each.get_attribute("data-kind") for each in tab.locator('.node[data-label="publish_on"]').all()] == [
        "boundary"
    ]
    expect(tab.locator(".way")).to_have_count(9)
    expect(tab.locator("#title")).to_contain_text("branch(for_each(slow), filter(bool) | count)")


def test_numbers_move(page: Page, tab: Tab, ending: Event) -> None:
    (endless(ending).map(abs) | Sink.for_each(slow)).run()
    tab.goto(page.address)
    expect(tab.locator("#state")).to_have_text("running")
    grows(tab, lambda: number(tab, "in"))


def test_slow_consumer_turns_the_way_to_it_to_waiting_and_is_marked_as_the_slowest(
    page: Page, tab: Tab, ending: Event
) -> None:
    (endless(ending).map(abs).publish_on(thread(), prefetch=64).map(str) | Sink.for_each(slow)).run()
    tab.goto(page.address)
    slowest = tab.locator('.node[data-slowest="true"]')
    expect(slowest).to_have_attribute("data-label", "for_each(slow)")
    way = tab.locator(f'.way[data-end="{slowest.get_attribute("data-key")}"]')
    expect(way).to_have_attribute("data-state", "waiting")
    expect(way.locator(".state")).to_have_text("waiting")
    boundary = tab.locator('.node[data-kind="boundary"]').get_attribute("data-key")
    before = tab.locator(f'.way[data-end="{boundary}"]')
    expect(before).to_have_attribute("data-state", "waiting")
    expect(before.locator(".held")).to_have_text(re.compile(r"^holds \d+/64$"))
    expect(before.locator(".demand")).to_have_text(re.compile(r"^demand \d+$"))


def test_slow_source_leaves_the_way_hungry(page: Page, tab: Tab) -> None:
    run = (Stream.never().publish_on(thread()) | Sink.count()).run()
    tab.goto(page.address)
    expect(tab.locator(".way").first).to_have_attribute("data-state", "hungry")
    run.cancel()


def test_stop_lets_what_is_inside_come_to_its_end(page: Page, tab: Tab, ending: Event) -> None:
    run = (endless(ending) | Sink.for_each(slow)).run()
    tab.goto(page.address)
    grows(tab, lambda: number(tab, "in"))
    tab.get_by_role("button", name="Stop").click()
    assert run.wait(60) > 0
    expect(tab.locator("#state")).to_have_text("stopped")
    expect(tab.get_by_role("button", name="Stop")).to_be_disabled()
    assert not ending.is_set()


def test_cancel_ends_at_once(page: Page, tab: Tab, ending: Event) -> None:
    run = (endless(ending) | Sink.for_each(slow)).run()
    tab.goto(page.address)
    tab.get_by_role("button", name="Cancel").click()
    expect(tab.locator("#state")).to_have_text("cancelled")
    assert run.done


def test_wrong_token_sees_nothing(page: Page, tab: Tab, ending: Event) -> None:
    tab.context.clear_cookies()
    (endless(ending).map(abs) | Sink.for_each(slow)).run()
    address = page.address
    answer = tab.request.get(address[:-4] + "AAAA")
    assert (answer.status, answer.text()) == (403, "the token is missing or wrong\n")
    for path in ("", "history", "events", "shell", "static/page.js", "static/page.css", "static/icon.svg"):
        refused = tab.request.get(f"{address.partition('?')[0]}{path}")
        assert (refused.status, refused.text()) == (403, "the token is missing or wrong\n")
    assert tab.request.get(address).status == 200


def test_token_leaves_the_address_and_the_page_can_be_loaded_again(page: Page, tab: Tab, ending: Event) -> None:
    (endless(ending) | Sink.for_each(slow)).run()
    tab.goto(page.address)
    expect(tab.locator(".node").first).to_be_visible()
    assert tab.url == page.address.partition("?")[0]
    tab.reload()
    expect(tab.locator(".node").first).to_be_visible()


def test_text_of_users_is_text_and_errors_come_with_their_notes(page: Page, tab: Tab) -> None:
    def parse(_: int) -> None:
        raise ValueError("<script>window.broken = true</script><img src=x onerror='window.broken = true'>")

    parse.__qualname__ = parse.__name__ = "<script>window.broken=true</script>"
    run = (Stream.range(3).map(parse) | Sink.count()).run()
    with pytest.raises(ValueError, match=r"window\.broken"):
        run.wait()
    tab.goto(page.address)
    expect(tab.locator("#state")).to_have_text("failed")
    expect(tab.locator("#log li")).to_have_count(1)
    expect(tab.locator("#log strong")).to_have_text(
        "ValueError: <script>window.broken = true</script><img src=x onerror='window.broken = true'>"
    )
    expect(tab.locator("#log .note").first).to_contain_text("in map(<script>window.broken=true</script>), step 1 of")
    expect(tab.locator(".node .errors").filter(has_text="1")).to_have_count(1)
    assert tab.evaluate("window.broken") is None


def test_an_error_names_its_run_where_there_are_several(page: Page, tab: Tab, ending: Event) -> None:
    def parse(_: int) -> None:
        raise ValueError("no number")

    with pytest.raises(ValueError, match="no number"):
        (Stream.range(3).map(parse) | Sink.count()).run().wait()
    tab.goto(page.address)
    expect(tab.locator("#log .note")).to_have_count(1)
    (endless(ending) | Sink.for_each(slow)).run()
    expect(tab.locator("#log .note").last).to_contain_text("in the run range | map(")
    expect(tab.locator('.tile[data-name="errors"]')).to_contain_text("0")


def test_pause_keeps_a_moment_and_steps_go_through_the_last_ones(page: Page, tab: Tab, ending: Event) -> None:
    (endless(ending) | Sink.for_each(slow)).run()
    tab.goto(page.address)
    tab.wait_for_function("() => Number(document.body.dataset.number) > 8")
    tab.get_by_role("button", name="Pause").click()
    expect(tab.locator("body")).to_have_attribute("data-paused", "true")
    kept, shown = number(tab, "in"), int(tab.locator("body").get_attribute("data-number") or 0)
    last = int(tab.locator("#slider").get_attribute("max") or 0)
    tab.wait_for_function("n => Number(document.getElementById('slider').max) > n + 4", arg=last)
    assert number(tab, "in") == kept
    tab.get_by_role("button", name="One moment back").click()
    expect(tab.locator("body")).to_have_attribute("data-number", str(shown - 1))
    assert number(tab, "in") < kept
    tab.get_by_role("button", name="One moment on").click()
    expect(tab.locator("body")).to_have_attribute("data-number", str(shown))
    tab.locator("#slider").press("Home")
    expect(tab.locator("#slider")).to_have_attribute("aria-valuetext", re.compile("before the last$"))
    tab.get_by_role("button", name="Live").click()
    tab.wait_for_function("n => Number(document.body.dataset.number) > n", arg=shown)


def test_export_is_one_file_that_shows_the_same_without_the_server(
    page: Page, tab: Tab, ending: Event, tmp_path: Path
) -> None:
    def odd(value: int) -> bool:
        return bool(value % 2)

    odd.__qualname__ = "odd</script><b>"
    run = (endless(ending).filter(odd) | Sink.for_each(slow)).run()
    tab.goto(page.address)
    tab.wait_for_function("() => Number(document.body.dataset.number) > 4")
    with tab.expect_download() as saving:
        tab.get_by_role("button", name="Export").click()
    file = tmp_path / "run.html"
    saving.value.save_as(file)
    run.cancel()
    page.close()
    page.export(tmp_path / "from-python.html")
    for each in (file, tmp_path / "from-python.html"):
        text = each.read_text(encoding="utf-8")
        assert "http://" not in text.replace("http://www.w3.org/2000/svg", "")
        asked: list[str] = []
        tab.on("request", lambda request, asked=asked: asked.append(request.url))  # type: ignore[misc]
        tab.goto(each.as_uri())
        expect(tab.locator('.node[data-label="filter(odd</script><b>)"]')).to_be_visible()
        assert asked == [each.as_uri()]
        expect(tab.get_by_role("button", name="Stop")).to_be_hidden()
        tab.get_by_role("button", name="One moment back").click()
        expect(tab.locator("body")).to_have_attribute("data-paused", "true")


def test_page_that_is_no_longer_served_keeps_what_was_seen(tab: Tab, ending: Event) -> None:
    with Page(every=0.05, say=False) as page:
        (endless(ending) | Sink.for_each(slow)).run()
        tab.goto(page.address)
        expect(tab.locator(".node").first).to_be_visible()
    expect(tab.locator("#notice")).to_contain_text("The page is no longer served.")
    expect(tab.locator(".node").first).to_be_visible()
    expect(tab.get_by_role("button", name="Stop")).to_be_hidden()


def test_graph_is_there_as_a_table_and_for_a_keyboard(page: Page, tab: Tab, ending: Event) -> None:
    (endless(ending).publish_on(thread(), prefetch=64) | Sink.for_each(slow)).run()
    tab.goto(page.address)
    expect(tab.locator('.node[data-slowest="true"]')).to_have_attribute(
        "aria-label", re.compile(r"^for_each\(slow\), sink, the slowest place, .*busy \d+ %, waits \d+ %, 0 errors$")
    )
    tab.get_by_text("The graph as a table").focus()
    tab.keyboard.press("Enter")
    table = tab.get_by_role("table", name="Every part of the run, and the way that leads to it")
    expect(table.get_by_role("row")).to_have_count(5)
    expect(table.get_by_role("rowheader", name="for_each(slow) (slowest)")).to_be_visible()
    expect(tab.get_by_role("status")).to_have_text("The run is running.")
    tab.locator(".node").first.focus()
    tab.evaluate("document.querySelector('#graph svg').id = 'before'")
    tab.set_viewport_size({"width": 700, "height": 900})
    expect(tab.locator("#before")).to_have_count(0)  # it is drawn anew for the width
    assert tab.evaluate("document.activeElement.getAttribute('role')") == "img"


def test_colours_follow_the_system_or_the_switch(page: Page, tab: Tab, ending: Event) -> None:
    (endless(ending) | Sink.for_each(slow)).run()
    ground = "getComputedStyle(document.body).backgroundColor"
    tab.goto(page.address)
    tab.emulate_media(color_scheme="light")
    light = tab.evaluate(ground)
    tab.emulate_media(color_scheme="dark")
    assert tab.evaluate(ground) != light
    switch = tab.get_by_role("button", name="Colours")
    switch.click()
    expect(switch).to_have_attribute("aria-label", "Colours: light")
    assert tab.evaluate(ground) == light


@pytest.mark.parametrize("width", [400, 1600])
def test_page_is_as_wide_as_the_window(page: Page, tab: Tab, ending: Event, width: int) -> None:
    both = endless(ending).map(abs).merge(Stream.range(5).map(str))
    (both.publish_on(thread()) | branch(Sink.for_each(slow), Sink.count())).run()
    tab.set_viewport_size({"width": width, "height": 900})
    tab.goto(page.address)
    expect(tab.locator(".node").first).to_be_visible()
    assert tab.evaluate("document.documentElement.scrollWidth") <= width


def test_many_elements_for_a_long_time_do_not_freeze_it(tab: Tab) -> None:
    with Page(every=0.005, say=False) as page:
        run = (Stream.range(10**12).map(abs).publish_on(thread()) | Sink.count()).run()
        tab.goto(page.address)
        tab.wait_for_function("() => Number(document.body.dataset.number) > 10")
        tab.evaluate(
            "() => { window.beats = 0; const beat = () => { beats += 1; requestAnimationFrame(beat); }; beat(); }"
        )
        size = tab.evaluate("document.querySelectorAll('*').length")
        # As many frames as there are in two minutes, and 10,000 elements for each second of them.
        tab.wait_for_function("() => Number(document.body.dataset.number) > 240")
        tab.wait_for_function(
            """() => Number(document.querySelector('.tile[data-name="in"]').title.replaceAll(",", "")) > 1_200_000"""
        )
        assert tab.evaluate("document.querySelectorAll('*').length") == size
        tab.wait_for_function("() => beats > 100")
        run.cancel()
        tab.get_by_role("button", name="Pause").click()
        expect(tab.locator("body")).to_have_attribute("data-paused", "true")
