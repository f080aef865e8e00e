"""What projectors on devices keep, and for how long: limits, subsets, plans."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import DeviceMemoryError, ParameterError, _core
from gpuopt.tomo import on_device
from gpuopt.tomo.device_backend import DeviceBackend
from gpuopt.tomo.streaming import Needs
from rays import apart

FAN = gt.fan(24, 60.0, 90.0, 33, 1.5, offset=0.4), gt.Volume((20, 20), 1.2)
CONE = gt.circular(40, 300, 500, (48, 56), 1.6), gt.Volume((24, 32, 32), 1.1)


def random(scan: tuple[gt.Geometry, gt.Volume]) -> np.ndarray:
    return np.random.default_rng(5).uniform(0, 1, scan[0].shape).astype(np.float32)


def test_algorithms_by_parts(any_device: gpuopt.Device) -> None:
    b = random(FAN)
    A = gt.Projector(*FAN, device=any_device)
    limited = gt.Projector(*FAN, device=any_device, memory_limit=8000)
    assert limited.on_host
    for algorithm, options in ((gt.sirt, {}), (gt.os_sart, {"subsets": 3}), (gt.cgls, {})):
        expected = algorithm(A, b, 2, **options)
        assert apart(algorithm(limited, b, 2, **options), np.asarray(expected)) < 2e-5
    on = gpuopt.to_device(b, any_device)
    assert isinstance(gt.sirt(limited, on, 1).image, gpuopt.DeviceArray)
    inside = b * (np.arange(b.shape[-1]) % (b.shape[-1] - 1) > 0)  # of an object that ends before the detector does
    assert apart(gt.fbp(limited, inside), gt.fbp(A, inside)) < 1e-5


def test_bytes_that_do_not_suffice(any_device: gpuopt.Device) -> None:
    with pytest.raises(DeviceMemoryError, match=r"a slice of the volume and a view take [\d,]+ bytes, and only 1,000"):
        gt.Projector(*CONE, device=any_device, memory_limit=1000)
    wrong: Any
    for wrong in (0, -5, True, "5", 1.5, float("nan"), np.ones(2)):
        with pytest.raises(ParameterError, match="memory_limit"):
            gt.Projector(*CONE, device=any_device, memory_limit=wrong)


@pytest.mark.parametrize("pair", ["exact", "fast"])
@pytest.mark.parametrize("share", [1.02, 1.5])
def test_an_iteration_stays_within_its_limit(any_device: gpuopt.Device, pair: str, share: float) -> None:
    b = random(CONE)
    limit = int(share * Needs.of(CONE[1].shape, CONE[0].views, CONE[0], pair == "fast").iteration)
    A = gt.Projector(*CONE, pair, any_device, memory_limit=limit)
    assert not A.on_host
    before, most = any_device.allocated_bytes, 0

    def look(state: gt.State) -> None:
        nonlocal most
        most = max(most, any_device.allocated_bytes - before)

    gt.os_sart(A, b, 2, subsets=10, callback=look)
    assert 0 < most <= limit


@pytest.mark.parametrize("scan", [FAN, CONE], ids=["fan", "cone"])
@pytest.mark.parametrize("algorithm", [gt.sirt, gt.sart, gt.os_sart, gt.cgls, gt.mlem, gt.os_em])
def test_every_algorithm_stays_within_the_limit(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, algorithm: Any, scan: tuple[gt.Geometry, gt.Volume]
) -> None:
    """Also between iterations: arrays of blocks, tables, sums that are not yet read."""
    before, most = any_device.allocated_bytes, 0

    def watched(method: Any) -> Any:
        def call(*arguments: Any, **named: Any) -> Any:
            nonlocal most
            found = method(*arguments, **named)
            most = max(most, any_device.allocated_bytes - before)
            return found

        return call

    for kind, names in ((gt.Projector, ("forward", "back")), (DeviceBackend, ("full", "views", "residual", "dot"))):
        for name in names:
            monkeypatch.setattr(kind, name, watched(getattr(kind, name)))
    limit = Needs.of(scan[1].shape, scan[0].views, scan[0]).iteration
    for mask in (None, np.ones(scan[1].shape, bool)):
        for x0 in (None, np.ones(scan[1].shape, np.float32)):
            A = gt.Projector(*scan, device=any_device, memory_limit=limit)
            assert not A.on_host
            algorithm(A, random(scan), 2, mask=mask, x0=x0)
    assert 0 < most <= limit


@pytest.mark.parametrize("pair", ["exact", "fast"])
def test_iterations_give_their_memory_back(any_device: gpuopt.Device, pair: str) -> None:
    A, b = gt.Projector(*CONE, pair, any_device), random(CONE)
    gt.sirt(A, b, 1)  # all views at once: the most that plans lay out anew
    gt.os_sart(A, b, 1)
    held = any_device.allocated_bytes
    for _ in range(3):
        gt.os_sart(A, b, 2)
    assert any_device.allocated_bytes == held
    for subsets in range(2, 10):  # other blocks leave their rays' tables, which are small, and no more than views
        gt.os_sart(A, b, 1, subsets=subsets)
    tables = 8 * 1.5 * Needs.of(CONE[1].shape, CONE[0].views, CONE[0]).lines
    assert any_device.allocated_bytes - held < tables
    assert len(A._subsets) <= A.views
    A.T(b)
    gt.sirt(A, b, 1)
    assert any_device.allocated_bytes - held < tables


def test_subsets_by_mask_and_by_number(any_device: gpuopt.Device) -> None:
    A = gt.Projector(*FAN, device=any_device)
    mask = np.arange(24) % 3 == 1
    assert A.subset(mask).views == 8
    assert A.subset(mask.astype(np.int64)).views == 24
    assert A.subset(mask) is A.subset(np.flatnonzero(mask))


def test_plans_of_a_subset_end_with_its_arrays(any_device: gpuopt.Device) -> None:
    """Of whichever weight they are."""
    scan, volume = gt.parallel2d(8, 12), gt.Volume((8, 8))
    part = gt.Projector(scan, volume, "fast", any_device).subset([0, 3])
    first, second = (gpuopt.to_device(np.ones((2, 12), np.float32), any_device) for _ in range(2))
    image = part.back_project(second, "none")
    part.back_project(first, "adjoint", image)
    part.back_project(second, "fdk", image)
    assert len(part._voxel_driven) == 3
    del first
    assert not part._voxel_driven
    part.back_project(second, "none", image)
    assert len(part._until) == 2


def test_a_kept_subset_is_none_that_goes(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where another thread has made the same one meanwhile, no other makes room for it."""
    A = gt.Projector(gt.parallel2d(2, 12), gt.Volume((8, 8)), "exact", any_device)
    one = A.subset([0])
    sharing = gt.Projector._sharing

    def beside(*given: Any) -> gt.Projector:
        monkeypatch.undo()
        A.subset([1])
        return sharing(*given)

    monkeypatch.setattr(gt.Projector, "_sharing", beside)
    A.subset([1])
    assert A.subset([0]) is one


def test_a_started_plan_has_no_samples(any_device: gpuopt.Device) -> None:
    geometry, volume = CONE
    image, data = (_core.empty(shape, np.dtype(np.float32), any_device) for shape in (volume.shape, geometry.shape))
    image.fill_bytes(0)
    standard = next(
        {p.name: p.standard for p in v.parameters} for v in gpuopt.variants("tomography") if v.name == "joseph"
    )
    scan = on_device.kernel_geometry(geometry, volume)
    plan = _core.prepare_joseph(None, image, data, scan, accumulate=False, variant="joseph", parameters=standard)
    plan.prepared.run()
    plan.start(image, data)
    with pytest.raises(ParameterError, match="it has been started"):
        plan.prepared.run()


TURN = np.arange(60) * 2 * np.pi / 60
DISPLACED: dict[str, tuple[gt.Geometry, gt.Volume]] = {
    "fan": (gt.fan(TURN, 80.0, 140.0, 32, 1.2, offset=7.0), gt.Volume((16, 16), 0.8)),
    "cone": (gt.circular(TURN, 80.0, 140.0, (5, 32), 1.2, offset=(0.0, 7.0)), gt.Volume((4, 16, 16), 0.8)),
    "parallel": (gt.parallel3d(TURN, (8, 32), 0.8, (0.0, 5.0)), gt.Volume((8, 16, 16), 0.8)),
}


@pytest.mark.parametrize("kind", DISPLACED)
@pytest.mark.parametrize("on_device", [False, True])
def test_a_limit_that_only_the_wider_scan_of_a_displaced_detector_exceeds(
    any_device: gpuopt.Device, kind: str, on_device: bool
) -> None:
    """Its near side is filtered as far as its far side reaches."""
    scan, volume = DISPLACED[kind]
    A = gt.Projector(scan, volume, device=any_device)
    tight = gt.Projector(
        scan, volume, device=any_device, memory_limit=Needs.of(volume.shape, scan.views, scan).iteration
    )
    assert not tight.on_host
    p: Any = gt.blob(2.0).project(scan)
    p = gpuopt.to_device(p, any_device) if on_device else p
    algorithm: Any = gt.fbp if scan.parallel else gt.fdk
    found, expected = algorithm(tight, p), algorithm(A, p)
    assert type(found) is type(p)
    assert apart(np.asarray(found), np.asarray(expected)) < 1e-5
