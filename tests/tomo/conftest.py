"""What the tests of this room share."""

from __future__ import annotations

import numpy as np
import pytest

import gpuopt.tomo as gt
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.reference_inputs import reference_inputs
from iterations import MatrixOperator


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
