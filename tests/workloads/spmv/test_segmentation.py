"""Eigenvectors against dense ones, and the picture of the cut. The operator is SciPy's: no device is needed."""

from __future__ import annotations

import numpy as np
import pytest
from scipy.linalg import eigh, subspace_angles
from scipy.sparse.linalg import LinearOperator

from gpuopt import ArrayError, ParameterError
from gpuopt.workloads.spmv import affinity, segmentation


def scene(height, width):
    y, x = np.mgrid[:height, :width]
    disk = (x - 0.4 * width) ** 2 + (y - 0.5 * height) ** 2 < (0.3 * min(height, width)) ** 2
    bar = x > 0.8 * width
    return disk + 0.5 * bar + 0.02 * ((7 * x + 13 * y) % 11), disk, bar


def laplacian(image, dtype="float32", radius=5):
    weights, degrees = affinity.affinity_matrix(image, radius, dtype=dtype)
    return affinity.normalised_laplacian(weights, degrees), degrees


@pytest.mark.parametrize("unknowns", [60, 17_000])
@pytest.mark.parametrize(("dtype", "tol"), [("float32", 1e-6), ("float64", 1e-9)])
def test_eigenvectors_are_the_dense_ones(monkeypatch, unknowns, dtype, tol):
    monkeypatch.setattr(segmentation, "_COARSE_UNKNOWNS", unknowns)  # blocks of 3 x 3 pixels, and of 1 x 1
    matrix, degrees = laplacian(scene(19, 23)[0], dtype)
    found = segmentation.smallest_eigenvectors(matrix, 3, degrees, (19, 23), max_iterations=80, tol=tol)
    values, vectors = eigh(matrix.toarray().astype(np.float64))
    assert found.converged
    assert found.block_side == (3 if unknowns == 60 else 1)
    assert found.iterations <= 80
    np.testing.assert_allclose(found.values, values[1:4], atol=tol)
    assert np.sin(subspace_angles(found.vectors, vectors[:, 1:4])).max() < 1e3 * tol
    np.testing.assert_allclose(found.vectors.T @ found.vectors, np.eye(3), atol=1e-10)
    assert np.abs(found.vectors.T @ np.sqrt(degrees)).max() < 1e-10
    residuals = np.linalg.norm(matrix @ found.vectors.astype(dtype) - found.vectors * found.values, axis=0)
    np.testing.assert_allclose(found.residuals, residuals, rtol=1e-6)
    assert found.cuts.shape == (3, 19, 23)


def test_golden_eigenvalues():
    y, x = np.mgrid[:20, :24]
    image = ((x - 9) ** 2 + (y - 10) ** 2 <= 36) + 0.02 * ((7 * x + 13 * y) % 11)
    matrix, degrees = laplacian(image, "float64")
    found = segmentation.smallest_eigenvectors(matrix, 3, degrees, (20, 24), max_iterations=40, tol=1e-9)
    assert found.values == pytest.approx([1.28463915e-3, 1.11282697e-2, 1.11677024e-2], abs=5e-11)


def test_any_operator_in_its_own_precision():
    matrix, degrees = laplacian(scene(40, 50)[0])
    seen = set()

    def product(x):
        seen.add((x.dtype.name, x.flags.c_contiguous))
        return matrix @ x

    operator = LinearOperator(matrix.shape, matvec=product, matmat=product, dtype=np.float32)
    found = segmentation.smallest_eigenvectors(operator, 2, degrees, (40, 50))
    assert seen == {("float32", True)}
    assert found.converged
    assert found.products > found.iterations
    assert 0 < found.product_seconds <= found.seconds


def test_stopping_early_is_told_not_hidden():
    matrix, degrees = laplacian(scene(60, 80)[0])
    found = segmentation.smallest_eigenvectors(matrix, 4, degrees, (60, 80), max_iterations=2, tol=1e-9)
    assert not found.converged
    assert found.iterations == 2
    assert found.residuals.max() > 1e-9
    assert found.history.shape[1] == 4
    figure = segmentation.plot_cut(scene(60, 80)[0], found)
    assert "stopped at the cap of 2 iterations" in figure.get_supxlabel().replace("\n", " ")


def test_segments_follow_the_scene(tmp_path):
    image, disk, _ = scene(60, 80)
    matrix, degrees = laplacian(image)
    found = segmentation.smallest_eigenvectors(matrix, 1, degrees, image.shape)
    labels = segmentation.segment(found)
    assert labels.shape == image.shape
    agree = np.count_nonzero(labels.astype(bool) == disk)
    assert max(agree, image.size - agree) > 0.95 * image.size
    contours = segmentation.spectral_contours(found)
    edge = affinity.boundary_strength(disk) > 0.5
    assert contours[edge].mean() > 10 * contours[~edge].mean()
    figure = segmentation.plot_cut(image, found, name="scene", device="a device")
    figure.savefig(tmp_path / "cut.png", dpi=50)
    assert (tmp_path / "cut.png").stat().st_size > 10_000
    caption = figure.get_supxlabel().replace("\n", " ")
    assert "every residual below 1e-06" in caption
    assert "on a device" in caption


def test_bad_input_is_named():
    matrix, degrees = laplacian(scene(6, 7)[0])
    with pytest.raises(ArrayError, match="degrees"):
        segmentation.smallest_eigenvectors(matrix, 2, degrees[:-1], (6, 7))
    with pytest.raises(ArrayError, match="image"):
        segmentation.smallest_eigenvectors(matrix, 2, degrees, (7, 7))
    with pytest.raises(ParameterError, match="count"):
        segmentation.smallest_eigenvectors(matrix, 8, degrees, (6, 7))
    with pytest.raises(ParameterError, match="max_iterations"):
        segmentation.smallest_eigenvectors(matrix, 2, degrees, (6, 7), max_iterations=0)
    found = segmentation.smallest_eigenvectors(matrix, 2, degrees, (6, 7))
    with pytest.raises(ArrayError, match="image"):
        segmentation.plot_cut(np.zeros((7, 6)), found)
