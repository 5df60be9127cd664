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
# | $A$, $h$, $r$ | `A`; for $h$ `b` of the data | its constraints $h - Ax = r$, with $r$ in a cone | 1 |
# | $u$ | `two` | the two unknowns of a small example | 1 |
# | $\mathcal K$ | `dims` of the data | product of cones | 1 |
# | $U$ | `U` | rows: labelled points; columns: the first $q$ eigenvectors of the Laplacian, times the root of the number of points | 2 |
# | $q$, $\delta$ | `q`, `delta` | number of eigenvectors, and their weights | 2 |
# | $v$, $b$, $\xi$ | `v`, `b`, `xi` | coefficients, intercept, slacks | 2 |
# | $y$ | `sign` | labels, $-1$ or $+1$ | 2 |
# | $C$, $B$ | `C`, `B` | weight of the loss, bound of the decisions | 2 |
# | $t$ | `t` | an upper bound: of a norm; from section 3 on those of $v_i^2 / (2\delta_i)$ | 1 |
# | $\mathbf 1$ | `np.ones(l)` | vector of ones | 2 |
# | $z$ | `z` | a point that is projected | E3 |
# | $R$ | `R` | four rows of 100 numbers | E4 |
#
# **First, a guess.** One model is solved for twenty values of a weight. In the first way the weight is a `cp.Parameter`, in the
# second the problem is built anew with a number. By which factor is the first faster? And how many entries that are not zero has
# the matrix $A$ that the solver gets of the model of section 3, with 20 labels and 20 eigenvectors?

# %%
# %matplotlib inline
# %config InlineBackend.figure_formats = ["retina"]

import time

import cvxpy as cp
import numpy as np
import teaching
from sklearn.datasets import load_digits

import specmargin as sm

teaching.guess("04.q1", ...)  # the factor
teaching.guess("04.q2", ...)  # nonzero entries of A

# %% [markdown] tags=["slide"]
# ## 1. What a solver gets
#
# Clarabel knows one kind of problem,
#
# $$ \min_{x, r}\;\; \tfrac12 x^\top P x + c^\top x \quad \text{s.t.}\quad h - Ax = r \in \mathcal K , $$
#
# where $\mathcal K$ is a product of zeros (equations), nonnegative numbers (inequalities), and second-order cones
# $\{(r_0, r_1) : \|r_1\| \le r_0\}$ (others exist). CVXPY checks by rules that a model is convex (DCP), and
# translates. `get_problem_data` shows the result, here that of $\min u_1$ with $\|u\| \le 2$ and $u_2 = 1$:
#
# * columns of $A$: $u_1$, $u_2$, and a bound $t$ of the norm, which CVXPY adds;
# * rows: the equation $u_2 = 1$, the inequality $t \le 2$, and three rows that say that $(t, u)$ lies in the cone;
# * `data["P"]` is absent: no cost is quadratic.

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
# STORM learns a large relative margin and the kernel at once. Of the first $q$ eigenvectors of a graph Laplacian (columns of $U$, rows are labelled points)
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
# Zero over zero counts as zero. The first eigenvector is constant, and is left out of the order. $B$ makes the margin a relative
# one: it counts against the spread of the decisions. A fraction $v^2/\delta$ is convex in both together: that is what makes all this
# a convex problem.

# %%
images, digit = load_digits(return_X_y=True)
chosen = np.isin(digit, (3, 8))
truth = (digit[chosen] == 8).astype(int)
y = sm.hide_labels(truth, per_class=10, random_state=0)
graph = sm.graphs.knn_graph(images[chosen], n_neighbors=5)
q, C, B = 20, 1.0, 1.2
objective = sm.objectives.SpectrumMargin(
    sm.spectra.laplacian_eigenpairs(graph, q=q, normalized=False), sm.encode_labels(y), C=C, B=B, ties=False
)  # ties=True would give equal weights to equal eigenvalues
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
# column of `vectors` is at most the entry of `bound`: here `vectors` has two rows, `cp.vstack([..., ...])`, and $q$ columns.
# Write STORM as a function `my_storm(C)` that returns the problem and the variable $\delta$ (section 5 calls it with other
# weights). Solve it by Clarabel for the $C$ of section 2, and hand in $\delta$.

# %%
my_storm = ...  # a function
my_delta = ...  # 20 weights
# solution


def my_storm(C):
    v, b, t, delta, xi = cp.Variable(q), cp.Variable(), cp.Variable(q), cp.Variable(q), cp.Variable(len(sign))
    f = U @ v + b
    cones = cp.SOC(2 * t + delta, cp.vstack([2 * v, 2 * t - delta]), axis=0)
    rest = [cp.multiply(sign, f) >= 1 - xi, cp.abs(f) <= B, xi >= 0]
    order = [delta >= 0, cp.diff(delta[1:]) <= 0, cp.sum(delta) == 1]
    return cp.Problem(cp.Minimize(cp.sum(t) + C * cp.sum(xi)), [cones, *rest, *order]), delta


problem, delta = my_storm(C)
problem.solve(solver="CLARABEL")
my_delta = delta.value
teaching.check("04.W", my_delta)

# %% tags=["answers"]


def by_hand(ordered=True, bounded=True, trace=1.0, first=False, factor=1.0):
    v, b, t, delta, xi = cp.Variable(q), cp.Variable(), cp.Variable(q), cp.Variable(q), cp.Variable(len(sign))
    parts = [cp.SOC(2 * t + delta, cp.vstack([2 * v, 2 * t - delta]), axis=0)]
    parts += [cp.multiply(sign, U @ v + b) >= 1 - xi, xi >= 0, delta >= 0, cp.sum(delta) == trace]
    parts += [cp.diff(delta[1:]) <= 0] * ordered + [cp.abs(U @ v + b) <= B] * bounded
    parts += [delta[0] >= delta[1]] * first
    solved = cp.Problem(cp.Minimize(factor * cp.sum(t) + C * cp.sum(xi)), parts)
    solved.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10)
    return delta.value


answers["04.W"] = (
    by_hand(),
    {
        "The weights are not ordered: from the second on they must not increase.": by_hand(ordered=False),
        "The bound B on the decisions is missing.": by_hand(bounded=False),
        "The weights do not add up to 1.": by_hand(trace=q),
        "The 1/2 of the fractions is missing.": by_hand(factor=2.0),
        "The loss weighs too much: is the 1/2 of the fractions there twice? t has it already.": by_hand(factor=0.5),
        "This is the optimum with delta_1 in the order, which begins at the second weight.": by_hand(first=True),
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
# ## 4. Read the multipliers (optional)
#
# The package has this model as well, `sm.problems.storm` in four forms with one optimum. In `"primal"`, the one of section 2:
#
# * the multiplier of $\mathbf 1^\top\delta = 1$ (labelled "trace": the sum is the trace of a kernel) says what more weight would gain. All $\delta_i$ times $1.01$ are all fractions
#   over $1.01$: the gain per unit is their sum;
# * where $\delta_i > \delta_{i+1}$ the multiplier of the order is 0: only where weights are tied does the order cost something.

# %%
built = sm.problems.storm(objective, "primal")
result = sm.solve(built, tol_gap_abs=1e-11, tol_gap_rel=1e-11, tol_feas=1e-11)
print(result)
weights, coefficients = result.variables["delta"], result.variables["v"]
fractions = coefficients[weights > 1e-9] ** 2 / (2 * weights[weights > 1e-9])
trace = np.abs(result.duals["trace"])
print(f"multiplier of the trace: {trace:.5f}   sum of the fractions: {fractions.sum():.5f}")
drops = -np.diff(weights[1:])
order = result.duals["order"][1:-1]  # the first is that of delta_1 >= 0, the last that of delta_q >= 0
print("from - to   drop of delta   multiplier")
for i, (drop, multiplier) in enumerate(zip(drops, order, strict=True), start=2):
    print(f"{i:4d} - {i + 1:2d}   {drop:13.4f}   {multiplier:10.3f}")
assert order[drops > 1e-4].max() < 1e-6 < 0.1 < order[drops < 1e-4].min()
assert np.isclose(trace, fractions.sum(), rtol=1e-4)
assert np.isclose(result.certificate.primal_objective, exact.certificate.primal_objective, rtol=1e-6)

# %% [markdown] tags=["slide"]
# ## 5. Change a number: parameter or constant
#
# To solve for twenty weights $C$ one can build twenty problems. Or $C$ is a `cp.Parameter`: CVXPY compiles once, and then only
# *evaluates* the matrices. That needs more than convexity: parameters must enter $P$, $c$, $A$, $h$ affinely. The rules are called
# DPP, and `problem.is_dpp()` tells. A product of two parameters breaks them. Here is your model of section 3 with twenty numbers,
# then with one parameter.

# %%
weights_C, seconds, anew, solved = np.linspace(0.5, 2.0, 20), [], [], []
if my_storm is ...:
    print("First write section 3.")
else:
    start = time.perf_counter()
    anew = [my_storm(float(one))[0].solve(solver="CLARABEL") for one in weights_C]
    middle = time.perf_counter()
    weight = cp.Parameter(nonneg=True)
    problem, _ = my_storm(weight)
    for one in weights_C:
        weight.value = one
        solved.append(problem.solve(solver="CLARABEL"))
    seconds = [middle - start, time.perf_counter() - middle]
    print(f"built anew {seconds[0]:.2f} s, with a parameter {seconds[1]:.2f} s   DPP: {problem.is_dpp()}")
assert np.allclose(anew, solved, rtol=1e-4)

# %% [markdown]
# ## 6. One picture
#
# The matrix $A$ of four forms of one model, a row for each line of the constraints, a column for each unknown: a dot is an entry that is not zero. `"literal"` is the program as its paper has it,
# with a cone that grows with its index; `"chained"` stores running sums instead of repeating them; `"compact"` has
# fewer variables besides; `"primal"` is the one of section 2. If yours has more entries than that: $Uv + b\mathbf 1$ is a variable
# there, with $U$ in one equation, while each of your constraints that holds $Uv + b\mathbf 1$ repeats $U$.

# %%
from specmargin.plots import subplots

figure, axes = subplots(2, 2, aspect=0.9)
forms = {form: sm.problems.storm(objective, form).problem for form in ("literal", "chained", "compact", "primal")}
if my_storm is not ...:
    forms["yours"] = my_storm(C)[0]
matrices = {form: one.get_problem_data("CLARABEL")[0]["A"] for form, one in forms.items()}
entries = {form: A.nnz for form, A in matrices.items()}
for ax, (form, A) in zip(axes.ravel(), matrices.items(), strict=False):
    ax.spy(A, markersize=1, aspect="auto")
    ax.set_title(f"{form}: {A.shape[0]} rows, {A.nnz} entries", fontsize=9)
    ax.xaxis.tick_bottom()
    ax.set(xlabel="column: an unknown", ylabel="row: a constraint")
print({form: (*A.shape, A.nnz) for form, A in matrices.items()}, "rows, columns, entries")
assert entries["literal"] > 5 * entries["chained"] > 5 * entries["compact"]
figure

# %% [markdown]
# ## Exercises
#
# **E1. By hand (5 minutes).** Which of these is $v^2 \le 2t\delta$ with $t, \delta \ge 0$? Square each. Answer by one letter.
#
# a) $\|(v,\; t - \delta)\| \le t + \delta$, b) $\|(v,\; (t - \delta)/\sqrt2)\| \le (t + \delta)/\sqrt2$,
# c) $\|(\sqrt2\, v,\; t - \delta)\| \le \sqrt2\,(t + \delta)$, d) $\|(v,\; t + \delta)\| \le t - \delta$.

# %%
my_cone = ...  # a letter, as a text: "a"
# solution
my_cone = "b"  # v^2 + (t - delta)^2 / 2 <= (t + delta)^2 / 2 is v^2 <= 2 t delta
teaching.check("04.E1", my_cone)

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
# objective may be compiled once? Think first, answer by one letter, then ask `is_dpp()`.
#
# a) `C * cp.sum(cp.pos(1 - x)) + rho * cp.sum_squares(x)`, b) `C * cp.sum_squares(rho * x)`, c) `cp.quad_form(x, M)`.

# %%
my_model = ...  # a letter
# solution
my_model = "a"
teaching.check("04.E2", my_model)

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
# is nearest? (Three numbers, three decimals.)

# %%
my_nearest = ...  # three numbers
# solution
my_nearest = [3.0, 1.8, 2.4]  # (z_0 + |z_1|) / 2 = 3 times (1, 3/5, 4/5)
teaching.check("04.E3", my_nearest)

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
# **E4. At home, open: two ways to write one term.** $R$ has four rows of 100 numbers. Compile $\|Rx\|^2$ once as
# `cp.sum_squares(R @ x)`, once as `cp.quad_form(x, cp.psd_wrap(R.T @ R))`, with one constraint `cp.sum(x) == 1`. (Without `psd_wrap`
# CVXPY refuses: 96 eigenvalues of $R^\top R$ are zero only up to rounding.) How many stored entries have $P$ and $A$ together,
# `data["P"].nnz + data["A"].nnz` of `get_problem_data("CLARABEL")`, in this order? CVXPY stores all of $P$, and counts the variables
# that it adds. When would you write the other one?

# %%
R = np.random.default_rng(0).standard_normal((4, 100))
my_entries = ...  # two numbers: sum_squares, quad_form
# solution
unknown, my_entries = cp.Variable(100), []
for term in (cp.sum_squares(R @ unknown), cp.quad_form(unknown, cp.psd_wrap(R.T @ R))):
    compiled = cp.Problem(cp.Minimize(term), [cp.sum(unknown) == 1]).get_problem_data("CLARABEL")[0]
    print("P:", compiled["P"].shape, compiled["P"].nnz, "  A:", compiled["A"].shape, compiled["A"].nnz)
    my_entries.append(compiled["P"].nnz + compiled["A"].nnz)
teaching.check("04.E4", my_entries)

# %% tags=["answers"]
answers["04.E4"] = (
    my_entries,
    {
        "These are the two in the other order.": my_entries[::-1],
        "P alone: sum_squares puts R into A, with four more variables.": [4, compiled["P"].nnz],
        "A alone: where is the quadratic form?": [my_entries[0] - 4, 100],
        "Only one triangle of P is counted: CVXPY stores both.": [my_entries[0], 100 * 101 / 2 + 100],
    },
)

# %% [markdown]
# **What did you guess?**

# %%
factor = round(seconds[0] / seconds[1], 1) if seconds else "not measured"
print("parameter: you guessed a factor of", teaching.guess("04.q1"), "- with your model it is", factor)
print("entries of A: you guessed", teaching.guess("04.q2"), "- by form", entries)

# %% [markdown]
# ## Common mistakes
#
# * *`cp.square(v) / delta`.* Convex, and refused: a quotient of two variables is not in the rules. Write a cone, or `cp.quad_over_lin`.
# * *A parameter times a parameter.* Name the product, and make it one parameter.
# * *DPP is about speed only.* So it is: a problem that is DCP and not DPP has the same solution, compiled each time.
# * *A quadratic form for a thin matrix.* `quad_form` fills $P$; `sum_squares` keeps the factor. And $R^\top R$ may be refused as not
#   semidefinite: rounding makes some eigenvalues negative.
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
