"""SIRT, SART, OS-SART and CGLS: golden tables, convergence, invariants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import lsqr

import gpuopt
import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError
from iterations import TABLE, B, MatrixOperator, trail
from rays import apart


def test_golden_table() -> None:
    A = MatrixOperator(TABLE)
    assert trail(gt.sirt, A, B, 2) == [[1.25, 1.75], [1.125, 1.875]]
    cgls = trail(gt.cgls, A, B, 2)
    np.testing.assert_allclose(cgls, [[1.344262, 1.680328], [1, 2]], atol=5.1e-7)
    np.testing.assert_allclose(cgls[1], [1, 2], atol=1e-14)
    assert gt.os_sart(A, B, 1, subsets=[[0, 1], [2]], order="sequential").image.tolist() == [1.25, 2]
    assert gt.os_sart(A, B, 1, subsets=[[0, 1], [2]], order="sequential").residuals[0] == pytest.approx(
        math.sqrt(10.25)
    )
    assert gt.sart(A, B, 1, order="sequential").image.tolist() == [2, 2]


@pytest.mark.parametrize("algorithm", [gt.os_sart, gt.os_em])
def test_subsets_of_any_whole_numbers(algorithm: Any) -> None:
    A = MatrixOperator(TABLE)
    for subsets, same in (
        (np.array(2), 2),
        ([np.array(2), 0, 1], [[2], [0], [1]]),
        ([np.uint64(0), 1, 2], [[0], [1], [2]]),
        ([np.array([0, 1], np.uint64), [2]], [[0, 1], [2]]),
        ([np.array([0, 1], ">u2"), np.array([2], np.int8)], [[0, 1], [2]]),
    ):
        one, other = (algorithm(A, B, 2, subsets=given).image for given in (subsets, same))
        np.testing.assert_array_equal(one, other)
    for wrong in (np.array(2.0), np.array(True), [np.array(2.0), 0, 1], [np.array([0, 2**64 - 1], np.uint64), [2]]):
        with pytest.raises(ParameterError, match=r"^subsets: "):
            algorithm(A, B, subsets=wrong)


@pytest.mark.parametrize("views", range(1, 4))
def test_golden_table_by_row(views: int) -> None:
    """SART's image after each row, by the zero update of rows that are met already."""
    expected = {1: [1, 0], 2: [2, 1], 3: [2, 2]}[views]
    met = TABLE @ expected
    b = np.where(np.arange(3) < views, B, met)
    assert gt.sart(MatrixOperator(TABLE), b, 1, order="sequential").image.tolist() == expected


def test_the_matrix_is_the_projector(
    fan: tuple[gt.NumpyProjector, np.ndarray, np.ndarray], matrix: MatrixOperator
) -> None:
    A, _, b = fan
    for algorithm, options in (
        (gt.sirt, {}),
        (gt.cgls, {}),
        (gt.os_sart, {"subsets": 5, "order": "max_distance"}),
        (gt.sart, {"order": "random", "seed": 4}),
    ):
        one, other = algorithm(A, b, 2, **options), algorithm(matrix, b, 2, **options)
        # Places on the circle differ: those of the fan are its angles.
        if options.get("order") != "max_distance":
            np.testing.assert_allclose(one.image.ravel(), other.image, atol=1e-12)
            np.testing.assert_allclose(one.residuals, other.residuals)
            np.testing.assert_allclose(one.weighted, other.weighted)
        assert apart(one, fan[1]) < 0.5


@pytest.mark.parametrize(
    ("algorithm", "options", "iterations", "error"),
    [
        (gt.sirt, {}, 200, 0.1),
        (gt.sirt, {"relaxation": 1.9}, 100, 0.1),
        (gt.sart, {}, 20, 0.06),
        (gt.sart, {"relaxation": 0.5, "decay": 0.95}, 20, 0.08),
        (gt.os_sart, {}, 20, 0.08),
        (gt.os_sart, {"subsets": 6, "order": "max_distance"}, 40, 0.08),
        (gt.cgls, {}, 30, 0.02),
    ],
)
def test_convergence(
    fan: tuple[Any, np.ndarray, np.ndarray],
    matrix: MatrixOperator,
    algorithm: Any,
    options: Any,
    iterations: int,
    error: float,
) -> None:
    _, x, b = fan
    few, many = (algorithm(matrix, b, n, **options) for n in (iterations // 10, iterations))
    assert apart(many, x) < error
    assert apart(many, x) < 0.7 * apart(few, x)
    assert many.residuals[-1] < 0.5 * few.residuals[-1]
    assert (many.iterations, len(many.seconds), many.ended) == (iterations, iterations, "finished")
    np.testing.assert_array_equal(many.residuals[: few.iterations], few.residuals)


def test_residuals_never_rise(fan: tuple[Any, np.ndarray, np.ndarray], matrix: MatrixOperator) -> None:
    """Of data that no image explains: SIRT's in the norm of R^-1, and those of CGLS."""
    b = fan[2] + np.random.default_rng(3).normal(0, 0.5, fan[2].shape)
    for relaxation in (1.0, 1.95):
        sirt = gt.sirt(matrix, b, 60, relaxation=relaxation)
        assert (np.diff(sirt.weighted) <= 1e-12 * sirt.weighted[0]).all()
    cgls = gt.cgls(matrix, b, 60)
    assert (np.diff(cgls.residuals) <= 1e-12 * cgls.residuals[0]).all()
    rows = matrix.matrix.sum(axis=2)
    r = b - matrix(np.asarray(gt.sirt(matrix, b, 3)))
    fourth = gt.sirt(matrix, b, 4)
    assert fourth.residuals[3] == pytest.approx(np.linalg.norm(r))
    inverse = np.where(rows > 1e-6 * rows.max(), 1 / np.maximum(rows, 1e-30), 0)
    assert fourth.weighted[3] == pytest.approx(math.sqrt((inverse * r**2).sum()))
    gradient = np.tensordot(b - matrix(np.asarray(gt.cgls(matrix, b, 3))), matrix.matrix, 2)
    assert gt.cgls(matrix, b, 4).weighted[3] == pytest.approx(np.linalg.norm(gradient))


def test_cgls_is_lsqr(fan: tuple[gt.NumpyProjector, np.ndarray, np.ndarray], matrix: MatrixOperator) -> None:
    b = fan[2] + np.random.default_rng(3).normal(0, 0.5, fan[2].shape)
    for iterations in (1, 3, 10):
        expected = lsqr(matrix.linear_operator(), b.ravel(), atol=0, btol=0, conlim=0, iter_lim=iterations)[0]
        np.testing.assert_allclose(gt.cgls(matrix, b, iterations).image, expected, atol=1e-7)
    through = lsqr(fan[0].linear_operator(), b.ravel(), atol=0, btol=0, conlim=0, iter_lim=2)[0]
    np.testing.assert_allclose(gt.cgls(fan[0], b, 2).image.ravel(), through, atol=1e-10)


def test_cgls_stops_where_nothing_is_left() -> None:
    A = MatrixOperator(TABLE)
    result = gt.cgls(A, B, 50)
    assert result.ended == "converged"
    assert result.iterations < 5
    np.testing.assert_allclose(result.image, [1, 2], atol=1e-14)
    nothing = gt.cgls(A, np.zeros(3), 5)
    assert (nothing.ended, nothing.iterations, nothing.image.tolist()) == ("converged", 0, [0, 0])


EVERY: list[Any] = [gt.sirt, gt.sart, gt.os_sart, gt.cgls, gt.mlem, gt.os_em]


def small(pixel: float, norm: float) -> tuple[gt.NumpyProjector, np.ndarray]:
    """A scan with pixels of some mm, and projections of a norm."""
    A = gt.NumpyProjector(gt.parallel2d(9, 12, pixel), gt.Volume((8, 8), pixel))
    p = gt.sphere(3 * pixel).project(A.geometry, 4, dtype=np.float64)
    return A, p * (norm / np.linalg.norm(p))


@pytest.mark.parametrize("limit", [None, 20000])
@pytest.mark.parametrize(
    ("pixel", "norm"),
    [
        (1e-12, 1e-30),
        (1e-12, 1e-18),
        (1e-12, 1e15),
        (1e-9, 1e-28),
        (1e-6, 1e-29),
        (1e6, 1e30),
        (1e9, 1e20),
        (1e11, 1e30),
    ],
)
def test_cgls_by_pixels_of_any_size(any_device: gpuopt.Device, pixel: float, norm: float, limit: int | None) -> None:
    """Where projections and image lie within float32, A^T A b may not."""
    plain, p = small(pixel, norm)
    A = gt.Projector(plain.geometry, plain.volume, device=any_device, memory_limit=limit)
    mask = np.arange(64).reshape(8, 8) > 8
    for options in ({}, {"mask": mask}):
        want, found = gt.cgls(plain, p, 5, **options), gt.cgls(A, p.astype(np.float32), 5, **options)
        assert apart(found, want.image) < 1e-4
        np.testing.assert_allclose(found.residuals, want.residuals, rtol=1e-4)
        np.testing.assert_allclose(found.weighted, want.weighted, rtol=1e-3)
    x0 = gt.cgls(plain, p, 2).image
    found = gt.cgls(A, p.astype(np.float32), 3, x0=x0.astype(np.float32))
    assert apart(found, gt.cgls(plain, p, 3, x0=x0).image) < 1e-4


def test_cgls_of_data_scaled_by_powers_of_two_is_scaled(any_device: gpuopt.Device) -> None:
    plain, p = small(1.0, 1.0)
    A = gt.Projector(plain.geometry, plain.volume, device=any_device)
    want = gt.cgls(A, p.astype(np.float32), 5)
    for exponent in (-60, -1, 60):
        found = gt.cgls(A, np.ldexp(p.astype(np.float32), exponent), 5)
        np.testing.assert_array_equal(np.ldexp(found.image, -exponent), want.image)
        np.testing.assert_array_equal(np.ldexp(found.residuals, -exponent), want.residuals)
        np.testing.assert_array_equal(np.ldexp(found.weighted, -exponent), want.weighted)


@pytest.mark.filterwarnings("ignore:overflow:RuntimeWarning", "ignore:invalid value:RuntimeWarning")
@pytest.mark.parametrize("limit", [None, 20000])
@pytest.mark.parametrize("algorithm", EVERY)
def test_images_beyond_float32_are_refused(any_device: gpuopt.Device, algorithm: Any, limit: int | None) -> None:
    plain, p = small(1e-12, 1e30)
    A = gt.Projector(plain.geometry, plain.volume, device=any_device, memory_limit=limit)
    for iterations in (1, 3):
        with pytest.raises(ArrayError, match=r"^projections: their image is beyond float32; scale "):
            algorithm(A, p.astype(np.float32), iterations)
    plain, p = small(1e11, 1.0)
    A = gt.Projector(plain.geometry, plain.volume, device=any_device, memory_limit=limit)
    with pytest.raises(ArrayError, match=r"^x0: its projections are beyond float32; scale "):
        gt.cgls(A, p.astype(np.float32), 1, x0=np.full((8, 8), 1e28, np.float32))


@pytest.mark.parametrize("algorithm", EVERY)
def test_images_are_judged_by_the_dtype_that_is_given_back(algorithm: Any) -> None:
    """NumPy computes in fp64: what it finds may be beyond float32, and its square beyond fp64."""
    A, p = small(1e-12, 1e30)

    def read(state: gt.State) -> None:
        with pytest.raises(ArrayError, match=r"^projections: their image is beyond float32; scale "):
            _ = state.image

    for callback in (None, read):
        with pytest.raises(ArrayError, match=r"^projections: their image is beyond float32; scale "):
            algorithm(A, p.astype(np.float32), 2, callback=callback)
    seen: list[np.ndarray] = []
    found = algorithm(A, p, 2, callback=lambda state: seen.append(state.image))
    assert np.isfinite(found.image).all()
    np.testing.assert_array_equal(found.image, seen[-1])
    A, p = small(1e-8, 1e148)
    found, plain = algorithm(A, p, 2), algorithm(A, p / 1e148, 2)
    np.testing.assert_allclose(found.image / 1e148, plain.image, rtol=1e-9, atol=1e-9 * np.abs(plain.image).max())


PLAIN = gt.NumpyProjector(gt.parallel2d(4, 8), gt.Volume((8, 8)))


class Mine(gt.Operator):
    """An operator of somebody's own, with lists for shapes."""

    backend, exact, image_shape, data_shape = PLAIN.backend, True, [8, 8], [4, 8]  # type: ignore[assignment]

    def forward(self, x: Any, out: Any = None) -> Any:
        return PLAIN.forward(x, out)

    def back(self, p: Any, out: Any = None) -> Any:
        return PLAIN.back(p, out)

    def subset(self, views: np.ndarray) -> Any:
        return PLAIN.subset(views)


class Asked(Mine):
    image_shape = property(lambda self: [8, 8])  # type: ignore[assignment]
    data_shape = property(lambda self: np.array([4, 8]))  # type: ignore[assignment]


@pytest.mark.parametrize("kind", [Mine, Asked])
def test_shapes_of_ones_own_operators_may_be_lists(kind: type[Mine]) -> None:
    A, p = kind(), np.random.default_rng(1).random((4, 8))
    np.testing.assert_array_equal(A(np.ones((8, 8))), PLAIN(np.ones((8, 8))))
    np.testing.assert_array_equal(A.T(p), PLAIN.T(p))
    for algorithm in (gt.sirt, gt.cgls, gt.mlem):
        np.testing.assert_array_equal(algorithm(A, p, 3).image, algorithm(PLAIN, p, 3).image)
    mine = Mine()
    with pytest.raises(ParameterError, match="image_shape: it is 'wide'; give a tuple of whole numbers"):
        mine.image_shape = "wide"  # type: ignore[assignment]


@pytest.mark.parametrize("name", ["geometry", "volume", "pair"])
def test_an_operator_is_of_one_scan(name: str) -> None:
    with pytest.raises(AttributeError, match=f"{name}: an operator is of one; make another operator"):
        setattr(PLAIN, name, getattr(PLAIN, name))


@pytest.mark.parametrize("algorithm", EVERY)
@pytest.mark.parametrize(("factor", "says"), [(1e-170, "below"), (1e-320, "below"), (1e152, "4.54"), (1e170, "above")])
def test_projections_whose_squares_float64_does_not_hold_are_refused(algorithm: Any, factor: float, says: str) -> None:
    A = gt.NumpyProjector(gt.parallel2d(12, 12), gt.Volume((8, 8)))
    p = A(gt.sphere(3.0).sample(A.volume, dtype=np.float64))
    with pytest.raises(ArrayError, match=rf"^projections: their norm is {says}.* float64 take 1e-150 to 1e\+150"):
        algorithm(A, factor * p, 3)
    assert not algorithm(A, 0 * p, 3).image.any()
