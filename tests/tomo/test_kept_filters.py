"""What is kept of an operator's filter: it is never another operator's."""

from __future__ import annotations

import weakref
from typing import Any

import numpy as np
import pytest

import gpuopt.tomo as gt
from gpuopt.tomo import analytic

VOLUME = gt.Volume((16, 16))


def test_an_operator_is_never_filtered_as_another(monkeypatch: pytest.MonkeyPatch) -> None:
    """Not even where one has the address of another, whose filter an interruption left behind."""
    scans = gt.parallel2d(40, 30), gt.parallel2d(40, 30, offset=2.0)
    one, other, third = (gt.NumpyProjector(scan, VOLUME) for scan in (*scans, scans[1]))
    p, q = (gt.sphere(5.0).project(scan) for scan in scans)
    expected = gt.fbp(third, q)
    gt.fbp(one, p)
    monkeypatch.setitem(analytic._known, id(other), analytic._known[id(one)])
    np.testing.assert_array_equal(gt.fbp(other, q), expected)


def test_an_interruption_leaves_no_filter_behind(monkeypatch: pytest.MonkeyPatch) -> None:
    scan = gt.parallel2d(40, 30)
    A, p = gt.NumpyProjector(scan, VOLUME), gt.sphere(5.0).project(scan)

    def interrupted(*arguments: Any) -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(weakref, "finalize", interrupted)
        with pytest.raises(KeyboardInterrupt):
            gt.fbp(A, p)
    assert id(A) not in analytic._known
    gt.fbp(A, p)
    address = id(A)
    assert address in analytic._known
    del A
    assert address not in analytic._known
