"""The step of the interior point over blocks: its linear system against one written out, and what a step promises."""

import numpy as np
import pytest
from block_problems import LOSSES, blocks_of, labels_of

from specmargin.objectives import BlockMargin
from specmargin.solvers.spectrum.block_interior_point import BlockSystem
from specmargin.solvers.spectrum.block_margin import _over_blocks
from specmargin.solvers.spectrum.interior_point import interior_step

losses = pytest.mark.parametrize("loss", LOSSES)


def data_of(loss, n_classes=3, B=np.inf, **options):
    labels = labels_of(n_classes)
    return _over_blocks(BlockMargin(blocks_of(labels, [3, 30, 1]), labels, C=2.0, loss=loss, B=B, **options)).data


def test_the_system_is_the_one_written_out(rng):
    l, n_classes, m = 5, 2, 3
    R = rng.normal(size=(l, 3))
    kernel, images, W = R @ R.T, rng.normal(size=(m, l, n_classes)), rng.random((l, n_classes)) + 0.5
    kappa, w, c = rng.random(m) + 0.1, rng.random(m) + 0.1, np.array([1.0, 2.0, 3.0])
    rhs, balance, weights, trace = rng.normal(size=(l, n_classes)), rng.normal(size=n_classes), rng.normal(size=m), 0.3
    rho = rng.normal(size=m)
    system = BlockSystem(kernel, images, W, kappa, w, c, shared=False)
    dgamma, (*db, dtau), dkappa, dw = system.solve(rhs, rho, weights, balance, trace)
    for k in range(n_classes):
        left = kernel @ dgamma[:, k] + dgamma[:, k] / W[:, k] + db[k] + images[:, :, k].T @ dkappa
        np.testing.assert_allclose(left, rhs[:, k], atol=1e-9)
    np.testing.assert_allclose(dgamma.sum(axis=0), balance, atol=1e-9)
    np.testing.assert_allclose(kappa * dw + w * dkappa, rho, atol=1e-9)
    np.testing.assert_allclose(np.einsum("rlk,lk->r", images, dgamma) + dw - c * dtau, weights, atol=1e-9)
    assert c @ dkappa == pytest.approx(trace, abs=1e-9)


@pytest.mark.parametrize("n_classes", [2, 3])
def test_the_squared_loss_starts_at_the_least_squares_of_the_mean_kernel(n_classes):
    data = data_of("squared", n_classes, eps=1e-3)
    point, l = data.start(), len(data.y)
    K = sum(R @ R.T for R in np.split(data.U, data.cone.starts[1:], axis=1)) / 3
    bordered = np.block([[K + np.eye(l) / 2.0, np.ones((l, 1))], [np.ones((1, l)), np.zeros((1, 1))]])
    expected = np.linalg.solve(bordered, np.vstack([data.y, np.zeros(data.y.shape[1])]))
    np.testing.assert_allclose(np.vstack([point.gamma, point.b]), expected, atol=1e-9)
    assert interior_step(data, point).residual < 1e-9
