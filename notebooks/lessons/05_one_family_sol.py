# %% [markdown] tags=["slide"]
# # 05 · One family
#
# **Question.** Label propagation, LapRLS, LapSVM, SVM: what is the difference?
#
# **Aims.** You will be able to
#
# * write all four as one problem with a loss as an argument;
# * say which limit of the weights makes one method out of another, and see it in numbers;
# * tell which choice mattered for an error: loss, graph, intercept, or the rule of the classes.
#
# **Minutes.** 50: 10 talk, 25 code, 15 exercises.

# %% [markdown]
# **Needs.** Lessons 01 and 02.
#
# **Symbols.**
#
# | symbol | in code | meaning | section |
# |---|---|---|---|
# | $x$, $y_i$ | `X`, `sign` | a point; a label, $-1$ or $+1$ | 1 |
# | $f$, $g$, $b$ | `f`, `b` | decisions $f = g + b$, with $g$ a function of a kernel, and the intercept | 1 |
# | $\ell$ | `loss` | loss, a function of the margins | 1 |
# | $\gamma_A$, $\gamma_I$ | `gamma_A`, `gamma_I` | weights of the norm and of the graph | 1 |
# | $L$ | `L` | Laplacian of the graph, the normalised one | 1 |
# | $\mathbf g$ | `f - b` | values of $g$ at all points | 1 |
# | $\mathcal H$ | | space of the kernel | 1 |
# | $t_i$ | `t` | margin, $y_i f(x_i)$ | 1 |
# | $G$, $v$ | `G`, `v` | matrix and coefficients of the small problem, as in lesson 02 | 2 |
# | $K$, $J$, $I$ | `K` | matrix of the kernel; the rows of the identity $I$ that belong to labelled points | 2 |
# | $\mathbf 1$ | `np.ones(l)` | vector of ones | 2 |
# | $Y$, $\beta$ | `sign`, `beta` | labels on a diagonal, multipliers of the margins | 4 |
# | $C$ | `C` | weight of the loss in scikit-learn's SVM | 5 |
#
# **First, a guess.** LapSVM has the hinge, LapRLS the square; all else is the same. Both learn two moons from two labels a class, in
# twenty draws of labels. In how many of the twenty is the number of errors different? And which choice costs the most errors here:
# the wrong loss, no graph ($\gamma_I = 0$), or an intercept that is free?

# %%
# %matplotlib inline
# %config InlineBackend.figure_formats = ["retina"]

import cvxpy as cp
import numpy as np
import teaching

import specmargin as sm

teaching.guess("05.q1", ...)  # draws of 20
teaching.guess("05.q2", ...)  # "loss", "graph" or "intercept"

# %% [markdown] tags=["slide"]
# ## 1. One formula
#
# $$
# \min_{g \in \mathcal H,\, b}\;\; \sum_{i\ \text{labelled}} \ell(t_i) + \gamma_A \|g\|_{\mathcal H}^2 + \gamma_I\, \mathbf g^\top L\, \mathbf g ,
# \qquad f = g + b, \quad t_i = y_i f(x_i) .
# $$
#
# | method | $\ell$ | weights | intercept |
# |---|---|---|---|
# | SVM | hinge | $\gamma_I = 0$ | free |
# | LapSVM | hinge | both positive | free |
# | LapRLS | square, $(1 - t_i)^2 = (y_i - f(x_i))^2$ | both positive | free, or $b = 0$ |
# | label propagation | square | $\gamma_A \to 0$ | $b = 0$ |
#
# Labels that are *held*, as in E1, are the limit of label propagation as $\gamma_I \to 0$, too: the loss then outweighs the graph.

# %%
X, truth = sm.datasets.make_two_moons(n_samples=200, noise=0.1, random_state=5)
y = sm.hide_labels(truth, per_class=2, random_state=9)  # -1 marks a point without a label
graph = sm.graphs.knn_graph(X, n_neighbors=6)
L, K = sm.graphs.laplacian(graph), sm.kernels.gram(X, gamma=4.0)


def member(y, loss, gamma_A=0.01, gamma_I=1.0, intercept=True, L=L, K=K):  # one of the family, an objective
    weights = {"gamma_A": gamma_A, "gamma_I": gamma_I, "fit_intercept": intercept}
    return sm.objectives.LapSVM(K, L, sm.encode_labels(y), loss=loss, **weights)


objective = member(y, "hinge")
G, sign = objective.reduction.G, objective.labels.sign
print("points:", len(X), "  labels:", sign, "  G:", G.shape)

# %% [markdown] tags=["slide"]
# ## 2. The small problem
#
# Whatever the loss, it sees $f$ at the labels only. So, as in lesson 02, the decisions there are $Gv + b\mathbf 1$, and both penalties
# together are $v^\top G v$. No weight is left in sight, as kernel, graph and both weights are inside $G$: lesson 02 found $G = JK(\gamma_A I
# + \gamma_I LK)^{-1}J^\top$, where $J$ picks the labelled points and $K$ is the kernel's matrix.
#
# $$ \min_{v,\, b}\;\; \sum_i \ell\bigl(y_i\,(Gv + b\mathbf 1)_i\bigr) + v^\top G v . $$
#
# The loss is one line of the problem. Why not make it an argument?

# %% [markdown]
# ## 3. Write it
#
# Write a function `my_lapsvm(loss)` that solves the small problem by Clarabel and returns its optimal value, a number, with a free
# intercept and the `G` and `sign` that the code of section 1 made. `loss` takes the margins, an expression of CVXPY, and returns their loss:
# `lambda t: cp.sum(cp.pos(1 - t))` is the hinge. The check tries several losses.

# %%
my_lapsvm = ...  # a function
# solution


def my_lapsvm(loss):
    v, b = cp.Variable(len(sign)), cp.Variable()
    t = cp.multiply(sign, G @ v + b)
    return cp.Problem(cp.Minimize(loss(t) + cp.quad_form(v, cp.psd_wrap(G)))).solve(solver="CLARABEL")


print("logistic loss, which this package has not:", my_lapsvm(lambda t: cp.sum(cp.logistic(-t))))
teaching.check("05.W", my_lapsvm)

# %% tags=["answers"]


def with_mistake(fixed=None, intercept=1.0, penalty=1.0, inner=G, signs=sign):
    def solve(loss):
        v, b = cp.Variable(len(sign)), cp.Variable()
        t = cp.multiply(signs, G @ v + intercept * b)
        minimised = (fixed or loss)(t) + penalty * cp.quad_form(v, cp.psd_wrap(inner))
        return cp.Problem(cp.Minimize(minimised)).solve(solver="CLARABEL")

    return solve


answers["05.W"] = (
    my_lapsvm,
    {
        "The loss is always the hinge: the function must call its argument.": with_mistake(
            lambda t: cp.sum(cp.pos(1 - t))
        ),
        "The intercept is missing.": with_mistake(intercept=0.0),
        "The penalty is halved: v'Gv has no factor.": with_mistake(penalty=0.5),
        "The penalty is multiplied by gamma_A, which is inside G already.": with_mistake(penalty=0.01),
        "The penalty is v'v: G is missing.": with_mistake(inner=np.eye(len(sign))),
        "The margins have no signs: they are y_i f(x_i).": with_mistake(signs=np.ones(len(sign))),
        "The function must return its optimal value, a number.": lambda loss: None,
    },
)

# %% [markdown]
# **The solver without CVXPY** takes the loss by name. Twenty draws of labels, two a class:

# %%
draws = [sm.hide_labels(truth, per_class=2, random_state=seed) for seed in range(20)]


def decide(*arguments, **options):
    return sm.solvers.factorized(member(*arguments, **options)).variables["f"]


def errors(loss, **options):  # for each draw the number of wrong points, of the 196 without a label
    return np.array([np.sum(((decide(y, loss, **options) > 0) != truth)[y == -1]) for y in draws])


family = {
    "SVM": errors("hinge", gamma_I=0.0),
    "LapSVM": errors("hinge"),
    "LapRLS": errors("squared"),
    "LapRLS, b = 0": errors("squared", intercept=False),
}
svm, lapsvm, laprls = family["SVM"], family["LapSVM"], family["LapRLS"]
for method, rates in family.items():
    print(f"{method:14s} {rates.mean() / 1.96:5.1f} % wrong on average, {rates.max() / 1.96:5.1f} % in the worst draw")
different = int((lapsvm != laprls).sum())
print("LapSVM and LapRLS differ in", different, "draws of 20, the SVM and LapSVM in", (svm != lapsvm).sum())
assert svm.mean() > 2 * lapsvm.mean()

# %% [markdown] tags=["slide"]
# ## 4. Read the multipliers: the loss is its slope
#
# Stationarity by $v$ says $v = \tfrac12 Y\beta$ with $\beta_i = -\ell'(t_i)$:
#
# * hinge: between 0 and 1, and exactly 1 below the margin;
# * square: $\beta_i = 2\,(1 - t_i)$, of any sign: a label *beyond* its margin is drawn back.
#
# Twenty labels a class and $\gamma_A = 0.1$ show every case. Stationarity by $b$ is the balance, whatever the loss. That is all that a loss changes.

# %%
y40 = sm.hide_labels(truth, per_class=20, random_state=1)
table = {}
for loss in ("hinge", "squared"):
    stationary = member(y40, loss, gamma_A=0.1)
    answer, labels = sm.solvers.factorized(stationary, tol=1e-12), stationary.labels
    t, beta = labels.sign * answer.variables["f"][labels.labeled], answer.variables["beta"].round(9) + 0.0
    table[loss] = t, beta
    print(f"{loss}: balance {labels.sign @ beta:.0e}")
    for place, there in {"below": t < 1 - 1e-6, "on": abs(t - 1) <= 1e-6, "beyond": t > 1 + 1e-6}.items():
        if there.any():
            ends = f"beta from {beta[there].min():6.3f} to {beta[there].max():.3f}"
            print(f"    {there.sum():2d} labels {place:6s} the margin, {ends}")
t, beta = table["squared"]
assert np.allclose(beta, 2 * (1 - t), atol=1e-8)
assert beta.min() < 0
t, beta = table["hinge"]
assert np.allclose(beta[t < 1 - 1e-6], 1.0)
assert np.abs(beta[t > 1 + 1e-6]).max() < 1e-6

# %% [markdown] tags=["slide"]
# ## 5. Change the weights: two limits
#
# With $\gamma_I \to 0$ LapSVM is scikit-learn's SVM with $C = 1/(2\gamma_A)$. With $\gamma_A \to 0$, $b = 0$ and the square it is the
# linear system of lesson 01, label propagation, if the kernel is rich enough for any values at the points (here a narrow one).

# %%
from sklearn.svm import SVC

labeled = objective.labels.labeled
svc = SVC(C=1 / (2 * 0.01), kernel="rbf", gamma=4.0, tol=1e-10).fit(X[labeled], sign).decision_function(X)
flat, known = sm.graphs.laplacian(graph, normalized=False), (y != -1).astype(float)
target = known * np.where(truth == 1, 1.0, -1.0)
propagated = np.linalg.solve(np.diag(known) + 0.1 * flat.toarray(), target)
narrow = sm.kernels.gram(X, gamma=40.0)
distances = {"to the SVM": [], "to label propagation": []}
for weight in (1e-2, 1e-4, 1e-6, 1e-8):
    near_svm = decide(y, "hinge", gamma_I=weight)
    near_lp = decide(y, "squared", gamma_A=weight, gamma_I=0.1, intercept=False, L=flat, K=narrow)
    distances["to the SVM"].append(np.abs(near_svm - svc).max())
    distances["to label propagation"].append(np.abs(near_lp - propagated).max())
for name, values in distances.items():
    print(f"largest distance {name:21s}", [f"{value:.0e}" for value in values])
    assert values[-1] < 1e-4 < 0.1 < values[0]

# %% [markdown]
# ## 6. One picture (optional)
#
# The error of LapSVM over both weights, mean of three draws (147 problems, some ten seconds): a curve for each $\gamma_A$, over the
# ratio $\gamma_I / \gamma_A$. They lie on one another, and each diagonal of the table has one ratio and one error: the ratio decides.
# Only where a weight is as large as 1 does the common factor begin to show.

# %%
from specmargin.plots import CurveDisplay, subplots

exponents = np.arange(-6, 1)
shares = np.empty((len(exponents), len(exponents)))  # a row for each gamma_I, a column for each gamma_A
for row, e_I in enumerate(exponents):
    for column, e_A in enumerate(exponents):
        weights = {"gamma_A": 10.0**e_A, "gamma_I": 10.0**e_I}
        wrong = [np.mean(((decide(z, "hinge", **weights) > 0) != truth)[z == -1]) for z in draws[:3]]
        shares[row, column] = 100 * np.mean(wrong)
print(shares.round(1))
assert np.abs(shares[1:-1, 1:-1] - shares[:-2, :-2]).max() < 0.2  # one step along the diagonal

curves = {rf"$\gamma_A = 10^{{{e_A}}}$": (10.0 ** (exponents - e_A), shares[:, e_A + 6]) for e_A in (-6, -4, -2, 0)}
figure, axes = subplots(width=4.8, aspect=0.6)
CurveDisplay(curves).plot(
    axes[0, 0], xscale="log", markers=True, xlabel=r"$\gamma_I / \gamma_A$", ylabel="errors (%)", ylim=(0, None)
)
figure

# %% [markdown]
# Turn the ratio, with the labels of section 1 and $\gamma_A = 10^{-4}$: the picture has the decisions, and above it the errors. Where
# `ipywidgets` is missing, all pictures are shown.

# %%
from specmargin.plots import DecisionDisplay, LabelDisplay


def turn(ax, ratio):
    answer = sm.solvers.factorized(member(y, "hinge", gamma_A=1e-4, gamma_I=1e-4 * ratio)).variables
    errs = 100 * np.mean(((answer["f"] > 0) != truth)[y == -1])
    shown = DecisionDisplay.from_function(
        lambda z: sm.kernels.gram(z, X, gamma=4.0) @ answer["alpha"] + answer["b"], X, points=LabelDisplay(X, y)
    )
    shown.plot(ax, colorbar=False, title=rf"$\gamma_I / \gamma_A$ = {ratio:g}: {errs:.1f} % wrong")


teaching.slider(turn, [0, 1, 100, 10_000], name="ratio")

# %% [markdown]
# ## Exercises
#
# **E1. By hand (5 minutes).** Label propagation with labels that are held: a path of four points with weights 1, $f_1 = 1$ and
# $f_4 = -1$. What are $f_2$ and $f_3$? Fractions, or three decimals.

# %%
my_path = ...  # two numbers
# solution
my_path = [1 / 3, -1 / 3]  # each is the mean of its neighbours
teaching.check("05.E1", my_path)

# %% tags=["answers"]
answers["05.E1"] = (
    my_path,
    {
        "That is the nearest label: each value must be the mean of both its neighbours.": [1, -1],
        "Zero is the mean of the labels; the values go from one label to the other in equal steps.": [0, 0],
        "The signs are exchanged: f_2 is the neighbour of f_1 = 1.": [-1 / 3, 1 / 3],
        "Each is half of its label here: f_2 is the mean of f_1 and f_3, and f_3 is not 0.": [0.5, -0.5],
    },
)

# %% [markdown]
# **E2. With or without $b$?** LapRLS with `gamma_A=1e-3`, `gamma_I=10`. How many errors are made in all twenty draws of section 3
# together (`errors(...).sum()`) with the *normalised* Laplacian `L` and a free intercept, with `L` and $b = 0$, and with the other
# Laplacian (`flat`) and a free intercept? Why is one of them worse? What costs nothing: constants under `flat`, the square
# roots of the degrees under `L`.

# %%
my_counts = ...  # three whole numbers
# solution
ratio = {"gamma_A": 1e-3, "gamma_I": 10.0}
my_counts = [
    errors("squared", **ratio).sum(),
    errors("squared", intercept=False, **ratio).sum(),
    errors("squared", L=flat, **ratio).sum(),
]
print(my_counts, "of", 20 * 196)
# Under D - W constants cost nothing, so that b adds next to nothing. Under the normalised L they cost, in g, and b is free:
# it is a function more, and one that the graph has no part in.
assert abs(errors("squared", L=flat, intercept=False, **ratio).sum() - my_counts[2]) < 3
teaching.check("05.E2", my_counts)

# %% tags=["answers"]


def three_counts(loss="squared", **weights):
    cases = ((True, L), (False, L), (True, flat))
    return [errors(loss, intercept=one, L=two, **weights).sum() for one, two in cases]


answers["05.E2"] = (
    my_counts,
    {
        "These are shares: give the number of errors in all draws together.": np.array(my_counts) / 3920,
        "These are percents: give the number of errors in all draws together.": np.array(my_counts) / 39.2,
        "These are means over the draws: give the sums.": np.array(my_counts) / 20,
        "The first two are exchanged.": [my_counts[1], my_counts[0], my_counts[2]],
        "The last two are exchanged.": [my_counts[0], my_counts[2], my_counts[1]],
        "This is the hinge: LapRLS has the square.": three_counts("hinge", **ratio),
        "These are the weights of section 3: here gamma_A is 1e-3 and gamma_I is 10.": three_counts(),
    },
)

# %% [markdown]
# **E3. Weights of the edges.** The first 600 of scikit-learn's digits, one label a class. The graphs are
# `sm.graphs.knn_graph(images, n_neighbors=5)`, the union of the lists (the default `kind="symmetric"`), with binary weights (the
# default) and with `weight="heat"`. `propagate` is label propagation for all ten classes, softly: a weight of 0.01 for the graph. Over
# twenty draws, give the mean share of errors among the points without a label (`~known`) for binary and for heat weights, and the
# number of draws in which heat errs on fewer of them.

# %%
from sklearn.datasets import load_digits

images, digit = (part[:600] for part in load_digits(return_X_y=True))
known_of = [sm.hide_labels(digit, per_class=1, random_state=seed) != -1 for seed in range(20)]


def propagate(W, known):  # one column of decisions for each class
    D = np.diag(W.sum(axis=1))
    system = np.diag(known + 1e-6) + 0.01 * (D - W)  # 1e-6: regular also where a component has no label
    return np.linalg.solve(system, known[:, None] * np.eye(10)[digit])


my_three = ...  # share for binary, share for heat (0 to 1), number of draws
# solution
graphs = [sm.graphs.knn_graph(images, n_neighbors=5, weight=weight).toarray() for weight in ("binary", "heat")]
decisions = [[propagate(W, known) for known in known_of] for W in graphs]
binary, heat = (
    np.array([np.mean((F.argmax(axis=1) != digit)[~known]) for F, known in zip(one, known_of, strict=True)])
    for one in decisions
)
my_three = [binary.mean(), heat.mean(), (heat < binary).sum()]
print(np.round(100 * np.array(my_three[:2]), 1), "percent; heat is better in", my_three[2], "draws of 20")
teaching.check("05.E3", my_three)

# %% tags=["answers"]


def errors_of(rule, weight="binary", n_neighbors=5, kind="symmetric"):  # for each draw, of points without a label
    W = sm.graphs.knn_graph(images, n_neighbors=n_neighbors, weight=weight, kind=kind).toarray()
    return np.array([((rule(propagate(W, known)) != digit) & ~known).sum() for known in known_of])


def largest(F):
    return F.argmax(axis=1)


def three_of(n_neighbors=5, kind="symmetric", points=590):
    one, other = (errors_of(largest, weight, n_neighbors, kind) for weight in ("binary", "heat"))
    return [one.mean() / points, other.mean() / points, (other < one).sum()]


assert np.allclose(my_three, three_of())
assert not any(((largest(F) != digit) & known).any() for F, known in zip(decisions[0], known_of, strict=True))
answers["05.E3"] = (
    my_three,
    {
        "The two shares are exchanged.": [my_three[1], my_three[0], my_three[2]],
        "Points with a label are counted, too: look at the others only.": three_of(points=600),
        "This is with ten neighbours: five were asked for.": three_of(10),
        "This is with the default of six neighbours: five were asked for.": three_of(6),
        'This is kind="mutual": the union is kind="symmetric", the default.': three_of(kind="mutual"),
        "These are percents: give shares between 0 and 1.": [100 * my_three[0], 100 * my_three[1], my_three[2]],
        "These are the draws in which heat is worse, or no better.": [*my_three[:2], 20 - my_three[2]],
    },
)

# %% [markdown]
# **E4. At home, open: the rule of the classes.** Columns of decisions of different classes need not be comparable: one class takes
# all. Put each column on one scale by z-scores (subtract its mean over all points, divide by its standard deviation), and take the
# largest then. With the *binary* weights of E3: how many of the errors in all twenty draws together (of 20 times 590) does that save?
# Which rule would you use if the shares of the classes were known?

# %%
my_saved = ...  # a whole number
# solution
scored = [(F - F.mean(axis=0)) / F.std(axis=0) for F in decisions[0]]
after = [np.sum((F.argmax(axis=1) != digit)[~known]) for F, known in zip(scored, known_of, strict=True)]
my_saved = round(590 * binary.sum()) - sum(after)
print(f"{100 * np.mean(after) / 590:.1f} percent, against {100 * my_three[0]:.1f}:", my_saved, "errors fewer")
teaching.check("05.E4", my_saved)

# %% tags=["answers"]


def saved(rule, weight="binary"):
    return errors_of(largest, weight).sum() - errors_of(rule, weight).sum()


def z_scores(F):
    return ((F - F.mean(axis=0)) / F.std(axis=0)).argmax(axis=1)


assert my_saved == saved(z_scores)
answers["05.E4"] = (
    my_saved,
    {
        "Nothing has changed. Scores along the rows keep the largest where it is: the mean is over points, for each class.": 0,
        "The columns are divided by their sums here (class mass normalisation): better still, and not what was asked.": saved(
            lambda F: (F / F.sum(axis=0)).argmax(axis=1)
        ),
        "The mean is subtracted, the standard deviation is not divided by.": saved(
            lambda F: (F - F.mean(axis=0)).argmax(axis=1)
        ),
        "These are the heat weights: the binary ones were asked for.": saved(z_scores, "heat"),
        "This is a share: give the number of errors in all draws together.": my_saved / 11800,
        "These are percents: give the number of errors in all draws together.": my_saved / 118,
        "This is the number of errors that are left: how many are saved?": int(sum(after)),
    },
)

# %% [markdown]
# **What did you guess?**

# %%
print("different draws: you guessed", teaching.guess("05.q1"), "- it is", different)
print("what costs most: you guessed", teaching.guess("05.q2"))
costs = {
    "the wrong loss": laprls - lapsvm,
    "no graph": svm - lapsvm,
    "a free intercept": laprls - family["LapRLS, b = 0"],
}
for choice, more in costs.items():
    print(f"    {choice:16s} {more.mean() / 1.96:+5.1f} % errors on average")
if my_saved is not ...:
    print("    the rule of the classes, on other data (E4):", my_saved, "errors of", 20 * 590)

# %% [markdown]
# ## Common mistakes
#
# * *LapSVM beats LapRLS because of its margin.* Compare with the same graph, kernel and intercept first; then look at what is left.
# * *$\gamma_A$ and $\gamma_I$ on two separate grids.* The ratio decides what is smooth, the common factor how well labels are met.
# * *The intercept is harmless.* Under the normalised Laplacian $g$ and $b$ are penalised differently: constants are not free.
# * *The largest decision wins.* For several classes that is a rule of its own, and it costs errors.
#
# ## Reading
#
# * M. Belkin, P. Niyogi and V. Sindhwani. Manifold regularization. *JMLR* 7, 2006. Sections 4 and 5.
# * X. Zhu, Z. Ghahramani and J. Lafferty. Semi-supervised learning using Gaussian fields and harmonic functions. *ICML* 2003. Class mass
#   normalisation.

# %% [markdown] tags=["quiz"]
# # Quiz of lesson 05
#
# **1.** Which changes if the hinge is replaced by the square?
#
# a) The matrix $G$, b) the number of unknowns of the small problem, c) the multipliers as functions of the margins, d) the balance.
#
# Answer: c. They are minus the slope of the loss.

# %% [markdown] tags=["quiz"]
# **2.** LapRLS with $\gamma_I = 0$ and $b = 0$ is
#
# a) label propagation, b) kernel ridge regression on the labelled points, c) the SVM, d) undefined.
#
# Answer: b. Points without a label have no coefficient then.

# %% [markdown] tags=["quiz"]
# **3.** Both weights are multiplied by 10. Which functions count as smooth?
#
# a) Others, b) the same; labels are met less well, c) the same; labels are met better, d) nothing changes.
#
# Answer: b.
