"use strict";
// figures: what the server sends as rows of numbers, by name, and how numbers are written.
const Figures = (() => {
  const ALL = -1;
  const whole = new Intl.NumberFormat("en");

  function short(value) {
    if (value === null || value === undefined) return "–";
    if (value === ALL) return "all";
    for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e3, "k"]]) {
      if (value >= size * 0.9995) {
        const scaled = value / size;
        return (scaled >= 100 ? scaled.toFixed(0) : scaled.toFixed(1)) + " " + unit;
      }
    }
    return value >= 10 || Number.isInteger(value) ? String(Math.round(value)) : value.toFixed(1);
  }

  return {
    ALL,
    short,
    node([delivered, rate, seconds, busy, waiting, errors, held, bound]) {
      return { delivered, rate, seconds, busy, waiting, errors, held, bound };
    },
    way([rate, demand, held, bound, state]) {
      return { rate, demand, held, bound, state };
    },
    exact: (value) => (value === null || value === undefined ? "–" : value === ALL ? "all" : whole.format(value)),
    rate: (value) => (value === null || value === undefined ? "–" : short(value) + "/s"),
    share: (value) => Math.round(value * 100) + " %",
    held: (held, bound) => (bound === null ? short(held) : short(held) + "/" + short(bound)),
    seconds(value) {
      if (value === null || value === undefined) return "–";
      if (value < 1) return Math.round(value * 1000) + " ms";
      if (value < 120) return value.toFixed(value < 10 ? 1 : 0) + " s";
      return Math.floor(value / 60) + " min " + Math.floor(value % 60) + " s";
    },
    clock: (at) => new Date(at * 1000).toLocaleTimeString("en-GB"),
  };
})();
