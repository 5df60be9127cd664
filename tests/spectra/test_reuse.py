"""Eigenpairs that were passed on: what is refused, and the part that is taken."""

from dataclasses import replace

import numpy as np
import pytest
import scipy.sparse as sp

import specmargin as sm
from specmargin.exceptions import InvalidInputError
from specmargin.spectra import Spectrum, laplacian_eigenpairs
from specmargin.spectra.reuse import labeled_eigenpairs, labeled_part, reused


@pytest.fixture(scope="module")
def graph():
    return sm.graphs.knn_graph(np.random.default_rng(0).standard_normal((60, 2)), n_neighbors=5)


@pytest.fixture(scope="module")
def spectrum(graph):
    return laplacian_eigenpairs(graph, q=12, normalized=False)


def test_the_lowest_are_taken_and_nothing_is_copied(graph, spectrum):
    assert reused(spectrum, 60, q=None, normalized=False) is spectrum
    assert reused(spectrum, 60, q=12, normalized=False) is spectrum
    five = reused(spectrum, 60, q=5, normalized=False)
    assert five.q == 5
    assert np.shares_memory(five.eigenvectors, spectrum.eigenvectors)
    whole = laplacian_eigenpairs(np.diag(np.ones(249), 1) + np.diag(np.ones(249), -1), q=250, normalized=False)
    assert reused(whole, 250, q=None, normalized=False).q == 200  # as without it


@pytest.mark.parametrize("normalized", [False, True])
def test_eigenpairs_of_the_laplacian_are_those_of_its_powers(graph, normalized):
    once = laplacian_eigenpairs(graph, q=12, normalized=normalized)
    cubed = laplacian_eigenpairs(sm.graphs.laplacian(graph, normalized=normalized, power=3), q=12)
    taken = reused(once, 60, q=None, normalized=normalized, power=3)
    np.testing.assert_array_equal(taken.eigenvalues, cubed.eigenvalues)
    np.testing.assert_array_equal(taken.eigenvectors, cubed.eigenvectors)
    assert (taken.power, taken.n_components, taken.normalized) == (3, cubed.n_components, normalized)
    assert reused(cubed, 60, q=None, normalized=normalized, power=3) is cubed


@pytest.mark.parametrize(
    ("asked", "told"),
    [
        ({"n_samples": 61}, "of 60 nodes but the data has 61 rows"),
        ({"normalized": True}, "combinatorial Laplacian, but normalized=True asks for the normalized one"),
        ({"q": 13}, "q=13, but the spectrum that was passed holds 12 eigenpairs"),
    ],
)
def test_eigenpairs_of_something_else_are_refused(spectrum, asked, told):
    with pytest.raises(InvalidInputError, match=told):
        reused(spectrum, **{"n_samples": 60, "q": None, "normalized": False, **asked})


def test_what_holds_no_eigenpairs_is_refused(spectrum):
    def refusal(other, **asked):
        with pytest.raises(InvalidInputError) as caught:
            reused(other, 60, **{"q": None, "normalized": False, **asked})
        return str(caught.value)

    assert "L^2, but power=1 is asked for" in refusal(replace(spectrum, power=2))
    assert "L^2, but power=4 is asked for" in refusal(replace(spectrum, power=2), power=4)
    values = spectrum.eigenvalues.copy()
    values[4] = 0.5 * values[3]
    assert "eigenvalues[4] is" in refusal(replace(spectrum, eigenvalues=values))
    assert "eigenvalues[0] is -1" in refusal(replace(spectrum, eigenvalues=spectrum.eigenvalues - 1.0))
    longer = spectrum.eigenvectors.copy()
    longer[:, 3] *= 1.01
    assert "column 3 has 1.01" in refusal(replace(spectrum, eigenvectors=longer))
    empty = Spectrum(np.zeros(12), np.zeros((60, 12)), 12)
    assert "column 0 has 0" in refusal(empty)


def test_the_component_of_every_node_is_kept():
    W = np.zeros((6, 6))
    for i, j in ((0, 3), (3, 5), (1, 4)):
        W[i, j] = W[j, i] = 1.0
    spectrum = laplacian_eigenpairs(W, q=2, normalized=False)
    assert spectrum.component.tolist() == [0, 1, 2, 0, 1, 0]
    parts, literal = sm.graphs.components(spectrum.component), sm.graphs.components(W)
    np.testing.assert_array_equal(parts.index, literal.index)
    np.testing.assert_array_equal(parts.sizes, literal.sizes)
    assert (parts.n, parts.n_isolated) == (literal.n, literal.n_isolated) == (3, 1)


@pytest.mark.parametrize("normalized", [False, True])
def test_components_without_a_label_are_left_out(graph, normalized):
    """The same as eigenpairs of the others alone; also from those of all, where equal components share eigenvalues."""
    chain = sp.diags_array([np.ones(19), np.ones(19)], offsets=[-1, 1])
    W = sp.block_diag([graph, sp.csr_array((1, 1)), graph, chain, sp.csr_array((4, 4))], format="csr")
    kept, options = np.r_[0:60, 121:142], {"normalized": normalized}
    labeled = np.array([3, 125, 141])
    alone = laplacian_eigenpairs(W[kept][:, kept], q=30, **options)
    part = labeled_eigenpairs(W, labeled, 30, **options)
    whole = labeled_part(laplacian_eigenpairs(W, q=145, **options), labeled).truncate(30)
    assert part.nodes.tolist() == whole.nodes.tolist() == kept.tolist()
    assert part.n_components == whole.n_components == alone.n_components
    for one in (part, whole):
        np.testing.assert_allclose(one.eigenvalues, alone.eigenvalues, atol=1e-12)
        np.testing.assert_allclose(one.eigenvectors[kept] ** 2, alone.eigenvectors**2, atol=1e-8)
        assert not np.delete(one.eigenvectors, kept, axis=0).any()
    assert labeled_part(part, labeled[[2, 0, 1]]) is part
    assert labeled_eigenpairs(graph, labeled[:1], 12).nodes is None
    with pytest.raises(InvalidInputError, match="node 60, which has one now, is none of them"):
        labeled_part(part, np.array([3, 60, 61]))
