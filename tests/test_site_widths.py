"""site_widths: a browser is sent to every page of a site, and what it measures is said."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

from scripts import site_widths

BROWSER = """#!{python}
import json, sys
from urllib.request import urlopen
address = sys.argv[-1]
assert "measure" in urlopen(address).read().decode()
pages = json.load(urlopen(address.replace("/widths", "/pages")))
seen = [urlopen(address.replace("widths", page)).read().decode() for page in pages]
urlopen(address.replace("/widths", "/result"), data=json.dumps([*pages, *seen]{rest}).encode()).close()
"""


def browser(folder: Path, rest: str = "") -> str:
    """Make a program that visits the pages as a browser would, and says which there were and what they held."""
    file = folder / "browser"
    file.write_text(BROWSER.format(python=sys.executable, rest=rest), encoding="utf-8")
    file.chmod(0o755)
    return str(file)


@pytest.fixture
def site(tmp_path: Path) -> Path:
    (tmp_path / "site" / "sub").mkdir(parents=True)
    (tmp_path / "site" / "index.html").write_text("home", encoding="utf-8")
    (tmp_path / "site" / "sub" / "index.html").write_text("below", encoding="utf-8")
    return tmp_path / "site"


@pytest.mark.slow
def test_what_the_browser_found_is_said(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["site_widths", str(site), "--browser", browser(tmp_path)])
    assert site_widths.main() == 1
    assert capsys.readouterr().out.splitlines() == ["index.html", "sub/index.html", "home", "below"]


@pytest.mark.slow
def test_a_site_that_fits_is_well(
    site: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["site_widths", str(site), "--browser", browser(tmp_path, "[:0]")])
    assert site_widths.main() == 0
    assert capsys.readouterr().out == "Every page fits.\n"


def test_a_browser_that_says_nothing_is_no_success(site: Path) -> None:
    assert site_widths.width_faults(site, "true", 0.01) == ["the browser has sent no result"]


def test_a_browser_that_is_not_there_is_named(
    site: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "argv", ["site_widths", str(site), "--browser", "no-such-browser"])
    assert site_widths.main() == 2
    assert capsys.readouterr().err == (
        "site_widths: there is no 'no-such-browser'; say which Chromium to use with --browser\n"
    )
