"""What callers may ask of the iterations: starts, masks, bounds, orders, callbacks, interruptions; bad input."""

from __future__ import annotations

import dataclasses
import math
from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError, UnsupportedError
from gpuopt.tomo.ordering import ORDERS, blocks_of, visits
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.reference_inputs import reference_inputs
from iterations import TABLE, B, Frugal, MatrixOperator, trail
from rays import apart

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


def test_images_are_copied_as_numpy_says(any_device: gpuopt.Device) -> None:
    """An array without a copy is the image itself, or there is none."""
    A = gt.NumpyProjector(gt.parallel2d(6, 8), gt.Volume((8, 8)))
    found = gt.sirt(A, A(np.ones((8, 8))), 1)
    assert found.__array__(copy=False) is found.__array__(np.float64, copy=False) is found.image
    assert found.__array__(copy=True) is not found.image
    there = dataclasses.replace(found, image=gpuopt.to_device(found.image, any_device))
    assert there.__array__(np.float32, copy=True).dtype == np.float32
    np.testing.assert_array_equal(np.asarray(there), found.image)
    for one, dtype in ((found, np.float32), (there, None)):
        with pytest.raises(ParameterError, match=r"^copy: "):
            one.__array__(dtype, copy=False)


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
        images[n - 1][:] = np.nan
    assert np.isfinite(result.image).all()
    # Its array is another iteration's by now.
    for state in states:
        with pytest.raises(ParameterError, match=rf"^image: the callback of iteration {state.iteration} has returned"):
            _ = state.image


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


@pytest.mark.parametrize(("algorithm", "options"), ALL)
def test_what_a_callback_may_not_return(
    fan: tuple[Any, np.ndarray, np.ndarray], matrix: MatrixOperator, algorithm: Any, options: Any
) -> None:
    """The image, for one: whether it ends the run nobody can say. An array of a device was taken for True."""

    class Untold:
        def __bool__(self) -> bool:
            raise ValueError("nobody knows")

    on_device = gpuopt.to_device(np.zeros(3, np.float32))
    for answer in (np.zeros((4, 4)), np.zeros(1), np.zeros(0), on_device, Untold()):
        with pytest.raises(gpuopt.ParameterError, match=r"^callback: it returned an? .*give True to end the run"):
            algorithm(matrix, fan[2], 2, callback=lambda state: answer, **options)  # noqa: B023
    for answer, ended in ((np.True_, "stopped"), (np.array(1), "stopped"), (None, "finished"), (0, "finished")):
        found = algorithm(matrix, fan[2], 2, callback=lambda state: answer, **options)  # noqa: B023
        assert found.ended == ended


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
        (lambda A, b: gt.sirt(A, b, bounds=(1e300, None)), ParameterError, r"bounds: 1e\+300 is beyond the numbers"),
        (lambda A, b: gt.sirt(A, b, bounds=1), ParameterError, r"bounds: it is 1; give \(a number or None"),
        (
            lambda A, b: gt.sirt(A, b, bounds=("a", None)),
            ParameterError,
            r"bounds: it is a tuple; give \(a number",
        ),
        (lambda A, b: gt.sart(A, b, order="best"), ParameterError, "order: 'best'"),
        (lambda A, b: gt.os_sart(A, b, subsets=25), ParameterError, "subsets: 25 are more than the 24 views"),
        (lambda A, b: gt.os_sart(A, b, subsets=0), ParameterError, "subsets: 0"),
        (lambda A, b: gt.os_sart(A, b, subsets=[[0, 1], [1]]), ParameterError, "subsets: the blocks do not hold"),
        (lambda A, b: gt.os_sart(A, b, subsets=[range(10**9)]), ParameterError, "subsets: they name more than the 24"),
        (
            lambda A, b: gt.os_em(A, b, subsets=np.zeros((2**40, 0), np.int64)),
            ParameterError,
            "subsets: they name more than the 24",
        ),
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
        (lambda A, b: gt.NumpyProjector(A.geometry, (3, 3)), ParameterError, "volume: it is a tuple; give a Volume"),
        (lambda A, b: gt.NumpyProjector(A.geometry, gt.Volume((200, 200))), ParameterError, "volume: the source of"),
        (lambda A, b: gt.NumpyProjector("cone", A.volume), ParameterError, "geometry: it is 'cone'; give a Geometry"),
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


@pytest.mark.parametrize("limit", [None, 6000])
def test_masks_on_a_device_are_looked_at(any_device: gpuopt.Device, limit: int | None) -> None:
    A = gt.Projector(gt.parallel2d(12, 16), gt.Volume((8, 8)), device=any_device, memory_limit=limit)
    p, mask = gt.sphere(3.0).project(A.geometry), np.ones((8, 8), np.float32)
    mask[2:5] = 0
    for wrong in (7.0, -1.0, 0.5, 1e-20, 1e30, float(np.nextafter(np.float32(1), np.float32(2)))):
        other = np.where(np.arange(64).reshape(8, 8) == 63, np.float32(wrong), mask)
        for algorithm in (gt.sirt, gt.cgls, gt.mlem):
            with pytest.raises(ArrayError, match=r"^mask: it holds other values than 0 and 1; give bool"):
                algorithm(A, p, 1, mask=gpuopt.to_device(other, any_device))
    found = gt.sirt(A, p, 2, mask=gpuopt.to_device(mask, any_device)).image
    np.testing.assert_array_equal(found, gt.sirt(A, p, 2, mask=mask).image)


EVERY: list[Any] = [gt.sirt, gt.sart, gt.os_sart, gt.cgls, gt.mlem, gt.os_em]


@pytest.mark.parametrize("algorithm", EVERY)
def test_data_of_any_magnitude_are_reconstructed_or_refused(any_device: gpuopt.Device, algorithm: Any) -> None:
    """float32 ends where sums of such data, and products with them, still have a meaning."""
    geometry, volume = gt.parallel2d(12, 16), gt.Volume((11, 11))
    A = gt.Projector(geometry, volume, device=any_device)
    p = gt.sphere(4.0, (1.0, 0.0, 0.0)).project(geometry).astype(np.float32)
    want = algorithm(A, p, 2).image
    for exponent in range(-126, 126, 12):
        scaled = np.ldexp(p, exponent)
        for data in (scaled, gpuopt.to_device(scaled, any_device)):
            try:
                found = np.asarray(algorithm(A, data, 2))
            except ArrayError as error:
                assert "projections: their norm is" in str(error)  # noqa: PT017
                assert abs(exponent) > 90
                continue
            np.testing.assert_allclose(np.ldexp(found, -exponent), want, rtol=1e-4, atol=1e-5)
    with pytest.raises(ArrayError, match="x0: their norm is"):
        algorithm(A, p, 2, x0=np.full((11, 11), 1e37, np.float32))
    assert not np.asarray(algorithm(A, p * 0, 2)).any()
