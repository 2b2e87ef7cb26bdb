"use strict";
// graph: draw a run as pipes between its nodes, from the sources at the top down to the sinks.
const Graph = (() => {
  const NODE = 66;
  const PIPE = 84;
  const WIDEST = 272;
  const LEAST = 160;

  class Drawing {
    constructor(room) {
      this.room = room;
      this.graph = null;
      this.width = 0;
      this.nodes = [];
    }

    // Draw anew if the graph or the width has changed, else only tell the elements what is new.
    show(graph, frame) {
      const width = this.room.clientWidth;
      if (graph !== this.graph || width !== this.width) this.draw(graph, width);
      frame.nodes.forEach((row, at) => this.nodes[at] && this.tellNode(this.nodes[at], Figures.node(row), frame.slowest === at));
      frame.ways.forEach((row, at) => this.ways[at] && this.tellWay(this.ways[at], Figures.way(row)));
    }

    // The node that a keyboard has chosen stays chosen.
    draw(graph, width) {
      const chosen = this.nodes.find((parts) => parts.group === document.activeElement)?.node.key;
      this.graph = graph;
      this.width = width;
      const laid = Layout.of(graph);
      const lane = Math.max(LEAST, Math.min(WIDEST, (width - 8) / laid.lanes));
      const whole = Math.max(lane * laid.lanes, Math.min(width - 8, WIDEST));
      const high = laid.layers * NODE + (laid.layers - 1) * PIPE + 20;
      const left = (whole - lane * laid.lanes) / 2;
      const x = (key) => left + (laid.at.get(key).lane + 0.5) * lane;
      const top = (key) => 10 + laid.at.get(key).layer * (NODE + PIPE);
      const svg = Dom.svg("svg", { width: whole, height: high, viewBox: `0 0 ${whole} ${high}` });
      const inputs = (key) => graph.ways.filter((way) => way.end === key).length;
      this.ways = graph.ways.map((way, at) => {
        const points = laid.paths[at].map((key, step, all) => {
          const last = step === all.length - 1;
          return { x: x(key), y: step === 0 ? top(key) + NODE : last ? top(key) : top(key) + NODE / 2 };
        });
        return this.makeWay(svg, graph, way, points, inputs(way.end) > 1);
      });
      this.nodes = graph.nodes.map((node) => this.makeNode(svg, node, x(node.key), top(node.key), lane - 22));
      this.room.replaceChildren(svg);
      this.nodes.find((parts) => parts.node.key === chosen)?.group.focus({ preventScroll: true });
    }

    makeNode(svg, node, x, y, wide) {
      const most = Math.floor((wide - 30) / 7.7);
      const short = (text, count) => (text.length > count ? text.slice(0, count - 1) + "…" : text);
      const name = node.where === "this process" || node.kind === "gate" ? node.kind : `${node.kind} · ${node.where}`;
      const parts = {
        node,
        figures: Dom.svg("text", { class: "figures", x: 16, y: 53 }),
        busy: Dom.svg("rect", { class: "busy", x: 0, y: NODE - 4, width: 0, height: 4 }),
        tag: Dom.svg("g", { class: "tag", transform: `translate(${wide - 64} 7)` },
          Dom.svg("rect", { width: 56, height: 18, rx: 9 }), Dom.svg("text", { x: 28, y: 13 }, "slowest")),
        errors: Dom.svg("text", { class: "errors", x: wide - 12, y: 53 }),
        title: Dom.svg("title"),
        wide,
      };
      const clip = `clip-${node.key.replace(/\W/g, "-")}`;
      parts.group = Dom.svg("g", { class: "node", "data-kind": node.kind, "data-key": node.key, "data-label": node.label,
        transform: `translate(${x - wide / 2} ${y})`, tabindex: 0, role: "img" },
        parts.title,
        Dom.svg("clipPath", { id: clip }, Dom.svg("rect", { width: wide, height: NODE, rx: 10 })),
        Dom.svg("rect", { class: "box", width: wide, height: NODE, rx: 10 }),
        Dom.svg("g", { "clip-path": `url(#${clip})` },
          Dom.svg("rect", { class: "stripe", width: 5, height: NODE }), parts.busy),
        Dom.svg("text", { class: "kind", x: 16, y: 18 }, short(name, Math.floor((wide - 30) / 6))),
        Dom.svg("text", { class: "label", x: 16, y: 36 }, short(node.label, most)),
        parts.figures, parts.errors, parts.tag);
      svg.append(parts.group);
      return parts;
    }

    tellNode(parts, now, slowest) {
      const words = [];
      if (now.delivered !== null) words.push(Figures.short(now.delivered));
      if (now.busy >= 0.005) words.push("busy " + Figures.share(now.busy));
      else if (now.seconds >= 0.0005) words.push(Figures.seconds(now.seconds));
      if (now.waiting >= 0.005) words.push("waits " + Figures.share(now.waiting));
      const room = Math.floor((parts.wide - (now.errors ? 62 : 26)) / 6.1);
      while (words.length > 1 && words.join(" · ").length > room) words.pop();
      Dom.text(parts.figures, words.join(" · "));
      Dom.text(parts.errors, now.errors ? `${Figures.short(now.errors)} ✕` : "");
      Dom.set(parts.busy, "width", Math.round(now.busy * parts.wide));
      Dom.set(parts.group, "data-slowest", slowest);
      const said = [parts.node.label, parts.node.kind, slowest ? "the slowest place" : "", now.rate === null ? "" : `${Figures.rate(now.rate)}`,
        `busy ${Figures.share(now.busy)}`, `waits ${Figures.share(now.waiting)}`, `${now.errors} errors`];
      Dom.set(parts.group, "aria-label", said.filter(Boolean).join(", "));
      const more = [`worked ${Figures.seconds(now.seconds)}`, now.delivered === null ? "" : `${Figures.exact(now.delivered)} elements`];
      Dom.text(parts.title, [parts.node.label, parts.node.note, ...more].filter(Boolean).join("\n"));
    }

    makeWay(svg, graph, way, points, merges) {
      const path = line(points, merges);
      const back = line([...points].reverse(), !merges);
      const labelled = merges ? points[0] : points[points.length - 1];
      const bent = points[0].x === points[points.length - 1].x ? 0 : 9; // away from where it bends
      const y = merges ? points[0].y + PIPE / 2 - bent : points[points.length - 1].y - PIPE / 2 + bent;
      const parts = {
        way,
        names: [way.start, way.end].map((key) => graph.nodes.find((node) => node.key === key).label),
        level: Dom.svg("path", { class: "level", d: back, pathLength: 100, "stroke-dasharray": "0 200" }),
        flow: Dom.svg("path", { class: "flow", d: path }),
        rate: Dom.svg("text", { class: "rate", x: labelled.x + 16, y: y - 10 }),
        demand: Dom.svg("text", { class: "demand", x: labelled.x + 16, y: y + 6 }),
        held: Dom.svg("text", { class: "held", x: labelled.x + 16, y: y + 21 }),
        state: Dom.svg("text", { class: "state", x: labelled.x - 14, y: y + 5 }),
      };
      parts.group = Dom.svg("g", { class: "way", "data-start": way.start, "data-end": way.end, "data-state": "idle", role: "img" },
        Dom.svg("path", { class: "pipe", d: path }), parts.level, parts.flow, parts.rate, parts.demand, parts.held, parts.state);
      svg.append(parts.group);
      return parts;
    }

    tellWay(parts, now) {
      const fill = now.bound ? Math.min(100, (100 * now.held) / now.bound) : 0;
      Dom.set(parts.level, "stroke-dasharray", `${fill.toFixed(1)} 200`);
      Dom.set(parts.group, "data-state", now.state);
      Dom.text(parts.rate, now.rate === null ? "" : Figures.rate(now.rate));
      Dom.text(parts.demand, now.demand === null ? "" : "demand " + Figures.short(now.demand));
      Dom.text(parts.held, now.held === null ? "" : "holds " + Figures.held(now.held, now.bound));
      Dom.text(parts.state, now.state === "waiting" || now.state === "hungry" ? now.state : "");
      const said = [`from ${parts.names[0]} to ${parts.names[1]}`, now.state, now.rate === null ? "" : Figures.rate(now.rate),
        now.demand === null ? "" : `demand ${Figures.exact(now.demand)}`, now.held === null ? "" : `holds ${Figures.held(now.held, now.bound)}`];
      Dom.set(parts.group, "aria-label", said.filter(Boolean).join(", "));
    }
  }

  // Return a path through points; where it changes lanes it bends late if it meets others below, else early.
  function line(points, late) {
    let path = `M${points[0].x} ${points[0].y}`;
    for (let at = 1; at < points.length; at += 1) {
      const [from, to] = [points[at - 1], points[at]];
      if (from.x === to.x) {
        path += `L${to.x} ${to.y}`;
        continue;
      }
      const bend = (to.y - from.y) * 0.45;
      const start = late ? to.y - bend : from.y;
      const end = late ? to.y : from.y + bend;
      const half = (start + end) / 2;
      path += `L${from.x} ${start}C${from.x} ${half} ${to.x} ${half} ${to.x} ${end}L${to.x} ${to.y}`;
    }
    return path;
  }

  return { Drawing };
})();
