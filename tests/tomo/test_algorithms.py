"""SIRT, SART, OS-SART and CGLS: golden tables, convergence, invariants."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import lsqr

import gpuopt.tomo as gt
from gpuopt import ParameterError
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
