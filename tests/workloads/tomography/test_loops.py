"""The plain C++ loops against the oracle, on both numbers of threads."""

from __future__ import annotations

import numpy as np
import pytest

from gpuopt import UnsupportedError
from gpuopt import tomo as gt
from gpuopt.workloads.common import cpp_loops
from gpuopt.workloads.tomography import loops
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.reference_inputs import reference_inputs
from workloads.tomography.cases import SCANS, VOLUME

pytestmark = pytest.mark.skipif(cpp_loops.compiler() is None, reason="there is no C++ compiler")


@pytest.mark.parametrize("flags", [loops.SERIAL, loops.THREADED], ids=["serial", "threads"])
@pytest.mark.parametrize("weight", oracle.WEIGHTS)
def test_back_projection(weight: str, flags: tuple[str, ...]) -> None:
    geometry, volume = SCANS["helix-arc"]()
    p = np.random.default_rng(1).random(geometry.shape, dtype=np.float32)
    expected = oracle.back_project(*reference_inputs(geometry, volume), p, weight)
    found = loops.Loops(geometry, volume, flags).back_project(p, weight)
    np.testing.assert_allclose(found, expected, rtol=0, atol=2e-5 * expected.max())


def test_projection_along_rays() -> None:
    geometry, volume = SCANS["helix-arc"]()
    x = np.random.default_rng(2).random(volume.shape, dtype=np.float32)
    expected = oracle.joseph(*reference_inputs(geometry, volume), x)
    found = loops.Loops(geometry, volume).project(x)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-5 * expected.max())


def test_a_subset_of_views() -> None:
    geometry, volume = SCANS["helix-arc"]()
    A = loops.LoopProjector(geometry, volume)
    p = np.random.default_rng(3).random(geometry.shape, dtype=np.float32)
    parts = [A.subset(np.array([view])).T(p[[view]]) for view in range(geometry.views)]
    np.testing.assert_allclose(sum(parts), A.T(p), rtol=1e-5)


def test_scans_that_are_no_arc() -> None:
    for scan in ("circle", "fan-arc", "helix-radius"):
        with pytest.raises(UnsupportedError, match="an arc of detectors about the source"):
            loops.Loops(*SCANS[scan]())
    with pytest.raises(UnsupportedError, match="an arc of detectors"):
        loops.LoopProjector(gt.parallel3d(3, (4, 5)), VOLUME)
