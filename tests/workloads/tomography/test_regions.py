"""SART with the paper's steps as back projectors, on regions like its own but smaller."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

import gpuopt
from gpuopt import ParameterError, UnsupportedError
from gpuopt import tomo as gt
from gpuopt.workloads.common import cpp_loops
from gpuopt.workloads.tomography import regions
from workloads.tomography.cases import FLAT, SCANS, VOLUME

SMALL = replace(regions.HEART, shape=(9, 22, 22), views=13, det=(24, 60), turns=1)


def test_sart_with_a_step_of_the_paper_is_that_of_the_fast_pair(device: gpuopt.Device) -> None:
    geometry, volume = SMALL.scan()
    p = gt.sphere(8.0, (1, -2, 0)).project(geometry)
    usual = np.asarray(gt.sart(gt.Projector(geometry, volume, "fast", device), p, 2).image)
    # A texture unit, which only the usual one uses, rounds places between pixels to 1/256: of a view whose edge a voxel
    # hardly touches, it takes nothing, where the others divide two small numbers. Such voxels are left out.
    hardly = np.zeros(volume.shape, bool)
    if device.type != "cpu":
        exact = gt.Projector(geometry, volume, "fast", device, variant="paper:naive")
        for view in range(geometry.views):
            shares = np.asarray(exact.subset(np.array([view])).T(np.ones((1, *geometry.shape[1:]), np.float32)))
            hardly |= (shares > 0) & (shares < shares.max() / 128)
        assert hardly.mean() < 0.02
    for step in ("paper:naive", "paper:alu", "paper:vector_input", "paper:vector_output_image"):
        try:
            found = gt.sart(gt.Projector(geometry, volume, "fast", device, variant=step), p, 2)
        except UnsupportedError as reason:
            pytest.skip(str(reason))
        atol = (1e-3 if device.type == "cpu" else 5e-2) * usual.max()
        np.testing.assert_allclose(np.where(hardly, usual, found.image), usual, rtol=0, atol=atol)


def test_the_named_back_projector_is_the_one_that_runs(any_device: gpuopt.Device) -> None:
    geometry, volume = SCANS["circle"]()
    A = gt.Projector(geometry, volume, "fast", any_device, variant="paper:alu")
    p = np.ones(geometry.shape, np.float32)
    with pytest.raises(UnsupportedError, match="an arc of detectors about a source"):
        A.T(p)
    with pytest.raises(UnsupportedError, match="an arc of detectors about a source"):
        A.subset(np.array([1])).T(p[[1]])
    streamed = gt.Projector(geometry, volume, "fast", any_device, variant="paper:alu", memory_limit=60_000)
    assert streamed.on_host
    with pytest.raises(UnsupportedError, match="an arc of detectors about a source"):
        streamed.T(p)


def test_back_projectors_that_are_none(any_device: gpuopt.Device) -> None:
    geometry = gt.circular(13, **FLAT)
    with pytest.raises(ParameterError, match="variant: the exact pair has one transpose"):
        gt.Projector(geometry, VOLUME, device=any_device, variant="paper:alu")
    with pytest.raises(ParameterError, match="'joseph' is no back projector"):
        gt.Projector(geometry, VOLUME, "fast", any_device, variant="joseph")
    with pytest.raises(ParameterError, match="no preset 'paper:none'"):
        gt.Projector(geometry, VOLUME, "fast", any_device, variant="paper:none")


@pytest.mark.skipif(cpp_loops.compiler() is None, reason="there is no C++ compiler")
@pytest.mark.parametrize("wide", [0.95, 1.5], ids=["whole", "truncated"])
def test_device_and_host_make_the_same_image(
    any_device: gpuopt.Device, wide: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(regions.REGIONS, "small", regions.Region("small", SMALL, wide))
    found = regions.compare("small", any_device, ("paper:naive", "paper:alu"), 11, 2)
    assert [one.name for one in found.found] == ["paper:naive", "paper:alu", "C++ loops"]
    assert found.views == 11
    assert found.region.truncated == (wide > 1)
    for one in found.found:
        assert found.apart(one) < 1e-3 * found.truth.max()
        assert one.residuals[-1] < one.residuals[0]
    if wide < 1:
        assert found.error(found.found[1]) < 0.8


def test_objects_fill_their_regions() -> None:
    """Whole ones lie inside; a truncated one reaches beyond, in x and y alone."""
    for region in regions.REGIONS.values():
        image = region.phantom.sample(region.scan(3)[1])
        edges = np.abs(image[:, [0, -1]]).max(), np.abs(image[:, :, [0, -1]]).max()
        assert (max(edges) > 0) == region.truncated
        assert image[len(image) // 2].max() > 0.9


def test_regions_that_are_none(any_device: gpuopt.Device) -> None:
    with pytest.raises(ParameterError, match="region: 'I3' is not known; give one of 'I1', 'I2', 'I1 truncated'"):
        regions.compare("I3", any_device)
