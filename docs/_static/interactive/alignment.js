"use strict";
// A spectrum by hand, and the one that kernel-target alignment finds best.

const controls = make(root, "div", {class: "controls"});
const which = choice(controls, "graph and labels", data.cases.map(one => one.name), () => start());
const family = choice(controls, "family", ["ordered from δ₂ on", "free"], () => start());
make(controls, "button", {type: "button"}, "KTA's optimum").onclick = () => { delta = best.delta.map(one => one / Math.max(...best.delta)); update(); };
make(controls, "button", {type: "button"}, "all equal").onclick = () => { delta = delta.map(() => 1); update(); };
const plot = new Plot(root, "Spectra, each divided by its sum", {x: "number of the eigenvector", y: "weight δ", height: 250});
const hand = make(root, "div", {class: "controls column", role: "group", "aria-label": "weights by hand"});
const plane = new Plot(root, "Decisions of the spectrum by hand", {x: "first feature", y: "second feature", height: 250});
const write = readout(root), q = data.cases[0].U[0].length;
let delta = range(q).map(() => 1), graph, terms, rays, best;

const sliders = range(q).map(j => slider(hand, `δ${"₁₂₃₄₅₆₇₈₉"[j]}`, {min: 0, max: 1, step: 0.01, value: 1, show: one => one.toFixed(2)}, () => move(j)));

/** Let the other weights follow one that was moved, as far as the family asks for it. */
function move(j) {
  const value = Number(sliders[j].value), isTied = k => rays.every(ray => ray[j] === ray[k]);
  delta[j] = value;
  if (!Number(family.value) && j) {
    range(q).slice(1).forEach(k => { delta[k] = isTied(k) ? value : k < j ? Math.max(delta[k], value) : Math.min(delta[k], value); });
  }
  update();
}

/** Begin with another graph or family: the spectrum by hand is made one of the family. */
function start() {
  graph = data.cases[Number(which.value)];
  rays = Number(family.value) ? range(q).map(j => range(q).map(k => Number(j === k))) : graph.rays;
  terms = alignmentTerms(graph.labels.map(([i]) => graph.U[i]), graph.labels.map(one => one[1]));
  best = align(terms, rays);
  if (!Number(family.value)) {
    for (let k = 2; k < q; k++) delta[k] = Math.min(delta[k], delta[k - 1]);
    delta = delta.map((one, j) => Math.min(...delta.filter((_, k) => rays.every(ray => ray[j] === ray[k]))));
  }
  update();
}

function decisions(spectrum) {
  const z = range(q).map(j => spectrum[j] * sum(graph.labels.map(([i, sign]) => sign * graph.U[i][j])));
  return times(graph.U, z);
}

function update() {
  sliders.forEach((one, j) => { one.value = delta[j]; one.told(); });
  const value = alignmentOf(terms, delta), labels = new Map(graph.labels), parts = x => x.map(one => one / (sum(x) || 1));
  const [mine, theirs] = [parts(delta), parts(best.delta)], f = decisions(delta);
  const wrong = g => `${wrongOf(g, labels, graph.truth)} of ${graph.X.length - labels.size}`;
  plot.clear([0.5, q + 0.5], [0, Math.max(...mine, ...theirs) * 1.1]);
  plot.line(theirs.map((one, j) => [j + 1, one]), "other");
  plot.line(mine.map((one, j) => [j + 1, one]), "chosen");
  theirs.forEach((one, j) => plot.mark([j + 1, one], "triangle", "negative", 5));
  mine.forEach((one, j) => plot.mark([j + 1, one], "diamond", "chosen", 4));
  plane.clear(bounds(graph.X.map(x => x[0])), bounds(graph.X.map(x => x[1])));
  graph.edges.forEach(([i, j]) => plane.line([graph.X[i], graph.X[j]], "faint"));
  drawPoints(plane, graph.X, f, labels);
  write([
    ["alignment by hand", value], ["alignment of KTA's optimum", best.value], ["bound on all of the family", best.bound],
    ["gap of KTA's optimum", best.gap], ["by hand, below the bound by", best.bound - value],
    ["decided against its class, by hand", sum(delta) ? wrong(f) : "none"],
    ["decided against its class, KTA", wrong(decisions(best.delta))],
  ], {value, delta, best, f, bestF: decisions(best.delta), which: Number(which.value), free: Number(family.value)});
}

plot.legend([["diamond", "chosen", "by hand"], ["triangle", "negative", "KTA's optimum"]]);
plane.legend([...POINT_KEYS, ["line", "faint", "edge of the graph"]]);
start();
