"""MLEM and OS-EM: held against the formula, likelihood, what stays, and bad input."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError
from gpuopt.tomo.numpy_projector import NumpyBackend
from iterations import TABLE, B, Frugal, MatrixOperator, trail
from rays import apart

Fan = tuple[gt.NumpyProjector, np.ndarray, np.ndarray]


def by_formula(
    matrix: np.ndarray, b: np.ndarray, x: np.ndarray, blocks: list[list[int]], iterations: int
) -> np.ndarray:
    for _ in range(iterations):
        for block in blocks:
            A = matrix[block].reshape(-1, matrix.shape[-1])
            ax = A @ x
            ratio = np.where(ax > 0, b[block].ravel() / np.where(ax > 0, ax, 1), 1)
            x = x * (A.T @ ratio) / A.sum(axis=0)
    return x


def likelihood(b: np.ndarray, ax: np.ndarray) -> float:
    """The logarithm of Poisson's, but for what does not depend on the image."""
    seen = ax > 0
    return float((b[seen] * np.log(ax[seen])).sum() - ax.sum())


def test_the_formula() -> None:
    A = MatrixOperator(TABLE)
    start = np.full(2, B.sum() / TABLE.sum())
    for iterations in (1, 2, 7):
        expected = by_formula(TABLE, B, start, [[0, 1, 2]], iterations)
        np.testing.assert_allclose(gt.mlem(A, B, iterations).image, expected, rtol=1e-13)
        np.testing.assert_allclose(gt.os_em(A, B, iterations, subsets=1).image, expected, rtol=1e-13)
        blocks = gt.os_em(A, B, iterations, subsets=[[0, 1], [2]], x0=np.array([2.0, 0.5]), order="sequential")
        expected = by_formula(TABLE[[0, 1, 2]], B, np.array([2.0, 0.5]), [[0, 1]], 1)
        if iterations == 1:
            assert blocks.image[0] == pytest.approx(expected[0])
            assert blocks.image[1] == pytest.approx(2.0), "the last row alone determines it"
    np.testing.assert_allclose(gt.mlem(A, B, 200).image, [1, 2], rtol=1e-6)
    assert len(trail(gt.mlem, A, B, 3)) == 3


@pytest.mark.parametrize("algorithm", [gt.mlem, gt.os_em])
@pytest.mark.parametrize("x0", [None, (1.0, 1.0, 1.0), (0.1, 0.2, 0.7), (0.5, 0.0, 0.5)])
def test_an_empty_scan_has_an_empty_image(algorithm: Any, x0: tuple[float, ...] | None) -> None:
    """Also where no ray goes; only a first image that no ray meets has no scale, and stays."""
    A = gt.NumpyProjector(gt.parallel2d([0.0], 1, 1.0), gt.Volume((1, 3)))
    start = None if x0 is None else np.array([x0])
    met = start is None or start[0, 1] > 0
    np.testing.assert_array_equal(algorithm(A, np.zeros((1, 1)), 2, x0=start).image, 0.0 if met else start)


@pytest.mark.parametrize("algorithm", [gt.mlem, gt.os_em])
def test_an_interrupt_before_the_first_iteration_leaves_an_image_to_start_from(algorithm: Any) -> None:
    class Interrupted(gt.NumpyProjector):
        stops = False

        def forward(self, *given: Any, **named: Any) -> Any:
            if self.stops:
                raise KeyboardInterrupt
            return super().forward(*given, **named)

    A = Interrupted(gt.parallel2d(12, 12), gt.Volume((8, 8)))
    x = gt.sphere(3.0).sample(A.volume, dtype=np.float64)
    mask, p = x > 0, A(x)
    A.stops = True
    found = algorithm(A, p, 3, mask=mask)
    A.stops = False
    assert (found.ended, found.iterations) == ("interrupted", 0)
    assert found.image[mask].min() == found.image[mask].max() > 0
    assert not found.image[~mask].any()
    again = algorithm(A, p, 3, x0=found.image, mask=mask).image
    np.testing.assert_allclose(again, algorithm(A, p, 3, mask=mask).image, rtol=1e-6)


def test_a_view_that_only_rounding_lets_graze_the_volume_changes_nothing(any_device: gpuopt.Device) -> None:
    """The last pixel of the first view ends where the voxels' support does."""
    scan, volume = gt.parallel2d(4, 29, 0.15, -3.0), gt.Volume((14, 5), 0.3)
    A, exact = gt.Projector(scan, volume, device=any_device), gt.NumpyProjector(scan, volume)
    for seed in range(5):
        x = np.random.default_rng(seed).random(volume.shape, np.float32)
        p = A(x)
        expected = gt.os_em(exact, p.astype(float), 3).image
        np.testing.assert_allclose(gt.os_em(A, p, 3).image, expected, atol=1e-4 * expected.max())


@pytest.mark.parametrize("backend", [NumpyBackend(), Frugal()])
def test_a_block_of_rounding_alone_changes_nothing(fan: Fan, matrix: MatrixOperator, backend: NumpyBackend) -> None:
    b = fan[2].copy()
    tiny = MatrixOperator(matrix.matrix.copy())
    tiny.backend = backend
    tiny.matrix[5] *= 1e-9
    b[5] *= 3e-9 * np.random.default_rng(8).random(b[5].shape)
    found = gt.os_em(tiny, b, 2, subsets=[[5], *([view] for view in range(24) if view != 5)], order="sequential")
    rest = MatrixOperator(np.delete(matrix.matrix, 5, axis=0))
    expected = gt.os_em(rest, np.delete(b, 5, axis=0), 2, subsets=23, order="sequential")
    np.testing.assert_allclose(found.image, expected.image, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize("subsets", [1, 4])
def test_blocks_of_views(fan: Fan, matrix: MatrixOperator, subsets: int) -> None:
    _, _, b = fan
    x0 = np.full(matrix.image_shape, 0.4)
    rows = [list(range(first, 24, subsets)) for first in range(subsets)]
    found = gt.os_em(matrix, b, 2, subsets=subsets, x0=x0, order="sequential").image
    # Rays that miss the image, and A x that is nothing but rounding, have no ratio.
    np.testing.assert_allclose(found, by_formula(matrix.matrix, b, x0, rows, 2), rtol=1e-5, atol=1e-9)
    assert (x0 == 0.4).all()


def test_the_likelihood_never_falls(fan: Fan, matrix: MatrixOperator) -> None:
    counts = np.random.default_rng(3).poisson(fan[2] * 5).astype(float)
    images: list[np.ndarray] = []
    result = gt.mlem(matrix, counts, 40, callback=lambda state: images.append(state.image))
    told = [likelihood(counts, matrix(image)) for image in images]
    assert (np.diff(told) >= -1e-9 * abs(told[0])).all()
    assert all((image >= 0).all() for image in images)
    # A property of the method, but for rays that A x rounds to nothing.
    seen = matrix(np.ones(matrix.image_shape)) > 0
    for image in images[1:]:
        assert matrix(image).sum() == pytest.approx(counts[seen].sum(), rel=1e-7)
    ax = matrix(images[-2])
    expected = np.divide((counts - ax) ** 2, ax, out=np.zeros_like(ax), where=ax > 1e-7 * ax.max())
    assert result.weighted[-1] == pytest.approx(np.sqrt(expected.sum()))
    assert result.residuals[-1] == pytest.approx(np.linalg.norm(counts - ax))


@pytest.mark.parametrize(("algorithm", "iterations"), [(gt.mlem, 100), (gt.os_em, 12)])
def test_convergence(fan: Fan, matrix: MatrixOperator, algorithm: Any, iterations: int) -> None:
    _, x, b = fan
    few, many = (algorithm(matrix, b, n) for n in (iterations // 6, iterations))
    assert apart(many, x) < 0.12
    assert apart(many, x) < 0.8 * apart(few, x)
    assert (many.iterations, many.ended) == (iterations, "finished")


def test_devices_do_as_numpy(device: gpuopt.Device) -> None:
    scan, volume = gt.circular(9, 60.0, 90.0, (12, 18), 1.5), gt.Volume((8, 10, 11), 1.1)
    A, plain = gt.Projector(scan, volume, device=device), gt.NumpyProjector(scan, volume)
    x = (gt.sphere(4.0) + gt.sphere(1.5, (1.0, 0.0, 0.5))).sample(volume, 2, np.float32)
    b = np.maximum(plain(x.astype(float)), 0).astype(np.float32)
    mask = np.ones(volume.shape, bool)
    mask[0] = False
    for options in ({}, {"mask": mask}):
        got, expected = (gt.os_em(P, b, 3, subsets=3, **options).image for P in (A, plain))
        np.testing.assert_allclose(got, expected, atol=2e-5 * float(expected.max()))
        assert not options or not got[0].any()
    on = gpuopt.to_device(b, device)
    kept = gt.mlem(A, on, 2).image
    assert isinstance(kept, gpuopt.DeviceArray)
    np.testing.assert_allclose(kept.to_numpy(), gt.mlem(plain, b, 2).image, atol=2e-5)
    streamed = gt.Projector(scan, volume, device=device, memory_limit=60_000)
    assert streamed.on_host
    np.testing.assert_allclose(gt.mlem(streamed, b, 2).image, kept.to_numpy(), atol=2e-5)
    negative = b.copy()
    negative[3, 2, 1] = -0.5
    with pytest.raises(ArrayError, match=r"projections: its least element is -0.5, .* np.maximum\(projections, 0\)"):
        gt.mlem(A, gpuopt.to_device(negative, device))


@pytest.mark.parametrize("algorithm", [gt.mlem, gt.os_em])
def test_the_scale_of_the_first_image_does_not_count(any_device: gpuopt.Device, algorithm: Any) -> None:
    scan, volume = gt.parallel2d(12, 16), gt.Volume((8, 8))
    p, plain = gt.sphere(3.0).project(scan), gt.NumpyProjector(scan, volume)
    shape = np.random.default_rng(1).uniform(0.5, 1, volume.shape).astype(np.float32)
    expected = algorithm(plain, p.astype(float), 6, x0=shape.astype(float)).image
    doubles = algorithm(plain, p.astype(float), 6, x0=shape * 1e8).image
    np.testing.assert_allclose(doubles, expected, atol=1e-9)
    for limit in (None, 6000):
        A = gt.Projector(scan, volume, device=any_device, memory_limit=limit)
        assert A.on_host == (limit is not None)
        for scale in (1e-30, 1e-4, 1.0, 1e8, 1e28):
            x0 = shape * np.float32(scale)
            found = algorithm(A, p, 6, x0=x0).image
            np.testing.assert_allclose(found, expected, atol=2e-5, err_msg=f"{scale}")
            assert found.all() or algorithm is gt.os_em  # which drives what lies outside to 0
            np.testing.assert_array_equal(x0, shape * np.float32(scale))
    assert (abs(algorithm(A, p * 0, 2, x0=shape).image) < 1e-5).all()
    unseen = gt.NumpyProjector(gt.parallel2d(3, 4, offset=99.0), volume)
    np.testing.assert_array_equal(algorithm(unseen, np.ones((3, 4)), 2, x0=np.ones((8, 8))).image, 1)


def test_what_is_nothing_stays(fan: Fan) -> None:
    A, _, b = fan
    x0 = np.ones(A.image_shape)
    x0[3:9] = 0
    assert not gt.mlem(A, b, 3, x0=x0).image[3:9].any()
    assert not gt.mlem(A, np.zeros_like(b), 3).image.any()
    mask = np.zeros(A.image_shape, bool)
    mask[5:12, 5:12] = True
    found = gt.os_em(A, b, 2, mask=mask).image
    assert found[mask].all()
    assert not found[~mask].any()


def test_bad_input(fan: Fan) -> None:
    A, _, b = fan
    for change, words in ((-1.0, "projections: its least element is -1, .* none below 0"), (np.nan, "holds NaN")):
        wrong = b.copy()
        wrong[2, 3] = change
        for algorithm in (gt.mlem, gt.os_em):
            with pytest.raises(ArrayError, match=words):
                algorithm(A, wrong)
    with pytest.raises(ArrayError, match="x0: its least element is -3"):
        gt.mlem(A, b, x0=np.full(A.image_shape, -3.0))
    with pytest.raises(ParameterError, match="subsets: 25 are more than the 24 views"):
        gt.os_em(A, b, subsets=25)
    with pytest.raises(ParameterError, match="iterations: 0"):
        gt.mlem(A, b, 0)


def test_an_interrupt_keeps_the_last_image() -> None:
    A = MatrixOperator(TABLE)
    A.stop_at = 4
    result = gt.mlem(A, B, 9)
    assert result.ended == "interrupted"
    A.stop_at = -1
    np.testing.assert_array_equal(result.image, gt.mlem(A, B, max(result.iterations, 1)).image)


@pytest.mark.parametrize("algorithm", [gt.mlem, gt.os_em])
def test_the_first_image_is_that_of_any_one_number(algorithm: Any) -> None:
    """Also where a mask leaves out rays, and where none meets a voxel."""
    A = gt.NumpyProjector(gt.parallel2d([0.3], 4, 0.6), gt.Volume((8, 8)))
    mask = np.ones((8, 8), bool)
    mask[:, ::2] = False
    options = {} if algorithm is gt.mlem else {"subsets": 1}
    b = A(np.ones((8, 8)))
    images = [
        algorithm(A, b, 3, mask=mask, x0=x0, **options).image for x0 in (None, np.ones((8, 8)), np.full((8, 8), 7.0))
    ]
    np.testing.assert_allclose(images[0], images[1], rtol=1e-12)
    np.testing.assert_allclose(images[0], images[2], rtol=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_a_voxel_that_a_block_has_set_to_0_stays_0(device: gpuopt.Device, seed: int) -> None:
    """Few counts, and one view a block: what rounding left of such a voxel would take the counts of a later view."""
    random = np.random.default_rng(seed)
    views, n = int(random.integers(2, 7)), int(random.integers(3, 9))
    geometry, volume = gt.parallel2d(views, n + 2, 0.93), gt.Volume((n, n))
    plain = gt.NumpyProjector(geometry, volume)
    columns = [plain(one.reshape(n, n)) for one in np.eye(n * n)]
    matrix = np.stack(columns, axis=-1)  # views, pixels, voxels
    b = random.poisson(plain(0.3 * np.abs(random.standard_normal((n, n))))).astype(np.float32)
    image = np.full(n * n, b.sum() / matrix.sum())
    for _ in range(6):
        for one, counts in zip(matrix, b, strict=True):
            seen = one @ image
            met, ratios = one[seen > 0].sum(0), one[seen > 0].T @ (counts[seen > 0] / seen[seen > 0])
            image *= np.divide(ratios, met, out=np.ones(n * n), where=met > 0)
    for A in (plain, gt.Projector(geometry, volume, device=device)):
        for dtype in (np.float32, np.float64) if A is plain else (np.float32,):
            found = gt.os_em(A, b.astype(dtype), 6, subsets=views, order="sequential").image
            np.testing.assert_allclose(found.ravel(), image, rtol=1e-4, atol=1e-4 * image.max())
