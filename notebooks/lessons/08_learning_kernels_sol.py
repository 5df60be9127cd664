# %% [markdown] tags=["slide"]
# # 08 · Learning kernels
#
# **Question.** Can one learn the kernel *with* the margin?
#
# **Aims.** You will be able to
#
# * write the dual of a margin over all ordered spectra: one constraint for each extreme kernel;
# * read the kernel from its multipliers, and say where a learned spectrum must drop;
# * judge a table of errors by who tuned the rivals, and over which range.
#
# **Minutes.** 50: 10 talk, 25 code, 15 exercises; E4 is for at home.

# %% [markdown]
# **Needs.** Lessons 02, 04 and 07.
#
# **Symbols.**
#
# | symbol | in code | meaning | section |
# |---|---|---|---|
# | $q$, $\delta$ | `q`, `delta` | number of eigenvectors, and their weights, the spectrum | 1 |
# | $U$ | `U` | rows: labelled points; columns: the first $q$ eigenvectors of the Laplacian, scaled | 1 |
# | $y$ | `y` | labels, $-1$ or $+1$ | 1 |
# | $v$, $b$, $f$ | `v`, `b` | coefficients, intercept, decisions $Uv + b\mathbf 1$ at the labels | 1 |
# | $\mathbf 1$ | `np.ones(l)` | vector of ones | 1 |
# | $C$, $B$ | `C`, `B` | weight of the loss, bound of the decisions | 1 |
# | $\gamma$ | `my_gamma` | signed multipliers of the margins | 2 |
# | $p$ | `p` | $p_i = \tfrac12 (u_i^\top \gamma)^2$ with the columns $u_i$ of $U$ | 2 |
# | $u_i$ | `U[:, i]` | column of $U$ | 2 |
# | $\tau$ | `tau` | largest mean of $p$ over an extreme spectrum | 2 |
# | $S_i$, $c_i$ | `S`, `c` | sum of $p$ over a prefix, and its number of ones | 2 |
# | $\kappa$, $R$ | `kappa`, `prefixes` | drops of the spectrum; the prefixes as columns, as in lesson 07 | 4 |
#
# **First, a guess.** A margin may choose among all ordered spectra of 40 eigenvectors. How many times does the spectrum drop
# that it chooses? And a paper finds this method best nearly everywhere. A table of our own has 50 cells: five numbers of labels
# for each of ten tasks. In how many is it best, if the weight of a rival's loss may go up to a thousand? And if it may go up to
# a million? (The rival is the spectral graph transducer; the table comes at the end.)

# %%
# %matplotlib inline
# %config InlineBackend.figure_formats = ["retina"]

from dataclasses import replace

import cvxpy as cp
import numpy as np
import teaching
from scipy.optimize import minimize_scalar

import specmargin as sm

teaching.guess("08.q1", ...)  # drops
teaching.guess("08.q2", ...)  # two numbers of cells: (., .)

# %% [markdown] tags=["slide"]
# ## 1. Three models in one line
#
# Lesson 07 aligned the kernel first, and trained afterwards. Do both at once (lesson 04 wrote this as cones):
#
# $$
# \min_{v,\, b,\, \delta}\;\; \tfrac12 \sum_i \frac{v_i^2}{\delta_i} + C \sum_j \max(0,\, 1 - y_j f_j), \qquad f = Uv + b\mathbf 1, \quad
# \mathbf 1^\top \delta = 1, \quad \delta \ge 0 .
# $$
#
# The sum of the weights is the *trace* of the kernel, in units of one point: 1 here.
#
# | | order $\delta_2 \ge \dots \ge \delta_q$ | decisions at the labels between $-B$ and $B$ |
# |---|---|---|
# | MKL | no | no |
# | STOAM | yes | no |
# | STORM | yes | yes: a margin *relative* to the spread |

# %%
X, truth = sm.datasets.digits_pair(3, 8)
q = 40
spectrum = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X, n_neighbors=5), q=q, normalized=False)


def labels_of(seed):
    return sm.encode_labels(sm.hide_labels(truth, n_labeled=20, random_state=seed))


stoam = sm.objectives.SpectrumMargin(spectrum, labels_of(0), C=1.0)
U, y = stoam.U, stoam.labels.sign
print("points:", len(X), "  labels:", len(y), "  U:", U.shape)

# %% [markdown] tags=["slide"]
# ## 2. The dual: a maximum over extreme kernels
#
# For a fixed spectrum the dual of the SVM has the term $\sum_i \delta_i p_i$ with $p_i = \tfrac12(u_i^\top\gamma)^2$, linear in
# $\delta$. The worst spectrum is an extreme one. Those are the first unit vector and the prefixes of lesson 07, divided by the
# number of their ones. With
#
# $$ S_1 = p_1,\;\; c_1 = 1, \qquad S_i = p_2 + \dots + p_i, \;\; c_i = i - 1 \quad (i \ge 2), $$
#
# the learned kernel is gone, and what is left is convex in $\gamma$ and $\tau$:
#
# $$ \max_{\gamma,\, \tau}\;\; y^\top \gamma - \tau \quad \text{s.t.}\quad \mathbf 1^\top\gamma = 0, \quad 0 \le y_j\gamma_j \le C, \quad S_i \le c_i\, \tau \;\text{for all}\; i . $$

# %% [markdown]
# ## 3. Write it
#
# Write this dual of STOAM in CVXPY with $C = 1$ (`cp.sum_squares(U[:, 1:i].T @ gamma)` is twice an $S_i$), solve it by Clarabel,
# and hand in $\gamma$, not rounded: the check computes both values and their gap, which must be below a relative $10^{-5}$, so
# that any optimum passes.

# %%
my_gamma = ...  # 20 numbers
# solution
gamma, tau = cp.Variable(len(y)), cp.Variable()
box = [cp.sum(gamma) == 0, cp.multiply(y, gamma) >= 0, cp.multiply(y, gamma) <= 1]
sums = [cp.square(U[:, 0] @ gamma) / 2 <= tau]
sums += [cp.sum_squares(U[:, 1:i].T @ gamma) / 2 <= (i - 1) * tau for i in range(2, q + 1)]
cp.Problem(cp.Maximize(y @ gamma - tau), box + sums).solve(solver="CLARABEL")
my_gamma = gamma.value
teaching.check("08.W", my_gamma)

# %% tags=["answers"]


def dual(half=0.5, means=True, ordered=True, balanced=True):  # its optimal gamma, with a mistake
    gamma, tau = cp.Variable(len(y)), cp.Variable()
    parts = [cp.multiply(y, gamma) >= 0, cp.multiply(y, gamma) <= 1] + [cp.sum(gamma) == 0] * balanced
    groups = [U[:, :1], *(U[:, 1:i] if ordered else U[:, i - 1 : i] for i in range(2, q + 1))]
    parts += [half * cp.sum_squares(one.T @ gamma) <= (one.shape[1] if means else 1) * tau for one in groups]
    cp.Problem(cp.Maximize(y @ gamma - tau), parts).solve(solver="CLARABEL")
    return gamma.value


answers["08.W"] = (
    my_gamma,
    {
        "The entries of gamma do not add up to 0: the balance is missing.": dual(balanced=False),
        "The sign: y gamma must not be negative. (With Y alpha in the place of gamma, hand in Y alpha.)": y * my_gamma,
        "The factor 1/2 of p is missing.": dual(half=1.0),
        "The sums are bounded by tau itself: c_i is missing, the number of ones of the prefix.": dual(means=False),
        "This is MKL: single eigenvectors are bounded, where prefixes should be.": dual(ordered=False),
        "Feasible, but not optimal: compare S, c and the objective with section 2.": 0.5 * my_gamma,
    },
)

# %% [markdown]
# **Four forms, and the solver without CVXPY.** The package has this model as published (`"literal"`, your form with cones that
# grow), with running sums (`"chained"`), with fewer variables (`"compact"`), and over $\delta$ (`"primal"`, lesson 04).
# `sm.solvers.spectrum_margin` is an interior point method in numpy.

# %%
optima, answers_of = {}, {}
for form in ("literal", "chained", "compact", "primal"):
    built = sm.problems.storm(stoam, form)
    answers_of[form] = sm.solve(built, tol_gap_abs=1e-9, tol_gap_rel=1e-9)
    optima[form] = answers_of[form].certificate.primal_objective
    size = built.problem.get_problem_data("CLARABEL")[0]["A"]
    print(f"{form:8s} optimum {optima[form]:.8f}, A has {size.shape[0]:5d} rows and {size.nnz:6d} entries")
exact = sm.solvers.spectrum_margin(stoam, tol=1e-10)
print(
    f"numpy    optimum {exact.certificate.primal_objective:.8f}, {exact.n_iter} steps, gap {exact.certificate.relative_gap:.0e}"
)
assert np.allclose(list(optima.values()), exact.certificate.primal_objective, rtol=1e-6)

# %% [markdown] tags=["slide"]
# ## 4. Read the multipliers: they are the kernel
#
# The spectrum was maximised away. It comes back as multipliers: those of $S_i \le c_i\tau$ are the drops $\kappa_i$, and
# $\delta = R\kappa$. Where $S_i < c_i\tau$ the drop is zero. So **the learned spectrum drops exactly where a prefix is as bad as
# the worst**. The multiplier of the balance is $b$.

# %%
kappa = np.ravel(answers_of["literal"].duals["sums"])
prefixes = np.triu(np.ones((q, q)))
prefixes[0, 1:] = 0.0
delta = prefixes @ kappa
p = (U.T @ exact.variables["gamma"]) ** 2 / 2
S, c = np.append(p[0], np.cumsum(p[1:])), np.append(1.0, np.arange(1.0, q))
tau = (S / c).max()
print("   i   S_i / (c_i tau)   drop kappa_i   delta_i")
for i in (1, 2, 3, 4, 7, 8, 39):
    print(f"{i + 1:4d}   {S[i] / c[i] / tau:15.6f}   {kappa[i]:12.6f}   {delta[i]:.6f}")
drops = kappa > 1e-5
places_of_drops = drops.sum()
print(
    "drops after",
    np.flatnonzero(drops) + 1,
    "  b and the multiplier of the balance:",
    exact.variables["b"].round(6),
    answers_of["literal"].duals["balance"].round(6),
)
assert np.allclose(delta, exact.variables["delta"], atol=1e-5)
assert np.isclose(c @ kappa, 1.0, atol=1e-6)
assert (S[drops] / c[drops] > tau * (1 - 1e-6)).all()

# %% [markdown] tags=["slide"]
# ## 5. Change the model: order, bound, a second graph
#
# * Without the order (MKL) the optimum can only fall, for there are more kernels.
# * With a bound $B$ it can only rise. Below 1 no point attains its margin; above the largest decision of STOAM nothing changes.
# * Two graphs: give both spectra, each with an order of its own; they share the trace. The optimum can only fall. The answer's
#   `variables["delta"]` holds the weights of both, one after the other.
#
# What do the errors do? Twenty draws of 20 labels.

# %%
cosine = sm.graphs.knn_graph(X, n_neighbors=3, metric="cosine")
second = sm.spectra.laplacian_eigenpairs(cosine, q=q, normalized=False)
both = sm.objectives.SpectrumMargin([spectrum, second], labels_of(0), C=1.0)
models = {
    "STOAM": stoam,
    "STORM, B = 1.2": replace(stoam, B=1.2),
    "MKL": replace(stoam, order=False),
    "STOAM, two graphs": both,
}
errors, values = {name: [] for name in models}, {name: [] for name in models}
for seed in range(20):
    drawn = labels_of(seed)
    hidden = np.setdiff1d(np.arange(len(X)), drawn.labeled)
    for name, model in models.items():
        answer = sm.solvers.spectrum_margin(replace(model, labels=drawn))
        wrong = (answer.variables["f"] > 0) != (truth == drawn.classes[1])
        errors[name].append(100 * wrong[hidden].mean())
        values[name].append(answer.certificate.primal_objective)
for name in models:
    print(f"{name:18s} optimum {np.mean(values[name]):.3f}, errors {np.mean(errors[name]):.2f} % on average")
assert (np.array(values["MKL"]) < values["STOAM"]).all()
assert min(np.mean(errors[name]) for name in ("MKL", "STOAM, two graphs")) > np.mean(errors["STOAM"]) + 0.3
assert abs(np.mean(errors["STORM, B = 1.2"]) - np.mean(errors["STOAM"])) < 0.3

# %% [markdown]
# The two larger sets of kernels have the lower optimum and the larger error; STORM, the smallest, errs about as often as STOAM.
# **An objective is a means**: what enlarges the set of kernels pays only if the labels can choose among them.
#
# ## 6. One picture
#
# The spectrum against $C$: each column is a solved problem, dark rows are eigenvectors with weight. Above: the number of
# eigenvectors that share the weight ("effective number"), and the margin, which is 1 over the root of $\sum_i v_i^2 / \delta_i$.
# The axis counts $C$ per unit of the kernel's mean diagonal, which is the trace, 1.

# %%
from specmargin.plots import SpectrumPathDisplay, subplots

Cs = np.logspace(-2, 2, 25)
figure, axes = subplots(1, 2, aspect=1.05)
for ax, name in zip(axes[0], ("STOAM", "MKL"), strict=True):
    path = sm.solvers.spectrum_path(models[name], Cs)
    SpectrumPathDisplay.from_results(Cs, path).plot(ax, title=name, colorbar=name == "MKL")
    counts = [1 / ((one.variables["delta"][1:] / one.variables["delta"][1:].sum()) ** 2).sum() for one in path]
    print(f"{name}: eigenvectors that share the weight, from {counts[0]:.1f} to {counts[-1]:.1f}")
    assert counts[0] < 1.1 < 3 < counts[-1]
figure

# %% [markdown]
# ## Exercises
#
# **E1. By hand (5 minutes).** For a given $v$ the best spectrum *without* an order is in proportion to $|v_i|$. With the order
# it is in proportion to the roots of the *pooled* squares: where $v_i^2$ is larger than the square before, both get their mean
# (and so on, while any is larger). The first is left out of the order. Let $v = (0, 1, 3, 2)$. What is $\delta$ (three decimals)?

# %%
my_pooled = ...  # four weights that add up to 1
# solution
my_pooled = np.array([0, np.sqrt(5), np.sqrt(5), 2]) / (2 * np.sqrt(5) + 2)  # 1 and 9 are pooled: 5, 5, and 4 is below
teaching.check("08.E1", my_pooled)

# %% tags=["answers"]
trial = cp.Variable(3, nonneg=True)
pieces = sum(cp.quad_over_lin(one, trial[i]) for i, one in enumerate((1.0, 3.0, 2.0)))
cp.Problem(cp.Minimize(pieces), [cp.sum(trial) == 1, cp.diff(trial) <= 0]).solve(solver="CLARABEL")
assert np.allclose(trial.value, my_pooled[1:], atol=1e-5)
answers["08.E1"] = (
    my_pooled,
    {
        "This is without the order: the third weight is larger than the second.": [0, 1 / 6, 3 / 6, 2 / 6],
        "The values are pooled here: it is the squares that are, and then the root.": [0, 1 / 3, 1 / 3, 1 / 3],
        "The root is missing: the weights are in proportion to the roots of the pooled squares.": [
            0,
            5 / 14,
            5 / 14,
            4 / 14,
        ],
        "Sorted is not pooled: each eigenvector keeps its place.": [0, 3 / 6, 2 / 6, 1 / 6],
    },
)

# %% [markdown]
# **E2. One parameter.** `replace(stoam, delta=...)` trains an SVM with a spectrum that is given. Take the diffusion spectra
# $\delta_i$ in proportion to the exponential of minus eigenvalue over width (first weight included, all divided by their sum),
# and minimise the optimum over the width (`minimize_scalar` over its natural logarithm, between $-6$ and $2$). Give that optimum
# (three decimals). How far is it above that of STOAM, and why must it be above? How much of that is the first weight, which takes
# its share of the trace for nothing?

# %%
my_diffusion = ...  # an optimum
# solution


def diffusion_value(log_width, first=1.0):
    weights = np.exp(-spectrum.eigenvalues / np.exp(log_width))
    weights[0] *= first
    given = replace(stoam, delta=weights / weights.sum())
    return sm.solvers.spectrum_margin(given).certificate.primal_objective


search = minimize_scalar(diffusion_value, bounds=(-6, 2), method="bounded", options={"xatol": 1e-5})
my_diffusion = search.fun
print(
    f"diffusion {my_diffusion:.4f} at the width {np.exp(search.x):.3f}, STOAM {exact.certificate.primal_objective:.4f}"
)
without = minimize_scalar(lambda s: diffusion_value(s, first=0.0), bounds=(-6, 2), method="bounded")
print(
    f"without the first weight {without.fun:.4f}; diffusions are ordered spectra, over all of which STOAM is the least"
)
teaching.check("08.E2", my_diffusion)

# %% tags=["answers"]
assert my_diffusion > exact.certificate.primal_objective
answers["08.E2"] = (
    my_diffusion,
    {
        "This is the width: give the optimum that belongs to it.": np.exp(search.x),
        "The first weight is left out here: include it.": without.fun,
        "This is the difference from STOAM: give the optimum itself.": my_diffusion
        - exact.certificate.primal_objective,
        "This is the logarithm of the width: give the optimum that belongs to it.": search.x,
        "This is STOAM, over all ordered spectra: a diffusion kernel is one of them.": exact.certificate.primal_objective,
        "The weights increase: the exponent is minus the eigenvalue over the width.": minimize_scalar(
            lambda s: (
                sm.solvers.spectrum_margin(
                    replace(
                        stoam,
                        delta=np.exp((spectrum.eigenvalues - spectrum.eigenvalues[-1]) / np.exp(s))
                        / np.exp((spectrum.eigenvalues - spectrum.eigenvalues[-1]) / np.exp(s)).sum(),
                    )
                ).certificate.primal_objective
            ),
            bounds=(-6, 2),
            method="bounded",
        ).fun,
    },
)

# %% [markdown]
# **E3. Two graphs.** `both` of section 5 has the graph of five neighbours and one of three under the cosine metric. Which share
# of the trace does the *second* get, with the labels of section 1 (three decimals)? Why can neither graph alone have a lower
# optimum? And why is the error of section 5 no better all the same?

# %%
my_share = ...  # a number between 0 and 1
# solution
two_answers = sm.solvers.spectrum_margin(both, tol=1e-10)
my_share = two_answers.variables["delta"][q:].sum()
alone = sm.solvers.spectrum_margin(sm.objectives.SpectrumMargin(second, labels_of(0), C=1.0))
print(
    f"share {my_share:.3f}; optimum {two_answers.certificate.primal_objective:.4f}, alone {alone.certificate.primal_objective:.4f}"
)
teaching.check("08.E3", my_share)

# %% tags=["answers"]
answers["08.E3"] = (
    my_share,
    {
        "This is the share of the first graph: the second has the weights from q on.": 1 - my_share,
        "This is the optimum: a share was asked for.": two_answers.certificate.primal_objective,
        "Equal shares, or a decimal is missing: add up the weights from q on, and give three decimals.": 0.5,
        "A percentage: give a number between 0 and 1.": 100 * my_share,
    },
)

# %% [markdown]
# **E4. Open, at home: who tunes the rivals?** A rival of the paper is the spectral graph transducer,
# `sm.solvers.graph_transducer` of `sm.objectives.SpectralGraphTransducer(spectrum, labels, C=...)`. Take the digits 4 and 9, graph
# and $q$ as above, ten draws of 20 labels, and for each weight the mean error in percent: `rival(weight)` below. What is its least
# mean over the weights 1, 10, 100, where the range of the others' $C$ ends, and over 1, 10, ..., $10^6$ (three decimals)? `ours`
# is STORM at its best of four $C$. All are chosen by the true errors, which nobody has in practice. On this task the sentence turns
# between 100 and 1000; in other cells of the table at the end it turns between $10^3$ and $10^6$. Which sentence would you write
# into a paper?

# %%
X_49, truth_49 = sm.datasets.digits_pair(4, 9)
spectrum_49 = sm.spectra.laplacian_eigenpairs(sm.graphs.knn_graph(X_49, n_neighbors=5), q=q, normalized=False)
draws_49 = [sm.encode_labels(sm.hide_labels(truth_49, n_labeled=20, random_state=seed)) for seed in range(10)]


def mean_error(solve):
    rows = [((solve(one).variables["f"] > 0) != (truth_49 == one.classes[1]))[one.unlabeled].mean() for one in draws_49]
    return 100 * np.mean(rows)


def rival(weight):
    transducer = sm.objectives.SpectralGraphTransducer
    return mean_error(lambda one: sm.solvers.graph_transducer(transducer(spectrum_49, one, C=weight)))


ours = min(
    mean_error(lambda one, C=C: sm.solvers.spectrum_margin(sm.objectives.SpectrumMargin(spectrum_49, one, C=C, B=1.2)))
    for C in (0.1, 1.0, 10.0, 100.0)
)
print(f"STORM {ours:.2f} %")
my_ranges = ...  # two percentages: up to 100, up to a million
# solution
by_weight = [rival(10.0**k) for k in range(7)]
my_ranges = [min(by_weight[:3]), min(by_weight)]  # STORM errs less up to 100 only: the sentence must name the range
print("the rival by weight:", np.round(by_weight, 2))
teaching.check("08.E4", my_ranges)

# %% tags=["answers"]
assert my_ranges[1] < ours < my_ranges[0]
answers["08.E4"] = (
    my_ranges,
    {
        "These are shares: percentages were asked for.": np.array(my_ranges) / 100,
        "The first range ends at 100 here, not at a thousand.": [min(by_weight[:4]), min(by_weight)],
        "The two are exchanged: the wider range has the smaller minimum.": my_ranges[::-1],
        "These are the errors at the ends of the ranges: take the least within each.": [by_weight[2], by_weight[-1]],
    },
)

# %% [markdown]
# **What did you guess?**

# %%
print("drops: you guessed", teaching.guess("08.q1"), "- STOAM drops", places_of_drops, "times")
print(
    "cells: you guessed",
    teaching.guess("08.q2"),
    "- 35 of 50 up to a thousand, 19 up to a million, by the recorded table",
)

# %% [markdown]
# **The recorded table**, `python -m reproduction tables spectrum_learning`, has fifty cells (ten tasks, five numbers of labels).
# STORM or STOAM has the least mean error in 35 of them if the weight of the transducer ends at $10^3$, in 19 if it may go up to
# $10^6$; a third reading, of another rival's open parameter, leaves 12 or 13. The paper does not name its ranges.
#
# ## Common mistakes
#
# * *The method with the lower objective is better.* MKL always has the lower one.
# * *The learned spectrum is what the data say.* It is what twenty labels say, within the family that you chose.
# * *A least drop of a millionth does no harm.* It takes a share of the trace that grows with the square of $q$: see the
#   notebook. None is needed.
# * *We tuned all methods.* Over which range, by which labels, and does an optimum lie at an end?
#
# ## Reading
#
# * P. K. Shivaswamy and T. Jebara. Laplacian spectrum learning. *ECML PKDD* 2010. Equations 7 to 16.
# * G. Lanckriet, N. Cristianini, P. Bartlett, L. El Ghaoui and M. Jordan. Learning the kernel matrix with semidefinite
#   programming. *JMLR* 5, 2004.
# * The notebook `02_learning_a_spectrum`, sections 3 to 9.

# %% [markdown] tags=["quiz"]
# # Quiz of lesson 08
#
# **1.** Why does the dual of STOAM not contain the spectrum?
#
# a) It is known, b) a linear function is largest at an extreme spectrum, c) it is the last variable, d) it does, as the trace.
#
# Answer: b. One constraint for each extreme spectrum takes its place.

# %% [markdown] tags=["quiz"]
# **2.** The prefix of 12 eigenvectors has $S_i < c_i \tau$. Then, between its last weight and the next, the spectrum
#
# a) drops, b) rises, c) stays, d) is zero.
#
# Answer: c. The multiplier of a slack constraint is zero, and it is the drop.

# %% [markdown] tags=["quiz"]
# **3.** A second graph is added. What is certain?
#
# a) The optimum does not rise, b) the error falls, c) both graphs get weight, d) the spectrum drops once more.
#
# Answer: a.
