"use strict";
// tables: the figures as tiles, the graph and Spark's queries as tables, and the errors as a list.
const Tables = (() => {
  function table(caption, heads, rows) {
    return Dom.html("table", {},
      Dom.html("caption", { class: "spoken" }, caption),
      Dom.html("thead", {}, Dom.html("tr", {}, ...heads.map((head) => Dom.html("th", { scope: "col" }, head)))),
      Dom.html("tbody", {}, ...rows.map((row) => Dom.html("tr", {},
        ...row.map((cell, at) => Dom.html(at ? "td" : "th", at ? {} : { scope: "row" }, cell))))));
  }

  // Put rows into a table that is there already, cell by cell, so that a reader's place in it is kept.
  function tell(room, caption, heads, rows) {
    const body = room.querySelector("tbody");
    const same = body && body.rows.length === rows.length && rows.every((row, at) => body.rows[at].cells.length === row.length);
    if (!same) {
      room.replaceChildren(table(caption, heads, rows));
      return;
    }
    rows.forEach((row, at) => row.forEach((cell, place) => Dom.text(body.rows[at].cells[place], cell)));
  }

  return {
    tiles(room, run) {
      const totals = run.totals;
      const found = [
        ["in", Figures.short(totals.in), Figures.exact(totals.in)],
        ["out", totals.out === null ? null : Figures.short(totals.out), Figures.exact(totals.out)],
        ["per second", Figures.short(totals.rateIn), "elements from the sources in a second"],
        ["demand", totals.demand === null ? null : Figures.short(totals.demand), "asked of the sources and not yet given"],
        ["held", totals.held === null ? null : Figures.short(totals.held), "elements that wait somewhere inside"],
        ["lag", totals.lag === null ? null : Figures.short(totals.lag), "rows that Spark has not processed"],
        ["micro-batch", totals.batchSeconds === null ? null : Figures.seconds(totals.batchSeconds), "how long the last one took"],
        ["errors", Figures.short(totals.errors), "failures that began in a step"],
      ].filter(([, value]) => value !== null);
      const names = found.map(([name]) => name).join();
      if (room.dataset.names !== names) {
        room.dataset.names = names;
        room.replaceChildren(...found.map(([name]) => Dom.html("div", { class: "tile", "data-name": name },
          Dom.html("b", {}), Dom.html("span", {}, name))));
      }
      found.forEach(([name, value, full], at) => {
        const tile = room.children[at];
        Dom.text(tile.firstChild, value);
        Dom.set(tile, "title", full);
        Dom.set(tile, "data-bad", name === "errors" && totals.errors > 0);
      });
    },

    graph(room, graph, run) {
      const names = new Map(graph.nodes.map((node) => [node.key, node.label]));
      const rows = graph.nodes.map((node, at) => {
        const now = Figures.node(run.nodes[at]);
        const ways = graph.ways.map((way, number) => [way, Figures.way(run.ways[number])]).filter(([way]) => way.end === node.key);
        const one = (read) => ways.map(([, way]) => read(way)).join(", ") || "–";
        return [
          node.label + (run.slowest === at ? " (slowest)" : ""), node.kind, node.where,
          ways.map(([way]) => names.get(way.start)).join(", ") || "–",
          one((way) => Figures.rate(way.rate)), one((way) => Figures.exact(way.demand)),
          one((way) => (way.held === null ? "–" : Figures.held(way.held, way.bound))), one((way) => way.state),
          Figures.seconds(now.seconds), Figures.share(now.busy), Figures.share(now.waiting), Figures.exact(now.errors),
        ];
      });
      tell(room, "Every part of the run, and the way that leads to it",
        ["part", "kind", "where", "takes from", "rate", "demand", "held", "way", "time", "busy", "waits", "errors"], rows);
    },

    queries(room, run) {
      const rows = run.queries.map((query) => [query.name, Figures.exact(query.batches), Figures.seconds(query.seconds), Figures.exact(query.rows),
        Figures.rate(query.rate), Figures.exact(query.state), query.watermark ? query.watermark.replace("T", " ").replace(/(\.\d+)?Z$/, "") : "–"]);
      tell(room, "Queries of Spark", ["query", "batches", "last took", "rows", "rows/s", "state rows", "watermark"], rows);
    },

    // Show the errors of all runs, the latest first, each with the title of its run where there is one.
    log(list, count, troubles, titleOf) {
      Dom.text(count, troubles.length ? String(troubles.length) : "none");
      const titles = troubles.map((each) => titleOf(each.run));
      const shown = troubles.map((each, at) => each.number + titles[at]).join();
      if (list.dataset.shown === shown) return;
      list.dataset.shown = shown;
      list.replaceChildren(...troubles.map((each, at) => {
        const notes = titles[at] ? [...each.notes, `in the run ${titles[at]}`] : each.notes;
        return Dom.html("li", { "data-number": each.number }, Dom.html("time", {}, Figures.clock(each.at)),
          Dom.html("strong", {}, each.what), ...notes.map((note) => Dom.html("span", { class: "note" }, note)));
      }).reverse());
    },
  };
})();
