"use strict";
// layout: put the nodes of a graph into layers, each below those that it takes from, with few crossings.
const Layout = (() => {
  // Return the layer of each node: as far down as its longest way, and sources right above what takes from them.
  function layersOf(graph) {
    const layers = new Map(graph.nodes.map((node) => [node.key, 0]));
    for (let round = 0; round < graph.nodes.length; round += 1) {
      let changed = false;
      for (const way of graph.ways) {
        const wanted = layers.get(way.start) + 1;
        if (wanted > layers.get(way.end)) {
          layers.set(way.end, wanted);
          changed = true;
        }
      }
      if (!changed) break;
    }
    const ends = new Set(graph.ways.map((way) => way.end));
    for (const node of graph.nodes) {
      const after = graph.ways.filter((way) => way.start === node.key).map((way) => layers.get(way.end));
      if (!ends.has(node.key) && after.length) layers.set(node.key, Math.min(...after) - 1);
    }
    return layers;
  }

  // Cut ways that pass layers into pieces, so that they get a place of their own in each.
  function pieces(graph, layers) {
    const rows = [];
    const put = (key, layer) => (rows[layer] ||= []).push(key);
    graph.nodes.forEach((node) => put(node.key, layers.get(node.key)));
    const links = [];
    const paths = graph.ways.map((way, number) => {
      const path = [way.start];
      for (let layer = layers.get(way.start) + 1; layer < layers.get(way.end); layer += 1) {
        const key = `way ${number} in ${layer}`;
        put(key, layer);
        path.push(key);
      }
      path.push(way.end);
      for (let at = 1; at < path.length; at += 1) links.push([path[at - 1], path[at]]);
      return path;
    });
    return { rows: Array.from(rows, (row) => row || []), links, paths };
  }

  function neighbours(links) {
    const above = new Map();
    const below = new Map();
    for (const [start, end] of links) {
      if (!above.has(end)) above.set(end, []);
      if (!below.has(start)) below.set(start, []);
      above.get(end).push(start);
      below.get(start).push(end);
    }
    return { above, below };
  }

  const mean = (values) => values.reduce((sum, value) => sum + value, 0) / values.length;

  // Sort each layer by where its neighbours are, downwards and upwards in turn.
  function sorted(rows, { above, below }) {
    const place = new Map();
    const note = (row) => row.forEach((key, at) => place.set(key, at));
    rows.forEach(note);
    for (let sweep = 0; sweep < 6; sweep += 1) {
      const [order, near] = sweep % 2 ? [[...rows].reverse(), below] : [rows, above];
      for (const row of order) {
        const wish = new Map(row.map((key, at) => [key, near.has(key) ? mean(near.get(key).map((k) => place.get(k))) : at]));
        row.sort((a, b) => wish.get(a) - wish.get(b));
        note(row);
      }
    }
  }

  // Give each node a lane: near those above it and those below it in turn, and at least one lane from the next in its layer.
  function lanes(rows, { above, below }) {
    const x = new Map();
    rows.forEach((row) => row.forEach((key, at) => x.set(key, at - (row.length - 1) / 2)));
    for (let sweep = 0; sweep < 8; sweep += 1) {
      const near = sweep % 2 ? below : above;
      for (const row of sweep % 2 ? [...rows].reverse() : rows) {
        const wish = row.map((key) => (near.has(key) ? mean(near.get(key).map((each) => x.get(each))) : x.get(key)));
        const apart = [...wish];
        for (let at = 1; at < row.length; at += 1) apart[at] = Math.max(apart[at], apart[at - 1] + 1);
        const shift = mean(wish.map((value, at) => value - apart[at]));
        row.forEach((key, at) => x.set(key, apart[at] + shift));
      }
    }
    const least = Math.min(...x.values());
    for (const [key, value] of x) x.set(key, Math.round(2 * (value - least)) / 2); // ways between them are straight
    return x;
  }

  return {
    // Return the layer and the lane of every node, the places on each way, and how many lanes and layers there are.
    of(graph) {
      const layers = layersOf(graph);
      const { rows, links, paths } = pieces(graph, layers);
      const near = neighbours(links);
      sorted(rows, near);
      const x = lanes(rows, near);
      const at = new Map();
      rows.forEach((row, layer) => row.forEach((key) => at.set(key, { lane: x.get(key), layer })));
      return { at, paths, lanes: Math.max(...x.values(), 0) + 1, layers: rows.length };
    },
  };
})();
