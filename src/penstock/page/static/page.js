"use strict";
// page: keep the last minutes, show one moment of them, and pass on what is pressed.
(() => {
  const MOST = 1200;
  const { by } = Dom;
  const token = document.querySelector('meta[name="penstock-token"]').content;
  const kept = by("history");
  let answering = !kept; // whether there is a process that could be told to stop
  const store = { graphs: new Map(), frames: [], troubles: [] };
  const shown = { key: null, at: null, spoken: "" }; // `at` is null while the page follows the run
  const drawing = new Graph.Drawing(by("graph"));
  let shell = null;
  let due = false;

  // What is kept.

  function takeGraph(graph) {
    store.graphs.set(graph.version, new Map(graph.runs.map((run) => [run.key, run])));
  }

  function takeFrame(frame) {
    const last = store.frames[store.frames.length - 1];
    if (last && frame.number <= last.number) return;
    store.frames.push(frame);
    if (store.frames.length > MOST) {
      store.frames.shift();
      if (shown.at !== null) shown.at = Math.max(0, shown.at - 1);
      const oldest = store.frames[0].version;
      for (const version of store.graphs.keys()) if (version < oldest) store.graphs.delete(version);
    }
  }

  function takeTrouble(trouble) {
    if (store.troubles.every((each) => each.number !== trouble.number)) store.troubles.push(trouble);
    if (store.troubles.length > 200) store.troubles.shift();
  }

  function takeAll(history) {
    history.graphs.forEach(takeGraph);
    history.frames.forEach(takeFrame);
    history.troubles.forEach(takeTrouble);
  }

  function exported() {
    return JSON.stringify({
      graphs: [...store.graphs].map(([version, runs]) => ({ version, runs: [...runs.values()] })),
      frames: store.frames,
      troubles: store.troubles,
    });
  }

  // What is shown. However fast frames come, the page is drawn at most once for each frame of the screen.

  function soon() {
    if (due) return;
    due = true;
    requestAnimationFrame(() => {
      due = false;
      show();
    });
  }

  const charts = new Timeline.Charts(by("charts"), (share) => {
    if (!store.frames.length) return;
    const [first, last] = [store.frames[0].at, store.frames[store.frames.length - 1].at];
    const wanted = first + share * (last - first);
    go(store.frames.reduce((best, frame, at) => (Math.abs(frame.at - wanted) < Math.abs(store.frames[best].at - wanted) ? at : best), 0));
  });

  function show() {
    if (!store.frames.length) return;
    const at = shown.at === null ? store.frames.length - 1 : Math.min(shown.at, store.frames.length - 1);
    const frame = store.frames[at];
    const graphs = store.graphs.get(frame.version);
    showMoment(at, frame);
    if (!graphs || !frame.runs.length) return;
    const run = chosen(frame);
    const graph = graphs.get(run.key);
    showRuns(frame, graphs, run);
    showState(run, graph);
    drawing.show(graph, run);
    Tables.tiles(by("tiles"), run);
    if (by("as-table").open) Tables.graph(by("table"), graph, run);
    charts.show(store.frames, run.key, at, store.troubles);
    showSpark(graph, run);
    Tables.log(by("log"), by("log-count"), store.troubles, frame.runs.length > 1 ? titleOf : () => "");
    document.body.dataset.frames = Number(document.body.dataset.frames || 0) + 1;
    document.body.dataset.number = frame.number;
  }

  function titleOf(key) {
    const known = [...store.graphs.values()].reverse().find((graphs) => graphs.has(key));
    return known ? known.get(key).title : "";
  }

  // Return the run that was chosen, else one that runs, the latest first.
  function chosen(frame) {
    const running = [...frame.runs].reverse().find((run) => run.state === "running" || run.state === "stopping");
    return frame.runs.find((run) => run.key === shown.key) || running || frame.runs[frame.runs.length - 1];
  }

  function showMoment(at, frame) {
    const last = store.frames[store.frames.length - 1];
    const paused = shown.at !== null;
    const ago = last.at - frame.at;
    const words = paused ? `${Figures.clock(frame.at)}, ${Figures.seconds(ago)} before the last` : kept ? Figures.clock(frame.at) : "live";
    Dom.text(by("moment"), words);
    by("slider").max = store.frames.length - 1;
    if (Number(by("slider").value) !== at) by("slider").value = at;
    Dom.set(by("slider"), "aria-valuetext", words);
    Dom.text(by("pause"), paused ? "Live" : "Pause");
    Dom.set(by("pause"), "aria-pressed", paused);
    Dom.set(document.body, "data-paused", paused);
  }

  function showRuns(frame, graphs, current) {
    const bar = by("runs");
    Dom.shown(bar, frame.runs.length > 1);
    const keys = frame.runs.map((run) => run.key).join();
    if (bar.dataset.keys !== keys) {
      bar.dataset.keys = keys;
      bar.replaceChildren(...frame.runs.map((run) => {
        const button = Dom.html("button", { type: "button", "data-key": run.key }, Dom.html("i", { "aria-hidden": "true" }), graphs.get(run.key).title);
        button.addEventListener("click", () => {
          shown.key = run.key;
          soon();
        });
        return button;
      }));
    }
    frame.runs.forEach((run, at) => {
      Dom.set(bar.children[at], "aria-pressed", run.key === current.key);
      Dom.set(bar.children[at], "data-state", run.state);
    });
  }

  function showState(run, graph) {
    Dom.text(by("state"), run.state);
    Dom.set(by("state"), "data-state", run.state);
    Dom.text(by("elapsed"), Figures.seconds(run.elapsed));
    Dom.text(by("title"), graph.title);
    document.title = `${run.state} · penstock`;
    const running = run.state === "running" || run.state === "stopping";
    Dom.shown(by("stop"), answering && graph.controlled);
    Dom.shown(by("cancel"), answering && graph.controlled);
    by("stop").disabled = run.state !== "running";
    by("cancel").disabled = !running;
    if (run.state !== shown.spoken) {
      shown.spoken = run.state;
      Dom.text(by("spoken"), `The run is ${run.state}.`);
    }
  }

  function showSpark(graph, run) {
    Dom.shown(by("spark"), run.queries.length > 0 || graph.links.length > 0);
    if (run.queries.length) Tables.queries(by("queries"), run);
    const links = by("links");
    const names = graph.links.map((link) => link.address).join();
    if (links.dataset.names !== names) {
      links.dataset.names = names;
      const safe = graph.links.filter((link) => /^https?:\/\//.test(link.address));
      links.replaceChildren(...safe.map((link) => Dom.html("a", { href: link.address, target: "_blank", rel: "noopener noreferrer" }, link.name)));
    }
  }

  function notice(text) {
    Dom.text(by("notice"), text);
    Dom.shown(by("notice"), Boolean(text));
  }

  // What is pressed.

  function go(at) {
    shown.at = Math.max(0, Math.min(at, store.frames.length - 1));
    soon();
  }

  by("pause").addEventListener("click", () => {
    shown.at = shown.at === null ? store.frames.length - 1 : null;
    soon();
  });
  by("slider").addEventListener("input", () => go(Number(by("slider").value)));
  by("back").addEventListener("click", () => go((shown.at === null ? store.frames.length - 1 : shown.at) - 1));
  by("forth").addEventListener("click", () => go((shown.at === null ? store.frames.length - 1 : shown.at) + 1));
  by("as-table").addEventListener("toggle", soon);
  addEventListener("resize", soon);

  async function control(what) {
    const frame = store.frames[store.frames.length - 1];
    const run = frame && frame.runs.length ? chosen(frame) : null;
    if (!run) return;
    const answer = await fetch(`${what}/${run.key}`, { method: "POST", headers: { "X-Penstock-Token": token } }).catch(() => null);
    if (!answer || !answer.ok) notice(`The run could not be told to ${what}.`);
  }
  by("stop").addEventListener("click", () => control("stop"));
  by("cancel").addEventListener("click", () => control("cancel"));

  by("export").addEventListener("click", () => {
    const whole = shell.replace("{{history}}", () => exported().replaceAll("<", "\\u003c"));
    const address = URL.createObjectURL(new Blob([whole], { type: "text/html" }));
    const stamp = new Date().toISOString().slice(0, 19).replaceAll(":", "");
    const link = Dom.html("a", { href: address, download: `penstock-${stamp}.html` });
    document.body.append(link);
    link.click();
    link.remove();
    setTimeout(() => URL.revokeObjectURL(address), 10000);
  });

  const themes = { system: "as the system", light: "light", dark: "dark" };
  function theme(name) {
    if (name === "system") delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = name;
    Dom.set(by("theme"), "aria-label", `Colours: ${themes[name]}`);
    Dom.set(by("theme"), "title", `Colours: ${themes[name]}`);
    Dom.text(by("theme"), { system: "◐", light: "☀", dark: "☾" }[name]);
    by("theme").dataset.name = name;
  }
  by("theme").addEventListener("click", () => {
    const names = Object.keys(themes);
    const next = names[(names.indexOf(by("theme").dataset.name) + 1) % names.length];
    theme(next);
    try {
      localStorage.setItem("penstock-theme", next);
    } catch {
      // a page that may keep nothing is shown all the same
    }
  });
  let remembered = null;
  try {
    remembered = localStorage.getItem("penstock-theme");
  } catch {
    remembered = null;
  }
  theme(remembered in themes ? remembered : "system");

  // Where it comes from.

  async function live() {
    history.replaceState(null, "", "/"); // the token is in a cookie by now, and is not left in the address
    const [past, blank] = await Promise.all([fetch("history"), fetch("shell")]);
    takeAll(await past.json());
    shell = await blank.text();
    Dom.shown(by("export"), true);
    soon();
    const events = new EventSource("events");
    events.addEventListener("graph", (event) => takeGraph(JSON.parse(event.data)));
    events.addEventListener("trouble", (event) => takeTrouble(JSON.parse(event.data)));
    events.addEventListener("frame", (event) => {
      takeFrame(JSON.parse(event.data));
      if (shown.at === null || document.body.dataset.paused !== "true") soon();
      else by("slider").max = store.frames.length - 1;
    });
    events.addEventListener("open", () => notice(""));
    events.addEventListener("error", () => notice("The process does not answer. This is what was seen last."));
    events.addEventListener("closed", () => {
      events.close();
      answering = false;
      notice("The page is no longer served. This is what was seen last; it can be paused, stepped through and exported.");
      soon();
    });
  }

  if (kept) {
    takeAll(JSON.parse(kept.textContent));
    notice(store.frames.length ? `Saved ${new Date(store.frames[store.frames.length - 1].at * 1000).toLocaleString("en-GB")}. Step through the moments below.` : "There is nothing in this file.");
    soon();
  } else {
    live();
  }
})();
