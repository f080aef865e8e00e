"""The work that plans of tomography declare: samples that rays take inside the volume, by the oracle's weights."""

from __future__ import annotations

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, _core
from gpuopt.configuration import complete
from gpuopt.tomo import on_device
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.reference_inputs import reference_inputs
from rays import FLOAT, SCANS


def samples_of(name: str) -> int:
    """Planes across its main axis on which a ray has a weight, summed over rays."""
    scan, grid = reference_inputs(*SCANS[name])
    counts, sizes, _ = grid.along_xyz()
    found = 0
    for view in range(scan.views):
        slope = np.abs(oracle.rays(scan, view)[1] / sizes)
        axis = np.where(
            slope[:, 0] >= 0.99999 * slope[:, 1:].max(axis=1), 0, np.where(slope[:, 1] >= 0.99999 * slope[:, 2], 1, 2)
        )
        weights = oracle.joseph_rows(scan, grid, view).reshape(-1, *counts[::-1]) > 1e-9
        planes = [weights.any(axis=tuple(a for a in (1, 2, 3) if a != 3 - main)).sum(axis=1) for main in range(3)]
        found += int(sum(planes[main][ray] for ray, main in enumerate(axis)))
    return found


@pytest.mark.parametrize("name", SCANS)
def test_samples_are_counted_inside_the_volume(any_device: gpuopt.Device, name: str) -> None:
    geometry, volume = SCANS[name]
    kernels = on_device.kernel_geometry(geometry, volume)
    image, data = (_core.empty(shape, FLOAT, any_device) for shape in (volume.shape, geometry.shape))
    configuration = complete("tomography", Configuration("joseph"))
    plan = _core.prepare_joseph(
        None, image, data, kernels, accumulate=False, variant="joseph", parameters=configuration.parameters
    )
    work = plan.prepared.work
    assert work["flops"] / 9 == pytest.approx(samples_of(name), rel=0.02, abs=4)
    assert work["bytes"] == {
        "dram": image.nbytes + data.nbytes,
        "requested": pytest.approx(16 * work["flops"] / 9),
    }


def test_rays_beside_the_volume_are_no_work(any_device: gpuopt.Device) -> None:
    """Detectors three times as wide as the volume, whose outer rays meet nothing."""
    geometry, volume = gpuopt.tomo.parallel2d(30, 121, 1.0), gpuopt.tomo.Volume((40, 40))
    kernels = on_device.kernel_geometry(geometry, volume)
    image, data = (_core.empty(shape, FLOAT, any_device) for shape in (volume.shape, geometry.shape))
    parameters = complete("tomography", Configuration("joseph")).parameters
    plan = _core.prepare_joseph(None, image, data, kernels, accumulate=False, variant="joseph", parameters=parameters)
    assert plan.prepared.work["flops"] < 0.5 * 9 * 30 * 121 * 40
