# %% [markdown] tags=["slide"]
# # 04 · Cones, DCP, DPP
#
# **Question.** You write a model in CVXPY. What does Clarabel get?
#
# **Aims.** You will be able to
#
# * write a model with quadratic fractions as second-order cones, by hand;
# * read the matrices that a solver gets, and compare two ways to write one model;
# * tell when a number may change without compiling anew (DPP), and what that saves.
#
# **Minutes.** 50: 10 talk, 25 code, 15 exercises.

# %% [markdown]
# **Needs.** Lessons 01 and 02; a convex set and a cone.
#
# **Symbols.**
#
# | symbol | in code | meaning | section |
# |---|---|---|---|
# | $x$, $P$, $c$ | `P`, `c` of the data | unknowns of a cone program, its quadratic and its linear cost | 1 |
# | $A$, $h$, $r$ | `A`, `b` of the data | its constraints $h - Ax = r$, with $r$ in a cone | 1 |
# | $\mathcal K$ | `dims` of the data | product of cones | 1 |
# | $U$ | `U` | rows: labelled points; columns: the first $q$ eigenvectors of the Laplacian, scaled | 2 |
# | $q$, $\delta$ | `q`, `delta` | number of eigenvectors, and their weights | 2 |
# | $v$, $b$, $\xi$ | `v`, `b`, `xi` | coefficients, intercept, slacks | 2 |
# | $y$ | `sign` | labels, $-1$ or $+1$ | 2 |
# | $C$, $B$ | `C`, `B` | weight of the loss, bound of the decisions | 2 |
# | $t$ | `t` | upper bounds of $v_i^2 / (2\delta_i)$ | 3 |
# | $\mathbf 1$ | `np.ones(l)` | vector of ones | 2 |
# | $z$ | `z` | a point that is projected | E3 |
# | $R$ | `R` | four rows of 100 numbers | E4 |
#
# **First, a guess.** One model is solved for twenty values of a weight. In the first way the weight is a `cp.Parameter`, in the
# second the problem is built anew with a number. By which factor is the first faster? And of how many numbers does the matrix
# $A$ consist that the solver gets of a model with 20 labels and 20 eigenvectors?

# %%
# %matplotlib inline
# %config InlineBackend.figure_formats = ["retina"]

import time

import cvxpy as cp
import numpy as np
from sklearn.datasets import load_digits

import specmargin as sm

sm.teaching.guess("04.q1", ...)  # the factor
sm.teaching.guess("04.q2", ...)  # nonzero entries of A

# %% [markdown] tags=["slide"]
# ## 1. What a solver gets
#
# Clarabel knows one kind of problem,
#
# $$ \min_{x, r}\;\; \tfrac12 x^\top P x + c^\top x \quad \text{s.t.}\quad h - Ax = r \in \mathcal K , $$
#
# where $\mathcal K$ is a product of zeros (equations), nonnegative numbers (inequalities), and second-order cones
# $\{(r_0, r_1) : \|r_1\| \le r_0\}$ (others exist). CVXPY checks by rules that a model is convex (DCP), and
# translates. `get_problem_data` shows the result.

# %%
two = cp.Variable(2)
small = cp.Problem(cp.Minimize(two[0]), [cp.norm(two) <= 2, two[1] == 1])
data, _, _ = small.get_problem_data("CLARABEL")
print("A =", data["A"].toarray(), "  b =", data["b"], "  c =", data["c"], sep="\n")
print(data["dims"])
small.solve(solver="CLARABEL")
print("solution:", two.value.round(4))
assert np.allclose(two.value, [-np.sqrt(3), 1], atol=1e-6)

# %% [markdown] tags=["slide"]
# ## 2. A model with a fraction: STORM
#
# Learn a margin and the kernel at once: of the first $q$ eigenvectors of a graph Laplacian (columns of $U$, rows are labelled points)
# each gets a weight $\delta_i$, and what varies along the graph may not weigh more than what is smoother:
#
# $$
# \begin{aligned}
# \min_{v, b, \xi, \delta}\;\; & \tfrac12 \sum_i \frac{v_i^2}{\delta_i} + C\, \mathbf 1^\top \xi \\
# \text{s.t.}\;\; & y_j (Uv + b\mathbf 1)_j \ge 1 - \xi_j, \quad |(Uv + b\mathbf 1)_j| \le B, \quad \xi \ge 0, \\
# & \delta_1 \ge 0, \quad \delta_2 \ge \delta_3 \ge \dots \ge \delta_q \ge 0, \quad \mathbf 1^\top\delta = 1 .
# \end{aligned}
# $$
#
# Zero over zero counts as zero. The first eigenvector is constant, and is left out of the order. A fraction $v^2/\delta$ is convex in
# both together: that is what makes all this a convex problem.

# %%
images, digit = load_digits(return_X_y=True)
chosen = np.isin(digit, (3, 8))
truth = (digit[chosen] == 8).astype(int)
y = sm.hide_labels(truth, per_class=10, random_state=0)
graph = sm.graphs.knn_graph(images[chosen], n_neighbors=5)
q, C, B = 20, 1.0, 1.2
objective = sm.objectives.SpectrumMargin(
    sm.spectra.laplacian_eigenpairs(graph, q=q), sm.encode_labels(y), C=C, B=B, ties=False
)
U, sign = objective.U, objective.labels.sign
print("points:", len(y), "  labels:", len(sign), "  U:", U.shape)

# %% [markdown] tags=["slide"]
# ## 3. Write it
#
# No fraction: bound each $v_i^2/(2\delta_i)$ by a new variable $t_i$. Then $v_i^2 \le 2\,t_i\,\delta_i$ is a cone (exercise E1),
#
# $$ \Bigl\| \bigl(2 v_i,\; 2 t_i - \delta_i\bigr) \Bigr\| \;\le\; 2 t_i + \delta_i . $$
#
# Square both sides: that is $4v_i^2 \le 8\,t_i\,\delta_i$. In CVXPY `cp.SOC(bound, vectors, axis=0)` says that the norm of each
# column of `vectors` is at most the entry of `bound`. Write STORM, solve by Clarabel, hand in $\delta$.

# %%
my_delta = ...  # 20 weights
# solution
v, b, t, delta, xi = cp.Variable(q), cp.Variable(), cp.Variable(q), cp.Variable(q), cp.Variable(len(sign))
f = U @ v + b
cones = cp.SOC(2 * t + delta, cp.vstack([2 * v, 2 * t - delta]), axis=0)
rest = [cp.multiply(sign, f) >= 1 - xi, cp.abs(f) <= B, xi >= 0]
order = [delta >= 0, cp.diff(delta[1:]) <= 0, cp.sum(delta) == 1]
cp.Problem(cp.Minimize(cp.sum(t) + C * cp.sum(xi)), [cones, *rest, *order]).solve(solver="CLARABEL")
my_delta = delta.value
sm.teaching.check("04.W", my_delta)

# %% tags=["answers"]


def by_hand(ordered=True, bounded=True, trace=1.0):
    v, b, t, delta, xi = cp.Variable(q), cp.Variable(), cp.Variable(q), cp.Variable(q), cp.Variable(len(sign))
    parts = [cp.SOC(2 * t + delta, cp.vstack([2 * v, 2 * t - delta]), axis=0)]
    parts += [cp.multiply(sign, U @ v + b) >= 1 - xi, xi >= 0, delta >= 0, cp.sum(delta) == trace]
    parts += [cp.diff(delta[1:]) <= 0] * ordered + [cp.abs(U @ v + b) <= B] * bounded
    solved = cp.Problem(cp.Minimize(cp.sum(t) + C * cp.sum(xi)), parts)
    solved.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    return delta.value


answers["04.W"] = (
    by_hand(),
    {
        "The weights are not ordered: from the second on they must not increase.": by_hand(ordered=False),
        "The bound B on the decisions is missing.": by_hand(bounded=False),
        "The weights do not add up to 1.": by_hand(trace=q),
    },
)

# %% [markdown]
# **The solver without CVXPY**, an interior point method in numpy, on the same objective:

# %%
exact = sm.solvers.spectrum_margin(objective, tol=1e-10)
print(exact)
print("delta:", exact.variables["delta"].round(4))
wrong = ((exact.variables["f"] > 0) != truth)[y == -1].mean()
print(f"unlabelled points wrong: {100 * wrong:.1f} %")
assert exact.certificate.is_optimal(1e-8)
assert np.isclose(exact.variables["delta"].sum(), 1.0)

# %% [markdown]
# ## 4. Read the multipliers
#
# The package has this model as well, `sm.problems.storm` in four forms with one optimum. In `"primal"`, the one of section 2:
#
# * the multiplier of $\mathbf 1^\top\delta = 1$ says what more weight would gain. All $\delta_i$ times $1.01$ are all fractions
#   over $1.01$: the gain per unit is their sum;
# * where $\delta_i > \delta_{i+1}$ the multiplier of the order is 0: only where weights are tied does the order cost something.

# %%
built = sm.problems.storm(objective, "primal")
result = sm.solve(built, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
print(result)
weights, coefficients = result.variables["delta"], result.variables["v"]
fractions = coefficients[weights > 1e-9] ** 2 / (2 * weights[weights > 1e-9])
print(
    "multiplier of the trace:",
    np.abs(result.duals["trace"]).round(5),
    "  sum of the fractions:",
    fractions.sum().round(5),
)
drops = np.diff(weights[1:]) < -1e-4
order = result.duals["order"][1:-1]  # the first is that of delta_1 >= 0, the last that of delta_q >= 0
print("multipliers of the order:", order.round(3))
assert order[drops].max() < 1e-6 < 0.1 < order[~drops].min()
assert np.isclose(np.abs(result.duals["trace"]), fractions.sum(), rtol=1e-4)
assert np.isclose(result.certificate.primal_objective, exact.certificate.primal_objective, rtol=1e-6)

# %% [markdown] tags=["slide"]
# ## 5. Change a number: parameter or constant
#
# To solve for twenty weights $C$ one can build twenty problems. Or $C$ is a `cp.Parameter`: CVXPY compiles once, and then only
# *evaluates* the matrices. That needs more than convexity: parameters must enter $P$, $c$, $A$, $h$ affinely. The rules are called
# DPP, and `problem.is_dpp()` tells. A product of two parameters breaks them.

# %%
from dataclasses import replace

weights_C, seconds, optima = np.linspace(0.5, 2.0, 20), {}, {}
for form in ("chained", "primal"):
    start = time.perf_counter()
    constant = [
        sm.problems.storm(replace(objective, C=one), form).problem.solve(solver="CLARABEL") for one in weights_C
    ]
    middle = time.perf_counter()
    parametrised, solved = sm.problems.storm(objective, form), []
    for one in weights_C:
        parametrised.parameters["C"].value = one
        solved.append(parametrised.problem.solve(solver="CLARABEL"))
    seconds[form] = middle - start, time.perf_counter() - middle
    optima[form] = constant, solved
    print(f"{form:8s}  built anew {seconds[form][0]:.2f} s, with a parameter {seconds[form][1]:.2f} s")
    assert parametrised.problem.is_dpp()
    assert np.allclose(constant, solved, rtol=1e-4)

# %% [markdown]
# ## 6. One picture
#
# The matrix $A$ of four forms of one model: a dot is an entry that is not zero. `"literal"` is the program as its paper has it,
# with a cone that grows with its index; `"chained"` stores running sums instead of repeating them; `"compact"` has
# fewer variables besides; `"primal"` is the one of section 2.

# %%
from specmargin.plots import CurveDisplay, subplots

figure, axes = subplots(2, 2, aspect=0.9)
entries = {}
for ax, form in zip(axes.ravel(), ("literal", "chained", "compact", "primal"), strict=True):
    A = sm.problems.storm(objective, form).problem.get_problem_data("CLARABEL")[0]["A"].tocoo()
    entries[form] = A.nnz
    title = f"{form}: {A.shape[0]} rows, {A.nnz} entries"
    CurveDisplay({}, points={"_entries": (A.col, -A.row)}).plot(
        ax, xlabel="column", ylabel="minus the row", title=title
    )
print(entries)
assert entries["literal"] > 5 * entries["chained"] > 5 * entries["compact"]
figure

# %% [markdown]
# ## Exercises
#
# **E1. By hand (5 minutes).** Which of these is $v^2 \le 2t\delta$ with $t, \delta \ge 0$? Square each. Answer by a letter.
#
# a) $\|(v,\; t - \delta)\| \le t + \delta$, b) $\|(v,\; (t - \delta)/\sqrt2)\| \le (t + \delta)/\sqrt2$,
# c) $\|(\sqrt2\, v,\; t - \delta)\| \le \sqrt2\,(t + \delta)$, d) $\|(v,\; t + \delta)\| \le t - \delta$.

# %%
my_cone = ...  # a letter, as a text: "a"
# solution
my_cone = "b"  # v^2 + (t - delta)^2 / 2 <= (t + delta)^2 / 2 is v^2 <= 2 t delta
sm.teaching.check("04.E1", my_cone)

# %% tags=["answers"]
trial = np.abs(np.random.default_rng(0).standard_normal((500, 3)))
inside = trial[:, 0] ** 2 <= 2 * trial[:, 1] * trial[:, 2]
by_cone = np.hypot(trial[:, 0], (trial[:, 1] - trial[:, 2]) / np.sqrt(2)) <= (trial[:, 1] + trial[:, 2]) / np.sqrt(2)
assert (inside == by_cone).all()
answers["04.E1"] = (
    my_cone,
    {
        "The difference of the squares is 4 t delta: this cone says v^2 <= 4 t delta.": "a",
        "Here (t - delta)^2 and 2 (t + delta)^2 do not cancel: a square of t is left.": "c",
        "The sign: the sum stands on the side of the bound, which must be the larger one.": "d",
    },
)

# %% [markdown]
# **E2. DPP.** `x` is a variable, `rho` and `C` are nonnegative parameters, `M` is a parameter that is positive semidefinite. Which
# objective may be compiled once? Think first, then ask `is_dpp()`.
#
# a) `C * cp.sum(cp.pos(1 - x)) + rho * cp.sum_squares(x)`, b) `C * cp.sum_squares(rho * x)`, c) `cp.quad_form(x, M)`.

# %%
my_model = ...  # a letter
# solution
my_model = "a"
sm.teaching.check("04.E2", my_model)

# %% tags=["answers"]
x, rho, C_any, M = cp.Variable(3), cp.Parameter(nonneg=True), cp.Parameter(nonneg=True), cp.Parameter((3, 3), PSD=True)
models = {
    "a": C_any * cp.sum(cp.pos(1 - x)) + rho * cp.sum_squares(x),
    "b": C_any * cp.sum_squares(rho * x),
    "c": cp.quad_form(x, M),
}
assert {name: cp.Problem(cp.Minimize(one)).is_dpp() for name, one in models.items()} == {
    "a": True,
    "b": False,
    "c": False,
}
answers["04.E2"] = (
    my_model,
    {
        "C times the square of rho: a product of parameters, which is not affine in them.": "b",
        "A matrix in a quadratic form may not be a parameter: give its root, as in sum_squares(root @ x).": "c",
        "One of them is: each parameter multiplies a term without parameters, once.": "none",
    },
)

# %% [markdown]
# **E3. Back into the cone.** A solver stops with a multiplier $z = (1, 3, 4)$ that should lie in the second-order cone, $\|(z_1,
# z_2)\| \le z_0$, and does not. Only a point *in* the cone (it is its own dual) gives a bound. Project $z$: which point of the cone
# is nearest?

# %%
my_nearest = ...  # three numbers
# solution
my_nearest = [3.0, 1.8, 2.4]  # (z_0 + |z_1|) / 2 = 3 times (1, 3/5, 4/5)
sm.teaching.check("04.E3", my_nearest)

# %% tags=["answers"]
nearest = cp.Variable(3)
cp.Problem(cp.Minimize(cp.sum_squares(nearest - [1, 3, 4])), [cp.norm(nearest[1:]) <= nearest[0]]).solve(
    solver="CLARABEL"
)
assert np.allclose(nearest.value, my_nearest, atol=1e-4)
answers["04.E3"] = (
    my_nearest,
    {
        "In the cone, and not nearest: the first entry alone was raised.": [5, 3, 4],
        "In the cone, and not nearest: the others alone were made shorter.": [1, 0.6, 0.8],
        "That is nearest for points of the polar cone only, with |z_1| <= -z_0.": [0, 0, 0],
    },
)

# %% [markdown]
# **E4. Open: two ways to write one term.** $R$ has four rows of 100 numbers. Compile $\|Rx\|^2$ once as `cp.sum_squares(R @ x)`,
# once as `cp.quad_form(x, R.T @ R)`, with one constraint `cp.sum(x) == 1`. How many entries have $P$ and $A$ together, in this
# order? When would you write the other one?

# %%
R = np.random.default_rng(0).standard_normal((4, 100))
my_entries = ...  # two numbers: sum_squares, quad_form
# solution
unknown, my_entries = cp.Variable(100), []
for term in (cp.sum_squares(R @ unknown), cp.quad_form(unknown, cp.psd_wrap(R.T @ R))):
    compiled = cp.Problem(cp.Minimize(term), [cp.sum(unknown) == 1]).get_problem_data("CLARABEL")[0]
    print("P:", compiled["P"].shape, compiled["P"].nnz, "  A:", compiled["A"].shape, compiled["A"].nnz)
    my_entries.append(compiled["P"].nnz + compiled["A"].nnz)
sm.teaching.check("04.E4", my_entries)

# %% tags=["answers"]
answers["04.E4"] = (
    my_entries,
    {
        "These are the two in the other order.": my_entries[::-1],
        "P alone: sum_squares puts R into A, with four more variables.": [4, compiled["P"].nnz],
        "A alone: where is the quadratic form?": [my_entries[0] - 4, 100],
    },
)

# %% [markdown]
# **What did you guess?**

# %%
factors = {form: round(anew / once, 1) for form, (anew, once) in seconds.items()}
print("parameter: you guessed a factor of", sm.teaching.guess("04.q1"), "- here it is", factors)
print("entries of A: you guessed", sm.teaching.guess("04.q2"), "- by form", entries)

# %% [markdown]
# ## Common mistakes
#
# * *`cp.square(v) / delta`.* Convex, and refused: a quotient of two variables is not in the rules. Write a cone, or `cp.quad_over_lin`.
# * *A parameter times a parameter.* Name the product, and make it one parameter.
# * *DPP is about speed only.* So it is: a problem that is DCP and not DPP has the same solution, compiled each time.
# * *A quadratic form for a thin matrix.* `quad_form` fills $P$; `sum_squares` keeps the factor.
#
# ## Reading
#
# * S. Boyd and L. Vandenberghe. *Convex Optimization*. Cambridge, 2004. Section 4.4, second-order cone programs.
# * A. Agrawal, B. Amos, S. Barratt, S. Boyd, S. Diamond and J. Z. Kolter. Differentiable convex optimization layers. *NeurIPS* 2019.
#   Section 4, for DPP.
# * P. K. Shivaswamy and T. Jebara. Laplacian spectrum learning. *ECML PKDD* 2010. STORM, equations 7 and 16.

# %% [markdown] tags=["quiz"]
# # Quiz of lesson 04
#
# **1.** Which is a second-order cone constraint in the variables $x$, $t$?
#
# a) $\|Ax + b\|^2 \ge t$, b) $\|Ax + b\| \le c^\top x + t$, c) $x^\top A x \le t$ with any symmetric $A$, d) $\|x\| = t$.
#
# Answer: b. The others are not convex in general.

# %% [markdown] tags=["quiz"]
# **2.** `problem.is_dcp()` is true, `problem.is_dpp()` is false. What follows?
#
# a) It cannot be solved, b) its solution may be wrong, c) it is compiled anew for each value of a parameter, d) nothing.
#
# Answer: c.

# %% [markdown] tags=["quiz"]
# **3.** Why is the fraction $v^2/\delta$ with $\delta > 0$ no obstacle to convexity?
#
# a) It is convex in $v$ for each $\delta$, b) it is convex in both together, c) $\delta$ is a parameter, d) it is an obstacle.
#
# Answer: b. It is the perspective of a square; a) alone would not be enough.
