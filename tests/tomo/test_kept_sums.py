"""What a Projector keeps of one reconstruction for the next: the sums of its rows and columns."""

from __future__ import annotations

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt


def test_sums_are_computed_once_and_a_start_of_zeros_is_not_projected(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The second call of SIRT projects forward and back once an iteration, but for the zeros of the first."""
    A = gt.Projector(gt.fan(24, sod=60.0, sdd=120.0, det=30, pixel=2.0), gt.Volume((16, 16)), device=any_device)
    p = A(np.random.default_rng(1).uniform(size=(16, 16)).astype(np.float32))
    calls: list[str] = []
    for name in ("forward", "back"):
        own = getattr(gt.Projector, name)
        monkeypatch.setattr(
            gt.Projector,
            name,
            lambda self, *a, _own=own, _name=name, **k: (calls.append(_name), _own(self, *a, **k))[1],
        )
    first = gt.sirt(A, p, 3)
    assert (calls.count("forward"), calls.count("back")) == (3, 4)
    calls.clear()
    again = gt.sirt(A, p, 3)
    assert (calls.count("forward"), calls.count("back")) == (2, 3)
    np.testing.assert_array_equal(again.image, first.image)
    np.testing.assert_array_equal(again.weighted, first.weighted)
    zeros = gt.sirt(A, p, 3, x0=np.zeros((16, 16), np.float32))
    np.testing.assert_array_equal(zeros.image, first.image)
    np.testing.assert_array_equal(zeros.residuals, first.residuals)
    calls.clear()
    gt.mlem(A, np.abs(p), 2)
    assert calls.count("back") == 2, "the columns are those of SIRT"
    calls.clear()
    gt.sirt(A.subset(range(12)), p[:12], 2)
    gt.sirt(A.subset(range(12)), p[:12], 2)
    assert calls.count("back") == 6, "subsets, of which there may be many, keep none"


def test_a_memory_limit_keeps_none(any_device: gpuopt.Device) -> None:
    A = gt.Projector(gt.parallel2d(12, 20), gt.Volume((16, 16)), device=any_device, memory_limit=1 << 24)
    assert not A.on_host
    p = A(np.ones((16, 16), np.float32))
    gt.sirt(A, p, 2)
    before = any_device.allocated_bytes
    gt.sirt(A, p, 2)
    assert any_device.allocated_bytes == before
    assert A._sums is None
