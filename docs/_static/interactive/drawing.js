"use strict";
// What the interactive pages are drawn with: elements, plots with named axes, legends, controls and a list of numbers.

const SVG = "http://www.w3.org/2000/svg";
const SHAPES = {
  circle: r => `M${-r},0a${r},${r} 0 1,0 ${2 * r},0a${r},${r} 0 1,0 ${-2 * r},0Z`,
  square: r => `M${-r},${-r}H${r}V${r}H${-r}Z`,
  triangle: r => `M0,${-1.2 * r}L${1.1 * r},${0.8 * r}H${-1.1 * r}Z`,
  diamond: r => `M0,${-1.3 * r}L${1.3 * r},0L0,${1.3 * r}L${-1.3 * r},0Z`,
  cross: r => `M${-r},${-r}L${r},${r}M${-r},${r}L${r},${-r}`,
  line: () => "M-11,0H11",
};

/** Append an element, of SVG inside of SVG. */
function make(parent, tag, attributes = {}, text = "") {
  const inside = tag === "svg" || parent.namespaceURI === SVG;
  const element = inside ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(text);
  return parent.appendChild(element);
}

/** Write a number for people: seven digits, or the size of one that is nearly zero. */
function shownNumber(x) {
  if (!Number.isFinite(x) || x === 0) return x === 0 ? "0" : "none";
  return (Math.abs(x) < 1e-4 ? x.toExponential(1) : x.toPrecision(7)).replaceAll("-", "−");
}

const power = k => `10${String(k).replace("-", "⁻").replace(/\d/g, digit => "⁰¹²³⁴⁵⁶⁷⁸⁹"[digit])}`;
const named = (value, isLog) => isLog ? power(value) : String(value).replace("-", "−");

function ticks(low, high, isLog) {
  const raw = (high - low) / 5, unit = 10 ** Math.floor(Math.log10(raw));
  const step = isLog ? Math.max(1, Math.ceil(raw)) : unit * [1, 2, 5, 10].find(one => one * unit >= raw * 0.999);
  const first = Math.ceil(low / step - 1e-9);
  return range(Math.floor(high / step + 1e-9) - first + 1).map(k => Number(((first + k) * step).toPrecision(12)));
}

/** A plot with named axes; of a logarithmic axis all numbers are powers of ten. */
class Plot {
  constructor(root, title, {x, y, logX = false, logY = false, height = 270}) {
    Object.assign(this, {names: {x, y}, logX, logY, height, width: 350, figure: make(root, "figure")});
    make(this.figure, "figcaption", {}, title);
    this.svg = make(this.figure, "svg", {viewBox: `0 0 350 ${height}`, role: "img", "aria-label": title});
    this.axes = make(this.svg, "g", {class: "axes", "aria-hidden": "true"});
    this.layer = make(this.svg, "g", {"aria-hidden": "true"});
    this.keys = make(this.figure, "ul", {class: "legend"});
  }

  /** Draw the axes from one pair of ends to the other, and nothing between them. */
  clear([x0, x1], [y0, y1]) {
    const left = 54, right = this.width - 10, top = 8, bottom = this.height - 42;
    this.X = value => left + (value - x0) / (x1 - x0) * (right - left);
    this.Y = value => bottom - (value - y0) / (y1 - y0) * (bottom - top);
    this.axes.replaceChildren();
    this.layer.replaceChildren();
    const text = (x, y, what, more = {}) => make(this.axes, "text", {x, y, "text-anchor": "middle", ...more}, what);
    const xs = ticks(Math.min(x0, x1), Math.max(x0, x1), this.logX), ys = ticks(Math.min(y0, y1), Math.max(y0, y1), this.logY);
    const small = [...xs.map(x => `M${this.X(x)},${bottom}v4`), ...ys.map(y => `M${left},${this.Y(y)}h-4`)];
    make(this.axes, "path", {d: `M${left},${top}V${bottom}H${right}${small.join("")}`});
    xs.forEach(x => text(this.X(x), bottom + 16, named(x, this.logX)));
    ys.forEach(y => text(left - 7, this.Y(y) + 4, named(y, this.logY), {"text-anchor": "end"}));
    text((left + right) / 2, this.height - 8, this.names.x);
    text(12, (top + bottom) / 2, this.names.y, {transform: `rotate(-90 12 ${(top + bottom) / 2})`});
  }

  line(points, look) {
    make(this.layer, "path", {class: `line ${look}`, d: `M${points.map(([x, y]) => `${this.X(x)},${this.Y(y)}`).join("L")}`});
  }

  mark([x, y], kind, look, size = 4.5) {
    make(this.layer, "path", {class: `mark ${look}`, d: SHAPES[kind](size), transform: `translate(${this.X(x)},${this.Y(y)})`});
  }

  /** Draw where a function of the plane has a level, each with its look, by the sides of small squares that it crosses. */
  contours(at, [x0, x1], [y0, y1], levels, n = 40) {
    const node = (i, j) => [x0 + (x1 - x0) * i / n, y0 + (y1 - y0) * j / n];
    const F = range(n + 1).map(i => range(n + 1).map(j => at(node(i, j)))), squares = range(n * n).map(k => [k % n, Math.floor(k / n)]);
    const corners = (i, j) => [[i, j], [i + 1, j], [i + 1, j + 1], [i, j + 1], [i, j]];
    for (const [level, look] of levels) {
      const above = ([i, j]) => F[i][j] > level, pieces = squares.map(([i, j]) => {
        const ring = corners(i, j), sides = range(4).map(k => [ring[k], ring[k + 1]]).filter(([p, q]) => above(p) !== above(q));
        return sides.map(([p, q], k) => {
          const share = (level - F[p[0]][p[1]]) / (F[q[0]][q[1]] - F[p[0]][p[1]]), [from, to] = [node(...p), node(...q)];
          const [x, y] = from.map((one, axis) => one + share * (to[axis] - one));
          return `${k % 2 ? "L" : "M"}${this.X(x)},${this.Y(y)}`;
        }).join("");
      });
      make(this.layer, "path", {class: `line ${look}`, d: pieces.join("")});
    }
  }

  legend(entries) {
    this.keys.replaceChildren();
    for (const [kind, look, text] of entries) {
      const icon = make(make(this.keys, "li"), "svg", {viewBox: "-12 -8 24 16", width: 24, height: 16, "aria-hidden": "true"});
      make(icon, "path", {class: `${kind === "line" ? "line" : "mark"} ${look}`, d: SHAPES[kind](5)});
      icon.after(text);
    }
  }
}

const POINT_KEYS = [
  ["circle", "negative", "decided −"], ["square", "positive", "decided +"],
  ["circle", "negative label", "label −"], ["square", "positive label", "label +"],
];

/** Draw points by the signs of their decisions, those with a label larger and with an edge, by the label. */
function drawPoints(plot, X, f, labels) {
  X.forEach((x, i) => {
    const side = labels.get(i) || f[i];
    plot.mark(x, side > 0 ? "square" : "circle", `${side > 0 ? "positive" : "negative"} ${labels.has(i) ? "label" : ""}`, labels.has(i) ? 6.5 : 3.5);
  });
}

/** Append a slider; `show` writes its value. */
function slider(root, name, {show = String, ...options}, changed) {
  const label = make(root, "label", {}, name), input = make(label, "input", {type: "range", ...options}), output = make(label, "output");
  input.told = () => input.setAttribute("aria-valuetext", output.textContent = show(Number(input.value)));
  input.addEventListener("input", () => { input.told(); changed(); });
  input.told();
  return input;
}

/** Append a choice among names. */
function choice(root, name, options, changed) {
  const select = make(make(root, "label", {}, name), "select");
  options.forEach((text, k) => make(select, "option", {value: k}, text));
  select.addEventListener("change", changed);
  return select;
}

/** Append a list of numbers; what is returned writes it, and keeps all digits as `window.shown`. */
function readout(root) {
  const list = make(root, "dl", {class: "readout", "aria-live": "polite"});
  return (pairs, all) => {
    list.replaceChildren();
    for (const [name, value] of pairs) {
      const pair = make(list, "div");
      make(pair, "dt", {}, name);
      make(pair, "dd", {}, typeof value === "number" ? shownNumber(value) : value);
    }
    window.shown = all;
  };
}

const root = document.getElementById("interactive");
const data = JSON.parse(document.getElementById("interactive-data").textContent);
const bounds = (values, share = 0.08) => {
  const low = Math.min(...values), high = Math.max(...values), room = (high - low || 1) * share;
  return [low - room, high + room];
};
