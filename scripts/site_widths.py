"""site_widths: whether every page of the built site fits a phone, a laptop and a wide screen.

    python -m scripts.site_widths SITE [--browser chromium]

A page must not be wider than the window, and at 1280 pixels no block of code, no table and no picture may be cut off.
Pages are shown in a frame of each width by a headless Chromium, from a server on loopback.
"""

from __future__ import annotations

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
import threading
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

FLAGS = (
    "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync",
    "--disable-background-networking", "--disable-component-update", "--window-size=1700,1200",
)  # fmt: skip
HARNESS = """<!doctype html><title>widths</title><iframe id="frame" height="1000" style="border: 0"></iframe><script>
const frame = document.getElementById("frame");
const settled = () => new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)));
const loaded = page => new Promise(done => { frame.onload = done; frame.src = "/" + page; });
async function measure(pages) {
  const faults = [];
  for (const page of pages) {
    await loaded(page);
    const doc = frame.contentDocument;
    doc.head.insertAdjacentHTML("beforeend", "<style>* { transition: none !important }</style>");
    for (const width of [400, 1280, 1600]) {
      frame.width = width;
      await settled();
      const wide = doc.documentElement.scrollWidth;
      if (wide > width) faults.push(`${page}: is ${wide} pixels wide in a window of ${width}`);
      if (width < 1280) continue;
      for (const each of doc.querySelectorAll("article pre > code, article .md-typeset__table, article img")) {
        const box = each.matches("img") ? each.closest("p, div, article") : each;
        const inside = each.matches("img") ? each.offsetWidth : each.scrollWidth;
        if (inside > box.clientWidth + 1) {
          const words = each.textContent.trim().slice(0, 60).replaceAll("\\n", " ");
          faults.push(`${page}: cut off at ${width}, ${inside} > ${box.clientWidth}: ${each.tagName} ${words}`);
        }
      }
    }
  }
  await fetch("/result", {method: "POST", body: JSON.stringify(faults)});
}
fetch("/pages").then(answer => answer.json()).then(measure);
</script>"""


class Frames(SimpleHTTPRequestHandler):
    """The site, with a page that measures its pages."""

    faults: list[str]
    done: threading.Event

    def do_GET(self) -> None:
        """Answer with the harness, the list of pages, or a file of the site."""
        if self.path == "/widths":
            self._say("text/html", HARNESS)
        elif self.path == "/pages":
            site = Path(self.directory)
            found = sorted(page.relative_to(site).as_posix() for page in site.rglob("index.html"))
            self._say("application/json", json.dumps(found))
        else:
            super().do_GET()

    def do_POST(self) -> None:
        """Take what was measured."""
        type(self).faults = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self._say("text/plain", "")
        self.done.set()

    def _say(self, kind: str, text: str) -> None:
        body = text.encode()
        self.send_response(200)
        self.send_header("Content-Type", f"{kind}; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        """Say nothing of each file."""


def width_faults(site: Path, browser: str, seconds: float) -> list[str]:
    """Show each page in each width and describe what does not fit."""
    handler = type("Measured", (Frames,), {"faults": ["the browser has sent no result"], "done": threading.Event()})
    with (
        ThreadingHTTPServer(("127.0.0.1", 0), partial(handler, directory=str(site))) as server,
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
    ):
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"http://127.0.0.1:{server.server_port}/widths"
        command = [browser, *FLAGS, f"--user-data-dir={profile}", "--remote-debugging-port=0", address]
        shown = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            handler.done.wait(seconds)
        finally:
            shown.terminate()
            shown.wait()
            server.shutdown()
    return handler.faults


def main() -> int:
    """Measure a site and say what does not fit."""
    parser = argparse.ArgumentParser(prog="python -m scripts.site_widths")
    parser.add_argument("site", type=Path)
    parser.add_argument("--browser", default="chromium")
    parser.add_argument("--seconds", type=float, default=300.0)
    asked = parser.parse_args()
    if shutil.which(asked.browser) is None:
        print(f"site_widths: there is no {asked.browser!r}; say which Chromium to use with --browser", file=sys.stderr)
        return 2
    faults = width_faults(asked.site.resolve(), asked.browser, asked.seconds)
    print("\n".join(faults) or "Every page fits.")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
