"use strict";
// Branch and bound of a small semi-supervised SVM, step by step.

const problem = data, n = data.X.length, box = [bounds(data.X.map(x => x[0]), 0.2), bounds(data.X.map(x => x[1]), 0.2)];
const controls = make(root, "div", {class: "controls"}), LOOKS = {open: ["circle", ""], split: ["square", "negative"], pruned: ["cross", "crossed"]};
let steps = [];
const order = choice(controls, "next case", ["the youngest (depth first)", "the lowest bound"], () => restart());
const step = slider(controls, "step", {min: 0, max: 1, value: 0, show: k => `${k} of ${steps.length - 1}`}, () => update());
const tree = new Plot(root, "Cases at their bounds", {x: "lower bound of the case", y: "number of the case", height: 400});
const plane = new Plot(root, "The SVM of the case", {x: "first feature", y: "second feature", height: 300});
const write = readout(root);

function restart() {
  steps = branchAndBound(problem, Number(order.value) === 1);
  step.max = steps.length - 1;
  step.value = 0;
  step.told();
  update();
}

const labelsOf = signs => signs.map((sign, i) => data.sign[i] ? "" : sign > 0 ? "+" : sign < 0 ? "−" : "·").join(" ");

function update() {
  const {id, best, bound, gap, cases} = steps[Number(step.value)], one = cases[id], whole = steps[steps.length - 1].cases;
  const height = whole.length + 0.5, place = k => [k.lower, k.id + 1], f = decisionsOf(problem, one.w);
  tree.clear([0, Math.max(...whole.map(k => k.lower)) * 1.05], [height, 0.2]);
  tree.line([[best.J, height], [best.J, 0.2]], "margin");
  tree.line([[bound, height], [bound, 0.2]], "other");
  for (const k of cases) if (k.parent !== null) tree.line([place(cases[k.parent]), place(k)], "faint");
  for (const k of cases) {
    if (k.id === id) tree.mark(place(k), "circle", "current", 8);
    tree.mark(place(k), ...LOOKS[k.fate], 4);
    if (k.id === best.id) tree.mark(place(k), "diamond", "chosen", 4);
  }
  plane.clear(...box);
  const shift = x => data.r + dot(x.map((coordinate, k) => coordinate - data.center[k]), one.w);
  plane.contours(shift, ...box, [[0, "boundary"], [-1, "margin"], [1, "margin"]], 24);
  data.X.forEach((x, i) => {
    const side = one.signs[i], look = side > 0 ? "positive" : side < 0 ? "negative" : "";
    plane.mark(x, side > 0 ? "square" : side < 0 ? "circle" : "triangle", `${look} ${data.sign[i] ? "label" : ""}`, data.sign[i] ? 6.5 : 5);
    make(plane.layer, "text", {x: plane.X(x[0]) + 8, y: plane.Y(x[1]) - 6, class: "number"}, data.sign[i] ? "" : String(i + 1 - data.labeled));
  });
  const why = {
    open: "bounded, and open", split: `split at point ${one.at + 1 - data.labeled}, which is nearest to its boundary`,
    pruned: one.signs.includes(0) ? "pruned: its bound is not below the best J" : "finished: all labels are decided",
  };
  write([
    ["case", `${id + 1}, labels ${labelsOf(one.signs)}`], ["what becomes of it", why[one.fate]], ["its bound", one.lower], ["gap of its SVM", one.gap],
    ["J at its answer", one.J], ["best J known (incumbent)", best.J], ["bound on all J", bound], ["gap", gap],
    ["cases open", String(cases.filter(k => k.fate === "open").length)],
    ...(Number(step.value) === steps.length - 1 ? [["proved", `minimum ${shownNumber(best.J)}, after ${cases.length} cases, with ${2 ** (n - data.labeled)} labelings`]] : []),
  ], {step: Number(step.value), last: steps.length - 1, id, best, bound, gap, cases, f});
}

tree.legend([
  ["circle", "", "open"], ["square", "negative", "split"], ["cross", "crossed", "pruned or finished"], ["diamond", "chosen", "best J is from here"],
  ["circle", "current", "this step (ring)"], ["line", "margin", "best J known"], ["line", "other", "bound on all J"], ["line", "faint", "from a case to its parts"],
]);
plane.legend([
  ["circle", "negative", "decided −"], ["square", "positive", "decided +"], ["triangle", "", "not decided"], ["circle", "negative label", "label −"],
  ["square", "positive label", "label +"], ["line", "boundary", "boundary, f = 0"], ["line", "margin", "margins, f = ±1"],
]);
restart();
