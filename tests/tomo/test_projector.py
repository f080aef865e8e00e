"""Projectors on devices: held against fp64, exact adjoints, the algorithms, parts, bad input."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import ArrayError, Configuration, ParameterError, UnsupportedError, _core
from gpuopt.tomo import on_device
from gpuopt.tomo.device_backend import DeviceBackend, HostBackend
from gpuopt.tomo.streaming import Needs, Parts
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.reference_inputs import reference_inputs
from rays import FLOAT, PLANAR, SCANS, UPRIGHT, apart, planned, random


@pytest.fixture(scope="module")
def known() -> dict[str, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]:
    """Of every scan an image, projections, and what the reference makes of them."""
    found = {}
    for name, scan in SCANS.items():
        (x, y), same = random(scan), reference_inputs(*scan)
        found[name] = x, y, oracle.joseph(*same, x), oracle.joseph_adjoint(*same, y)
    return found


Known = dict[str, tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]]


@pytest.mark.parametrize("scan", SCANS)
def test_scans(device: gpuopt.Device, known: Known, scan: str) -> None:
    x, y, forward, back = known[scan]
    A = gt.Projector(*SCANS[scan], device=device)
    properties = _core.joseph_properties(on_device.kernel_geometry(*SCANS[scan]))
    assert properties == {"upright": scan in UPRIGHT, "planar": scan in PLANAR}
    assert apart(A(x), forward) < 5e-6
    assert apart(A.T(y), back) < 5e-6
    assert A.adjoint_error() < 1e-6
    assert A(x).dtype == A.T(y).dtype == FLOAT


@pytest.mark.parametrize("scan", ["cone", "helix", "fan", "cone_vec"])
def test_fast_pairs(device: gpuopt.Device, known: Known, scan: str) -> None:
    x, y, forward, _ = known[scan]
    A = gt.Projector(*SCANS[scan], "fast", device)
    assert apart(A(x), forward) < 5e-6
    # A texture unit's places are whole 256ths of a pixel.
    expected = oracle.back_project(*reference_inputs(*SCANS[scan]), y)
    assert apart(A.T(y), expected) < (1e-5 if device.type == "cpu" else 5e-3)
    assert not A.exact
    with pytest.raises(UnsupportedError, match="exact"):
        gt.cgls(A, y)


@pytest.mark.parametrize(
    ("name", "scan"),
    [
        ("joseph", "helix"),
        ("joseph_gather", "helix"),
        ("joseph_gather_any", "helix"),
        ("joseph", "plane"),
        ("joseph_planes", "plane"),
        ("joseph_gather_any", "plane"),
    ],
)
def test_what_is_added_to(any_device: gpuopt.Device, known: Known, name: str, scan: str) -> None:
    x, y, forward, back = known[scan]
    standard = {p.name: p.standard for v in gpuopt.variants("tomography") if v.name == name for p in v.parameters}
    if name == "joseph_planes" and any_device.type != "cpu":
        pytest.skip("joseph_planes is for CPUs")
    given, expected = (x, forward) if name == "joseph" else (y, back)
    found, plan = planned(any_device, SCANS[scan], Configuration(name, **standard), given, accumulate=True)
    assert apart(found, expected + 2) < 5e-6
    assert plan.prepared.work["flops"] > 0


def test_one_main_axis_for_equal_ones(device: gpuopt.Device) -> None:
    """At 45 degrees rounding would choose between x and y, which differ as much as the image is rough."""
    for scan in (
        (gt.parallel2d(np.arange(8) * math.pi / 4, 21), gt.Volume((16, 16))),
        (gt.circular(np.arange(8) * math.pi / 4, 50, 80, (9, 11), 2.0), gt.Volume((9, 10, 10))),
    ):
        x, _ = random(scan)
        assert apart(gt.Projector(*scan, device=device)(x), oracle.joseph(*reference_inputs(*scan), x)) < 5e-6


def test_refused_plans(any_device: gpuopt.Device, known: Known) -> None:
    x, y, *_ = known["steep"]
    standard = {
        p.name: p.standard for v in gpuopt.variants("tomography") if v.name == "joseph_gather" for p in v.parameters
    }
    with pytest.raises(UnsupportedError, match="joseph_gather_any"):
        planned(any_device, SCANS["steep"], Configuration("joseph_gather", **standard), y)
    geometry = on_device.kernel_geometry(*SCANS["steep"])
    image, data = gpuopt.to_device(x, any_device), gpuopt.to_device(y, any_device)
    with pytest.raises(ParameterError, match="does not go along rays"):
        _core.prepare_joseph(None, image, data, geometry, accumulate=False, variant="image", parameters={})
    with pytest.raises(ArrayError, match="projections: its shape"):
        _core.prepare_joseph(None, image, image, geometry, accumulate=False, variant="joseph", parameters={})


# ---------------------------------------------------------------- arrays


def test_arrays_of_either_kind(device: gpuopt.Device, known: Known) -> None:
    x, y, forward, back = known["cone"]
    A = gt.Projector(*SCANS["cone"], device=device)
    projected = A(gpuopt.to_device(x, device))
    assert isinstance(projected, gpuopt.DeviceArray)
    assert projected.shape == A.data_shape
    assert apart(projected.to_numpy(), forward) < 5e-6
    assert apart(A.T(gpuopt.to_device(y, device)).to_numpy(), back) < 5e-6
    assert isinstance(A(x), np.ndarray)
    for algorithm in (gt.sirt, gt.os_sart, gt.cgls):
        result = algorithm(A, projected, 1)
        assert isinstance(result.image, gpuopt.DeviceArray)
        assert apart(result, np.asarray(algorithm(A, projected.to_numpy(), 1))) < 1e-6
    image = gt.fdk(A, projected)
    assert isinstance(image, gpuopt.DeviceArray)
    np.testing.assert_array_equal(image.to_numpy(), gt.fdk(A, projected.to_numpy()))


def test_subsets(device: gpuopt.Device, known: Known) -> None:
    x, y, forward, _ = known["helix"]
    A = gt.Projector(*SCANS["helix"], device=device)
    some = np.array([4, 0, 1])
    part = A.subset(some)
    assert part is A.subset(some)
    assert part.data_shape == (3, *A.data_shape[1:])
    assert apart(part(x), forward[some]) < 5e-6
    scan, grid = reference_inputs(SCANS["helix"][0].subset(some), SCANS["helix"][1])
    assert apart(part.T(y[some]), oracle.joseph_adjoint(scan, grid, y[some])) < 5e-6
    assert apart(A(x), forward) < 5e-6


def test_linear_operator(any_device: gpuopt.Device, known: Known) -> None:
    x, y, forward, back = known["fan"]
    L = gt.Projector(*SCANS["fan"], device=any_device).linear_operator()
    assert L.dtype == FLOAT
    assert apart(L @ x.ravel(), forward.ravel()) < 5e-6
    assert apart(L.T @ y.ravel(), back.ravel()) < 5e-6
    turned = L @ (x - 2j * x).ravel()
    assert turned.dtype == np.complex64
    assert apart(turned.real, forward.ravel()) + apart(turned.imag, -2 * forward.ravel()) < 1e-5
    np.testing.assert_array_equal(L.H @ (1j * y.ravel()), 1j * (L.H @ y.ravel()))


# ---------------------------------------------------------------- arithmetic


@pytest.mark.parametrize("n", [1, 3, 1027, 300_001])
def test_arithmetic(device: gpuopt.Device, n: int) -> None:
    draw = np.random.default_rng(n)
    a, b, c, m = (draw.uniform(-1, 1, n).astype(np.float32) for _ in range(4))
    m = (m > 0).astype(np.float32)
    backend = DeviceBackend(device)

    def on(*arrays: np.ndarray) -> list[gpuopt.DeviceArray]:
        return [gpuopt.to_device(array, device) for array in arrays]

    wide = [array.astype(np.float64) for array in (a, b, c)]
    x, y, z = on(a, b, c)
    assert backend.dot(x, y) == pytest.approx(wide[0] @ wide[1], abs=1e-9 * n)
    assert backend.largest(x) == a.max()
    backend.axpy(-0.5, x, y, out=z)
    np.testing.assert_allclose(z.to_numpy(), -0.5 * a + b, atol=2e-7)
    norms = backend.residual(x, y, on(c)[0])
    r = wide[0] - wide[1]
    np.testing.assert_allclose(y.to_numpy(), c * (a - b), atol=2e-7)
    assert norms.plain == pytest.approx(r @ r, rel=1e-6)
    assert norms.weighted == pytest.approx(r @ (wide[2] * r), rel=1e-5, abs=1e-5)
    x, y, z, mask = on(a, b, c, m)
    out = backend.copy(x)
    backend.update(x, 0.7, y, z, -0.2, 0.3, mask, out=out)
    np.testing.assert_allclose(out.to_numpy(), m * np.clip(a + 0.7 * b * c, -0.2, 0.3), atol=2e-7)
    backend.update(x, 0.7, y, z, None, None, None, out=out)
    np.testing.assert_allclose(out.to_numpy(), a + 0.7 * b * c, atol=2e-7)
    backend.update(x, -1.0, x, backend.full((n,), 1 + 1e-6), None, None, None, x, rounding=2e-6)
    assert not x.to_numpy().any()
    (x,) = on(a)
    backend.reciprocal(x, 0.5)
    np.testing.assert_allclose(x.to_numpy(), np.where(a > 0.5 * a.max(), 1 / a, 0), rtol=1e-6)
    backend.reciprocal(y, 0.5, 0.4)
    np.testing.assert_allclose(y.to_numpy(), np.where(b > np.float32(0.5) * np.float32(0.4), 1 / b, 0), rtol=1e-6)
    backend.multiply(z, mask)
    np.testing.assert_array_equal(z.to_numpy(), c * m)
    backend.fill(z, 2.5)
    assert (z.to_numpy() == 2.5).all()


def test_sums_keep_their_digits(device: gpuopt.Device) -> None:
    """A running float32 sum of these would stop at 2^24."""
    n = (1 << 24) + 5
    ones = DeviceBackend(device).full((n,), 1.0)
    assert DeviceBackend(device).dot(ones, ones) == n


def test_views_of_a_device_array(any_device: gpuopt.Device) -> None:
    p = np.arange(24, dtype=np.float32).reshape(6, 4)
    backend = DeviceBackend(any_device)
    index = np.array([5, 1, 2, 3, 0])
    np.testing.assert_array_equal(backend.views(gpuopt.to_device(p, any_device), index).to_numpy(), p[index])
    with pytest.raises(ParameterError, match="6 is none of 6"):
        backend.views(gpuopt.to_device(p, any_device), np.array([6]))


# ---------------------------------------------------------------- algorithms


FAN = gt.fan(24, 60.0, 90.0, 33, 1.5, offset=0.4), gt.Volume((20, 20), 1.2)


@pytest.fixture(scope="module")
def fan() -> tuple[gt.NumpyProjector, np.ndarray, np.ndarray]:
    body = gt.sphere(9.0, (1.0, -1.0, 0.0)) + gt.sphere(3.0, (-2.0, 3.0, 0.0), 0.5)
    A = gt.NumpyProjector(*FAN)
    x = body.sample(A.volume, 4, float).astype(np.float32)
    return A, x, A(x)


@pytest.mark.parametrize(
    ("algorithm", "options"),
    [
        (gt.sirt, {"relaxation": 1.5}),
        (gt.sart, {"order": "sequential", "relaxation": 0.6}),
        (gt.os_sart, {"subsets": 7, "bounds": (0.0, 1.1), "decay": 0.9}),
        (gt.cgls, {}),
    ],
)
def test_algorithms(
    device: gpuopt.Device, fan: tuple[gt.NumpyProjector, np.ndarray, np.ndarray], algorithm: Any, options: Any
) -> None:
    reference, _, b = fan
    mask = np.zeros(reference.image_shape, bool)
    mask[1:-1, 2:] = True
    result = algorithm(gt.Projector(*FAN, device=device), b, 4, mask=mask, **options)
    expected = algorithm(reference, b, 4, mask=mask, **options)
    assert result.image.dtype == FLOAT
    assert apart(result, expected.image) < 2e-5
    np.testing.assert_allclose(result.residuals, expected.residuals, rtol=2e-4)
    np.testing.assert_allclose(result.weighted, expected.weighted, rtol=2e-4)
    assert (np.asarray(result)[~mask] == 0).all()


def test_residuals_never_rise(device: gpuopt.Device, fan: tuple[gt.NumpyProjector, np.ndarray, np.ndarray]) -> None:
    _, x, b = fan
    A = gt.Projector(*FAN, device=device)
    sirt, cgls = gt.sirt(A, b, 60), gt.cgls(A, b, 15)
    assert (np.diff(sirt.weighted) < 0).all()
    assert (np.diff(cgls.residuals) < 0).all()
    assert apart(sirt, x) < 0.2
    assert apart(cgls, x) < 0.1


def test_means_of_one_step(any_device: gpuopt.Device) -> None:
    """The mean inside a sphere, by analytic projections."""
    body, volume = gt.sphere(18.0, (6.0, -4.0, 3.0)), gt.Volume((64, 64, 64))
    inside = np.linalg.norm(volume.points() - (6.0, -4.0, 3.0), axis=-1) < 0.8 * 18
    cone = gt.circular(120, 500, 1000, (160, 192), 1.2)
    A = gt.Projector(cone, volume, "fast", any_device)
    assert gt.fdk(A, body.project(cone).astype(np.float32))[inside].mean() == pytest.approx(0.99973, abs=1e-3)
    parallel = gt.parallel3d(90, (64, 96), 1.0)
    A = gt.Projector(parallel, volume, "exact", any_device)
    assert gt.fbp(A, body.project(parallel).astype(np.float32))[inside].mean() == pytest.approx(0.99983, abs=2e-3)


@pytest.mark.filterwarnings("ignore:volume. .* slices of 12 lie beyond")
@pytest.mark.parametrize("parallel", [True, False])
def test_scans_that_are_filtered_as_others(any_device: gpuopt.Device, parallel: bool) -> None:
    """Vectors about an axis beside the origin, of a displaced detector, which is widened: as in NumPy, on the device
    and in parts."""
    if parallel:
        scan: gt.Geometry = gt.parallel3d(np.arange(24) * np.pi / 12, (6, 30), 0.7, offset=(0.0, 5.0))
    else:
        scan = gt.circular(24, 60.0, 100.0, (6, 30), 1.0, offset=(0.0, -7.0))
    p = gt.sphere(8.0).project(scan)
    astra = scan.to_astra()
    for first in (3,) if parallel else (0, 3):
        astra["Vectors"][:, first : first + 2] += (-2.0, 1.0)
    scan, volume = gt.from_astra(astra), gt.Volume((12, 16, 16), centre=(0.0, 1.0, -2.0))
    algorithm = gt.fbp if parallel else gt.fdk
    expected = algorithm(gt.NumpyProjector(scan, volume), p.astype(float))
    whole = Needs.of(volume.shape, scan.views, scan, True).iteration
    for limit in (None, whole // 2):
        A = gt.Projector(scan, volume, "fast", any_device, memory_limit=limit)
        assert A.on_host == (limit is not None)
        assert apart(algorithm(A, p), expected) < 2e-3
        there = algorithm(A, gpuopt.to_device(p, any_device))
        assert isinstance(there, gpuopt.DeviceArray)
        assert apart(there.to_numpy(), expected) < 2e-3


def test_fbp_beside_scikit_image(any_device: gpuopt.Device) -> None:
    transform = pytest.importorskip("skimage.transform", reason="scikit-image is not installed")
    n, views = 256, 180
    y, x = np.mgrid[:n, :n] - (n - 1) / 2
    place = ((x - 20) / 60) ** 2 + ((y + 10) / 80) ** 2
    image = (place < 1).astype(np.float32)
    scan, volume = gt.parallel2d(views, n), gt.Volume((n, n))
    A = gt.Projector(scan, volume, "fast", any_device)
    sinogram = A(image)
    ours = gt.fbp(A, sinogram)
    # Its rows of an image run from +y down, and it turns about the pixel n // 2, half a pixel beyond our middle.
    theirs = transform.iradon(sinogram.T, theta=np.rad2deg(scan.view_angles), filter_name="ramp", circle=True)[::-1]
    inner = np.hypot(x, y) < n / 2 - 8
    assert abs(ours[place < 0.8].mean() - 1) < 2e-3
    assert abs(theirs[place < 0.8].mean() - 1) < 1e-2
    assert np.corrcoef(ours[inner], theirs[inner])[0, 1] > 0.99


def test_interruption(any_device: gpuopt.Device, fan: tuple[gt.NumpyProjector, np.ndarray, np.ndarray]) -> None:
    A, b = gt.Projector(*FAN, device=any_device), fan[2]
    two = np.asarray(gt.os_sart(A, b, 2))

    def interrupt(state: gt.State) -> None:
        if state.iteration == 2:
            raise KeyboardInterrupt

    result = gt.os_sart(A, b, 5, callback=interrupt)
    assert result.ended == "interrupted"
    assert result.iterations == 2
    np.testing.assert_array_equal(np.asarray(result), two)

    def stop(state: gt.State) -> bool:
        return bool(np.isfinite(state.image).all()) and state.iteration == 3

    assert gt.os_sart(A, b, 5, callback=stop).ended == "stopped"


# ---------------------------------------------------------------- memory


@pytest.mark.thin(others=1)
@pytest.mark.parametrize("scan", ["cone", "helix", "fan", "steep", "cone_vec", "cyl_cone_vec"])
def test_parts_that_fit(device: gpuopt.Device, known: Known, scan: str) -> None:
    geometry, volume = SCANS[scan]
    x, y, forward, back = known[scan]
    limit = Needs.of(volume.shape, geometry.views, geometry).whole // 3
    A = gt.Projector(geometry, volume, device=device, memory_limit=limit)
    parts = Parts.of(geometry, volume, limit, limit)
    assert A.on_host
    assert isinstance(A.backend, HostBackend)
    assert parts.slices < volume.shape[0]
    assert parts.views < geometry.views
    assert apart(A(x), forward) < 5e-6
    assert apart(A.T(y), back) < 5e-6
    assert A.adjoint_error() < 1e-6
    fast = gt.Projector(geometry, volume, "fast", device, memory_limit=limit)
    whole = gt.Projector(geometry, volume, "fast", device)
    # Texture units round places between pixels to 1/256, and parts of a volume have other places.
    assert apart(fast.T(y), whole.T(y).astype(np.float64)) < (1e-5 if device.type == "cpu" else 1e-3)


# ---------------------------------------------------------------- bad input


def test_bad_input(any_device: gpuopt.Device) -> None:
    geometry, volume = SCANS["cone"]
    x, y = random(SCANS["cone"])
    A = gt.Projector(geometry, volume, device=any_device)
    with pytest.raises(ArrayError, match="image: its axis x has 22 entries"):
        A(x[:, :, 1:])
    with pytest.raises(ArrayError, match=r"projections: its shape is \(25, 37\)"):
        A.T(y[0])
    with pytest.raises(ArrayError, match=r"astype\(np.float32\)"):
        A(x.astype(np.float64))
    with pytest.raises(ArrayError, match="neither a NumPy array nor a DeviceArray"):
        A([1.0])
    y[2, 3, 4] = np.nan
    with pytest.raises(ArrayError, match="view 2, v 3, u 4 holds NaN"):
        A.T(y)
    y[4, 0, 1] = np.inf
    with pytest.raises(ArrayError, match="projections: view 2, v 3, u 4 holds NaN or infinity, as the first of 2"):
        A.T(gpuopt.to_device(y, any_device))
    with pytest.raises(ArrayError, match="image: its dtype is int32"):
        A(gpuopt.to_device(x.astype(np.int32), any_device))
    with pytest.raises(ParameterError, match="pair"):
        gt.Projector(geometry, volume, "matched", any_device)
    with pytest.raises(ParameterError, match="lies inside it"):
        gt.Projector(gt.circular(4, 10, 20, (5, 5), 1.0), gt.Volume((30, 30, 30)), device=any_device)


def test_arrays_of_another_device(known: Known) -> None:
    devices = gpuopt.devices()
    if len(devices) < 2:
        pytest.skip("one device alone")
    A = gt.Projector(*SCANS["cone"], device=devices[0])
    with pytest.raises(ArrayError, match="the operator on"):
        A(gpuopt.to_device(known["cone"][0], devices[1]))
