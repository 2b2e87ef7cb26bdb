"use strict";
// dom: make elements; text is always text, never markup.
const Dom = (() => {
  const SVG = "http://www.w3.org/2000/svg";

  function filled(element, attributes, children) {
    for (const [name, value] of Object.entries(attributes)) {
      if (value !== undefined && value !== null) element.setAttribute(name, value);
    }
    element.append(...children);
    return element;
  }

  return {
    html: (name, attributes = {}, ...children) => filled(document.createElement(name), attributes, children),
    svg: (name, attributes = {}, ...children) => filled(document.createElementNS(SVG, name), attributes, children),
    by: (id) => document.getElementById(id),
    // Elements are told again and again what they show; those that show it already are left alone.
    text(element, text) {
      if (element.textContent !== text) element.textContent = text;
    },
    set(element, name, value) {
      if (element.getAttribute(name) !== String(value)) element.setAttribute(name, value);
    },
    shown(element, yes) {
      if (element.hidden === yes) element.hidden = !yes;
    },
  };
})();
