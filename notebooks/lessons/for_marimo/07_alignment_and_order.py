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
    # 07 · Alignment and order

    **Question.** Which eigenvectors are worth having?

    **Aims.** You will be able to

    * write kernel-target alignment over ordered spectra as a quadratic program over drops;
    * name the extreme kernels of a family of spectra, and read from multipliers which of them are used;
    * change the family in one line, and tell what it does to the alignment and to the errors.

    **Minutes.** 50: 10 talk, 25 code, 15 exercises; E4 is for at home.
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **Needs.** Lessons 01 and 03; eigenvectors; nonnegative least squares is explained.

    **Symbols.**

    | symbol | in code | meaning | section |
    |---|---|---|---|
    | $n$, $q$ | `len(X)`, `q` | number of points, of eigenvectors | 1 |
    | $L$ | | Laplacian of the graph, here $D - W$ | 1 |
    | $D$, $W$ | `W` | degrees on a diagonal, weights of the edges | 1 |
    | $\phi_i$, $\theta_i$ | `spectrum` | eigenvectors of $L$, of length 1, and eigenvalues, in increasing order | 1 |
    | $\delta_i$ | `delta` | weights of the eigenvectors, the *spectrum* | 1 |
    | $K$ | | kernel of a spectrum | 1 |
    | $y$, $l$ | `y`, `len(y)` | labels, $-1$ or $+1$, and their number | 2 |
    | $A$ | `A` | alignment, a cosine | 2 |
    | $u_i$ | columns of `U` | labelled rows of $\sqrt n\, \phi_i$ | 2 |
    | $a$, $M$ | `a`, `M` | $a_i = (u_i^\top y)^2$ and $M_{ij} = (u_i^\top u_j)^2$ | 2 |
    | $\kappa$, $R$ | `kappa`, `prefixes` | drops, and the matrix whose columns are the extreme spectra | 3 |
    | $\lambda$ | `multipliers` | multipliers of $\kappa \ge 0$ | 4 |
    | $T$ | `residual` | $yy^\top - K$ on the labelled points | 4 |
    | $s$ | | a factor of $\delta$ | E2 |

    **First, a guess.** Sixty eigenvectors get weights that may not increase. At how many places does the best spectrum of 16
    labels drop? And whose SVM errs least: that of the ordered spectrum with the best alignment, that of the unordered one, or that
    of a diffusion kernel, which has a single parameter?
    """)
    return


@app.cell
def _():
    import cvxpy as cp
    import numpy as np
    import teaching
    from scipy.optimize import nnls

    import specmargin as sm

    teaching.guess("07.q1", ...)  # drops
    teaching.guess("07.q2", ...)  # "ordered", "free" or "diffusion"
    return nnls, np, sm, teaching


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 1. A spectrum makes a kernel

    $n$ points, a graph, its Laplacian $L = D - W$ with eigenvectors $\phi_i$ from smooth to rough. Weights $\delta_i \ge 0$ on the
    first $q$ of them make a kernel,

    $$ K = n \sum_{i=1}^q \delta_i\, \phi_i \phi_i^\top , \qquad \delta_2 \ge \delta_3 \ge \dots \ge \delta_q \ge 0, \quad \delta_1 \ge 0 . $$

    The order says: what is rougher may not weigh more. $\phi_1$ is constant, and is left out of the order (E3). A diffusion kernel
    has $\delta_i = \exp(-\theta_i / \text{width})$: ordered, with one parameter.
    """)
    return


@app.cell
def _(np, sm):
    X, truth = sm.datasets.digits_pair(3, 8)
    q, W = 60, sm.graphs.knn_graph(X, n_neighbors=5)
    spectrum = sm.spectra.laplacian_eigenpairs(W, q=q, normalized=False)

    def seen(seed):  # labels, and U, y, a, M of section 2
        labels = sm.encode_labels(sm.hide_labels(truth, n_labeled=16, random_state=seed))
        U = np.sqrt(len(X)) * spectrum.eigenvectors[labels.labeled]
        return labels, U, labels.sign, (U.T @ labels.sign) ** 2, (U.T @ U) ** 2

    labels, U, y, a, M = seen(0)
    print("points:", len(X), "  labels:", len(y), "of which positive", (y > 0).sum())
    print("eigenvalues:", spectrum.eigenvalues[:6].round(3), "...")
    return M, U, a, labels, q, seen, spectrum, truth, y


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 2. Alignment

    The ideal kernel on the $l$ labelled points is $yy^\top$. **Alignment** is the cosine of the angle between it and the labelled
    block of $K$, both taken as long vectors: with $u_i$ the labelled rows of $\sqrt n\,\phi_i$, $a_i = (u_i^\top y)^2$ and
    $M_{ij} = (u_i^\top u_j)^2$,

    $$ A(\delta) = \frac{y^\top K y}{l\, \|K\|} = \frac{a^\top \delta}{l \sqrt{\delta^\top M \delta}} . $$

    A cosine does not know the length of $\delta$. So choose it: the best $\delta$ is the projection of $yy^\top$ on the admissible
    kernels,

    $$ \min_\delta\; \tfrac12\, \delta^\top M \delta - a^\top \delta . $$
    """)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 3. Write it, over drops

    An ordered spectrum is a sum of **prefixes**: with drops $\kappa_i = \delta_i - \delta_{i+1}$ for $i \ge 2$ (the last is
    $\kappa_q = \delta_q$), and $\kappa_1 = \delta_1$ by itself, $\delta = R\kappa$. The columns of $R$ are the first unit vector,
    and ones from 2 to $i$. Instead of an order there is only $\kappa \ge 0$.

    Write the quadratic program in CVXPY with the variable $\kappa$, solve it by Clarabel, and hand in $\delta = R\kappa$, not rounded.
    """)
    return


@app.cell
def _(np, q, teaching):
    prefixes = np.triu(np.ones((q, q)))
    prefixes[0, 1:] = 0.0
    print(prefixes[:4, :5])
    my_delta = ...  # 60 weights
    # Write your code here.
    teaching.check("07.W", my_delta)
    return (prefixes,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **The solver without CVXPY.** With a Cholesky factor of $M$ the program is a least-squares problem in nonnegative unknowns,
    `nnls` in scipy. One function serves every family: only its extreme spectra change.
    """)
    return


@app.cell
def _(M, a, labels, nnls, np, prefixes, sm, spectrum, y):
    def best_of(rays, a, M, l):
        B = np.linalg.cholesky(M + 1e-12 * np.trace(M) * np.eye(len(a)))
        kappa, _ = nnls(B.T @ rays, np.linalg.solve(B, a), maxiter=100 * len(a))
        delta = rays @ kappa
        return kappa, delta, a @ delta / (l * np.sqrt(delta @ M @ delta))

    kappa, delta, A = best_of(prefixes, a, M, len(y))
    package = sm.solvers.alignment(sm.objectives.Alignment(spectrum, labels))
    print(f"alignment {A:.6f}")
    print(package)
    print("drops after", np.flatnonzero(kappa > 1e-9 * kappa.max()) + 1)
    assert np.isclose(A, package.certificate.primal_objective, rtol=1e-8)
    return best_of, delta, kappa


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 4. Read the multipliers

    The multipliers of $\kappa \ge 0$ are the slopes $\lambda = R^\top (M\delta - a)$. With the residual $T = yy^\top - K$ on the
    labelled points, $-\lambda_i$ is the inner product of $T$ with the $i$-th extreme kernel. So at the optimum

    | | meaning |
    |---|---|
    | $\lambda_i > 0$, $\kappa_i = 0$ | this kernel points away from what is missing |
    | $\lambda_i = 0$, $\kappa_i > 0$ | it is used, and nothing in the residual is left for it |
    | $\lambda_i < 0$ | impossible: more of it would help |

    An eigenvector is worth its part in a *prefix*, not its own $a_i$. The constant one is not used at all for these labels: see the
    first row below.
    """)
    return


@app.cell
def _(M, U, a, delta, kappa, np, prefixes, y):
    residual = np.outer(y, y) - U @ (delta[:, None] * U.T)
    extreme = [U @ (ray[:, None] * U.T) for ray in prefixes.T]
    multipliers = prefixes.T @ (M @ delta - a)
    print("   i   drop kappa   multiplier     a_i")
    for i in (0, 1, 2, 3, 4, 49, 50, 51):
        print(f"{i + 1:4d}   {kappa[i]:10.4f}   {multipliers[i]:10.3f}   {a[i]:6.1f}")
    used, better = kappa > 1e-9 * kappa.max(), np.flatnonzero(a > a[1] / 2) + 1
    print("eigenvectors with at least half the a of the second:", better)
    places_of_drops = used.sum()
    print(f"a'delta {a @ delta:.4f}, delta'M delta {delta @ M @ delta:.4f}")
    assert np.allclose(multipliers, [-(residual * one).sum() for one in extreme])
    assert np.abs(multipliers[used]).max() < 1e-6 < 1e-3 < multipliers[~used].min()
    assert np.isclose(a @ delta, delta @ M @ delta)  # a projection: the residual is orthogonal to K
    return (places_of_drops,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## 5. Change the family

    Another set of extreme spectra is another family:

    | family | extreme spectra |
    |---|---|
    | ordered | prefixes |
    | free | single eigenvectors: the identity |
    | convex: drops that shrink | ramps, falling to 0 in equal steps |
    | diffusion | a curve, no cone: a grid of widths |

    A larger family has the larger alignment. Does it have the smaller error? Train an SVM on each kernel, for twenty draws of the
    labels.
    """)
    return


@app.cell
def _(best_of, np, prefixes, q, spectrum):
    ramps = np.zeros((q, q))
    ramps[0, 0] = 1.0
    for j in range(1, q):
        ramps[1 : j + 1, j] = np.arange(j, 0, -1)
    families = {"ordered": prefixes, "free": np.eye(q), "convex": ramps}
    diffusions = np.exp(-np.divide.outer(spectrum.eigenvalues, np.logspace(-1.5, 1.5, 31)))
    diffusions[0] = 0.0  # the first weight does nothing for an SVM with an intercept

    def best_width(a, M):
        return (a @ diffusions / np.sqrt((diffusions * (M @ diffusions)).sum(axis=0))).argmax()

    def four(a, M, l):
        learned = {name: best_of(rays, a, M, l)[1] for name, rays in families.items()}
        return learned | {"diffusion": diffusions[:, best_width(a, M)]}

    return best_width, four


@app.cell
def _(four, np, seen, sm, spectrum, truth):
    def errors_of(spectra):  # spectra(a, M, l): weights by name. For each name 20 rows: alignment, error in percent
        rows = {}
        for seed in range(20):
            drawn, _, signs, a_now, M_now = seen(seed)
            for name, one in spectra(a_now, M_now, len(signs)).items():
                svm = sm.objectives.SpectrumMargin(spectrum, drawn, C=1.0, delta=one / one.sum())
                wrong = (sm.solvers.spectrum_margin(svm).variables["f"] > 0) != (truth == drawn.classes[1])
                cosine = a_now @ one / (len(signs) * np.sqrt(one @ M_now @ one))
                rows.setdefault(name, []).append((cosine, 100 * np.delete(wrong, drawn.labeled).mean()))
        return {name: np.array(one) for name, one in rows.items()}

    table_of_four = errors_of(four)
    for name, rows in table_of_four.items():
        print(f"{name:10s} alignment {rows[:, 0].mean():.3f}, errors {rows[:, 1].mean():.2f} % on average of 20 draws")
    return (table_of_four,)


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    The free family is aligned best, in every draw, and errs most on average (not in every draw): sixty free weights find sixteen
    labels anywhere. The other three differ little. Alignment compares families on the labelled points only; the order is what is
    known about the others. The best diffusion is often the narrowest of the grid, which is the second eigenvector by itself.

    ## 6. One picture

    The four spectra of the first draw, over the index of the eigenvector; each sums to 1 without the first weight. Marks are at some
    indices only, so that a drop need not have one; a hollow mark at the lower end stands for all that is smaller.
    """)
    return


@app.cell
def _(best_width, four, seen, table_of_four, y):
    from specmargin.plots import SpectrumDisplay, subplots

    mean_errors = {name: rows[:, 1].mean() for name, rows in table_of_four.items()}
    free, ordered = table_of_four["free"], table_of_four["ordered"]
    assert (free[:, 0] >= ordered[:, 0] - 1e-9).all()
    assert mean_errors["free"] > max(error for name, error in mean_errors.items() if name != "free") + 1
    print("draws in which the free spectrum errs more than the ordered:", (free[:, 1] > ordered[:, 1]).sum(), "of 20")
    narrowest = sum(best_width(*seen(seed)[3:]) == 0 for seed in range(20))
    print("draws in which the narrowest diffusion is aligned best:", narrowest, "of 20")
    figure, axes = subplots(width=5.4, aspect=0.6)
    SpectrumDisplay(four(*seen(0)[3:], len(y))).plot(axes[0, 0], floor=1e-4)
    figure
    return SpectrumDisplay, mean_errors


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    Turn the width of the diffusion kernel, beside the best ordered spectrum of the first draw. Narrow is the second eigenvector alone,
    wide is all alike; the alignment is above the picture. Where `ipywidgets` is missing, all pictures are shown.
    """)
    return


@app.cell
def _(M, SpectrumDisplay, a, delta, np, spectrum, teaching, y):
    def turn(ax, width):
        diffusion = np.exp(-spectrum.eigenvalues / width)
        diffusion[0] = 0.0
        cosine = a @ diffusion / (len(y) * np.sqrt(diffusion @ M @ diffusion))
        title = f"width {width}: alignment {cosine:.3f}"
        SpectrumDisplay({"ordered": delta, "diffusion": diffusion}).plot(ax, floor=1e-4, title=title)
        ax.set_xlabel("index $i$")

    teaching.slider(turn, [0.03, 0.3, 3.0], name="width")
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Exercises

    **E1. By hand (5 minutes).** Five weights, $\delta = (1, 3, 2, 2, 0.5)$. What are the drops $\kappa$? Check that
    $R\kappa = \delta$.
    """)
    return


@app.cell
def _(teaching):
    my_drops = ...  # five numbers
    # Write your code here.
    teaching.check("07.E1", my_drops)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **E2. Scale free.** The program of section 2 has a scale, the alignment has none. Put $s\,\delta$ for $\delta$, minimise over
    $s$, and express the optimum by $A$. A solver reports the optimum $-72$ for $l = 20$ labels: what is the alignment (three
    decimals)?
    """)
    return


@app.cell
def _(teaching):
    my_alignment = ...  # a number
    # Write your code here.
    teaching.check("07.E2", my_alignment)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **E3. Why is the first weight exempt?** Zhu and others leave $\delta_1$ out of the order, since $\phi_1$ is constant. Put it
    in, $\delta_1 \ge \delta_2$, and give the optimum of the quadratic program (three decimals), with the labels of section 1. Which
    eigenvector has to pay for it? What would it change for an SVM with an intercept?
    """)
    return


@app.cell
def _(teaching):
    my_optimum = ...  # a number, negative
    # Write your code here.
    teaching.check("07.E3", my_optimum)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **E4. Open, at home: your own shape.** Each weight shall be at most nine tenths of the one before, $\delta_3 \le 0.9\, \delta_2$,
    $\delta_4 \le 0.9\, \delta_3$ and so on; $\delta_1$ is free. What are the extreme spectra? Give the optimum of the quadratic
    program (three decimals). Prove that your spectra are extreme: if one is a sum of two of this shape, both are multiples of it.
    Then invent a shape that you believe in, and compare it by
    `errors_of(lambda a, M, l: {"mine": best_of(rays, a, M, l)[1]})["mine"]` with `table_of_four["ordered"]`: in how many of the
    twenty draws does it err less?
    """)
    return


@app.cell
def _(teaching):
    my_shape = ...  # the optimum, a number, negative
    # Write your code here.
    teaching.check("07.E4", my_shape)
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    **What did you guess?**
    """)
    return


@app.cell
def _(mean_errors, places_of_drops, teaching):
    print("drops: you guessed", teaching.guess("07.q1"), "- of 60 places it drops at", places_of_drops)
    least = min(mean_errors, key=mean_errors.get)
    print(
        "least errors: you guessed",
        teaching.guess("07.q2"),
        "- here it is",
        least,
        {name: round(float(error), 2) for name, error in mean_errors.items()},
    )
    return


@app.cell(hide_code=True)
def _(mo):
    mo.md(r"""
    ## Common mistakes

    * *The eigenvector with the largest $a_i$ is the best.* It may be rough, and its $a_i$ an accident of sixteen labels. Order
      first, then choose.
    * *A higher alignment is a better kernel.* It is, on the labelled points. The free family shows what that is worth.
    * *Alignment beats formulas.* In the recorded table of ten tasks (`python -m reproduction tables spectrum_learning`) the mean
      error of alignment is 8.51 %, that of a diffusion kernel 7.58 %, both tuned alike.
    * *Two drops, so the other eigenvectors are unused.* All weights before the last drop are positive: a prefix holds all before it.

    ## Reading

    * X. Zhu, J. Kandola, Z. Ghahramani and J. Lafferty. Nonparametric transforms of graph kernels for semi-supervised learning.
      *NIPS* 2004.
    * N. Cristianini, J. Shawe-Taylor, A. Elisseeff and J. Kandola. On kernel-target alignment. *NIPS* 2001.
    * The notebook `02_learning_a_spectrum`, sections 1, 2 and 4, for the spectra of a margin.
    """)
    return


if __name__ == "__main__":
    app.run()
