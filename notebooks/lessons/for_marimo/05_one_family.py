# /// script
# requires-python = ">=3.11"
# dependencies = ["cvxpy", "marimo", "matplotlib", "numpy", "scikit-learn", "scipy", "specmargin"]
#
# [tool.uv.sources]
# specmargin = { path = "../../.." }
# ///

# Written by `lesson_files.py --marimo` from the source of the lesson. `uvx marimo edit --sandbox FILE` opens it.

import marimo

__generated_with = "0.25.2"
app = marimo.App()


@app.cell
def _():
    import marimo as mo

    return (mo,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    # 05 · One family

    **Question.** Label propagation, LapRLS, LapSVM, SVM: what is the difference?

    **Aims.** You will be able to

    * write all four as one problem with a loss as an argument;
    * say which limit of the weights makes one method out of another, and see it in numbers;
    * tell which choice mattered for an error: loss, graph, intercept, or the rule of the classes.

    **Minutes.** 50: 10 talk, 25 code, 15 exercises.
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **Needs.** Lessons 01 and 02.

    **Symbols.**

    | symbol | in code | meaning | section |
    |---|---|---|---|
    | $x$, $y_i$ | `X`, `sign` | a point; a label, $-1$ or $+1$ | 1 |
    | $f$, $g$, $b$ | `f`, `b` | decisions $f = g + b$, with $g$ a function of a kernel, and the intercept | 1 |
    | $\ell$ | `loss` | loss, a function of the margins | 1 |
    | $\gamma_A$, $\gamma_I$ | `gamma_A`, `gamma_I` | weights of the norm and of the graph | 1 |
    | $L$ | `L` | Laplacian of the graph, the normalised one | 1 |
    | $\mathbf g$ | `f - b` | values of $g$ at all points | 1 |
    | $\mathcal H$ | | space of the kernel | 1 |
    | $t_i$ | `t` | margin, $y_i f(x_i)$ | 1 |
    | $G$, $v$ | `G`, `v` | matrix and coefficients of the small problem, as in lesson 02 | 2 |
    | $K$, $J$, $I$ | `K` | matrix of the kernel; the rows of the identity $I$ that belong to labelled points | 2 |
    | $\mathbf 1$ | `np.ones(l)` | vector of ones | 2 |
    | $Y$, $\beta$ | `sign`, `beta` | labels on a diagonal, multipliers of the margins | 4 |
    | $C$ | `C` | weight of the loss in scikit-learn's SVM | 5 |

    **First, a guess.** LapSVM has the hinge, LapRLS the square; all else is the same. Both learn two moons from two labels a class, in
    twenty draws of labels. In how many of the twenty is the number of errors different? And which choice costs the most errors here:
    the wrong loss, no graph ($\gamma_I = 0$), or an intercept that is free?
    """)
    return


@app.cell
def _():
    import cvxpy as cp
    import numpy as np
    import teaching

    import specmargin as sm

    teaching.guess("05.q1", ...)  # draws of 20
    teaching.guess("05.q2", ...)  # "loss", "graph" or "intercept"
    return np, sm, teaching


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 1. One formula

    $$
    \min_{g \in \mathcal H,\, b}\;\; \sum_{i\ \text{labelled}} \ell(t_i) + \gamma_A \|g\|_{\mathcal H}^2 + \gamma_I\, \mathbf g^\top L\, \mathbf g ,
    \qquad f = g + b, \quad t_i = y_i f(x_i) .
    $$

    | method | $\ell$ | weights | intercept |
    |---|---|---|---|
    | SVM | hinge | $\gamma_I = 0$ | free |
    | LapSVM | hinge | both positive | free |
    | LapRLS | square, $(1 - t_i)^2 = (y_i - f(x_i))^2$ | both positive | free, or $b = 0$ |
    | label propagation | square | $\gamma_A \to 0$ | $b = 0$ |

    Labels that are *held*, as in E1, are the limit of label propagation as $\gamma_I \to 0$, too: the loss then outweighs the graph.
    """)
    return


@app.cell
def _(sm):
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
    return X, graph, member, objective, sign, truth, y


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 2. The small problem

    Whatever the loss, it sees $f$ at the labels only. So, as in lesson 02, the decisions there are $Gv + b\mathbf 1$, and both penalties
    together are $v^\top G v$. No weight is left in sight, as kernel, graph and both weights are inside $G$: lesson 02 found $G = JK(\gamma_A I
    + \gamma_I LK)^{-1}J^\top$, where $J$ picks the labelled points and $K$ is the kernel's matrix.

    $$ \min_{v,\, b}\;\; \sum_i \ell\bigl(y_i\,(Gv + b\mathbf 1)_i\bigr) + v^\top G v . $$

    The loss is one line of the problem. Why not make it an argument?
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 3. Write it

    Write a function `my_lapsvm(loss)` that solves the small problem by Clarabel and returns its optimal value, a number, with a free
    intercept and the `G` and `sign` that the code of section 1 made. `loss` takes the margins, an expression of CVXPY, and returns their loss:
    `lambda t: cp.sum(cp.pos(1 - t))` is the hinge. The check tries several losses.
    """)
    return


@app.cell
def _(teaching):
    my_lapsvm = ...  # a function
    # Write your code here.
    teaching.check("05.W", my_lapsvm)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **The solver without CVXPY** takes the loss by name. Twenty draws of labels, two a class:
    """)
    return


@app.cell
def _(member, np, sm, truth):
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
        print(
            f"{method:14s} {rates.mean() / 1.96:5.1f} % wrong on average, {rates.max() / 1.96:5.1f} % in the worst draw"
        )
    different = int((lapsvm != laprls).sum())
    print("LapSVM and LapRLS differ in", different, "draws of 20, the SVM and LapSVM in", (svm != lapsvm).sum())
    assert svm.mean() > 2 * lapsvm.mean()
    return decide, different, draws, family, laprls, lapsvm, svm


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 4. Read the multipliers: the loss is its slope

    Stationarity by $v$ says $v = \tfrac12 Y\beta$ with $\beta_i = -\ell'(t_i)$:

    * hinge: between 0 and 1, and exactly 1 below the margin;
    * square: $\beta_i = 2\,(1 - t_i)$, of any sign: a label *beyond* its margin is drawn back.

    Twenty labels a class and $\gamma_A = 0.1$ show every case. Stationarity by $b$ is the balance, whatever the loss. That is all that a loss changes.
    """)
    return


@app.cell
def _(member, np, sm, truth):
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
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 5. Change the weights: two limits

    With $\gamma_I \to 0$ LapSVM is scikit-learn's SVM with $C = 1/(2\gamma_A)$. With $\gamma_A \to 0$, $b = 0$ and the square it is the
    linear system of lesson 01, label propagation, if the kernel is rich enough for any values at the points (here a narrow one).
    """)
    return


@app.cell
def _(X, decide, graph, np, objective, sign, sm, truth, y):
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
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 6. One picture (optional)

    The error of LapSVM over both weights, mean of three draws (147 problems, some ten seconds): a curve for each $\gamma_A$, over the
    ratio $\gamma_I / \gamma_A$. They lie on one another, and each diagonal of the table has one ratio and one error: the ratio decides.
    Only where a weight is as large as 1 does the common factor begin to show.
    """)
    return


@app.cell
def _(decide, draws, np, truth):
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
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Turn the ratio, with the labels of section 1 and $\gamma_A = 10^{-4}$: the picture has the decisions, and above it the errors. Where
    `ipywidgets` is missing, all pictures are shown.
    """)
    return


@app.cell
def _(X, member, np, sm, teaching, truth, y):
    from specmargin.plots import DecisionDisplay, LabelDisplay

    def turn(ax, ratio):
        answer = sm.solvers.factorized(member(y, "hinge", gamma_A=1e-4, gamma_I=1e-4 * ratio)).variables
        errs = 100 * np.mean(((answer["f"] > 0) != truth)[y == -1])
        shown = DecisionDisplay.from_function(
            lambda z: sm.kernels.gram(z, X, gamma=4.0) @ answer["alpha"] + answer["b"], X, points=LabelDisplay(X, y)
        )
        shown.plot(ax, colorbar=False, title=rf"$\gamma_I / \gamma_A$ = {ratio:g}: {errs:.1f} % wrong")

    teaching.slider(turn, [0, 1, 100, 10_000], name="ratio")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Exercises

    **E1. By hand (5 minutes).** Label propagation with labels that are held: a path of four points with weights 1, $f_1 = 1$ and
    $f_4 = -1$. What are $f_2$ and $f_3$? Fractions, or three decimals.
    """)
    return


@app.cell
def _(teaching):
    my_path = ...  # two numbers
    # Write your code here.
    teaching.check("05.E1", my_path)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **E2. With or without $b$?** LapRLS with `gamma_A=1e-3`, `gamma_I=10`. How many errors are made in all twenty draws of section 3
    together (`errors(...).sum()`) with the *normalised* Laplacian `L` and a free intercept, with `L` and $b = 0$, and with the other
    Laplacian (`flat`) and a free intercept? Why is one of them worse? What costs nothing: constants under `flat`, the square
    roots of the degrees under `L`.
    """)
    return


@app.cell
def _(teaching):
    my_counts = ...  # three whole numbers
    # Write your code here.
    teaching.check("05.E2", my_counts)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **E3. Weights of the edges.** The first 600 of scikit-learn's digits, one label a class. The graphs are
    `sm.graphs.knn_graph(images, n_neighbors=5)`, the union of the lists (the default `kind="symmetric"`), with binary weights (the
    default) and with `weight="heat"`. `propagate` is label propagation for all ten classes, softly: a weight of 0.01 for the graph. Over
    twenty draws, give the mean share of errors among the points without a label (`~known`) for binary and for heat weights, and the
    number of draws in which heat errs on fewer of them.
    """)
    return


@app.cell
def _(np, sm, teaching):
    from sklearn.datasets import load_digits

    images, digit = (part[:600] for part in load_digits(return_X_y=True))
    known_of = [sm.hide_labels(digit, per_class=1, random_state=seed) != -1 for seed in range(20)]

    def propagate(W, known):  # one column of decisions for each class
        D = np.diag(W.sum(axis=1))
        system = np.diag(known + 1e-6) + 0.01 * (D - W)  # 1e-6: regular also where a component has no label
        return np.linalg.solve(system, known[:, None] * np.eye(10)[digit])

    my_three = ...  # share for binary, share for heat (0 to 1), number of draws
    # Write your code here.
    teaching.check("05.E3", my_three)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **E4. At home, open: the rule of the classes.** Columns of decisions of different classes need not be comparable: one class takes
    all. Put each column on one scale by z-scores (subtract its mean over all points, divide by its standard deviation), and take the
    largest then. With the *binary* weights of E3: how many of the errors in all twenty draws together (of 20 times 590) does that save?
    Which rule would you use if the shares of the classes were known?
    """)
    return


@app.cell
def _(teaching):
    my_saved = ...  # a whole number
    # Write your code here.
    teaching.check("05.E4", my_saved)
    return (my_saved,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **What did you guess?**
    """)
    return


@app.cell
def _(different, family, laprls, lapsvm, my_saved, svm, teaching):
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
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Common mistakes

    * *LapSVM beats LapRLS because of its margin.* Compare with the same graph, kernel and intercept first; then look at what is left.
    * *$\gamma_A$ and $\gamma_I$ on two separate grids.* The ratio decides what is smooth, the common factor how well labels are met.
    * *The intercept is harmless.* Under the normalised Laplacian $g$ and $b$ are penalised differently: constants are not free.
    * *The largest decision wins.* For several classes that is a rule of its own, and it costs errors.

    ## Reading

    * M. Belkin, P. Niyogi and V. Sindhwani. Manifold regularization. *JMLR* 7, 2006. Sections 4 and 5.
    * X. Zhu, Z. Ghahramani and J. Lafferty. Semi-supervised learning using Gaussian fields and harmonic functions. *ICML* 2003. Class mass
      normalisation.
    """)
    return


if __name__ == "__main__":
    app.run()
