"use strict";
// The minima of a smoothed semi-supervised SVM on a line, and the one that continuation follows.

const controls = make(root, "div", {class: "controls"}), box = [-4, 4];
let path = [], problem, plain;
const which = choice(controls, "weight of the losses", data.problems.map(one => `C = ${one.C}`), () => start());
const step = slider(controls, "smoothing", {min: 0, max: 1, value: 0, show: k => path[k] ? `γ = ${Number(path[k].gamma.toPrecision(3))}` : ""}, () => update());
const curve = new Plot(root, "The objective over the weight w", {x: "w", y: "objective, smoothed by γ", height: 300});
const moving = new Plot(root, "Where the minima are", {x: "smoothing γ, less to the right", y: "w of a minimum", logX: true, height: 300});
const write = readout(root), grid = range(241).map(k => -3 + k / 40);

function start() {
  problem = data.problems[Number(which.value)];
  path = followed(problem, problem.gammas, box);
  plain = minima(problem, 0, box).map(w => smoothedValue(problem, 0, w).value);
  step.max = path.length - 1;
  step.value = 0;
  step.told();
  update();
}

function update() {
  const k = Number(step.value), {gamma, w, all, value, slope} = path[k], at = (one, g) => smoothedValue(problem, g, one).value;
  const smooth = grid.map(one => at(one, gamma)), rough = grid.map(one => at(one, 0)), lowest = Math.min(...all.map(one => at(one, gamma)));
  curve.clear([-3, 3], [Math.min(...smooth, ...rough) - 0.5, Math.min(Math.max(...smooth, ...rough), 3 * Math.max(value, ...plain))]);
  const inside = (one, i, values) => values[i] <= 3 * Math.max(value, ...plain);
  curve.line(grid.map((one, i) => [one, rough[i]]).filter((one, i) => inside(one, i, rough)), "margin");
  curve.line(grid.map((one, i) => [one, smooth[i]]).filter((one, i) => inside(one, i, smooth)), "curve");
  all.forEach(one => curve.mark([one, at(one, gamma)], "circle", "", 4.5));
  curve.mark([w, value], "diamond", "chosen", 5.5);
  const across = j => Math.log10(path[j].gamma);
  moving.clear(bounds([across(0), across(path.length - 1)], 0.04).reverse(), [-3, 3]);
  path.forEach((one, j) => one.all.forEach(each => moving.mark([across(j), each], "circle", "", 3)));
  moving.line(path.slice(0, k + 1).map((one, j) => [across(j), one.w]), "chosen");
  moving.line([[across(k), -3], [across(k), 3]], "margin");
  moving.mark([across(k), w], "diamond", "chosen", 5);
  const J = at(w, 0), least = Math.min(...plain);
  write([
    ["smoothing γ", gamma], ["w of the path", w], ["smoothed objective there", value], ["its slope there", slope], ["minima now", String(all.length)],
    ["above the lowest of them by", value - lowest], ["J there, not smoothed", J], ["least J on the line", least], ["J above it by (gap)", J - least],
  ], {which: Number(which.value), k, gamma, w, all, value, slope, J, least, lowest});
}

curve.legend([["line", "curve", "smoothed"], ["line", "margin", "J, not smoothed"], ["circle", "", "minimum"], ["diamond", "chosen", "minimum that is followed"]]);
moving.legend([["circle", "", "minimum"], ["line", "chosen", "path so far"], ["diamond", "chosen", "now"], ["line", "margin", "this smoothing"]]);
start();
