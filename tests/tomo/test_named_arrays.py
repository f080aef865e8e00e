"""What operators write to and read from where the caller names the arrays: their shapes, and memory of their own."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import ArrayError

SQUARE = gt.parallel2d(12, 12), gt.Volume((12, 12))  # images and projections of one shape
UNLIKE = gt.parallel2d(4, 12), gt.Volume((6, 6))


@pytest.mark.parametrize("limit", [None, 2500])
@pytest.mark.parametrize("pair", ["exact", "fast"])
def test_arrays_of_as_many_elements_are_not_enough(any_device: gpuopt.Device, pair: str, limit: int | None) -> None:
    A = gt.Projector(*UNLIKE, pair, any_device, memory_limit=limit)

    def here(array: np.ndarray) -> Any:
        return array if A.on_host else gpuopt.to_device(array, any_device)

    x, p = (np.ones(shape, np.float32) for shape in (A.image_shape, A.data_shape))
    assert A.on_host == (limit is not None)
    turned = np.ascontiguousarray(p.T)
    for wrong, words in ((turned, "it looks transposed"), (p.ravel(), r"its shape is \(48,\)"), (p[:2], "axis view")):
        for call in (A.back, lambda p, out=None: A.back_project(p, "none", out)):
            with pytest.raises(ArrayError, match=f"^projections: .*{words}"):
                call(here(wrong))
        with pytest.raises(ArrayError, match=f"^out: .*{words}"):
            A.forward(here(x), out=here(wrong))
    for wrong in (x.ravel(), x.reshape(4, 9), x.reshape(1, 6, 6)):
        with pytest.raises(ArrayError, match=r"^x: its"):
            A.forward(here(wrong))
        for call in (A.back, lambda p, out=None: A.back_project(p, "none", out)):
            with pytest.raises(ArrayError, match=r"^out: its"):
                call(here(p), out=here(wrong))
    for wrong in (x.astype(float), x.astype(np.int32)):
        with pytest.raises(ArrayError, match=r"^x: its dtype"):
            A.forward(here(wrong))
        with pytest.raises(ArrayError, match=r"^out: its dtype"):
            A.back(here(p), out=here(wrong))


@pytest.mark.parametrize("limit", [None, 4000])
@pytest.mark.parametrize("pair", ["exact", "fast"])
def test_out_is_no_memory_of_the_input(any_device: gpuopt.Device, pair: str, limit: int | None) -> None:
    A = gt.Projector(*SQUARE, pair, any_device, memory_limit=limit)
    assert A.on_host == (limit is not None)
    x = np.random.default_rng(8).uniform(size=(12, 12)).astype(np.float32)
    for one in (A, gt.Supersampled(A, 2)):
        for call in (one.forward, one.back, lambda a, out: one.back_project(a, "none", out)):  # noqa: B023
            given = x.copy() if A.on_host else gpuopt.to_device(x, any_device)
            with pytest.raises(ArrayError, match=r"^out: it shares memory with "):
                call(given, out=given)
            np.testing.assert_array_equal(np.asarray(given), x)
    if not A.on_host:
        return
    both = np.zeros((30, 12), np.float32)
    for first in (1, 11):
        for call in (A.forward, A.back):
            with pytest.raises(ArrayError, match=r"^out: it shares memory with "):
                call(both[:12], out=both[first : first + 12])
            with pytest.raises(ArrayError, match=r"^out: it shares memory with "):
                call(both[first : first + 12], out=both[:12])
    frozen = x.copy()
    frozen.flags.writeable = False
    with pytest.raises(ArrayError, match=r"^out: it is read-only"):
        A.forward(x, out=frozen)
    both[:12] = x
    beside = np.zeros((12, 12, 2), np.float32)
    beside[..., 0] = x
    for given, out in ((both[:12], both[12:24]), (beside[..., 0], beside[..., 1])):  # side by side, or interleaved
        assert A.forward(given, out=out) is out
        np.testing.assert_array_equal(out, A(x))


def test_back_project_takes_projections_alone(any_device: gpuopt.Device) -> None:
    p = np.ones((4, 12), np.float32)
    for wrong, words in (
        (np.ascontiguousarray(p.T), r"its axis view has 12 entries, .*it looks transposed"),
        (p.ravel(), r"its shape is \(48,\); give \(view, u\) = \(4, 12\)"),
        (p.reshape(2, 2, 12), r"its shape is \(2, 2, 12\)"),
        (p.astype(float), r"its dtype is float64.*use projections.astype"),
        (np.ones((4, 24), np.float32)[:, ::2], r"they are not C-contiguous; use np.ascontiguousarray\(projections\)"),
    ):
        with pytest.raises(ArrayError, match=f"^projections: {words}"):
            gt.back_project(wrong, *UNLIKE, device=any_device)


def test_out_of_several_rays_is_no_memory_of_the_input() -> None:
    """It would be read again for the second ray of a pixel."""
    A = gt.NumpyProjector(gt.parallel2d(8, 8), gt.Volume((8, 8)))
    over, y = gt.Supersampled(A, 2), np.random.default_rng(2).normal(size=(9, 8))
    np.testing.assert_array_equal(A.forward(y[:8].copy(), out=y[1:].copy()), A(y[:8]))
    for call in (over.forward, over.back):
        for out in (y[:8], y[1:]):
            with pytest.raises(ArrayError, match=r"^out: it shares memory with "):
                call(y[:8], out=out)


@pytest.mark.parametrize("pair", ["exact", "fast"])
def test_complex_arrays_are_refused(pair: str) -> None:
    """Their imaginary parts were dropped."""
    A = gt.NumpyProjector(*UNLIKE, pair)
    with pytest.raises(ArrayError, match=r"^x: .*real numbers"):
        A.forward(np.ones(A.image_shape, complex))
    for call in (A.back, lambda p: A.back_project(p, "none")):
        with pytest.raises(ArrayError, match=r"^projections: .*real numbers"):
            call(np.ones(A.data_shape, complex))
    assert A.forward(np.ones(A.image_shape, int)).shape == A.data_shape


@pytest.mark.filterwarnings("ignore:the matrix subclass:PendingDeprecationWarning")
@pytest.mark.parametrize("scan", [gt.parallel2d(24, 12), gt.fan(36, 40.0, 80.0, 16, 2.0)], ids=["parallel", "fan"])
def test_a_matrix_is_filtered_as_the_array_that_it_is(scan: gt.Geometry, any_device: gpuopt.Device) -> None:
    """NumPy's own never has a third axis."""
    volume = gt.Volume((8, 8))
    p = gt.sphere(3.0).project(scan, 2)
    for A in (gt.NumpyProjector(scan, volume), gt.Projector(scan, volume, device=any_device)):
        found = gt.fbp(A, np.asmatrix(p))
        assert type(found) is np.ndarray
        np.testing.assert_array_equal(found, gt.fbp(A, p))
