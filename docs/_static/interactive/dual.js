"use strict";
// A label is moved, and the dual of LapSVM is solved again.

const {X, labels: first, gamma_A: gammaA, gamma_I: weight} = data, MOST = 12;
const labels = new Map(first), box = [bounds(X.map(x => x[0])), bounds(X.map(x => x[1]))];
const controls = make(root, "div", {class: "controls"});
const plane = new Plot(root, "Points, labels and decisions", {x: "first feature", y: "second feature", height: 300});
const write = readout(root);
const bars = new Plot(root, "Multipliers of the labels", {x: "label, in the order of the points", y: "multiplier β", height: 220});
const descent = new Plot(root, "Gap between primal and dual value", {x: "step", y: "gap", logY: true, height: 220});
plane.svg.setAttribute("role", "application");
plane.svg.setAttribute("aria-label", "Points. Arrow keys go from point to point, the space bar gives the next label: plus, minus, none.");
const points = make(plane.svg, "g");
let current = first[0][0], steps = Infinity, held = null, dragged = false;

const graph = choice(controls, "graph", ["in the penalty, γ_I = 1", "not used, γ_I = 0: the SVM"], () => update());
const stop = slider(controls, "steps of the ascent", {min: 0, max: 100, value: 100, show: one => one === 100 ? "all" : one}, () => {
  steps = Number(stop.value) === 100 ? Infinity : Number(stop.value);
  update();
});
make(controls, "button", {type: "button"}, "first labels").onclick = () => { labels.clear(); first.forEach(([i, sign]) => labels.set(i, sign)); update(); };

const marks = X.map((x, i) => {
  const mark = make(points, "path", {class: "point", role: "button", tabindex: i === current ? 0 : -1});
  mark.addEventListener("keydown", event => pressed(event, i));
  mark.addEventListener("focus", () => {
    marks[current].setAttribute("tabindex", -1);
    marks[current = i].setAttribute("tabindex", 0);
  });
  return mark;
});

/** Give a point a label, 0 for none; there is room for twelve. */
function put(i, sign) {
  if (!sign) labels.delete(i);
  else if (labels.has(i) || labels.size < MOST) labels.set(i, sign);
  update();
}

const next = i => put(i, {1: -1, "-1": 0}[labels.get(i)] ?? 1);

function pressed(event, i) {
  const way = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, 1], ArrowDown: [0, -1]}[event.key];
  const sign = {"+": 1, "-": -1, Delete: 0, Backspace: 0}[event.key];
  if (way) {
    const cost = X.map((x, j) => {
      const ahead = dot(way, [x[0] - X[i][0], x[1] - X[i][1]]), off = (x[0] - X[i][0]) ** 2 + (x[1] - X[i][1]) ** 2;
      return j !== i && ahead > 0.4 * Math.sqrt(off) ? off : Infinity;
    });
    if (cost[least(cost)] < Infinity) marks[least(cost)].focus();
  } else if (sign !== undefined) put(i, sign);
  else if (event.key === " " || event.key === "Enter") next(i);
  else return;
  event.preventDefault();
}

/** Return the point that is nearest to where a pointer is. */
function nearest(event) {
  const place = new DOMPoint(event.clientX, event.clientY).matrixTransform(plane.svg.getScreenCTM().inverse());
  const away = X.map(x => (plane.X(x[0]) - place.x) ** 2 + (plane.Y(x[1]) - place.y) ** 2);
  return away[least(away)] < 400 ? least(away) : null;
}

plane.svg.addEventListener("pointerdown", event => {
  held = nearest(event);
  dragged = false;
  if (held === null) return;
  event.preventDefault();
  marks[held].focus();
});
window.addEventListener("pointermove", event => {
  const to = held === null ? null : nearest(event);
  if (to === null || to === held || !labels.has(held) || labels.has(to)) return;
  const sign = labels.get(held);
  labels.delete(held);
  labels.set(to, sign);
  [held, dragged] = [to, true];
  marks[to].focus();
  update();
});
window.addEventListener("pointerup", () => {
  if (held !== null && !dragged) next(held);
  held = null;
});
window.addEventListener("pointercancel", () => { held = null; });

function update() {
  const labeled = [...labels.keys()].sort((a, b) => a - b), y = labeled.map(i => labels.get(i));
  const gammaI = Number(graph.value) ? 0 : weight, G = deformed(data.U, data.theta, gammaA, gammaI, labeled, labeled);
  const whole = ascend(G, y, "hinge", 5000), answer = steps < whole.gaps.length ? ascend(G, y, "hinge", steps) : whole;
  const {f, at} = y.length ? decide(data, gammaA, gammaI, labeled, answer) : {f: X.map(() => NaN), at: () => NaN};
  plane.clear(...box);
  for (const [i, j] of data.edges) plane.line([X[i], X[j]], "faint");
  if (y.length) plane.contours(at, ...box, [[0, "boundary"], [-1, "margin"], [1, "margin"]]);
  marks.forEach((mark, i) => {
    const side = labels.get(i) || f[i], name = labels.has(i) ? `label ${side > 0 ? "plus" : "minus"}` : "no label";
    mark.setAttribute("class", `point mark ${side > 0 ? "positive" : side < 0 ? "negative" : "hollow"} ${labels.has(i) ? "label" : ""}`);
    mark.setAttribute("d", SHAPES[side > 0 ? "square" : "circle"](labels.has(i) ? 6.5 : 3.5));
    mark.setAttribute("transform", `translate(${plane.X(X[i][0])},${plane.Y(X[i][1])})`);
    mark.setAttribute("aria-label", `point ${i + 1} of ${X.length}, ${name}${y.length ? `, decision ${f[i].toFixed(2)}` : ""}`);
  });
  bars.clear([0.3, Math.max(y.length, 1) + 0.7], [0, 1.05]);
  answer.beta.forEach((one, k) => {
    bars.line([[k + 1, 0], [k + 1, one]], `stem ${y[k] > 0 ? "positive" : "negative"}`);
    bars.mark([k + 1, one], y[k] > 0 ? "square" : "circle", `${y[k] > 0 ? "positive" : "negative"} label`);
  });
  bars.line([[0.3, 1], [Math.max(y.length, 1) + 0.7, 1]], "margin");
  const digits = whole.gaps.map(gap => Math.log10(Math.max(gap, 1e-16)));
  descent.clear([0, Math.max(whole.gaps.length - 1, 1)], [-16.2, Math.max(...digits, 0) + 0.3]);
  descent.line(digits.map((one, k) => [k, one]), "curve");
  descent.mark([answer.gaps.length - 1, digits[answer.gaps.length - 1]], "diamond", "chosen");
  const wrong = y.length ? wrongOf(f, labels, data.truth) : 0;
  const classes = new Set(y).size, notes = ["No label: nothing to learn from.", "One class alone: all multipliers are zero, and the package refuses.", ""];
  write([
    ["dual value (bound)", answer.dual], ["primal value", answer.primal], ["gap", answer.gap],
    ["steps", `${answer.gaps.length - 1} of ${whole.gaps.length - 1}`], ["intercept b", y.length ? answer.b : NaN],
    ["labels", `${y.length} of at most ${MOST}`], ["decided against its class", y.length ? `${wrong} of ${X.length - y.length}` : "none"],
    ...(notes[classes] ? [["note", notes[classes]]] : []),
  ], {...answer, labeled, y, f: y.length ? f : [], at: y.length ? data.probes.map(at) : [], wrong, steps: answer.gaps.length - 1});
}

plane.legend([...POINT_KEYS, ["line", "boundary", "boundary, f = 0"], ["line", "margin", "margins, f = ±1"], ["line", "faint", "edge of the graph"]]);
bars.legend([["square", "positive label", "of a label +"], ["circle", "negative label", "of a label −"], ["line", "margin", "the box: β ≤ 1"]]);
descent.legend([["line", "curve", "gap after each step (10⁻¹⁶ where it is rounding)"], ["diamond", "chosen", "what is shown"]]);
update();
