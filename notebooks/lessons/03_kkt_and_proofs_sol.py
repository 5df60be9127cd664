# %% [markdown] tags=["slide"]
# # 03 · KKT and proofs
#
# **Question.** A solver says "optimal". Believe it?
#
# **Aims.** You will be able to
#
# * compute a primal value, a dual value and the gap between them in numpy;
# * check the optimality conditions (KKT) of an answer, whoever found it;
# * say what a certificate proves, and what rounding leaves of it.
#
# **Minutes.** 50: 10 talk, 25 code, 15 exercises.

# %% [markdown]
# **Needs.** Lesson 02. Section 6 proves in ball arithmetic, by python-flint: `pip install "specmargin[verify]"`.
#
# **Symbols.**
#
# | symbol | in code | meaning | section |
# |---|---|---|---|
# | $l$, $y_i$, $Y$ | `12`, `sign`, `np.diag(sign)` | number of labels, a label ($-1$ or $+1$), the labels on a diagonal | 1 |
# | $K$, $L$ | `K`, `L` | Gram matrix of the kernel, Laplacian of the graph | 1 |
# | $G$, $v$, $b$ | `G`, `v`, `b` | matrix of the small LapSVM, its coefficients, its intercept | 1 |
# | $\xi$ | `slack` | slacks: the hinges | 1 |
# | $\mathbf 1$ | `np.ones(l)` | vector of ones | 1 |
# | $p$, $d$ | `primal_at`, `dual_at` | objective of the primal, and of the dual | 2 |
# | $\beta$, $Q$ | `best_beta`, `Q` | multipliers of the margins, matrix of the dual | 2 |
# | $t_i$ | `margin` | margin of a label, $y_i$ times its decision | 4 |
# | $s$ | `steps` | how far along the ray of the optimal multipliers | 6 |
#
# **First, a guess.** A solver is allowed to stop at a relative gap of 0.1. It stops, and says "optimal". How large is the gap of
# its answer, in percent of the objective? And how many of twelve labels could be hidden without any change of the decisions?

# %%
# %matplotlib inline
# %config InlineBackend.figure_formats = ["retina"]

import dataclasses

import cvxpy as cp
import numpy as np
import teaching

import specmargin as sm

teaching.guess("03.q1", ...)  # the gap, in percent
teaching.guess("03.q2", ...)  # labels without effect, of 12

# %% [markdown] tags=["slide"]
# ## 1. A problem, and what solvers say
#
# The LapSVM of lesson 02 with $l = 12$ labels $y_i$, one of them wrong; $Y$ has them on its diagonal. In its small form all that the
# other 188 points do is in the matrix $G$, which is made of the Gram matrix $K$ and the Laplacian $L$ of all 200:
#
# $$
# \begin{aligned}
# \min_{v, b, \xi}\;\; & \mathbf 1^\top \xi + v^\top G v \\
# \text{s.t.}\;\; & Y(Gv + b\mathbf 1) \ge \mathbf 1 - \xi, \quad \xi \ge 0 .
# \end{aligned}
# $$

# %%
X, truth = sm.datasets.make_two_moons(n_samples=200, noise=0.1, random_state=5)
seen = sm.hide_labels(truth, per_class=6, random_state=1)  # 0, 1, and -1 marks a point without a label
labeled, liar = np.flatnonzero(seen != -1), 4
seen[labeled[liar]] = 1 - seen[labeled[liar]]
sign = np.where(seen[labeled] == 1, 1.0, -1.0)

K = sm.kernels.gram(X, gamma=4.0)
L = sm.graphs.laplacian(sm.graphs.knn_graph(X, n_neighbors=6))
lapsvm = sm.objectives.LapSVM(K, L, sm.encode_labels(seen), gamma_A=0.01, gamma_I=1.0)  # the model with its data
G = lapsvm.reduction.G
lapsvm_dual = sm.problems.lapsvm_dual(lapsvm)  # its dual as a problem of CVXPY
values = []
for options in ({"solver": "CLARABEL"}, {"solver": "SCS", "eps": 1e-2}):
    value = lapsvm_dual.problem.solve(**options)
    values.append(value)
    print(f"{options['solver']:9s} says {lapsvm_dual.problem.status!r} at {value:.6f}")

assert abs(values[1] / values[0] - 1) > 1e-3

# %% [markdown]
# Both say the same word, and their values differ. A solver's "optimal" means: *my* stopping rule is met, on *my* form of the
# problem.

# %% [markdown] tags=["slide"]
# ## 2. Weak duality: two numbers anybody can compute
#
# For any $v$, $b$ let $p(v, b) = \mathbf 1^\top \max(0, \mathbf 1 - Y(Gv + b\mathbf 1)) + v^\top G v$. For any $\beta$ with
# $0 \le \beta \le \mathbf 1$ and $\mathbf 1^\top Y\beta = 0$ let $d(\beta) = \mathbf 1^\top\beta - \tfrac12 \beta^\top Q\beta$ with
# $Q = \tfrac12 Y G Y$. Then
#
# $$ d(\beta) \;\le\; \text{optimum} \;\le\; p(v, b) . $$
#
# Proof of the left: a hinge is at least $\beta_i$ times $1 - y_i(Gv + b\mathbf 1)_i$; add up, $b$ drops out, and the smallest
# value of the rest over $v$ is $d(\beta)$, at $v = \tfrac12 Y\beta$. The gap $p - d$ is a proof, wherever the numbers came from.

# %%
Q = np.outer(sign, sign) * G / 2


def primal_at(v, b):
    return np.maximum(0.0, 1.0 - sign * (G @ v + b)).sum() + v @ G @ v


def dual_at(beta):
    feasible = beta.min() >= -1e-9 and beta.max() <= 1 + 1e-9 and abs(sign @ beta) < 1e-8
    assert feasible, "these multipliers prove nothing"
    return beta.sum() - beta @ Q @ beta / 2


def best_primal(beta):  # v of the formula; the hinges are piecewise linear in b, with one kink for each label
    v = sign * beta / 2
    return min((primal_at(v, b), b) for b in sign - G @ v)


solved = sm.solvers.factorized(lapsvm, tol=1e-12)  # numpy alone: no CVXPY
best_beta = solved.variables["beta"]
upper, lower = best_primal(best_beta)[0], dual_at(best_beta)
print(f"primal {upper:.12f}   dual {lower:.12f}   relative gap {(upper - lower) / upper:.0e}")
assert abs(upper - lower) < 1e-12 * upper

# %% [markdown] tags=["slide"]
# ## 3. Write it
#
# Write the problem of section 1 in CVXPY with explicit slacks: three variables and two constraints. Solve by Clarabel, and hand
# in the *multipliers* of the first constraint (`dual_value`). The check asks whether they are feasible, and whether the gap is
# closed. In CVXPY `*` between two vectors is their inner product: take `cp.multiply(sign, ...)`. As in lesson 02,
# `cp.psd_wrap(G)` says that $G$ is positive semidefinite. Later cells need `lapsvm`, `solved`, `best_beta`, `primal_at` and
# `dual_at` as they are.

# %%
my_beta = ...  # 12 multipliers
# solution
v, b, slack = cp.Variable(12), cp.Variable(), cp.Variable(12)
margins = cp.multiply(sign, G @ v + b) >= 1 - slack
positive = slack >= 0
cp.Problem(cp.Minimize(cp.sum(slack) + cp.quad_form(v, cp.psd_wrap(G))), [margins, positive]).solve(solver="CLARABEL")
my_beta = margins.dual_value
teaching.check("03.W", my_beta)

# %% tags=["answers"]


def multipliers(factor=1.0, intercept=True):
    v, b, slack = cp.Variable(12), cp.Variable(), cp.Variable(12)
    margins = cp.multiply(sign, G @ v + (b if intercept else 0)) >= 1 - slack
    penalty = factor * cp.quad_form(v, cp.psd_wrap(G))
    mistaken = cp.Problem(cp.Minimize(cp.sum(slack) + penalty), [margins, slack >= 0])
    mistaken.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12)
    return margins.dual_value


answers["03.W"] = (
    multipliers(),
    {
        "y'beta is not 0, which the free intercept asks for: no balance, or one with classes 0 and 1.": multipliers(
            intercept=False
        ),
        "These are the multipliers of the slacks, 1 - beta: hand in those of the margins.": 1 - multipliers(),
        "The penalty v'Gv has a factor 1/2 here, which the problem has not.": multipliers(factor=0.5),
    },
)

# %% [markdown] tags=["slide"]
# ## 4. KKT: when the gap is zero
#
# Let $t_i = y_i(Gv + b\mathbf 1)_i$ be the margin of a label and $\xi_i = \max(0, 1 - t_i)$. For feasible $\beta$ the gap is a sum
# of terms that are never negative,
#
# $$ p - d \;=\; \sum_i \bigl(\xi_i - \beta_i (1 - t_i)\bigr) + (v - \tfrac12 Y\beta)^\top G\, (v - \tfrac12 Y\beta) , $$
#
# and it is 0 if and only if each of them is. So at an optimum
#
# * $\beta_i\,(1 - \xi_i - t_i) = 0$: beyond its margin, $t_i > 1$, a label has the multiplier 0;
# * $(1 - \beta_i)\,\xi_i = 0$: below its margin, $t_i < 1$, it has the multiplier 1;
# * $Gv = \tfrac12 GY\beta$ and $\mathbf 1^\top Y\beta = 0$: stationarity by $v$ and by $b$.
#
# Together with feasibility these are the KKT conditions. A violated one says *where* an answer is wrong; the gap says *how much*.

# %%
v, b = sign * best_beta / 2, best_primal(best_beta)[1]
margin = sign * (G @ v + b)
slack = np.maximum(0.0, 1.0 - margin)
print("label   beta     margin    slack")
for i in range(12):
    print(
        f"{i:4d}   {best_beta[i]:.4f}   {margin[i]:+.4f}   {slack[i]:.4f}"
        + ("   <- the wrong label" if i == liar else "")
    )
v_trial, b_trial = v + 0.1, b - 0.2  # the formula of the gap, at a point that is not optimal
t_trial = sign * (G @ v_trial + b_trial)
terms = np.maximum(0.0, 1.0 - t_trial) - best_beta * (1 - t_trial)
assert terms.min() >= 0
assert np.isclose(primal_at(v_trial, b_trial) - dual_at(best_beta), terms.sum() + (v_trial - v) @ G @ (v_trial - v))
products = np.abs([best_beta * (1 - slack - margin), (1 - best_beta) * slack])
print("complementary slackness, largest product:", products.max())
without_effect = np.flatnonzero(best_beta < 1e-9)

seen_less = seen.copy()
seen_less[labeled[without_effect]] = -1  # the points stay, their labels go
lapsvm_less = sm.objectives.LapSVM(K, L, sm.encode_labels(seen_less), gamma_A=0.01, gamma_I=1.0)
change = sm.solvers.factorized(lapsvm_less, tol=1e-12).variables["f"] - solved.variables["f"]
print("without the labels", without_effect, "the decisions change by", f"{np.abs(change).max():.0e}")
assert len(without_effect) == 1
assert np.abs(change).max() < 1e-8

# %% [markdown]
# ## 5. Change the tolerance
#
# Nothing of the model, only what the solver is asked for. `sm.solve` ignores what it says, and computes the two numbers of section 2.

# %%
gaps = {}
for tol in (1e-1, 1e-2, 1e-4, 1e-8):
    answer = sm.solve(lapsvm_dual, solver="CLARABEL", tol_gap_abs=tol, tol_gap_rel=tol, tol_feas=tol)
    gaps[tol] = answer.certificate.relative_gap
    print(
        f"asked for {tol:.0e}: solver {lapsvm_dual.problem.status!r}, gap {100 * gaps[tol]:8.1e} %, our status: {answer.status.name}"
    )
assert gaps[1e-1] > 0.05 > 0.01 > gaps[1e-2] > gaps[1e-4] > gaps[1e-8]
assert gaps[1e-8] < 1e-7

# %% [markdown]
# ## 6. One picture, and a proof that is kept
#
# Take $s$ times the optimal multipliers. Every point of the lower curve is a proof about the optimum, and so is every point
# of the upper one. They touch once, on the right: $s > 1$ is left out, where a multiplier exceeds its bound.

# %%
from specmargin.plots import CurveDisplay, subplots

steps = np.linspace(0.0, 1.0, 60)
curves = {
    "primal": (steps, np.array([best_primal(s * best_beta)[0] for s in steps])),
    "dual": (steps, np.array([dual_at(s * best_beta) for s in steps])),
}
assert curves["dual"][1].max() <= upper <= curves["primal"][1].min() + 1e-12
figure, axes = subplots(width=4.6, aspect=0.62)
CurveDisplay(curves, points={"the optimum": ([1.0], [upper])}, looks={"the optimum": "black"}).plot(
    axes[0, 0],
    between=("primal", "dual"),
    xlabel="$s$, times the optimal multipliers",
    ylabel="objective",
    ylim=(0.0, None),
)
figure

# %% [markdown]
# `sm.verify` computes both numbers again in ball arithmetic, from the data and by other code, so that no rounding is left out.
# Its gap is larger than that of the certificate: $K$ and $L$ are positive semidefinite only up to rounding, so that the proof puts
# a little on their diagonals, `K + 1e-13 I`, and adds what that may cost, the "charge". The certificate takes both as they are.
# A result and its problem can be saved with `sm.save_result`, and verified elsewhere by `specmargin verify`.

# %%
print(sm.verify(lapsvm, solved))
print(
    "gap of the certificate:",
    f"{solved.certificate.gap:.1e}",
    "  of it for rounding:",
    f"{solved.certificate.rounding:.1e}",
)
assert sm.verify(lapsvm, solved)
assert solved.certificate.rounding > 0

# %% [markdown]
# ## Exercises
#
# **E1. By hand (5 minutes).** Four labels $y = (+1, -1, +1, +1)$ have at the optimum the margins $t = (1.5,\ 0.4,\ 1,\ 1)$, and
# $\beta_4 = 0.35$. What is $\beta$? (Section 4 has what you need, its third bullet too.)

# %%
my_four = ...  # four numbers
# solution
my_four = [0.0, 1.0, 0.65, 0.35]  # beyond the margin 0, below it 1, and the balance gives the third
teaching.check("03.E1", my_four)

# %% tags=["answers"]
answers["03.E1"] = (
    my_four,
    {
        "The second is the slack 0.6, not the multiplier: below the margin that is at its bound.": [
            0.0,
            0.6,
            0.25,
            0.35,
        ],
        "The balance has signs: beta_1 + beta_3 + beta_4 = beta_2.": [0.0, 1.0, 1.35, 0.35],
        "A multiplier is negative: the balance has the signs of the labels, and that of the second is -1.": [
            0.0,
            1.0,
            -1.35,
            0.35,
        ],
        "The balance does not hold: beta_1 + beta_3 + beta_4 is to be beta_2.": [0.0, 1.0, 0.35, 0.35],
        "Beyond the margin (the first) a multiplier is 0, below it (the second) it is 1.": [1.0, 0.0, 0.65, 0.35],
        "On the margin a multiplier may be anything between 0 and 1: the balance says what.": [0.0, 1.0, 1.0, 0.35],
    },
)

# %% [markdown]
# **E2. The intercept.** It is the multiplier of the balance, and can also be read off a label with $0 < \beta_i < 1$. Here is
# the same problem with a heavier norm, its matrix $G$ and its $\beta$. Compute its $b$ in this way, without a solver, to three
# decimals or more.

# %%
heavy = sm.objectives.LapSVM(K, L, sm.encode_labels(seen), gamma_A=0.1, gamma_I=1.0)
G_heavy, beta_heavy = heavy.reduction.G, sm.solvers.factorized(heavy, tol=1e-12).variables["beta"]
print("beta:", beta_heavy.round(3), "  labels:", sign)
my_b = ...  # a number
# solution
i = np.flatnonzero((beta_heavy > 1e-6) & (beta_heavy < 1 - 1e-6))[0]
my_b = sign[i] - (G_heavy @ (sign * beta_heavy / 2))[i]  # y f = 1 is f = y
teaching.check("03.E2", my_b)

# %% tags=["answers"]
assert np.isclose(my_b, sm.solvers.factorized(heavy, tol=1e-12).variables["b"])
g = G_heavy @ (sign * beta_heavy / 2)
negative = np.flatnonzero((beta_heavy > 1e-6) & (beta_heavy < 1 - 1e-6) & (sign < 0))[0]
answers["03.E2"] = (
    my_b,
    {
        "The sign: f = Gv + b on the margin is y, so that b = y - Gv. (A solver that minimises the negative dual returns -b.)": -my_b,
        "A margin of 1 is y f = 1, that is f = y: for a label -1 it is not 1 - Gv.": 1 - g[negative],
        **{
            f"Label {k} has the multiplier {beta_heavy[k]:.0f}: its margin is not 1. Take one between 0 and 1.": sign[k]
            - g[k]
            for k in np.flatnonzero((beta_heavy < 1e-6) | (beta_heavy > 1 - 1e-6)).tolist()
        },
        "This is with v = Y beta: the formula has a factor 1/2.": sign[i] - 2 * g[i],
        "This is a mean over all labels: two of them are not on the margin.": (sign - g).mean(),
        "This is the intercept of section 2, a problem with another G.": solved.variables["b"],
    },
)

# %% [markdown]
# **E3. A forged certificate.** Somebody saves the result with $0.9\,\beta$ in the place of $\beta$, and leaves the claimed dual
# value as it is. `dataclasses.replace(solved, variables={**solved.variables, "beta": 0.9 * best_beta})` is that forgery: let
# `sm.verify` judge it. Which lower bound do these multipliers prove?

# %%
my_bound = ...  # a number, three decimals
# solution
forged = dataclasses.replace(solved, variables={**solved.variables, "beta": 0.9 * best_beta})
print(sm.verify(lapsvm, forged))  # refused: and it names the bound that is proved
assert not sm.verify(lapsvm, forged)
my_bound = dual_at(0.9 * best_beta)
teaching.check("03.E3", my_bound)

# %% tags=["answers"]
answers["03.E3"] = (
    my_bound,
    {
        "This is what the certificate claims. A claim is no proof: put 0.9 beta into the dual objective.": lower,
        "Nine tenths of the optimum: the dual objective has a quadratic term.": 0.9 * lower,
        "Both terms are scaled by 0.81 here; the linear one is scaled by 0.9.": 0.81 * lower,
    },
)

# %% [markdown]
# **E4. Rounding; open.** A program reports a primal value of 3.155, and a gap of 1e-17. Doubles between 2 and 4 are $2^k$ apart.
# What is $k$, and what do you say to the program's author? (What does `solved.certificate.rounding` in section 6 say?)

# %%
my_k = ...  # a whole number
# solution
my_k = int(np.log2(np.spacing(3.155)))
print("doubles near 3.155 are", np.spacing(3.155), "apart: a difference of two of them is 0, or at least that")
print("what rounding may hide in our gap:", solved.certificate.rounding)
teaching.check("03.E4", my_k)

# %% [markdown] tags=["solution"]
# **What to say.** Between 2 and 4 no two doubles are closer than $2^{-51}$, so that 1e-17 is no difference of a primal and a dual
# value. Either it was computed in another way, which should be told, or both were equal after rounding and something small was
# added. A gap below what rounding may hide proves nothing more than that.

# %% tags=["answers"]
assert 2.0**my_k == np.nextafter(3.155, 4) - 3.155
answers["03.E4"] = (
    my_k,
    {
        "That is the distance between 1 and 2 (machine epsilon); between 2 and 4 it is twice that.": -52,
        "That is half a distance between 1 and 2, the error of one rounding.": -53,
        "That is a power of ten: about 4e-16, but which power of two?": -16,
        "The sign: the distance is far below 1.": 51,
    },
)

# %% [markdown]
# **What did you guess?**

# %%
print("gap: you guessed", teaching.guess("03.q1"), f"percent - it is {100 * gaps[1e-1]:.1f}")
print("labels without effect: you guessed", teaching.guess("03.q2"), "- there is", len(without_effect))

# %% [markdown]
# ## Common mistakes
#
# * *Two solvers agree, so they are right.* In section 1 both say "optimal", more than a thousandth apart. Compute the gap.
# * *A dual value of infeasible multipliers.* It bounds nothing. Repair them first, then evaluate.
# * *The slack for the multiplier.* $\xi_i$ is a distance, $\beta_i$ a price; at most one of $\xi_i$ and $1 - \beta_i$ is not 0.
# * *The gap is 0.0, so the answer is exact.* Sums of doubles are rounded. A certificate adds what rounding may have hidden.
#
# ## Reading
#
# * S. Boyd and L. Vandenberghe. *Convex Optimization*. Cambridge, 2004. Section 5.5, optimality conditions.
# * The page `docs/proofs.md`: what a certificate proves, what is exact, what is trusted.
# * `notebooks/01_lapsvm_dual.ipynb`, sections 4 and 5.

# %% [markdown] tags=["quiz"]
# # Quiz of lesson 03
#
# **1.** A feasible point of a minimisation has the value 5, feasible multipliers have the dual value 4. What is certain?
#
# a) The optimum is 4.5, b) the optimum is between 4 and 5, c) one of both is wrong, d) nothing.
#
# Answer: b. Weak duality; a gap of 1 is left.

# %% [markdown] tags=["quiz"]
# **2.** Somebody gives you multipliers and does not say where they come from. Feasible, they close the gap. Do you believe them?
#
# a) Yes, b) only with the solver's log, c) only from two solvers, d) no.
#
# Answer: a. The two values can be computed by anybody.

# %% [markdown] tags=["quiz"]
# **3.** A label has the margin 0.2 at the optimum of a hinge loss without weights. What is its multiplier?
#
# a) 0, b) 0.2, c) 0.8, d) 1.
#
# Answer: d. Below the margin the hinge has slope 1; 0.8 is its slack.
