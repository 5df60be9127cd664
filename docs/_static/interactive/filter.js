"use strict";
// Weights of the norm and of the graph as a filter of functions, and what LapSVM and LapRLS decide with it.

const {X, U, theta} = data, labels = new Map(data.labels), labeled = data.labels.map(([i]) => i), y = data.labels.map(one => one[1]);
const box = [bounds(X.map(x => x[0])), bounds(X.map(x => x[1]))], NONE = -4.25;
const digits = theta.map(one => Math.max(Math.log10(one), -5.5)), kernelSizes = range(X.length).map(k => Math.hypot(...U.map(row => row[k])));
const controls = make(root, "div", {class: "controls"});
const written = one => one === NONE ? "0" : String(Number((10 ** one).toPrecision(2)));
const graphWeight = slider(controls, "γ_I, of the graph", {min: NONE, max: 2, step: 0.25, value: 0, show: written}, () => update());
const normWeight = slider(controls, "γ_A, of the norm", {min: -4, max: 1, step: 0.25, value: -2, show: written}, () => update());
const loss = choice(controls, "loss", ["hinge: LapSVM", "square: LapRLS"], () => update());
const part = slider(controls, "function shown", {min: 0, max: X.length, value: 0, show: k => k ? `u of number ${k}` : "the decision"}, () => update());
const plane = new Plot(root, "The decision, or one of the functions", {x: "first feature", y: "second feature", height: 300});
const filter = new Plot(root, "The filter", {x: "energy θ along the graph of a function of norm 1", y: "share", logX: true, height: 300});
const write = readout(root);

function update() {
  const gammaI = Number(graphWeight.value) === NONE ? 0 : 10 ** graphWeight.value, gammaA = 10 ** normWeight.value, k = Number(part.value) - 1;
  const G = deformed(U, theta, gammaA, gammaI, labeled, labeled);
  const answer = ascend(G, y, Number(loss.value) ? "squared" : "hinge", 20000), {f, at} = decide(data, gammaA, gammaI, labeled, answer);
  const kept = theta.map(one => gammaA / (gammaA + gammaI * one));
  const sizes = kept.map((one, j) => kernelSizes[j] * one / gammaA * Math.abs(sum(labeled.map((i, at) => U[i][j] * answer.v[at]))));
  plane.clear(...box);
  if (k < 0) {
    plane.contours(at, ...box, [[0, "boundary"], [-1, "margin"], [1, "margin"]]);
    drawPoints(plane, X, f, labels);
    plane.legend([...POINT_KEYS, ["line", "boundary", "boundary, f = 0"], ["line", "margin", "margins, f = ±1"]]);
  } else {
    const most = Math.max(...U.map(row => Math.abs(row[k])));
    data.edges.forEach(([i, j]) => plane.line([X[i], X[j]], "faint"));
    X.forEach((x, i) => plane.mark(x, U[i][k] > 0 ? "square" : "circle", U[i][k] > 0 ? "positive" : "negative", 0.8 + 6 * Math.abs(U[i][k]) / most));
    plane.legend([["circle", "negative", "negative value"], ["square", "positive", "positive value, larger if larger"], ["line", "faint", "edge of the graph"]]);
  }
  filter.clear([-5.7, 0.5], [0, 1.05]);
  digits.forEach((x, j) => filter.line([[x, 0], [x, sizes[j] / Math.max(...sizes)]], "stem other"));
  filter.line(range(63).map(j => [-5.7 + j / 10, gammaA / (gammaA + gammaI * 10 ** (-5.7 + j / 10))]), "curve");
  digits.forEach((x, j) => filter.mark([x, kept[j]], "circle", "", 2.6));
  if (k >= 0) filter.mark([digits[k], kept[k]], "diamond", "chosen", 6);
  const wrong = wrongOf(f, labels, data.truth);
  write([
    ["primal value", answer.primal], ["dual value (bound)", answer.dual], ["gap", answer.gap], ["γ_I / γ_A", gammaI / gammaA],
    ["functions of which half or more is kept", `${kept.filter(one => one >= 0.5).length} of ${X.length}`],
    ["decided against its class", `${wrong} of ${X.length - y.length}`],
    ...(k < 0 ? [] : [[`number ${k + 1}: θ`, theta[k]], [`number ${k + 1}: share kept`, kept[k]]]),
  ], {...answer, gaps: answer.gaps.length, f, G, kept, gammaA, gammaI, loss: Number(loss.value) ? "squared" : "hinge", wrong});
}

filter.legend([
  ["line", "curve", "γ_A / (γ_A + γ_I θ), what is kept"], ["circle", "", "one of the functions"],
  ["line", "stem other", "its part in the decision, of the largest"], ["diamond", "chosen", "the function shown"],
]);
update();
