"use strict";
// The arithmetic of the interactive pages: functions of numbers that know of no page. tests/test_interactive.py runs
// them in a browser and compares what they return with the package.

const sum = x => x.reduce((total, one) => total + one, 0);
const dot = (x, y) => x.reduce((total, one, k) => total + one * y[k], 0);
const times = (A, x) => A.map(row => dot(row, x));
const range = n => [...Array(n).keys()];

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
  const degree = X.map(() => 0), smoothed = [...values];
  edges.forEach(([i, j]) => { degree[i] += 1; degree[j] += 1; });
  for (const [i, j] of edges) {
    const weight = 1 / Math.sqrt(degree[i] * degree[j]);
    smoothed[i] -= weight * values[j];
    smoothed[j] -= weight * values[i];
  }
  // The coefficients of the kernel at the points: gamma_A alpha + gamma_I L K alpha is v at the labels, else zero.
  const alpha = smoothed.map((one, i) => (sum(v.filter((_, k) => labeled[k] === i)) - gammaI * one) / gammaA);
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
