"use strict";
// timeline: what a run did in the last minutes, as lines over time, with its end and its errors.
const Timeline = (() => {
  const HIGH = 78;
  const CHARTS = [
    { name: "elements per second", lines: [["in", (run) => run.totals.rateIn], ["out", (run) => run.totals.rateOut]], unit: Figures.rate },
    { name: "demand outstanding", lines: [["demand", (run) => (run.totals.demand === Figures.ALL ? null : run.totals.demand)]], unit: Figures.short },
    { name: "held", lines: [["held", (run) => run.totals.held]], unit: Figures.short },
    { name: "lag", lines: [["lag", (run) => run.totals.lag]], unit: Figures.short },
    { name: "micro-batch time", lines: [["seconds", (run) => run.totals.batchSeconds]], unit: Figures.seconds },
    { name: "state rows", lines: [["rows", (run) => (run.queries.some((q) => q.state !== null) ? run.queries.reduce((sum, q) => sum + (q.state || 0), 0) : null)]], unit: Figures.short },
  ];

  class Charts {
    constructor(room, choose) {
      this.room = room;
      this.choose = choose;
      this.charts = CHARTS.map((chart) => this.make(chart));
      room.append(...this.charts.map((chart) => chart.figure));
    }

    make(chart) {
      const value = Dom.html("span", { class: "value" });
      const lines = chart.lines.map((_, at) => Dom.svg("path", { class: `line line-${at}` }));
      const area = Dom.svg("path", { class: "area" });
      const cursor = Dom.svg("path", { class: "cursor" });
      const marks = Dom.svg("g", { class: "marks" });
      const svg = Dom.svg("svg", { height: HIGH, role: "img" }, area, ...lines, marks, cursor);
      const key = chart.lines.length > 1 ? chart.lines.map(([name], at) => Dom.html("span", { class: `key key-${at}` }, name)) : [];
      const figure = Dom.html("figure", { class: "chart" }, Dom.html("figcaption", {}, Dom.html("span", {}, chart.name), ...key, value), svg);
      svg.addEventListener("click", (event) => {
        const box = svg.getBoundingClientRect();
        this.choose((event.clientX - box.left) / Math.max(1, box.width));
      });
      return { chart, value, lines, area, cursor, marks, svg, figure };
    }

    // Show the frames of one run; `at` is the number of the one that is chosen.
    show(frames, key, at, troubles) {
      const runs = frames.map((frame) => frame.runs.find((run) => run.key === key) || null);
      const begin = frames.length ? frames[0].at : 0;
      const span = Math.max(1, frames.length ? frames[frames.length - 1].at - begin : 1);
      for (const parts of this.charts) this.tell(parts, { frames, runs, begin, span, at, troubles: troubles.filter((each) => each.run === key) });
    }

    tell(parts, { frames, runs, begin, span, at, troubles }) {
      const series = parts.chart.lines.map(([, read]) => runs.map((run) => (run === null ? null : read(run))));
      const known = series.flat().filter((value) => value !== null && value !== undefined);
      Dom.shown(parts.figure, known.length > 0);
      if (!known.length) return;
      const wide = parts.svg.clientWidth || 300;
      const most = Math.max(...known, 1e-9);
      const x = (time) => ((time - begin) / span) * (wide - 2) + 1;
      const y = (value) => HIGH - 3 - (value / most) * (HIGH - 12);
      Dom.set(parts.svg, "viewBox", `0 0 ${wide} ${HIGH}`);
      series.forEach((values, number) => Dom.set(parts.lines[number], "d", drawn(values, frames, x, y)));
      Dom.set(parts.area, "d", filled(series[0], frames, x, y));
      const chosen = series.map((values) => values[at]);
      const words = chosen.map((value, number) => (parts.chart.lines.length > 1 ? `${parts.chart.lines[number][0]} ` : "") + parts.chart.unit(value));
      Dom.text(parts.value, words.join("  "));
      if (frames[at]) Dom.set(parts.cursor, "d", `M${x(frames[at].at).toFixed(1)} 0V${HIGH}`);
      Dom.set(parts.svg, "aria-label", `${parts.chart.name}: ${words.join(", ")}, at most ${parts.chart.unit(most)}`);
      this.mark(parts.marks, { frames, runs, troubles, x });
    }

    mark(marks, { frames, runs, troubles, x }) {
      const found = [];
      for (let at = 1; at < runs.length; at += 1) {
        const ended = runs[at] && runs[at - 1] && runs[at].state !== runs[at - 1].state && !["running", "stopping"].includes(runs[at].state);
        if (ended) found.push(Dom.svg("path", { class: "end", d: `M${x(frames[at].at).toFixed(1)} 0V${HIGH}` }, Dom.svg("title", {}, runs[at].state)));
      }
      for (const each of troubles.slice(-20)) {
        if (frames.length && each.at >= frames[0].at) {
          const left = Math.min(x(each.at), x(frames[frames.length - 1].at)).toFixed(1);
          found.push(Dom.svg("path", { class: "trouble", d: `M${left} 0l-4 0l4 8l4 -8z` }, Dom.svg("title", {}, each.what)));
        }
      }
      marks.replaceChildren(...found);
    }
  }

  function drawn(values, frames, x, y) {
    let path = "";
    let pen = "M";
    values.forEach((value, at) => {
      if (value === null || value === undefined) {
        pen = "M";
      } else {
        path += `${pen}${x(frames[at].at).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = "L";
      }
    });
    return path;
  }

  function filled(values, frames, x, y) {
    const points = values.map((value, at) => [value, at]).filter(([value]) => value !== null && value !== undefined);
    if (points.length < 2) return "";
    const [first, last] = [points[0][1], points[points.length - 1][1]];
    const line = points.map(([value, at]) => `L${x(frames[at].at).toFixed(1)} ${y(value).toFixed(1)}`).join("");
    return `M${x(frames[first].at).toFixed(1)} ${HIGH}${line}L${x(frames[last].at).toFixed(1)} ${HIGH}Z`;
  }

  return { Charts };
})();
