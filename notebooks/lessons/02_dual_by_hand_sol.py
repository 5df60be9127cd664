# %% [markdown] tags=["slide"]
# # 02 · The dual by hand
#
# **Question.** Four points have a label, 196 have none. What do the other 196 do?
#
# **Aims.** You will be able to
#
# * derive the dual of the Laplacian SVM and write it in CVXPY;
# * read its multipliers: intercept, slacks, labels without effect;
# * change a constraint of the dual and say which loss that is.
#
# **Minutes.** 50: 10 talk, 25 code, 15 exercises. The proof of E2, and E4, are for at home.

# %% [markdown]
# **Needs.** Lesson 01 or a graph Laplacian seen before; Lagrange multipliers of a quadratic program; numpy.
#
# **Symbols.**
#
# | symbol | in code | meaning | section |
# |---|---|---|---|
# | $n$, $l$ | `n`, `len(labeled)` | number of points, and of those with a label | 1 |
# | $x_i$, $y_i$ | `X`, `sign` | point, and its label, $-1$ or $+1$; `seen` has classes: 0, 1, and -1 for none | 1 |
# | $K$ | `K` | Gram matrix of the kernel | 1 |
# | $L$ | `L` | normalised Laplacian of the graph | 1 |
# | $\alpha$, $b$, $f$ | `alpha`, `b`, `f` | coefficients, intercept, decisions | 2 |
# | $\xi$ | `slack` | slacks: the hinges | 2 |
# | $\gamma_A$, $\gamma_I$ | `gamma_A`, `gamma_I` | weights of the norm and of the graph | 2 |
# | $J$, $Y$ | `J`, `Y` | rows of the identity at the labels; the labels on a diagonal | 2 |
# | $I$, $\mathbf 1$ | `np.eye(n)`, `np.ones(l)` | identity, vector of ones | 2 |
# | $\beta$, $Q$ | `beta`, `Q` | multipliers of the margins, matrix of the dual | 2 |
# | $c$ | `doubt` | cost of a hinge, one for each label | 5 |
# | $t$, $G$, $v$ | `t`, `G`, `v` | margins $y_i f(x_i)$; matrix and coefficients of the small primal | 5 |
#
# **First, a guess.** A program learns from all 200 points. With how few unknowns can one do? And of the 196 points without a
# label, how many will it get wrong? Put your guesses in the place of the dots, then run the cell.

# %%
# %matplotlib inline
# %config InlineBackend.figure_formats = ["retina"]

import cvxpy as cp
import numpy as np
import teaching

import specmargin as sm

teaching.guess("02.q1", ...)  # unknowns
teaching.guess("02.q2", ...)  # points that are wrong, of 196

# %% [markdown]
# ## 1. Four labels
#
# There are $n = 200$ points $x_i$ on two half circles, one for each class, and $l = 4$ of them have a label $y_i$. The
# matrix $K$ holds the values $\exp(-4\,\|x_i - x_j\|^2)$ of the Gaussian kernel (its 4 is `gamma` in code, and none of the
# weights of section 2). The graph joins each point to its six
# nearest, and $L$ is its normalised Laplacian: a quadratic form in $L$ is small if neighbours have similar values.

# %%
X, truth = sm.datasets.make_two_moons(n_samples=200, noise=0.1, random_state=5)
seen = sm.hide_labels(truth, per_class=2, random_state=9)  # 0, 1, and -1 marks a point without a label
labeled, n = np.flatnonzero(seen != -1), len(X)
sign = np.where(seen[labeled] == 1, 1.0, -1.0)

K = sm.kernels.gram(X, gamma=4.0)
graph_laplacian = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6))
L = graph_laplacian.toarray()
print("labelled points:", labeled, "  labels:", sign)
print("largest entry of K L - L K:", np.abs(K @ L - L @ K).max().round(2))
assert (n, len(labeled)) == (200, 4)

# %% [markdown] tags=["slide"]
# ## 2. From the primal to the dual
#
# LapSVM looks for decisions $f = K\alpha + b\mathbf 1$ with small hinges at the labels, a small norm, and small
# differences along the graph. Let $J$ pick the labelled rows, and $Y$ have the labels on its diagonal.
#
# $$
# \begin{aligned}
# \min_{\alpha, b, \xi}\;\; & \mathbf 1^\top \xi + \gamma_A\, \alpha^\top K \alpha + \gamma_I\, \alpha^\top K L K \alpha \\
# \text{s.t.}\;\; & Y(JK\alpha + b\mathbf 1) \ge \mathbf 1 - \xi, \quad \xi \ge 0 .
# \end{aligned}
# $$
#
# Multipliers: $\beta \ge 0$ for the margins, $\mathbf 1 - \beta \ge 0$ for the slacks.

# %% [markdown] tags=["slide"]
# **Stationarity.** By $\xi$ the two multipliers add up to $\mathbf 1$, so that $0 \le \beta \le \mathbf 1$, the *box*. By $b$:
# $y^\top\beta = 0$, the *balance*. By $\alpha$: $K\,(2\gamma_A I + 2\gamma_I L K)\,\alpha = K J^\top Y \beta$, which holds for
#
# $$ \alpha = (2\gamma_A I + 2\gamma_I L K)^{-1} J^\top Y \beta . $$
#
# Put back, $\alpha$ is gone, and the dual has $l$ unknowns:
#
# $$
# \begin{aligned}
# \max_{\beta}\;\; & \mathbf 1^\top \beta - \tfrac12 \beta^\top Q \beta \quad
# \text{s.t.}\quad y^\top\beta = 0,\;\; 0 \le \beta \le \mathbf 1, \\
# & Q = Y J K\, (2\gamma_A I + 2\gamma_I L K)^{-1} J^\top Y .
# \end{aligned}
# $$
#
# That is what the other 196 points do: they are in $Q$, and nowhere else.

# %%
gamma_A, gamma_I = 0.01, 1.0
J, Y = np.eye(n)[labeled], np.diag(sign)
to_alpha = np.linalg.solve(2 * gamma_A * np.eye(n) + 2 * gamma_I * L @ K, J.T @ Y)  # alpha = to_alpha @ beta
Q = Y @ J @ K @ to_alpha
print(Q.round(3))
assert np.allclose(Q, Q.T)  # although L K is not symmetric: exercise E2
assert np.linalg.eigvalsh(Q).min() > 0

# %% [markdown]
# ## 3. Write it
#
# Write the dual in CVXPY, with a variable of four entries, and solve it by Clarabel; the labels are `sign`. Two hints.
# `cp.psd_wrap(Q)` says that a matrix is known to be positive semidefinite: rounding might hide it. And a quadratic form is
# `cp.quad_form(variable, matrix)`. The check holds no answer: it looks whether your $\beta$ is feasible, and computes the gap to a
# primal value. With these four labels the box is idle, and a program without it has the same optimum; with the twelve of
# section 4 it has not.

# %%
my_beta = ...  # the optimal beta, not rounded: the value of a variable is its attribute `value`
# solution
beta = cp.Variable(len(labeled))
balance = sign @ beta == 0
dual = cp.Problem(
    cp.Maximize(cp.sum(beta) - cp.quad_form(beta, cp.psd_wrap((Q + Q.T) / 2)) / 2),
    [balance, beta >= 0, beta <= 1],
)
dual.solve(solver="CLARABEL")
my_beta = beta.value
teaching.check("02.W", my_beta)

# %% tags=["answers"]
# Each is the optimum of a program with one mistake.


def optimum(matrix, *, half=0.5, constraints=("balance", "box"), sign=sign, cap=1.0):
    z = cp.Variable(len(sign))
    known = {"balance": sign @ z == 0, "box": z <= cap, **{f"budget {k}": cp.sum(z) <= k for k in (1, 2, 3)}}
    wrapped = cp.psd_wrap((matrix + matrix.T) / 2)
    solved = cp.Problem(
        cp.Maximize(cp.sum(z) - half * cp.quad_form(z, wrapped)), [z >= 0, *(known[name] for name in constraints)]
    )
    solved.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    return solved.value, z.value


answers["02.W"] = (
    optimum(Q)[1],
    {
        "y'beta is not 0, which the free intercept asks for: no balance, or one with classes 0 and 1.": optimum(
            Q, constraints=["box"]
        )[1],
        "The factor 1/2 before the quadratic form is missing.": optimum(Q, half=1.0)[1],
        "This is the answer for a matrix without the labels: Q has Y on both sides.": optimum(Y @ Q @ Y)[1],
    },
)

# %% [markdown]
# **The solver without CVXPY.** `sm.objectives.LapSVM` is the model with its data. `sm.solvers.factorized` reduces it to $l$
# unknowns and solves them in numpy. Compare its $\beta$ with yours. The supervised SVM is the same program with $\gamma_I = 0$.
# Turn $\gamma_I$: the picture has the decisions, and above it the number of wrong points. Where `ipywidgets` is missing, all pictures are shown.

# %%
from specmargin.plots import CurveDisplay, DecisionDisplay, LabelDisplay, ring, subplots

labels = sm.encode_labels(seen)  # which points have a label, and their signs
objective = sm.objectives.LapSVM(K, graph_laplacian, labels, gamma_A=gamma_A, gamma_I=gamma_I)
supervised = sm.objectives.LapSVM(K, graph_laplacian, labels, gamma_A=gamma_A, gamma_I=0.0)
wrong = {}
for method, model in {"SVM": supervised, "LapSVM": objective}.items():
    result = sm.solvers.factorized(model, tol=1e-12)
    wrong[method] = int(((result.variables["f"] > 0) != truth)[seen == -1].sum())
    print(f"{method}: beta {result.variables['beta'].round(4)}, relative gap {result.certificate.relative_gap:.0e}")
print("unlabelled points that are wrong:", wrong, "of", (seen == -1).sum())
assert wrong == {"SVM": 39, "LapSVM": 0}
assert np.allclose(to_alpha @ result.variables["beta"], result.variables["alpha"])


def turn(ax, weight):  # the decisions with this weight of the graph
    one = sm.objectives.LapSVM(K, graph_laplacian, labels, gamma_A=gamma_A, gamma_I=weight)
    alpha, b, f = (sm.solvers.factorized(one).variables[name] for name in ("alpha", "b", "f"))
    title = f"$\\gamma_I = {weight}$: {((f > 0) != truth)[seen == -1].sum()} wrong"
    shown = DecisionDisplay.from_function(lambda z: sm.kernels.gram(z, X, gamma=4.0) @ alpha + b, X)
    shown.plot(ax, colorbar=False, title=title)
    LabelDisplay(X, seen).plot(ax)


teaching.slider(turn, [0.0, 0.001, 0.01, 1.0], name="gamma_I")

# %% [markdown] tags=["slide"]
# ## 4. Read the multipliers
#
# The hinge has slope $-1$ below the margin, $0$ above it, and anything between at the kink. So
#
# | multiplier | margin | meaning |
# |---|---|---|
# | $\beta_i = 0$ | $y_i f(x_i) \ge 1$ | without this label nothing would change |
# | $0 < \beta_i < 1$ | $y_i f(x_i) = 1$ | on the margin |
# | $\beta_i = 1$ | $y_i f(x_i) \le 1$ | at the bound: the label may be overruled |
#
# The dual has constraints of its own, and their multipliers are the variables of the primal: that of the balance is $b$,
# those of $\beta \le \mathbf 1$ are the slacks $\xi$.

# %% [markdown]
# Four labels show little of this. Take twelve, and turn one round: number 4 is now wrong.

# %%
seen12 = sm.hide_labels(truth, per_class=6, random_state=1)
labeled12, liar = np.flatnonzero(seen12 != -1), 4
seen12[labeled12[liar]] = 1 - seen12[labeled12[liar]]
sign12 = np.where(seen12[labeled12] == 1, 1.0, -1.0)

objective12 = sm.objectives.LapSVM(K, graph_laplacian, sm.encode_labels(seen12), gamma_A=gamma_A, gamma_I=gamma_I)
built12 = sm.problems.lapsvm_dual(objective12)  # the dual of section 2 as a problem of CVXPY, with names for its parts
result12 = sm.solve(built12, tol_gap_abs=1e-12, tol_gap_rel=1e-12)
b, f = float(result12.variables["b"]), result12.variables["f"]
slack = np.maximum(0.0, 1.0 - sign12 * f[labeled12])
for i, (multiplier, margin) in enumerate(zip(result12.variables["beta"], sign12 * f[labeled12], strict=True)):
    print(f"{i:2d}   beta {multiplier:.4f}   margin {margin:+.4f}" + ("   <- the wrong label" if i == liar else ""))
print("b:", round(b, 4), "  multiplier of the balance:", round(float(result12.duals["balance"]), 4))

assert np.isclose(result12.duals["balance"], b, atol=1e-5)
assert np.allclose(result12.duals["box"], slack, atol=1e-5)
assert result12.variables["beta"][liar] > 1 - 1e-6
assert sign12[liar] * f[labeled12[liar]] < 0  # overruled by the others

# %% [markdown] tags=["slide"]
# ## 5. Change the model
#
# The hinge is a maximum: with the margin $t_i = y_i f(x_i)$,
# $\;\max(0, 1 - t_i) = \max_{0 \le \beta_i \le 1} \beta_i (1 - t_i)$.
# **So the set in which $\beta$ lives is the loss**, and a changed constraint is a changed loss:
#
# | change | what it is in the primal |
# |---|---|
# | $\beta_i \le c_i$ | a hinge costs $c_i$: doubt about single labels |
# | no balance | the same loss, but $b = 0$ |
# | $\mathbf 1^\top\beta \le k$, a number | exercise E4 |

# %%
variable, parts = built12.variables["beta"], built12.constraints  # a dict: balance, nonnegative, box
doubt = np.where(np.arange(len(sign12)) == liar, 0.1, 1.0)
changes = {
    "as it was": list(parts.values()),
    "doubt": [*parts.values(), variable <= doubt],
    "no balance": [part for name, part in parts.items() if name != "balance"],
}
values, betas, intercepts = {}, {}, {}
for change, constraints in changes.items():
    values[change] = cp.Problem(built12.problem.objective, constraints).solve(solver="CLARABEL")
    betas[change] = variable.value
    intercepts[change] = 0.0 if change == "no balance" else float(parts["balance"].dual_value)
    print(f"{change:10s}   optimum {values[change]:.4f}   beta of the wrong label {variable.value[liar]:.4f}")

assert values["doubt"] < values["as it was"] < values["no balance"]

# %% [markdown]
# Is that true? Let the primal say so. $J$ now picks the twelve rows. With $G = JK(\gamma_A I + \gamma_I LK)^{-1}J^\top$ and
# $\alpha = (\gamma_A I + \gamma_I LK)^{-1}J^\top v$ it has $l$ unknowns as well, $v$, and one more: the decisions at the labels
# are $Gv + b\mathbf 1$, and the penalty is $v^\top G v$. At the optimum $v = \tfrac12 Y\beta$: compare with $\alpha$ in section 2.
# In code $(\gamma_A I + \gamma_I LK)^{-1}J^\top$ is `objective12.reduction.X`, so that `reduction.X @ v` is $\alpha$.

# %%
G = objective12.reduction.G
v, offset = cp.Variable(len(sign12)), cp.Variable()
t = cp.multiply(sign12, G @ v + offset)
penalty = cp.quad_form(v, cp.psd_wrap(G))
primals = {
    "as it was": cp.Problem(cp.Minimize(cp.sum(cp.pos(1 - t)) + penalty)),
    "doubt": cp.Problem(cp.Minimize(doubt @ cp.pos(1 - t) + penalty)),
    "no balance": cp.Problem(cp.Minimize(cp.sum(cp.pos(1 - t)) + penalty), [offset == 0]),
}
for name, primal in primals.items():
    primal.solve(solver="CLARABEL")
    print(f"{name:10s}   dual {values[name]:.6f}   primal {primal.value:.6f}")
    assert np.isclose(values[name], primal.value, rtol=1e-6)

# %% [markdown]
# ## 6. One picture
#
# On the left the decisions $f$ as they were: the black line is the boundary, the dashed ones are where $f$ is $-1$ or $1$, and
# the red ring is around the wrong label. On the right $f$ along the dotted line through it, for each change. As it was, the wrong label
# lifts $f$ towards its own class; with doubt about it next to nothing of that is left. Without the balance little changes,
# since $b$ was small. No change moves the boundary over one of the points: that is printed.

# %%
from specmargin.plots.points import point_handles


def decide(points, name):  # the decisions of a change: alpha = reduction.X @ v, with v = sign12 * beta / 2
    alpha = objective12.reduction.X @ (sign12 * betas[name] / 2)
    return sm.kernels.gram(points, X, gamma=4.0) @ alpha + intercepts[name]


for kind in changes:
    lifted, wrong_now = sign12[liar] * decide(X, kind)[labeled12[liar]], (decide(X, kind) > 0) != truth
    print(f"{kind:11s}   margin of the wrong label {lifted:+.3f}, points wrong {wrong_now[seen12 == -1].sum()}")
spot, heights = X[labeled12[liar]], np.linspace(-1.0, 1.5, 100)
line = np.column_stack([np.full(100, spot[0]), heights])
figure, axes = subplots(1, 2, aspect=0.8)
before = DecisionDisplay.from_function(lambda points: decide(points, "as it was"), X, points=LabelDisplay(X, seen12))
before.plot(axes[0, 0], limit=1.5, margins=True, colorbar=False, title="as it was")
circle = ring(axes[0, 0], [spot], size=13)
circle.set(markeredgecolor="red", markeredgewidth=2, label="wrong label")
dotted = axes[0, 0].axvline(spot[0], color="black", linestyle=":", label="line of the right picture")
drawn = [*point_handles(), circle, dotted]
figure.legend(handles=drawn, loc="outside lower center", ncols=3, frameon=False, fontsize=7)
CurveDisplay({name: (heights, decide(line, name)) for name in changes}).plot(
    axes[0, 1], xlabel="$x_2$ on the dotted line", ylabel="$f$", vertical={"wrong label": spot[1]}, legend="best"
)
figure

# %% [markdown]
# ## Exercises
#
# **E1. By hand (5 minutes).** Two points with $K = I$ and $L = \begin{pmatrix} 1 & -1 \\ -1 & 1 \end{pmatrix}$; the first
# has the label $+1$, the second has none; $\gamma_A = \gamma_I = \tfrac12$ and $\beta = 1$. What is $\alpha$? Paper first:
# the point without a label gets a coefficient.

# %%
my_alpha = ...  # two numbers, [., .]
# solution
my_alpha = [2 / 3, 1 / 3]  # (I + L) alpha = (1, 0)
teaching.check("02.E1", my_alpha)

# %% tags=["answers"]
pair = np.array([[1.0, -1.0], [-1.0, 1.0]])
assert np.allclose(np.linalg.solve(np.eye(2) + pair, [1.0, 0.0]), my_alpha)
answers["02.E1"] = (
    my_alpha,
    {
        "Twice too large: the derivative of a square brings a factor 2, so that it is 2 gamma_A I + 2 gamma_I L K.": np.linalg.solve(
            np.eye(2) / 2 + pair / 2, [1.0, 0.0]
        ),
        "The graph is left out: with gamma_I = 0 the point without a label would have no coefficient.": [1.0, 0.0],
        "The sign of the second entry: the graph pulls neighbours together, so that their coefficients agree.": [
            2 / 3,
            -1 / 3,
        ],
    },
)

# %% [markdown]
# **E2. Symmetric, though it does not look it.** $LK$ is not symmetric, and $Q$ is. By
# $K(\gamma_A I + \gamma_I LK)^{-1} = (\gamma_A I + \gamma_I KL)^{-1}K$ one can move the bracket to the other side. With the *four*
# labels of section 1 (`J` still has their rows) compute the matrix $G_4 = J(\gamma_A I + \gamma_I KL)^{-1}KJ^\top$. For at home:
# prove that equation (multiply by both brackets), and conclude from it that $Q$ is symmetric (transpose one side).

# %%
my_G4 = ...  # four rows, four columns
# solution
my_G4 = J @ np.linalg.solve(gamma_A * np.eye(n) + gamma_I * K @ L, K @ J.T)
teaching.check("02.E2", my_G4)

# %% tags=["answers"]
assert np.allclose(my_G4, 2 * Y @ Q @ Y)
answers["02.E2"] = (
    my_G4,
    {
        "This is L K in the bracket on the left of K: there it must be K L.": J
        @ np.linalg.solve(gamma_A * np.eye(n) + gamma_I * L @ K, K @ J.T),
        "This is K L in the bracket on the right of K: there it must be L K.": J
        @ K
        @ np.linalg.solve(gamma_A * np.eye(n) + gamma_I * K @ L, J.T),
        "This is Q: G has neither the labels nor the factor 2.": Q,
        "This is 2 Q: the labels are still in, G has none.": 2 * Q,
        "Half of it: the bracket of G is gamma_A I + gamma_I K L, without the factor 2 of Q.": my_G4 / 2,
    },
)

# %% [markdown] tags=["solution"]
# **The proof.** Both $(\gamma_A I + \gamma_I KL)\,K$ and $K\,(\gamma_A I + \gamma_I LK)$ are $\gamma_A K + \gamma_I KLK$. Multiply by
# the one inverse from the left and by the other from the right: that is the equation. $K$ and $L$ are symmetric, so that the
# transpose of its left side is $(\gamma_A I + \gamma_I KL)^{-1}K$, its right side. So the matrix between $YJ$ and $J^\top Y$ in $Q$
# is its own transpose.

# %% [markdown]
# **E3. A cost for each class.** Twelve labels again. A hinge of the class $+1$ costs 1 as before, one of the class $-1$ costs 0.2.
# Change the dual of section 5 and give its optimum, to three decimals or more.

# %%
my_optimum = ...  # a number
# solution
cost = np.where(sign12 < 0, 0.2, 1.0)
my_optimum = cp.Problem(built12.problem.objective, [*parts.values(), variable <= cost]).solve(solver="CLARABEL")
teaching.check("02.E3", my_optimum)

# %% tags=["answers"]
Q12 = np.outer(sign12, sign12) * G / 2
cheap = cp.Problem(cp.Minimize(cost @ cp.pos(1 - t) + penalty)).solve(solver="CLARABEL")
assert np.isclose(my_optimum, cheap, rtol=1e-6)
answers["02.E3"] = (
    my_optimum,
    {
        "This is the other class: the bound of 0.2 belongs to the labels -1.": optimum(
            Q12, sign=sign12, cap=np.where(sign12 > 0, 0.2, 1.0)
        )[0],
        "Both classes have the bound of 0.2 here.": optimum(Q12, sign=sign12, cap=0.2)[0],
        "The bound of 0.2 is there, but not the balance: b is free all the same.": optimum(
            Q12, sign=sign12, cap=cost, constraints=["box"]
        )[0],
        "Nothing has changed: this is the optimum with equal costs.": values["as it was"],
        "These are the costs 1 and 5: a hinge of the class +1 costs 1, as before.": optimum(
            Q12, sign=sign12, cap=5 * cost
        )[0],
    },
)

# %% [markdown]
# **E4. Open, for at home: the worst three.** Which constraints on $\beta$ make the loss the sum of the *three largest* hinges? Give
# the optimum with them, to three decimals or more, and check it by the primal, where CVXPY has `cp.sum_largest`. Then add them to
# `changes` in section 5 as `"worst three"`, and run sections 5 and 6 again: does this loss overrule the wrong label, or fit
# it? Would you use it?

# %%
my_budget = ...  # the optimum, a number
# solution
budget = [*parts.values(), cp.sum(variable) <= 3]  # the box stays: without it one hinge may count three times
my_budget = cp.Problem(built12.problem.objective, budget).solve(solver="CLARABEL")
largest = cp.Problem(cp.Minimize(cp.sum_largest(cp.pos(1 - t), 3) + penalty)).solve(solver="CLARABEL")
assert np.isclose(my_budget, largest, rtol=1e-6)
print("dual:", round(my_budget, 5), "  primal:", round(largest, 5), "  multipliers:", variable.value.round(2))
betas["worst three"], intercepts["worst three"] = variable.value, float(parts["balance"].dual_value)
margin = sign12 * decide(X, "worst three")[labeled12]
wrong_now = ((decide(X, "worst three") > 0) != truth)[seen12 == -1].sum()
print(f"margin of the wrong label {margin[liar]:+.3f}, of the others {np.delete(margin, liar).round(3)}")
print("points that are wrong:", wrong_now, "of", (seen12 == -1).sum())
teaching.check("02.E4", my_budget)

# %% [markdown] tags=["solution"]
# **Would you use it?** Not here. Only the worst hinges cost, and that of the wrong label is the worst: it is fitted (a positive
# margin), all other margins fall below 1 in exchange, and points around it are wrong now. It would serve where the worst case is
# what counts, and all labels can be trusted.

# %% tags=["answers"]
assert margin[liar] > 0
assert np.delete(margin, liar).max() < 0.4
assert wrong_now == 15
answers["02.E4"] = (
    my_budget,
    {
        "This is three times the largest hinge: the box is missing, so that one hinge may count three times.": optimum(
            Q12, sign=sign12, constraints=["balance", "budget 3"]
        )[0],
        "This is the largest hinge alone: the multipliers add up to at most 3, one for each hinge that counts.": optimum(
            Q12, sign=sign12, constraints=["balance", "box", "budget 1"]
        )[0],
        "These are the two largest hinges: three were asked for.": optimum(
            Q12, sign=sign12, constraints=["balance", "box", "budget 2"]
        )[0],
        "Without the balance b would be 0; the loss alone was to change.": optimum(
            Q12, sign=sign12, constraints=["box", "budget 3"]
        )[0],
        "This is the sum of all hinges: the constraint on the sum of the multipliers is missing.": values["as it was"],
    },
)

# %% [markdown]
# **What did you guess?**

# %%
print("unknowns: you guessed", teaching.guess("02.q1"), "- the dual has", len(labeled))
print(
    "wrong of 196: you guessed",
    teaching.guess("02.q2"),
    "- LapSVM has",
    wrong["LapSVM"],
    "and the SVM",
    wrong["SVM"],
)

# %% [markdown]
# ## Common mistakes
#
# * *$KL$ for $LK$.* Both are products of symmetric matrices, neither is symmetric, and only one fits each side: on the right
#   of $K$ it is $LK$.
# * *No balance.* The dual has $y^\top\beta = 0$ because $b$ is free. Who drops it has fixed $b = 0$.
# * *The factor 2.* The penalties are $\gamma_A\,\alpha^\top K\alpha$, without $\tfrac12$. The brackets of $\alpha$ and $Q$ have it.
# * *No errors, so the method is good.* One draw of labels proves little: in `notebooks/01_lapsvm_dual.ipynb` twenty draws differ
#   a lot.
#
# ## Reading
#
# * S. Melacci and M. Belkin. Laplacian support vector machines trained in the primal. *JMLR* 12, 2011. Equations 4 to 6.
# * M. Belkin, P. Niyogi and V. Sindhwani. Manifold regularization. *JMLR* 7, 2006. Section 4.
# * `notebooks/01_lapsvm_dual.ipynb`, for an infeasible dual, paths of multipliers, and scikit-learn's SVC as a special case.

# %% [markdown] tags=["quiz"]
# # Quiz of lesson 02
#
# **1.** 1,000 points, of which 30 have a label. How many variables has the dual of LapSVM?
#
# a) 30, b) 970, c) 1,000, d) 1,031.
#
# Answer: a. One for each label; the other points are in Q.

# %% [markdown] tags=["quiz"]
# **2.** A multiplier is 0 at the optimum. What happens to the decisions if this label is hidden, and its point stays?
#
# a) They change at this point only, b) nothing, c) they change everywhere, d) one cannot know.
#
# Answer: b. The same multipliers without this one satisfy all optimality conditions.

# %% [markdown] tags=["quiz"]
# **3.** Which change of the dual fixes the intercept at 0?
#
# a) The box, b) dropping the box, c) dropping the balance, d) doubling Q.
#
# Answer: c. The balance is the stationarity by b.
