"""SIRT, SART, OS-SART and CGLS: golden tables, invariants, what callers may ask, interruptions, bad input."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy.sparse.linalg import lsqr

import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError, UnsupportedError
from gpuopt.tomo.numpy_projector import NumpyBackend
from gpuopt.tomo.ordering import ORDERS, blocks_of, visits
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.reference_inputs import reference_inputs


class MatrixOperator(gt.Operator):
    """A matrix whose rows are the views: all that the iterations ask for."""

    backend = NumpyBackend()
    exact = True

    def __init__(self, matrix: np.ndarray) -> None:
        """``matrix`` (views, image) or (views, pixels, image)."""
        self.matrix = matrix
        self.image_shape, self.data_shape = matrix.shape[-1:], matrix.shape[:-1]
        self.calls = 0
        self.stop_at = -1

    def forward(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        self.calls += 1
        if self.calls == self.stop_at:
            raise KeyboardInterrupt
        found = self.matrix @ x
        if out is None:
            return found
        out[...] = found
        return out

    def back(self, p: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
        found = np.tensordot(p, self.matrix, p.ndim)
        if out is None:
            return found
        out[...] = found
        return out

    def subset(self, views: np.ndarray) -> MatrixOperator:
        parent = self

        class Part(MatrixOperator):
            def forward(self, x: np.ndarray, out: np.ndarray | None = None) -> np.ndarray:
                parent.calls += 1
                if parent.calls == parent.stop_at:
                    raise KeyboardInterrupt
                return super().forward(x, out)

        return Part(self.matrix[views])


TABLE = np.array([[1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
B = np.array([1.0, 3.0, 2.0])


def trail(algorithm: Callable[..., gt.Reconstruction], *arguments: Any, **options: Any) -> list[list[float]]:
    """The images after each iteration."""
    images: list[list[float]] = []
    result = algorithm(*arguments, **options, callback=lambda state: images.append(state.image.tolist()))
    assert result.image.tolist() == images[-1]
    return images


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


@pytest.mark.parametrize("views", range(1, 4))
def test_golden_table_by_row(views: int) -> None:
    """SART's image after each row, by the zero update of rows that are met already."""
    expected = {1: [1, 0], 2: [2, 1], 3: [2, 2]}[views]
    met = TABLE @ expected
    b = np.where(np.arange(3) < views, B, met)
    assert gt.sart(MatrixOperator(TABLE), b, 1, order="sequential").image.tolist() == expected


@pytest.fixture(scope="module")
def fan() -> tuple[gt.NumpyProjector, np.ndarray, np.ndarray]:
    """A small fan, an image and its projections."""
    scan = gt.fan(24, 60.0, 90.0, 33, 1.5, offset=0.4)
    A = gt.NumpyProjector(scan, gt.Volume((20, 20), 1.2))
    x = (gt.sphere(9.0, (1.0, -1.0, 0.0)) + gt.sphere(3.0, (-2.0, 3.0, 0.0), 0.5)).sample(A.volume, 4, float)
    return A, x, A(x)


@pytest.fixture(scope="module")
def matrix(fan: tuple[gt.NumpyProjector, np.ndarray, np.ndarray]) -> MatrixOperator:
    A = fan[0]
    scan, grid = reference_inputs(A.geometry, A.volume)
    return MatrixOperator(np.stack([oracle.joseph_rows(scan, grid, view) for view in range(24)]))


def apart(a: Any, b: np.ndarray) -> float:
    return float(np.linalg.norm(np.asarray(a).ravel() - b.ravel()) / np.linalg.norm(b))


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


ALL: list[tuple[Any, dict[str, Any]]] = [(gt.sirt, {}), (gt.sart, {}), (gt.os_sart, {"subsets": 4}), (gt.cgls, {})]


@pytest.mark.parametrize(("algorithm", "options"), ALL)
def test_nothing_given_is_changed_and_starts_continue(
    fan: tuple[Any, np.ndarray, np.ndarray], matrix: MatrixOperator, algorithm: Any, options: Any
) -> None:
    b = fan[2].copy()
    x0 = np.full(400, 0.3)
    result = algorithm(matrix, b, 3, x0=x0, **options)
    assert (x0 == 0.3).all()
    np.testing.assert_array_equal(b, fan[2])
    assert result.residuals[0] < np.linalg.norm(b)
    if algorithm is not gt.cgls:
        two = algorithm(matrix, b, 2, x0=algorithm(matrix, b, 1, x0=x0, **options).image, **options)
        np.testing.assert_allclose(two.image, result.image, atol=1e-13)
    single = algorithm(matrix, b.astype(np.float32), 3, **options)
    assert single.image.dtype == np.float32
    assert np.asarray(single) is single.image
    assert np.array(single, dtype=float).dtype == np.float64
    assert "after 3 iterations, residual" in repr(single)


@pytest.mark.parametrize(("algorithm", "options"), ALL)
def test_masks(fan: tuple[Any, np.ndarray, np.ndarray], matrix: MatrixOperator, algorithm: Any, options: Any) -> None:
    """What the mask leaves out stays zero, as if its columns were not there."""
    mask = np.random.default_rng(1).uniform(size=400) < 0.7
    result = algorithm(matrix, fan[2], 4, mask=mask, **options)
    assert (result.image[~mask] == 0).all()
    assert (result.image[mask] != 0).all()
    if algorithm is gt.cgls:
        cut = gt.cgls(MatrixOperator(matrix.matrix * mask), fan[2], 4)
        np.testing.assert_allclose(result.image, cut.image, atol=1e-12)


@pytest.mark.parametrize(("algorithm", "options"), ALL[:3])
def test_bounds(fan: tuple[Any, np.ndarray, np.ndarray], matrix: MatrixOperator, algorithm: Any, options: Any) -> None:
    b = fan[2] + np.random.default_rng(3).normal(0, 2, fan[2].shape)
    free = algorithm(matrix, b, 5, **options).image
    assert free.min() < 0
    assert free.max() > 1.2
    for low, high in ((0.0, 1.2), (None, 1.2), (0.0, None)):
        image = algorithm(matrix, b, 5, bounds=(low, high), **options).image
        assert image.min() == 0 if low is not None else image.min() < 0
        assert image.max() == 1.2 if high is not None else image.max() > 1.2
    np.testing.assert_array_equal(algorithm(matrix, b, 5, bounds=(None, None), **options).image, free)


def test_relaxation_and_decay() -> None:
    A = MatrixOperator(TABLE)
    assert trail(gt.sirt, A, B, 1, relaxation=0.5) == [[0.625, 0.875]]
    one, two = trail(gt.sirt, A, B, 2, relaxation=0.5, decay=0.5)
    assert one == [0.625, 0.875]
    r = B - TABLE @ one
    np.testing.assert_allclose(two, one + 0.25 * (TABLE.T @ (r / [1, 2, 1])) / 2)


def test_rays_and_voxels_that_meet_nothing_are_left_alone() -> None:
    rows = np.array([[1.0, 0, 0, 0], [0, 1.0, 0, 1e-9], [0, 0, 0, 1e-9], [1.0, 1.0, 0, 0]])
    for algorithm, options in ALL[:3]:
        result = algorithm(
            MatrixOperator(rows), np.array([1.0, 2.0, 5.0, 3.0]), 40, x0=np.array([0, 0, 7.0, 8]), **options
        )
        np.testing.assert_allclose(result.image[:2], [1, 2], atol=1e-3)
        assert result.image[2] == 7
        assert result.image[3] == 8


class Frugal(NumpyBackend):
    """Keeps no weights of blocks."""

    cache_bytes = 0


def test_weights_that_are_not_kept_are_the_same(
    fan: tuple[Any, np.ndarray, np.ndarray], matrix: MatrixOperator
) -> None:
    computed = MatrixOperator(matrix.matrix)
    computed.backend = Frugal()
    for subsets in (24, 5, 1):
        one, other = (gt.os_sart(A, fan[2], 3, subsets=subsets) for A in (matrix, computed))
        np.testing.assert_array_equal(one.image, other.image)
        np.testing.assert_array_equal(one.residuals, other.residuals)


def test_one_block_is_sirt(fan: tuple[Any, np.ndarray, np.ndarray], matrix: MatrixOperator) -> None:
    for subsets in (1, [np.arange(24)]):
        np.testing.assert_array_equal(
            gt.os_sart(matrix, fan[2], 3, subsets=subsets).image, gt.sirt(matrix, fan[2], 3).image
        )


def test_orders_of_views() -> None:
    places = np.arange(13) / 13
    for name in ORDERS:
        next_order = visits(name, places, seed=1)
        first, second = next_order(), next_order()
        assert sorted(first) == sorted(second) == list(range(13))
        assert (first != second).any() == (name == "random")
    assert visits("sequential", places, 0)().tolist() == list(range(13))
    np.testing.assert_array_equal(visits("random", places, 5)(), visits("random", places, 5)())
    golden = visits("golden", np.arange(8) / 8, 0)()
    # Ranks of the fractions of 0, 0.618, 1.236, ...
    assert golden.tolist() == [0, 5, 2, 7, 4, 1, 6, 3]
    assert visits("max_distance", np.arange(8) / 8, 0)().tolist() == [0, 4, 2, 6, 1, 3, 5, 7]
    # By the angles, whatever the order in which they were taken.
    shuffled = np.array([0.5, 0.0, 0.75, 0.25])
    assert shuffled[visits("max_distance", shuffled, 0)()].tolist() == [0.5, 0.0, 0.75, 0.25]


def test_blocks_of_views() -> None:
    assert [block.tolist() for block in blocks_of(7, 3)] == [[0, 3, 6], [1, 4], [2, 5]]
    assert [block.tolist() for block in blocks_of(3, ([2], (0, 1)))] == [[2], [0, 1]]
    assert gt.os_sart(MatrixOperator(TABLE), B, 1).iterations == 1  # fewer views than the standard number of blocks


@pytest.mark.parametrize(("algorithm", "options"), ALL)
def test_callbacks(
    fan: tuple[Any, np.ndarray, np.ndarray], matrix: MatrixOperator, algorithm: Any, options: Any
) -> None:
    states: list[gt.State] = []
    images: list[np.ndarray] = []

    def watch(state: gt.State) -> bool:
        states.append(state)
        images.append(state.image)
        return state.iteration == 3

    result = algorithm(matrix, fan[2], 9, callback=watch, **options)
    assert (result.ended, result.iterations) == ("stopped", 3)
    assert [state.iteration for state in states] == [1, 2, 3]
    assert {state.iterations for state in states} == {9}
    np.testing.assert_array_equal([state.residual for state in states], result.residuals)
    np.testing.assert_array_equal([state.weighted for state in states], result.weighted)
    for n, image in enumerate(images, 1):
        np.testing.assert_array_equal(image, algorithm(matrix, fan[2], n, **options).image)
        # A state answers with its own image later as well ...
        images[n - 1][:] = np.nan
    assert np.isfinite(result.image).all()


@pytest.mark.parametrize(("algorithm", "options"), ALL)
def test_an_interruption_leaves_the_last_finished_image(
    fan: tuple[Any, np.ndarray, np.ndarray], matrix: MatrixOperator, algorithm: Any, options: Any
) -> None:
    """Wherever in the iterations it comes."""
    counted = MatrixOperator(matrix.matrix)
    whole = algorithm(counted, fan[2], 4, **options)
    total = counted.calls
    finished = set()
    for at in range(1, total + 1):
        broken = MatrixOperator(matrix.matrix)
        broken.stop_at = at
        result = algorithm(broken, fan[2], 4, **options)
        assert result.ended == "interrupted"
        finished.add(result.iterations)
        np.testing.assert_array_equal(result.residuals, whole.residuals[: result.iterations])
        if result.iterations:
            expected = algorithm(matrix, fan[2], result.iterations, **options).image
        else:
            expected = np.zeros(400)
        np.testing.assert_array_equal(result.image, expected)
        if total > 40 and at > 60:  # one sweep and some of SART is enough
            break
    assert finished >= {0, 1}


def test_an_interruption_by_the_callback_keeps_its_iteration() -> None:
    def interrupt(state: gt.State) -> None:
        if state.iteration == 2:
            raise KeyboardInterrupt

    result = gt.sirt(MatrixOperator(TABLE), B, 5, callback=interrupt)
    assert (result.ended, result.image.tolist()) == ("interrupted", [1.125, 1.875])


def test_other_exceptions_are_not_swallowed() -> None:
    def fail(state: gt.State) -> None:
        raise RuntimeError("no")

    for algorithm, options in ALL:
        if options.get("subsets", 0) == 4:
            options = {"subsets": 2}
        with pytest.raises(RuntimeError, match="no"):
            algorithm(MatrixOperator(TABLE), B, 5, callback=fail, progress=True, **options)


def test_progress_shows_and_changes_nothing(capsys: pytest.CaptureFixture[str]) -> None:
    for algorithm, options in ALL:
        if options.get("subsets", 0) == 4:
            options = {"subsets": 2}
        quiet, bar = (algorithm(MatrixOperator(TABLE), B, 2, progress=shown, **options) for shown in (False, True))
        np.testing.assert_array_equal(quiet.image, bar.image)
    assert capsys.readouterr().out == ""


def test_operators_apply_and_transpose(fan: tuple[gt.NumpyProjector, np.ndarray, np.ndarray]) -> None:
    A, x, b = fan
    same = reference_inputs(A.geometry, A.volume)
    np.testing.assert_allclose(A(x), oracle.joseph(*same, x), atol=1e-12)
    np.testing.assert_allclose(A.T(b), oracle.joseph_adjoint(*same, b), atol=1e-11)
    np.testing.assert_array_equal(A.T.T(x), b)
    assert A(x.astype(np.float32)).dtype == np.float32
    assert (A.exact, A.views, A.data_shape, A.image_shape) == (True, 24, (24, 33), (20, 20))
    fast = gt.NumpyProjector(A.geometry, A.volume, pair="fast")
    assert not fast.exact
    np.testing.assert_array_equal(fast(x), b)
    np.testing.assert_allclose(fast.T(b), oracle.back_project(*same, b), atol=1e-11)
    assert A.adjoint_error() < 1e-15
    assert 1e-6 < fast.adjoint_error(1) < 1
    some = A.subset(np.array([3, 1]))
    np.testing.assert_array_equal(some(x), b[[3, 1]])
    linear = A.linear_operator()
    assert linear.shape == (24 * 33, 400)
    np.testing.assert_array_equal(linear @ x.ravel(), b.ravel())
    np.testing.assert_array_equal(linear.T @ b.ravel(), A.T(b).ravel())
    assert "exact pair, <fan: 24 views, flat, 33 columns" in repr(A)


def test_view_places_repeat_after_half_a_turn_of_parallel_beams() -> None:
    for scan, places in (
        (gt.parallel2d([0.0, math.pi / 2, 1.5 * math.pi], 9), [0, 0.5, 0.5]),
        (gt.fan([0.0, math.pi / 2, 1.5 * math.pi], 90.0, 90.0, 9, 1.0), [0, 0.25, 0.75]),
    ):
        got = gt.NumpyProjector(scan, gt.Volume((8, 8))).view_places
        np.testing.assert_allclose(np.exp(2j * np.pi * got), np.exp(2j * np.pi * np.array(places)), atol=1e-12)


def test_a_fast_pair_reconstructs_too(fan: tuple[gt.NumpyProjector, np.ndarray, np.ndarray]) -> None:
    A, x, b = fan
    fast = gt.NumpyProjector(A.geometry, A.volume, pair="fast")
    assert apart(gt.os_sart(fast, b, 4), x) < 0.3
    with pytest.raises(UnsupportedError, match="cgls: it needs an exact transpose"):
        gt.cgls(fast, b, 2)


def test_a_curved_helix_is_reconstructed() -> None:
    """SART and OS-SART of analytic projections on a helix with a detector about the source."""
    scan = gt.helical(36, 2, 60.0, 90.0, (9, 21), 3.0, 16.0, True)
    volume = gt.Volume((9, 12, 12), 2.5)
    body = gt.sphere(9.0, (2.0, -1.0, 1.0)) + gt.blob(4.0, (-4.0, 3.0, -2.0))
    x, b = body.sample(volume, 3, float), body.project(scan, 3, float)
    A = gt.NumpyProjector(scan, volume)
    errors: list[float] = []

    def watch(state: gt.State) -> None:
        errors.append(apart(state.image, x))

    sart = gt.sart(A, b, 5, relaxation=0.2, bounds=(0, None), callback=watch)
    assert errors == sorted(errors, reverse=True)
    assert errors[-1] < 0.11
    assert (np.diff(sart.residuals) < 0).all()
    # The voxels' own error is the floor: further iterations fit it, and the image gets worse again.
    assert sart.residuals[-1] < np.linalg.norm(A(x) - b)
    assert apart(gt.os_sart(A, b, 4, subsets=6), x) < 0.13


@pytest.mark.parametrize(
    ("call", "error", "word"),
    [
        (lambda A, b: gt.sirt(A, b, 0), ParameterError, "iterations: 0"),
        (lambda A, b: gt.sirt(A, b, relaxation=2.0), ParameterError, "relaxation: 2.0"),
        (lambda A, b: gt.sirt(A, b, relaxation=0), ParameterError, "relaxation: 0"),
        (lambda A, b: gt.sart(A, b, decay=1.1), ParameterError, "decay: 1.1"),
        (lambda A, b: gt.sirt(A, b, bounds=(1, 0)), ParameterError, "bounds: 1.0 is above 0.0"),
        (lambda A, b: gt.sirt(A, b, bounds=1), ParameterError, "bounds: 1 is not a pair"),
        (lambda A, b: gt.sirt(A, b, bounds=("a", None)), ParameterError, "bounds: 'a'"),
        (lambda A, b: gt.sart(A, b, order="best"), ParameterError, "order: 'best'"),
        (lambda A, b: gt.os_sart(A, b, subsets=25), ParameterError, "subsets: 25 are more than the 24 views"),
        (lambda A, b: gt.os_sart(A, b, subsets=0), ParameterError, "subsets: 0"),
        (lambda A, b: gt.os_sart(A, b, subsets=[[0, 1], [1]]), ParameterError, "subsets: the blocks do not hold"),
        (lambda A, b: gt.os_sart(A, b, subsets=[[0.5]]), ParameterError, "subsets: each block is a list"),
        (lambda A, b: gt.sirt(A, b[1:]), ArrayError, "projections: its axis view has 23 entries, the operator 24"),
        (lambda A, b: gt.sirt(A, b[np.newaxis]), ArrayError, r"projections: its shape is \(1, 24, 33\)"),
        (lambda A, b: gt.cgls(A, np.where(b > 5, np.inf, b)), ArrayError, "projections: view .*, u .* holds NaN"),
        (lambda A, b: gt.sirt(A, b, x0=np.zeros((20, 19))), ArrayError, "x0: its axis x has 19 entries"),
        (lambda A, b: gt.sirt(A, b, x0=np.full((20, 20), np.nan)), ArrayError, "x0: y 0, x 0 holds NaN"),
        (lambda A, b: gt.sirt(A, b, mask=np.ones((3, 3), bool)), ArrayError, "mask: its axis y has 3"),
        (lambda A, b: gt.sirt(A, b, mask=np.full((20, 20), 0.5)), ArrayError, "mask: it holds other values"),
        (lambda A, b: A(np.zeros((20, 21))), ArrayError, "image: its axis x has 21"),
        (lambda A, b: A.T(b.astype(np.float16)), ArrayError, "projections: its dtype is <f2"),
        (lambda A, b: gt.NumpyProjector(A.geometry, A.volume, "best"), ParameterError, "pair: 'best'"),
        (lambda A, b: gt.NumpyProjector(A.geometry, (3, 3)), ParameterError, "volume: tuple is not a Volume"),
        (lambda A, b: gt.NumpyProjector(A.geometry, gt.Volume((200, 200))), ParameterError, "volume: the source of"),
        (lambda A, b: gt.NumpyProjector("cone", A.volume), ParameterError, "geometry: str is not a geometry"),
        (
            lambda A, b: gt.NumpyProjector(gt.parallel2d(3, 4, offset=999.0), A.volume).adjoint_error(),
            ParameterError,
            "no ray meets",
        ),
    ],
)
def test_bad_input_is_named(
    fan: tuple[gt.NumpyProjector, np.ndarray, np.ndarray], call: Any, error: type[Exception], word: str
) -> None:
    with pytest.raises(error, match=word):
        call(fan[0], fan[2])
