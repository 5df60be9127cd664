"use strict";
// The arithmetic of the interactive pages: functions of numbers that know of no page. tests/test_interactive.py runs
// them in a browser and compares what they return with the package.

const sum = x => x.reduce((total, one) => total + one, 0);
const dot = (x, y) => x.reduce((total, one, k) => total + one * y[k], 0);
const times = (A, x) => A.map(row => dot(row, x));
const range = n => [...Array(n).keys()];
const least = x => x.indexOf(Math.min(...x));
const wrongOf = (f, labels, truth) => f.filter((one, i) => !labels.has(i) && one > 0 !== truth[i] > 0).length;

// LapSVM and LapRLS

/** Return rows and columns of the deformed kernel, sum_k u_k u_k' / (gamma_A + gamma_I theta_k): the columns u_k of U
 * have norm one in the kernel's space, theta_k along the graph, and are orthogonal in both. */
function deformed(U, theta, gammaA, gammaI, rows, columns) {
  const kept = theta.map(one => 1 / (gammaA + gammaI * one));
  return rows.map(i => columns.map(j => sum(kept.map((weight, k) => weight * U[i][k] * U[j][k]))));
}

/** Return the middle of all b with the least sum of hinges; the finite end where there is one class. */
function hingeIntercept(y, g) {
  const kinks = y.map((one, i) => one - g[i]).sort((a, b) => a - b), positive = y.filter(one => one > 0).length;
  const left = kinks[Math.max(positive - 1, 0)], right = kinks[Math.min(positive, y.length - 1)];
  return left + (right - left) / 2;
}

/** Ascend the dual, max 1'beta - beta'Q beta / 2 with y'beta = 0, by two multipliers a step: those whose conditions of
 * optimality are violated most. For the hinge 0 <= beta <= 1; the square has no box, and 1/2 more on the diagonal of Q.
 * Every beta is feasible, so that each step ends with a bound, a primal value and their gap. */
function ascend(G, y, loss, limit) {
  const ridge = loss === "squared" ? 0.5 : 0, [low, high] = ridge ? [-Infinity, Infinity] : [0, 1];
  const Q = G.map((row, i) => row.map((one, j) => y[i] * y[j] * one / 2 + (i === j ? ridge : 0)));
  const beta = y.map(() => 0), gaps = [];
  for (;;) {
    const image = times(Q, beta), slope = image.map(one => 1 - one);
    const dual = sum(beta) - dot(beta, image) / 2;
    const g = y.map((one, i) => one * (image[i] - ridge * beta[i]));
    const b = ridge ? sum(y.map((one, i) => one - g[i])) / y.length : hingeIntercept(y, g);
    const short = y.map((one, i) => 1 - one * (g[i] + b));
    const losses = sum(short.map(one => ridge ? one * one : Math.max(0, one)));
    const primal = losses + dot(beta, y.map((one, i) => one * g[i])) / 2;
    gaps.push(primal - dual);
    let up = -1, down = -1;
    y.forEach((one, i) => {
      const rises = one > 0 ? beta[i] < high : beta[i] > low, falls = one > 0 ? beta[i] > low : beta[i] < high;
      if (rises && (up < 0 || one * slope[i] > y[up] * slope[up])) up = i;
      if (falls && (down < 0 || one * slope[i] < y[down] * slope[down])) down = i;
    });
    const violation = up < 0 || down < 0 ? 0 : y[up] * slope[up] - y[down] * slope[down];
    if (violation <= 1e-13 || gaps.length > limit) {
      return {beta, b, dual, primal, gap: primal - dual, gaps, v: y.map((one, i) => one * beta[i] / 2)};
    }
    const room = (i, way) => way > 0 ? high - beta[i] : beta[i] - low;
    const curvature = Q[up][up] + Q[down][down] - 2 * y[up] * y[down] * Q[up][down];
    const step = Math.min(violation / curvature, room(up, y[up]), room(down, -y[down]));
    for (const [i, way] of [[up, y[up]], [down, -y[down]]]) {
      beta[i] = Math.min(high, Math.max(low, beta[i] + way * step));
    }
  }
}

/** Return the decisions at all points, and the function of the plane that they are values of. */
function decide({X, U, theta, edges, width}, gammaA, gammaI, labeled, {v, b}) {
  const values = times(deformed(U, theta, gammaA, gammaI, range(X.length), labeled), v);
  const rough = [...values]; // L times the values; each edge comes with its entry in L
  for (const [i, j, entry] of edges) {
    rough[i] += entry * values[j];
    rough[j] += entry * values[i];
  }
  // The coefficients of the kernel at the points: gamma_A alpha + gamma_I L K alpha is v at the labels, else zero.
  const alpha = rough.map((one, i) => ((v[labeled.indexOf(i)] ?? 0) - gammaI * one) / gammaA);
  const near = (x, z) => Math.exp(-width * ((x[0] - z[0]) ** 2 + (x[1] - z[1]) ** 2));
  return {f: values.map(one => one + b), at: x => b + sum(X.map((z, i) => alpha[i] * near(x, z)))};
}

// Alignment

/** Return the alignment of the kernel of a spectrum with the labels; 0 for the zero kernel. */
function alignmentOf({a, M, l}, delta) {
  const norm = Math.sqrt(Math.max(0, dot(delta, times(M, delta))));
  return norm > 0 ? dot(a, delta) / (l * norm) : 0;
}

/** Return what alignment needs of labelled rows U: a_j = (u_j'y)^2, M = (U'U)^2 elementwise, and their number. */
function alignmentTerms(U, y) {
  const columns = U[0].map((_, j) => U.map(row => row[j]));
  return {a: columns.map(u => dot(u, y) ** 2), M: columns.map(u => columns.map(v => dot(u, v) ** 2)), l: y.length};
}

/** Return the spectrum of the best alignment among the nonnegative sums of `rays`, by coordinate descent on the
 * projection of yy', and a bound: where t K has at least the product with each ray that yy' has, no alignment is above
 * t |K| / l. */
function align(terms, rays) {
  const h = times(rays, terms.a), images = rays.map(ray => times(terms.M, ray)), kappa = rays.map(() => 0);
  const H = images.map(image => times(rays, image)), spectrum = () => rays[0].map((_, j) => sum(rays.map((ray, i) => kappa[i] * ray[j])));
  for (let sweep = 1; ; sweep++) {
    for (const i of range(rays.length)) {
      if (H[i][i] > 0) kappa[i] = Math.max(0, kappa[i] + (h[i] - dot(H[i], kappa)) / H[i][i]);
    }
    if (sweep % 100 && sweep > 1) continue;
    const delta = spectrum(), value = alignmentOf(terms, delta), image = times(H, kappa);
    const t = Math.max(...h.map((one, i) => one > 0 ? one / image[i] : 0));
    const bound = t * Math.sqrt(dot(kappa, image)) / terms.l;
    if (bound - value < 1e-13 || sweep > 100000) return {delta, value, bound, gap: bound - value, sweeps: sweep};
  }
}

// Semi-supervised SVMs: f = Z w + r with Z centred on the points without a label

const decisionsOf = ({Z, r}, w) => Z.map(z => dot(z, w) + r);

/** Return J(w): points have the sign of their label, or 0. */
function s3vmValue(problem, w) {
  const losses = decisionsOf(problem, w).map((f, i) => Math.max(0, 1 - (problem.sign[i] ? problem.sign[i] * f : Math.abs(f))));
  return dot(w, w) / 2 + problem.C * sum(losses);
}

/** Solve the SVM of the points that have a sign, by ascent on its dual, max sum beta (1 - s r) - |w|^2 / 2 with
 * w = sum beta s z in the box [0, C], one multiplier at a time. The dual value bounds J from below wherever the others
 * end: they cost nothing here. */
function svm({Z, r, C}, signs) {
  const used = range(Z.length).filter(i => signs[i]), beta = signs.map(() => 0), w = Z[0].map(() => 0);
  for (let sweep = 1; ; sweep++) {
    for (const i of used) {
      const norm = dot(Z[i], Z[i]), slope = 1 - signs[i] * (dot(Z[i], w) + r);
      const to = Math.min(C, Math.max(0, norm > 0 ? beta[i] + slope / norm : slope > 0 ? C : 0)), change = (to - beta[i]) * signs[i];
      Z[i].forEach((one, k) => { w[k] += change * one; });
      beta[i] = to;
    }
    const lower = sum(used.map(i => beta[i] * (1 - signs[i] * r))) - dot(w, w) / 2;
    const upper = dot(w, w) / 2 + C * sum(used.map(i => Math.max(0, 1 - signs[i] * (dot(Z[i], w) + r))));
    if (upper - lower <= 1e-12 * upper || sweep === 5000) return {w, lower, gap: upper - lower};
  }
}

/** Return all steps of a branch and bound: at each the cases so far, the one that was looked at, and the best J known.
 * A case decides the labels of some points. It is pruned if its bound is not below the best J, else split at the point
 * that is nearest to its boundary. */
function branchAndBound(problem, lowestFirst) {
  const cases = [], open = [], steps = [];
  let best = {J: Infinity};
  const add = (signs, parent) => {
    const answer = svm(problem, signs), J = s3vmValue(problem, answer.w), id = cases.length;
    cases.push({...answer, id, parent, signs, J, fate: "open", pruned: null});
    open.push(id);
    if (J < best.J) best = {J, id, w: answer.w};
  };
  const note = id => {
    const bound = Math.min(best.J, ...cases.filter(one => one.fate !== "split").map(one => one.lower));
    steps.push({id, best, bound, gap: best.J - bound, cases: cases.map(one => ({...one}))});
  };
  add(problem.sign, null);
  note(0);
  while (open.length) {
    if (lowestFirst) open.sort((a, b) => cases[b].lower - cases[a].lower || b - a);
    const one = cases[open.pop()], f = decisionsOf(problem, one.w), free = range(f.length).filter(i => !one.signs[i]);
    if (one.lower >= best.J * (1 - 1e-9) || !free.length) one.fate = "pruned";
    else {
      one.fate = "split";
      one.at = free.reduce((i, j) => Math.abs(f[j]) < Math.abs(f[i]) ? j : i);
      for (const side of f[one.at] > 0 ? [-1, 1] : [1, -1]) add(one.signs.map((sign, i) => i === one.at ? side : sign), one.id);
    }
    note(one.id);
  }
  return steps;
}

/** Return the density and the distribution function of the normal law. */
function normal(x) {
  const density = Math.exp(-x * x / 2) / Math.sqrt(2 * Math.PI), size = Math.min(Math.abs(x), 40);
  let series = size, fraction = size;
  for (let term = size, k = 3; size < 5 && term > 1e-18; k += 2) series += term *= size * size / k;
  for (let k = 40; k; k--) fraction = size + k / fraction;
  const tail = size < 5 ? 0.5 - density * series : density / fraction;
  return [density, x > 0 ? 1 - tail : tail];
}

/** Return the value and the slope of J with hinge and exp(-s f^2), convolved with a Gaussian of variance gamma in w,
 * less gamma / 2, on a line. */
function smoothedValue({z, sign, r, C, s}, gamma, w) {
  let value = w * w / 2, slope = w;
  z.forEach((one, i) => {
    const f = one * w + r, sigma = Math.sqrt(gamma) * Math.abs(one);
    if (sign[i]) {
      const short = 1 - sign[i] * f, [density, share] = sigma > 0 ? normal(short / sigma) : [0, Number(short > 0)];
      value += C * (short * share + sigma * density);
      slope -= C * share * sign[i] * one;
    } else {
      const a = 1 + 2 * s * sigma * sigma, part = C * Math.exp(-s * f * f / a) / Math.sqrt(a);
      value += part;
      slope -= part * 2 * s * f / a * one;
    }
  });
  return {value, slope};
}

/** Return the minima between two ends: where the slope turns from minus to plus, bisected. */
function minima(problem, gamma, [low, high], n = 600) {
  const slope = w => smoothedValue(problem, gamma, w).slope, at = range(n + 1).map(k => low + (high - low) * k / n);
  const slopes = at.map(slope);
  return range(n).filter(k => slopes[k] < 0 && slopes[k + 1] >= 0).map(k => {
    let [left, right] = [at[k], at[k + 1]];
    for (let halved = 0; halved < 60; halved++) {
      const middle = (left + right) / 2;
      if (slope(middle) < 0) left = middle; else right = middle;
    }
    return (left + right) / 2;
  });
}

/** Follow a minimum along falling variances: at each the descent from the one before ends in the next minimum downhill. */
function followed(problem, gammas, box) {
  let w = 0;
  return gammas.map(gamma => {
    const all = minima(problem, gamma, box), falls = smoothedValue(problem, gamma, w).slope < 0;
    w = falls ? Math.min(...all.filter(one => one >= w)) : Math.max(...all.filter(one => one <= w));
    return {gamma, w, all, ...smoothedValue(problem, gamma, w)};
  });
}
