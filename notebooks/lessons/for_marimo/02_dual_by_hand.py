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
    # 02 · The dual by hand

    **Question.** Four points have a label, 196 have none. What do the other 196 do?

    **Aims.** You will be able to

    * derive the dual of the Laplacian SVM and write it in CVXPY;
    * read its multipliers: intercept, slacks, labels without effect;
    * change a constraint of the dual and say which loss that is.

    **Minutes.** 50: 10 talk, 25 code, 15 exercises. The proof of E2, and E4, are for at home.
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **Needs.** Lesson 01 or a graph Laplacian seen before; Lagrange multipliers of a quadratic program; numpy.

    **Symbols.**

    | symbol | in code | meaning | section |
    |---|---|---|---|
    | $n$, $l$ | `n`, `len(labeled)` | number of points, and of those with a label | 1 |
    | $x_i$, $y_i$ | `X`, `sign` | point, and its label, $-1$ or $+1$; `seen` has classes: 0, 1, and -1 for none | 1 |
    | $K$ | `K` | Gram matrix of the kernel | 1 |
    | $L$ | `L` | normalised Laplacian of the graph | 1 |
    | $\alpha$, $b$, $f$ | `alpha`, `b`, `f` | coefficients, intercept, decisions | 2 |
    | $\xi$ | `slack` | slacks: the hinges | 2 |
    | $\gamma_A$, $\gamma_I$ | `gamma_A`, `gamma_I` | weights of the norm and of the graph | 2 |
    | $J$, $Y$ | `J`, `Y` | rows of the identity at the labels; the labels on a diagonal | 2 |
    | $I$, $\mathbf 1$ | `np.eye(n)`, `np.ones(l)` | identity, vector of ones | 2 |
    | $\beta$, $Q$ | `beta`, `Q` | multipliers of the margins, matrix of the dual | 2 |
    | $c$ | `doubt` | cost of a hinge, one for each label | 5 |
    | $t$, $G$, $v$ | `t`, `G`, `v` | margins $y_i f(x_i)$; matrix and coefficients of the small primal | 5 |

    **First, a guess.** A program learns from all 200 points. With how few unknowns can one do? And of the 196 points without a
    label, how many will it get wrong? Put your guesses in the place of the dots, then run the cell.
    """)
    return


@app.cell
def _():
    import cvxpy as cp
    import numpy as np
    import teaching

    import specmargin as sm

    teaching.guess("02.q1", ...)  # unknowns
    teaching.guess("02.q2", ...)  # points that are wrong, of 196
    return cp, np, sm, teaching


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 1. Four labels

    There are $n = 200$ points $x_i$ on two half circles, one for each class, and $l = 4$ of them have a label $y_i$. The
    matrix $K$ holds the values $\exp(-4\,\|x_i - x_j\|^2)$ of the Gaussian kernel (its 4 is `gamma` in code, and none of the
    weights of section 2). The graph joins each point to its six
    nearest, and $L$ is its normalised Laplacian: a quadratic form in $L$ is small if neighbours have similar values.
    """)
    return


@app.cell
def _(np, sm):
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
    return K, L, X, graph_laplacian, labeled, n, seen, sign, truth


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 2. From the primal to the dual

    LapSVM looks for decisions $f = K\alpha + b\mathbf 1$ with small hinges at the labels, a small norm, and small
    differences along the graph. Let $J$ pick the labelled rows, and $Y$ have the labels on its diagonal.

    $$
    \begin{aligned}
    \min_{\alpha, b, \xi}\;\; & \mathbf 1^\top \xi + \gamma_A\, \alpha^\top K \alpha + \gamma_I\, \alpha^\top K L K \alpha \\
    \text{s.t.}\;\; & Y(JK\alpha + b\mathbf 1) \ge \mathbf 1 - \xi, \quad \xi \ge 0 .
    \end{aligned}
    $$

    Multipliers: $\beta \ge 0$ for the margins, $\mathbf 1 - \beta \ge 0$ for the slacks.
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **Stationarity.** By $\xi$ the two multipliers add up to $\mathbf 1$, so that $0 \le \beta \le \mathbf 1$, the *box*. By $b$:
    $y^\top\beta = 0$, the *balance*. By $\alpha$: $K\,(2\gamma_A I + 2\gamma_I L K)\,\alpha = K J^\top Y \beta$, which holds for

    $$ \alpha = (2\gamma_A I + 2\gamma_I L K)^{-1} J^\top Y \beta . $$

    Put back, $\alpha$ is gone, and the dual has $l$ unknowns:

    $$
    \begin{aligned}
    \max_{\beta}\;\; & \mathbf 1^\top \beta - \tfrac12 \beta^\top Q \beta \quad
    \text{s.t.}\quad y^\top\beta = 0,\;\; 0 \le \beta \le \mathbf 1, \\
    & Q = Y J K\, (2\gamma_A I + 2\gamma_I L K)^{-1} J^\top Y .
    \end{aligned}
    $$

    That is what the other 196 points do: they are in $Q$, and nowhere else.
    """)
    return


@app.cell
def _(K, L, labeled, n, np, sign):
    gamma_A, gamma_I = 0.01, 1.0
    J, Y = np.eye(n)[labeled], np.diag(sign)
    to_alpha = np.linalg.solve(2 * gamma_A * np.eye(n) + 2 * gamma_I * L @ K, J.T @ Y)  # alpha = to_alpha @ beta
    Q = Y @ J @ K @ to_alpha
    print(Q.round(3))
    assert np.allclose(Q, Q.T)  # although L K is not symmetric: exercise E2
    assert np.linalg.eigvalsh(Q).min() > 0
    return gamma_A, gamma_I, to_alpha


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 3. Write it

    Write the dual in CVXPY, with a variable of four entries, and solve it by Clarabel; the labels are `sign`. Two hints.
    `cp.psd_wrap(Q)` says that a matrix is known to be positive semidefinite: rounding might hide it. And a quadratic form is
    `cp.quad_form(variable, matrix)`. The check holds no answer: it looks whether your $\beta$ is feasible, and computes the gap to a
    primal value. With these four labels the box is idle, and a program without it has the same optimum; with the twelve of
    section 4 it has not.
    """)
    return


@app.cell
def _(teaching):
    my_beta = ...  # the optimal beta, not rounded: the value of a variable is its attribute `value`
    # Write your code here.
    teaching.check("02.W", my_beta)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **The solver without CVXPY.** `sm.objectives.LapSVM` is the model with its data. `sm.solvers.factorized` reduces it to $l$
    unknowns and solves them in numpy. Compare its $\beta$ with yours. The supervised SVM is the same program with $\gamma_I = 0$.
    Turn $\gamma_I$: the picture has the decisions, and above it the number of wrong points. Where `ipywidgets` is missing, all pictures are shown.
    """)
    return


@app.cell
def _(
    K,
    X,
    gamma_A,
    gamma_I,
    graph_laplacian,
    np,
    seen,
    sm,
    teaching,
    to_alpha,
    truth,
):
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
    return CurveDisplay, DecisionDisplay, LabelDisplay, ring, subplots, wrong


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 4. Read the multipliers

    The hinge has slope $-1$ below the margin, $0$ above it, and anything between at the kink. So

    | multiplier | margin | meaning |
    |---|---|---|
    | $\beta_i = 0$ | $y_i f(x_i) \ge 1$ | without this label nothing would change |
    | $0 < \beta_i < 1$ | $y_i f(x_i) = 1$ | on the margin |
    | $\beta_i = 1$ | $y_i f(x_i) \le 1$ | at the bound: the label may be overruled |

    The dual has constraints of its own, and their multipliers are the variables of the primal: that of the balance is $b$,
    those of $\beta \le \mathbf 1$ are the slacks $\xi$.
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Four labels show little of this. Take twelve, and turn one round: number 4 is now wrong.
    """)
    return


@app.cell
def _(K, gamma_A, gamma_I, graph_laplacian, np, sm, truth):
    seen12 = sm.hide_labels(truth, per_class=6, random_state=1)
    labeled12, liar = np.flatnonzero(seen12 != -1), 4
    seen12[labeled12[liar]] = 1 - seen12[labeled12[liar]]
    sign12 = np.where(seen12[labeled12] == 1, 1.0, -1.0)

    objective12 = sm.objectives.LapSVM(K, graph_laplacian, sm.encode_labels(seen12), gamma_A=gamma_A, gamma_I=gamma_I)
    built12 = sm.problems.lapsvm_dual(
        objective12
    )  # the dual of section 2 as a problem of CVXPY, with names for its parts
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
    return built12, labeled12, liar, objective12, seen12, sign12


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 5. Change the model

    The hinge is a maximum: with the margin $t_i = y_i f(x_i)$,
    $\;\max(0, 1 - t_i) = \max_{0 \le \beta_i \le 1} \beta_i (1 - t_i)$.
    **So the set in which $\beta$ lives is the loss**, and a changed constraint is a changed loss:

    | change | what it is in the primal |
    |---|---|
    | $\beta_i \le c_i$ | a hinge costs $c_i$: doubt about single labels |
    | no balance | the same loss, but $b = 0$ |
    | $\mathbf 1^\top\beta \le k$, a number | exercise E4 |
    """)
    return


@app.cell
def _(built12, cp, liar, np, sign12):
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
    return betas, changes, doubt, intercepts, values


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Is that true? Let the primal say so. $J$ now picks the twelve rows. With $G = JK(\gamma_A I + \gamma_I LK)^{-1}J^\top$ and
    $\alpha = (\gamma_A I + \gamma_I LK)^{-1}J^\top v$ it has $l$ unknowns as well, $v$, and one more: the decisions at the labels
    are $Gv + b\mathbf 1$, and the penalty is $v^\top G v$. At the optimum $v = \tfrac12 Y\beta$: compare with $\alpha$ in section 2.
    In code $(\gamma_A I + \gamma_I LK)^{-1}J^\top$ is `objective12.reduction.X`, so that `reduction.X @ v` is $\alpha$.
    """)
    return


@app.cell
def _(cp, doubt, np, objective12, sign12, values):
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
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 6. One picture

    On the left the decisions $f$ as they were: the black line is the boundary, the dashed ones are where $f$ is $-1$ or $1$, and
    the red ring is around the wrong label. On the right $f$ along the dotted line through it, for each change. As it was, the wrong label
    lifts $f$ towards its own class; with doubt about it next to nothing of that is left. Without the balance little changes,
    since $b$ was small. No change moves the boundary over one of the points: that is printed.
    """)
    return


@app.cell
def _(
    CurveDisplay,
    DecisionDisplay,
    LabelDisplay,
    X,
    betas,
    changes,
    intercepts,
    labeled12,
    liar,
    np,
    objective12,
    ring,
    seen12,
    sign12,
    sm,
    subplots,
    truth,
):
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
    before = DecisionDisplay.from_function(
        lambda points: decide(points, "as it was"), X, points=LabelDisplay(X, seen12)
    )
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
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Exercises

    **E1. By hand (5 minutes).** Two points with $K = I$ and $L = \begin{pmatrix} 1 & -1 \\ -1 & 1 \end{pmatrix}$; the first
    has the label $+1$, the second has none; $\gamma_A = \gamma_I = \tfrac12$ and $\beta = 1$. What is $\alpha$? Paper first:
    the point without a label gets a coefficient.
    """)
    return


@app.cell
def _(teaching):
    my_alpha = ...  # two numbers, [., .]
    # Write your code here.
    teaching.check("02.E1", my_alpha)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **E2. Symmetric, though it does not look it.** $LK$ is not symmetric, and $Q$ is. By
    $K(\gamma_A I + \gamma_I LK)^{-1} = (\gamma_A I + \gamma_I KL)^{-1}K$ one can move the bracket to the other side. With the *four*
    labels of section 1 (`J` still has their rows) compute the matrix $G_4 = J(\gamma_A I + \gamma_I KL)^{-1}KJ^\top$. For at home:
    prove that equation (multiply by both brackets), and conclude from it that $Q$ is symmetric (transpose one side).
    """)
    return


@app.cell
def _(teaching):
    my_G4 = ...  # four rows, four columns
    # Write your code here.
    teaching.check("02.E2", my_G4)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **E3. A cost for each class.** Twelve labels again. A hinge of the class $+1$ costs 1 as before, one of the class $-1$ costs 0.2.
    Change the dual of section 5 and give its optimum, to three decimals or more.
    """)
    return


@app.cell
def _(teaching):
    my_optimum = ...  # a number
    # Write your code here.
    teaching.check("02.E3", my_optimum)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **E4. Open, for at home: the worst three.** Which constraints on $\beta$ make the loss the sum of the *three largest* hinges? Give
    the optimum with them, to three decimals or more, and check it by the primal, where CVXPY has `cp.sum_largest`. Then add them to
    `changes` in section 5 as `"worst three"`, and run sections 5 and 6 again: does this loss overrule the wrong label, or fit
    it? Would you use it?
    """)
    return


@app.cell
def _(teaching):
    my_budget = ...  # the optimum, a number
    # Write your code here.
    teaching.check("02.E4", my_budget)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **What did you guess?**
    """)
    return


@app.cell
def _(labeled, teaching, wrong):
    print("unknowns: you guessed", teaching.guess("02.q1"), "- the dual has", len(labeled))
    print(
        "wrong of 196: you guessed",
        teaching.guess("02.q2"),
        "- LapSVM has",
        wrong["LapSVM"],
        "and the SVM",
        wrong["SVM"],
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Common mistakes

    * *$KL$ for $LK$.* Both are products of symmetric matrices, neither is symmetric, and only one fits each side: on the right
      of $K$ it is $LK$.
    * *No balance.* The dual has $y^\top\beta = 0$ because $b$ is free. Who drops it has fixed $b = 0$.
    * *The factor 2.* The penalties are $\gamma_A\,\alpha^\top K\alpha$, without $\tfrac12$. The brackets of $\alpha$ and $Q$ have it.
    * *No errors, so the method is good.* One draw of labels proves little: in `notebooks/01_lapsvm_dual.ipynb` twenty draws differ
      a lot.

    ## Reading

    * S. Melacci and M. Belkin. Laplacian support vector machines trained in the primal. *JMLR* 12, 2011. Equations 4 to 6.
    * M. Belkin, P. Niyogi and V. Sindhwani. Manifold regularization. *JMLR* 7, 2006. Section 4.
    * `notebooks/01_lapsvm_dual.ipynb`, for an infeasible dual, paths of multipliers, and scikit-learn's SVC as a special case.
    """)
    return


if __name__ == "__main__":
    app.run()
