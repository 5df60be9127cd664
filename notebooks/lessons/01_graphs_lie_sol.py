# %% [markdown] tags=["slide"]
# # 01 · Graphs lie
#
# **Question.** The same points, four graphs: which one knows the moons?
#
# **Aims.** You will be able to
#
# * build a graph, look at its components and its spectrum, and say what it can know;
# * write least squares on a graph in CVXPY, and solve it as a linear system;
# * tell how much a single edge may matter.
#
# **Minutes.** 50: 10 talk, 25 code, 15 exercises. E4 is for at home.

# %% [markdown]
# **Needs.** Eigenvalues of symmetric matrices, numpy; one problem written in CVXPY before.
#
# **Symbols.**
#
# | symbol | in code | meaning | section |
# |---|---|---|---|
# | $n$, $x_i$ | `n`, `X` | number of points, and a point | 1 |
# | $W$, $w_{ij}$ | `W` | weights of the edges, symmetric, zero on the diagonal | 1 |
# | $d_i$, $D$ | `W.sum(axis=1)` | degree of a point, and all of them on a diagonal | 1 |
# | $L$ | `L` | Laplacian, $D - W$ or normalised | 1 |
# | $f$ | `f` | decisions, one for each point | 1 |
# | $y_i$ | `sign` | label, $-1$ or $+1$, and $0$ where there is none; `seen` has classes: 0, 1, and -1 for none | 2 |
# | $\gamma$ | `gamma` | weight of the graph | 2 |
# | $P$ | `P` | diagonal matrix, 1 at the points with a label, else 0 | 2 |
# | $\nu_i$ | `nu` | multiplier of the label of point $i$ | 4 |
# | $\lambda_k$ | `spectra` | eigenvalues of $L$, increasing | 6 |
#
# **First, a guess.** Four graphs over 200 points, four labels. Which one makes the fewest errors, if a point that is left
# undecided counts as half an error: `"union 6"` (join two points if one is among the six nearest of the other), `"mutual 6"`
# (if both are), `"union 40"`, or `"heat 0.5"` (all pairs, with a weight that decreases with the distance)? And in how many of its
# 744 edges does the graph `"union 6"` join points of different moons?

# %%
# %matplotlib inline
# %config InlineBackend.figure_formats = ["retina"]

import cvxpy as cp
import numpy as np
import teaching

import specmargin as sm

teaching.guess("01.q1", ...)  # the name of a graph
teaching.guess("01.q2", ...)  # edges between the moons, of 744

# %% [markdown] tags=["slide"]
# ## 1. Four graphs
#
# A graph over $n$ points $x_i$ is a symmetric matrix $W$ of weights $w_{ij} \ge 0$. The degrees $d_i = \sum_j w_{ij}$ stand on
# the diagonal of $D$. The Laplacian $L = D - W$ adds up squared differences along edges,
#
# $$ f^\top L f = \tfrac12 \sum_{i,j} w_{ij}\,(f_i - f_j)^2 , $$
#
# so that it is small if neighbours have similar values. The normalised one, $D^{-1/2}(D - W)D^{-1/2}$, compares
# $f_i / \sqrt{d_i}$.

# %%
X, truth = sm.datasets.make_two_moons(n_samples=200, noise=0.1, random_state=5)
n = len(X)
squared_distances = ((X[:, None] - X[None]) ** 2).sum(axis=2)

graphs = {
    "union 6": sm.graphs.knn_graph(X, n_neighbors=6, kind="symmetric").toarray(),
    "mutual 6": sm.graphs.knn_graph(X, n_neighbors=6, kind="mutual").toarray(),
    "union 40": sm.graphs.knn_graph(X, n_neighbors=40, kind="symmetric").toarray(),
    "heat 0.5": np.exp(-squared_distances / (2 * 0.5**2)) - np.eye(n),
}
for name, W in graphs.items():
    between = W[np.ix_(truth == 0, truth == 1)].sum() / (W.sum() / 2)
    print(f"{name:9s}  components {sm.graphs.components(W).n}   weight between the moons {100 * between:5.2f} %")

W = graphs["union 6"]
crossing = [(i, j) for i, j in np.argwhere(np.triu(W) > 0).tolist() if truth[i] != truth[j]]
print("union 6:", int(W.sum() / 2), "edges, of which these join the moons:", crossing)
assert (len(crossing), sm.graphs.components(graphs["mutual 6"]).n) == (1, 8)

# %% [markdown] tags=["slide"]
# ## 2. Least squares on a graph
#
# Agree with the labels, and be smooth along the graph:
#
# $$ \min_{f}\;\; \sum_{i\ \text{labelled}} (f_i - y_i)^2 + \gamma\, f^\top L f . $$
#
# The unlabelled points are in the second term only. Put $y_i = 0$ for them, and let $P$ have a 1 on its diagonal where there is
# a label. Then the derivative vanishes where
#
# $$ (P + \gamma L)\, f = P y . $$
#
# One linear system, no kernel. The sign of $f_i$ is the class that it says: $f_i > 0$ is class 1. The system is singular if
# some component of the graph has no label. There $f$ is any constant; least squares takes 0, and says nothing.

# %%
gamma = 0.1
sign_all = np.where(truth == 1, 1.0, -1.0)


def laplacian(W, normalized=False):
    d = np.where(W.sum(axis=1) > 0, W.sum(axis=1), 1.0)
    L = np.diag(W.sum(axis=1)) - W
    return L / np.sqrt(np.outer(d, d)) if normalized else L


seen = sm.hide_labels(truth, per_class=2, random_state=9)  # 0, 1, and -1 marks a point without a label
sign = np.where(seen == -1, 0.0, sign_all)
P, L = np.diag((seen != -1).astype(float)), laplacian(graphs["union 6"])
print("labelled points:", np.flatnonzero(seen != -1), "  rank of P + gamma L:", np.linalg.matrix_rank(P + gamma * L))

# %% [markdown] tags=["slide"]
# ## 3. Write it
#
# Write that problem in CVXPY for the graph `"union 6"`: a variable of 200 entries, `cp.sum_squares` for the first term,
# `cp.quad_form(f, cp.psd_wrap(L))` for the second. Solve by Clarabel. The check holds no answer: it puts yours into
# the optimality condition.

# %%
my_f = ...  # 200 numbers
# solution
f = cp.Variable(n)
loss = cp.sum_squares(f[seen != -1] - sign[seen != -1])
cp.Problem(cp.Minimize(loss + gamma * cp.quad_form(f, cp.psd_wrap(L)))).solve(solver="CLARABEL")
my_f = f.value
teaching.check("01.W", my_f)

# %% tags=["answers"]
answers["01.W"] = (
    my_f,
    {
        "The first sum is over all points here: those without a label are held to 0.": np.linalg.solve(
            np.eye(n) + gamma * L, sign
        ),
        "The weight gamma of the graph is missing.": np.linalg.solve(P + L, sign),
        "This is the squared norm of L f: f'Lf has L once.": np.linalg.solve(P + gamma * L @ L, sign),
    },
)

# %% [markdown]
# **The solver without CVXPY** is `np.linalg.solve`, or least squares where the system is singular. With it twenty draws of two
# labels a class cost nothing. One draw proves little. Where $f$ is 0 but for rounding, the graph says nothing: such a point is
# undecided, not wrong, and its sign would be noise.

# %%
draws = [sm.hide_labels(truth, per_class=2, random_state=seed) for seed in range(20)]


def shares(W, normalized=False):  # wrong and undecided, in percent of the points without a label
    L, found = laplacian(W, normalized), []
    for seen in draws:
        known = (seen != -1).astype(float)
        f = np.linalg.lstsq(np.diag(known) + gamma * L, known * sign_all, rcond=None)[0]
        undecided = np.abs(f) < 1e-8
        wrong = ~undecided & ((f > 0) != truth)
        found.append([100 * wrong[seen == -1].mean(), 100 * undecided[seen == -1].mean()])
    return np.mean(found, axis=0)


rates = {}
for name, graph in graphs.items():
    (wrong, undecided), (wrong_n, undecided_n) = shares(graph), shares(graph, normalized=True)
    print(f"{name:9s}  wrong {wrong:4.1f} %, undecided {undecided:4.1f} %;  ", end="")
    print(f"with the normalised L {wrong_n:4.1f} % and {undecided_n:4.1f} %")
    rates[name] = wrong + undecided / 2
assert rates["union 6"] < 4 < 15 < rates["mutual 6"] < rates["union 40"] < rates["heat 0.5"]
assert shares(graphs["mutual 6"]).round(1).tolist() == [0.0, 32.8]

# %% [markdown] tags=["slide"]
# ## 4. Read the multipliers
#
# Now insist on the labels: minimise $f^\top L f$ subject to $f_i = y_i$ where there is a label, with multipliers $\nu_i$.
# Stationarity is $2Lf + \nu = 0$, with $\nu_i = 0$ at the other points. So
#
# * at a point without a label $(Lf)_i = 0$: its value is *the mean of its neighbours' values*;
# * at a label $-\nu_i$ is the derivative of the optimum by $y_i$: how hard the graph pulls at this label;
# * all $\nu_i$ add up to 0, since each column of $D - W$ does.

# %%
free, at = cp.Variable(n), np.flatnonzero(seen != -1)
held = free[at] == sign[at]
roughness = cp.Problem(cp.Minimize(cp.quad_form(free, cp.psd_wrap(L))), [held])
optimum = roughness.solve(solver="CLARABEL", tol_gap_abs=1e-12, tol_gap_rel=1e-12)
nu, harmonic = held.dual_value, free.value
print("labels:", sign[at], "  multipliers:", nu.round(4), "  sum:", f"{nu.sum():.1e}")

unlabeled = np.flatnonzero(seen == -1)
means = W @ harmonic / W.sum(axis=1)
assert np.allclose(harmonic[unlabeled], means[unlabeled], atol=1e-5)
assert np.allclose(nu, -2 * (L @ harmonic)[at], atol=1e-5)
assert abs(nu.sum()) < 1e-5
assert np.isclose(optimum, -nu @ sign[at] / 2, rtol=1e-4)  # the optimum is what the labels pay


# %% tags=["answers"]
def least(values):  # the roughness of the smoothest f with these values at the labels, by numpy
    inner = np.linalg.solve(L[np.ix_(unlabeled, unlabeled)], -L[np.ix_(unlabeled, at)] @ values)
    return values @ (L[np.ix_(at, at)] @ values + L[np.ix_(at, unlabeled)] @ inner)


for k, step in enumerate(1e-4 * np.eye(4)):
    assert np.isclose((least(sign[at] + step) - least(sign[at] - step)) / 2e-4, -nu[k], atol=1e-5)

# %% [markdown]
# ## 5. Change the graph by one edge
#
# One edge of `"union 6"` joins the moons. Cut it; or add edges between points drawn at random from each moon.

# %%
rng = np.random.default_rng(0)
changed = {"as it was": graphs["union 6"].copy(), "one cut": graphs["union 6"].copy()}
i, j = crossing[0]
changed["one cut"][i, j] = changed["one cut"][j, i] = 0.0
for count in (1, 10):
    W_more = graphs["union 6"].copy()
    a, b = rng.choice(np.flatnonzero(truth == 0), count), rng.choice(np.flatnonzero(truth == 1), count)
    W_more[a, b] = W_more[b, a] = 1.0
    changed[f"{count} more"] = W_more
by_edges = {name: shares(W_now)[0] for name, W_now in changed.items()}
for name, W_now in changed.items():
    print(f"{name:9s}  {int(W_now.sum() / 2)} edges, {by_edges[name]:5.1f} % wrong")
assert by_edges["one cut"] == 0.0
assert by_edges["10 more"] > 15

# %% [markdown]
# Nobody who has no labels can see which edge it was. That is the title of this lesson: a graph claims that its neighbours are
# alike, and says nothing about how it knows.
#
# ## 6. One picture
#
# The smallest eigenvalues $\lambda_k$ of the normalised Laplacian, twice: from 0 to 1, and the lowest twentieth of that. On the
# right each zero is a component: mutual 6 has eight, the others have one. Small values after the zeros are nearly components:
# union 6 falls apart if a few edges are cut. A curve that rises at once, as that of heat 0.5 on the left, says that everything
# is joined to everything.

# %%
from specmargin.plots import CurveDisplay, subplots

spectra = {name: np.linalg.eigvalsh(laplacian(W, normalized=True))[:12] for name, W in graphs.items()}
for name, values in spectra.items():
    print(f"{name:9s}  zeros: {int((values < 1e-10).sum())}   then {values[values >= 1e-10][:3].round(4)}")
    assert (values < 1e-10).sum() == sm.graphs.components(graphs[name]).n
figure, axes = subplots(1, 2, aspect=0.8)
curves = CurveDisplay({name: (np.arange(1, 13), values) for name, values in spectra.items()})
look = {"markers": True, "xlabel": "$k$", "ylabel": r"eigenvalue $\lambda_k$"}
curves.plot(axes[0, 0], title="all", legend="upper left", **look)
curves.plot(axes[0, 1], title="near 0", legend=None, ylim=(-0.001, 0.05), **look)
figure

# %% [markdown]
# ## Exercises
#
# "Common mistakes" at the end gives some of the answers away: first the exercises.
#
# **E1. By hand (5 minutes).** A path of four points with weights 1, and $f = (1, 2, 4, 4)$. What is $f^\top L f$ for
# $L = D - W$?

# %%
my_sum = ...  # a number
# solution
my_sum = 5  # 1 + 4 + 0
teaching.check("01.E1", my_sum)

# %% tags=["answers"]
path, f_path = np.diag(np.ones(3), 1) + np.diag(np.ones(3), -1), np.array([1.0, 2.0, 4.0, 4.0])
assert f_path @ laplacian(path) @ f_path == my_sum
answers["01.E1"] = (
    my_sum,
    {
        "Each edge is counted twice: the double sum has a factor 1/2.": 10,
        "These are the differences without their squares.": 3,
        "This is f'Df: f'Wf is to be taken off.": f_path**2 @ path.sum(axis=1),
        "This is the square of the sum: each difference is squared first.": 9,
    },
)

# %% [markdown]
# **E2. What costs nothing?** A star: point 1 is joined to points 2, 3, 4, with weights 1. Which $f$ has $f^\top L f = 0$ for the
# *normalised* Laplacian? Scale it so that its last entry is 1.

# %%
my_null = ...  # four numbers, three decimals or more
# solution
my_null = [np.sqrt(3), 1, 1, 1]  # the square roots of the degrees
teaching.check("01.E2", my_null)

# %% tags=["answers"]
star = np.zeros((4, 4))
star[0, 1:] = star[1:, 0] = 1.0
assert np.allclose(laplacian(star, normalized=True) @ my_null, 0)
answers["01.E2"] = (
    my_null,
    {
        "Constants are free for D - W. The normalised Laplacian compares f_i / sqrt(d_i).": [1, 1, 1, 1],
        "These are the degrees; the normalised Laplacian divides by their square roots.": [3, 1, 1, 1],
        "The other way round: f_i / sqrt(d_i) is to be constant, so that f_i grows with the degree.": [
            1 / np.sqrt(3),
            1,
            1,
            1,
        ],
    },
)

# %% [markdown]
# **E3. Components.** Take the images of 3 and 8 from scikit-learn's digits (`load_digits`; all 357 of them, the pixels as they
# are, without scaling) and join *mutual* five nearest neighbours; a point is no neighbour of its own. `sm.graphs.knn_graph` joins,
# `sm.graphs.components` counts. How many components has the graph? Then think: a method uses as many of the first eigenvectors
# of $L$. What can it know of the points in a component without a label?

# %%
my_components = ...  # a number
# solution
from sklearn.datasets import load_digits

images, digit = load_digits(return_X_y=True)
images = images[np.isin(digit, (3, 8))]
parts = sm.graphs.components(sm.graphs.knn_graph(images, n_neighbors=5, kind="mutual"))
my_components = parts.n
eigenvalues = np.linalg.eigvalsh(laplacian(sm.graphs.knn_graph(images, n_neighbors=5, kind="mutual").toarray()))
print("eigenvalues that are zero:", (eigenvalues < 1e-10).sum(), "  points in the components:", parts.sizes)
teaching.check("01.E3", my_components)

# %% tags=["answers"]
assert (eigenvalues < 1e-10).sum() == my_components == 40
answers["01.E3"] = (
    my_components,
    {
        "This is the graph of the union: there one list is enough for an edge.": sm.graphs.components(
            sm.graphs.knn_graph(images, n_neighbors=5)
        ).n,
        "These are the isolated points alone.": parts.n_isolated,
        "An isolated point is a component, too.": int((parts.sizes > 1).sum()),
        "This is the number for the six nearest neighbours: five were asked for.": sm.graphs.components(
            sm.graphs.knn_graph(images, n_neighbors=6, kind="mutual")
        ).n,
        "This is the number for scaled pixels: take them as they are.": sm.graphs.components(
            sm.graphs.knn_graph((images - images.mean(0)) / np.maximum(images.std(0), 1e-12), kind="mutual")
        ).n,
        "This is the number for four neighbours: a point counts as its own neighbour here.": sm.graphs.components(
            sm.graphs.knn_graph(images, n_neighbors=4, kind="mutual")
        ).n,
    },
)

# %% [markdown] tags=["solution"]
# **What it can know.** The first 40 eigenvectors are constant on every component. A decision made of them is constant there, too,
# and no label says which constant: of a component without a label the method knows nothing.

# %% [markdown]
# **E4. Open, for at home: a liar.** Here are 60 points with six labels, and an honest graph with 205 edges. Change it to a
# *connected* graph, $W$ symmetric with nonnegative entries and a zero diagonal, with which least squares ($L = D - W$,
# $\gamma = 0.1$) gets at least two thirds of the unlabelled points wrong; a decision between $-10^{-6}$ and $10^{-6}$ is
# undecided, not wrong. Print how many edges you removed and added: with how few can you do it? What would have warned somebody
# who sees six labels only?

# %%
X60, truth60 = sm.datasets.make_two_moons(n_samples=60, noise=0.1, random_state=0)
seen60 = sm.hide_labels(truth60, per_class=3, random_state=0)
honest = sm.graphs.knn_graph(X60, n_neighbors=6).toarray()
my_W = ...  # 60 rows, 60 columns
# solution
known, sign60 = seen60 != -1, np.where(truth60 == 1, 1.0, -1.0)
my_W = honest.copy()
for i in np.flatnonzero(known):  # each label hangs on one point alone, the nearest unlabelled one of the other moon
    candidates = np.flatnonzero(~known & (truth60 != truth60[i]))
    near = candidates[np.argmin(((X60[candidates] - X60[i]) ** 2).sum(axis=1))]
    my_W[i] = my_W[:, i] = 0.0
    my_W[i, near] = my_W[near, i] = 1.0


def fitted(W, known):
    return np.linalg.solve(np.diag(known.astype(float)) + 0.1 * laplacian(W), known * sign60)


print("edges removed or added:", int((my_W != honest).sum() / 2))
for name, graph in {"honest": honest, "mine": my_W}.items():
    hidden = [sign60[i] * fitted(graph, known & (np.arange(60) != i))[i] > 0 for i in np.flatnonzero(known)]
    right = (sign60 * fitted(graph, known) > 0)[~known].mean()
    print(f"{name}: {100 * (1 - right):.0f} % wrong; a label that is hidden is told right {sum(hidden)} times of 6")
teaching.check("01.E4", my_W)

# %% [markdown] tags=["solution"]
# **What would have warned you.** Not the labels. Hide one of the six and let the others tell it: all six are told right by the
# liar, more than by the honest graph. The labels agree with each other, and the graph puts each among the points of the other
# moon. The lengths could warn: the only edge of a labelled point passes over 5 to 13 points that are nearer.

# %% tags=["answers"]
assert sum(hidden) == 6
assert right < 1 / 3
far = ((X60[:, None] - X60[None]) ** 2).sum(axis=2)
nearer = [(far[i] < far[i, np.argmax(my_W[i])]).sum() - 1 for i in np.flatnonzero(known)]
assert (min(nearer), max(nearer)) == (5, 13)
one_way = np.zeros((60, 60))
one_way[np.arange(60), (np.arange(60) + 1) % 60] = 1.0
answers["01.E4"] = (
    my_W,
    {
        "Less than two thirds of the unlabelled points are wrong with this graph.": honest,
        "All unlabelled decisions are 0 but for rounding: this graph does not lie, it says nothing.": np.ones((60, 60))
        - np.eye(60),
        "The graph is not connected.": np.kron(np.eye(2), np.ones((30, 30)) - np.eye(30)),
        "W is not symmetric, or its diagonal is not 0.": one_way,
        "A weight is negative.": -honest,
    },
)

# %% [markdown]
# **What did you guess?**

# %%
best = min(rates, key=rates.get)
print("fewest errors: you guessed", teaching.guess("01.q1"), "- it is", best, f"with {rates[best]:.1f} %")
print("edges between the moons: you guessed", teaching.guess("01.q2"), "- there is", len(crossing))

# %% [markdown]
# ## Common mistakes
#
# * *Constants are free.* They are for $D - W$. For the normalised Laplacian it is the square roots of the degrees that cost nothing.
# * *Mutual neighbours are safer.* They join no wrong pair here: what they say is right. But they leave components without a label,
#   and of those nothing is known: a third of the points is undecided.
# * *The sign of 0.* Where $f$ is 0 but for rounding, its sign is another one on another machine. Count such points apart.
# * *More neighbours are safer.* They connect everything, the moons too.
# * *The graph that worked here works elsewhere.* It was chosen with all labels in sight. Lesson 10 chooses without.
#
# ## Reading
#
# * M. Belkin, P. Niyogi and V. Sindhwani. Manifold regularization. *JMLR* 7, 2006. Section 4 for LapRLS, which puts a kernel into
#   the system of section 2.
# * U. von Luxburg. A tutorial on spectral clustering. *Statistics and Computing* 17, 2007. Laplacians and their null spaces.

# %% [markdown] tags=["quiz"]
# # Quiz of lesson 01
#
# **1.** A graph has three components and two labels, in two of them. What is the decision in the third one?
#
# a) 0, b) the mean of the labels, c) any constant, d) it depends on the weights.
#
# Answer: c. No term of the problem changes with it.

# %% [markdown] tags=["quiz"]
# **2.** All weights of a graph are doubled, and $\gamma$ is halved. What happens to the solution with $L = D - W$?
#
# a) It doubles, b) it halves, c) nothing, d) one cannot know.
#
# Answer: c. Only the product of both enters.

# %% [markdown] tags=["quiz"]
# **3.** Which graph can have isolated points?
#
# a) The union of six nearest neighbours, b) mutual neighbours, c) heat weights on all pairs, d) none.
#
# Answer: b. A point whose neighbours all have nearer ones is in nobody's list.
