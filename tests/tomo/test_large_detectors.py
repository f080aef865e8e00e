"""Detectors that are larger than a device's images."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import Configuration, UnsupportedError
from gpuopt.configuration import complete
from gpuopt.tomo import on_device
from rays import apart

IMAGES = complete("tomography", Configuration("image"))


@pytest.fixture
def by_images(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> gpuopt.Device:
    """A device whose plain back projections read images, as those of GPUs do."""
    if not any_device.image_support:
        pytest.skip(f"{any_device.name} has no images")
    resolve = on_device.resolve

    def resolved(workload: str, device: Any, dtype: str, variant: Any = None, known: Any = None) -> Configuration:
        plain = variant is None and workload == "tomography"
        return IMAGES if plain else resolve(workload, device, dtype, variant, known)

    monkeypatch.setattr(on_device, "resolve", resolved)
    return any_device


def a_scan(columns: int) -> gt.Geometry:
    return gt.parallel2d(6, columns, 32 / columns)


def test_plain_back_projections_of_large_detectors_read_no_images(by_images: gpuopt.Device) -> None:
    scan, volume = a_scan(by_images.image2d_max[0] + 1), gt.Volume((16, 16))
    p = gt.sphere(5.0).project(scan)
    for pair in ("exact", "fast"):
        A = gt.Projector(scan, volume, pair, by_images)
        assert apart(gt.fbp(A, p), gt.fbp(gt.NumpyProjector(scan, volume), p)) < 1e-4
    assert on_device.whole_configuration(scan, volume, by_images, None).variant == "buffer"
    with pytest.raises(UnsupportedError, match="needs images of"):
        gt.Projector(scan, volume, "fast", by_images, variant="image").T(p)


def test_others_read_images(by_images: gpuopt.Device) -> None:
    scan = a_scan(64)
    assert on_device.whole_configuration(scan, gt.Volume((16, 16)), by_images, None) == IMAGES
    image = gt.back_project(np.ones(scan.shape, np.float32), scan, gt.Volume((16, 16)), "none", device=by_images)
    np.testing.assert_allclose(image, 6.0, rtol=1e-3)
