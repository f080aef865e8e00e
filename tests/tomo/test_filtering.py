"""The rows of filtered back projection, filtered by a device's kernel and by the host's threads."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError, _core
from gpuopt.tomo import filtering
from gpuopt.tomo.filtering import RowFilter
from gpuopt.tomo.filters import WINDOWS, ramp, response_of
from scans import interpolated


def a_filter(
    columns: int, rows: int = 3, lead: int = 0, trail: int = 0, window: str = "hann", **more: Any
) -> RowFilter:
    random = np.random.default_rng(columns)
    weights, slants = random.uniform(0.5, 1, (2, columns)), random.uniform(0.5, 1, (rows, columns))
    return RowFilter(
        (2, rows, columns), weights, slants, ramp(lead + columns + trail, 0.7), window, 0.7, lead, trail, **more
    )


def expected(by: RowFilter, p: np.ndarray, length: int) -> np.ndarray:
    """In fp64, of rows padded to ``length``."""
    q = p.astype(float)[:, :: -1 if by.rows_reversed else 1, :: -1 if by.columns_reversed else 1]
    padded = np.zeros((*by.shape[:2], by.wide))
    padded[..., by.lead : by.lead + by.shape[2]] = q * by.weights[:, np.newaxis] * by.slants
    response = response_of(by.taps, by.window, by.scale, length)
    return np.fft.irfft(np.fft.rfft(padded, length) * response, length)[..., : by.wide]


def on_device(by: RowFilter, p: np.ndarray, device: gpuopt.Device) -> tuple[np.ndarray, np.ndarray]:
    out = _core.empty((*by.shape[:2], by.wide), np.dtype(np.float32), device)
    facts = by.on_device(gpuopt.to_device(p, device=device), out)
    return out.to_numpy(), facts.to_numpy().reshape(*by.shape[:2], 4)


def rows_of(by: RowFilter) -> np.ndarray:
    return np.random.default_rng(5).normal(size=by.shape).astype(np.float32)


SMALL = [
    a_filter(1),
    a_filter(2, rows_reversed=True),
    a_filter(3, lead=2, columns_reversed=True),
    a_filter(8, 1, trail=1, window="cosine"),
    a_filter(20, window="ram-lak"),
]


@pytest.mark.parametrize("by", SMALL, ids=lambda by: str(by.wide))
def test_a_devices_rows(device: gpuopt.Device, by: RowFilter) -> None:
    p = rows_of(by)
    got, facts = on_device(by, p, device)
    want = expected(by, p, _core.transform_length(device, 2 * by.wide - 1))
    assert np.abs(got - want).max() <= 3e-7 * np.abs(want).max()
    np.testing.assert_array_equal(facts, by.on_host(p)[1])


@pytest.mark.parametrize("columns", [127, 1248, 6144])
def test_wide_rows(any_device: gpuopt.Device, columns: int) -> None:
    """Several passes; more than half of the local memory, so that parts take turns in it."""
    if any_device.name.startswith("pthread"):
        columns = 8  # PoCL builds such a kernel for 20 s
    by = a_filter(columns, 1, window="shepp-logan")
    p = rows_of(by)
    got, _ = on_device(by, p, any_device)
    want = expected(by, p, _core.transform_length(any_device, 2 * by.wide - 1))
    assert np.abs(got - want).max() <= 3e-7 * np.abs(want).max()


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("columns", [1, 2, 3, 127, 1248])
def test_the_hosts_rows(dtype: Any, columns: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(filtering, "_ALONE", 0)
    for by in (
        a_filter(columns, 50, lead=3, rows_reversed=True, columns_reversed=True, window="ram-lak"),
        a_filter(columns, 1, trail=2, window="ram-lak"),
    ):
        p = rows_of(by).astype(dtype)
        got, facts = by.on_host(p)
        assert got.dtype == dtype
        want = expected(by, p, 4 * by.wide)
        assert np.abs(got - want).max() <= (3e-7 if dtype == np.float32 else 1e-13) * np.abs(want).max()
        np.testing.assert_array_equal(facts[..., 0], p.max(axis=-1)[:, :: -1 if by.rows_reversed else 1])
        assert not facts[..., 3].any()


def test_an_impulse_gives_the_taps(any_device: gpuopt.Device) -> None:
    by = RowFilter((1, 1, 8), np.ones((1, 1)), np.ones((1, 1)), ramp(8, 1.0), "ram-lak", 1.0)
    p = np.zeros(by.shape, np.float32)
    p[0, 0, 3] = 1
    want = by.taps[np.abs(np.arange(8) - 3)]
    np.testing.assert_allclose(on_device(by, p, any_device)[0][0, 0], want, atol=1e-7)
    np.testing.assert_allclose(by.on_host(p)[0][0, 0], want, atol=1e-7)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1.1e15, -1.1e15])
def test_rows_that_are_not_finite_or_very_large_are_found(any_device: gpuopt.Device, value: float) -> None:
    by = SMALL[3]
    p = rows_of(by)
    p[1, 0, 2] = value
    for facts in (on_device(by, p, any_device)[1], by.on_host(p)[1]):
        np.testing.assert_array_equal(facts[..., 3], [[0], [1]])


def scans() -> dict[str, tuple[gt.Geometry, Any]]:
    short = np.arange(30) * (np.pi + 0.9) / 30
    fan: tuple[Any, ...] = (60.0, 90.0, 20, 3.0)
    return {
        "turn": (gt.fan(24, *fan), gt.fdk),
        "short": (gt.fan(short, *fan), gt.fdk),
        "displaced": (gt.fan(24, 60.0, 90.0, 14, 3.0, offset=9.0), gt.fdk),
        "parallel": (gt.parallel2d(24, 20, 2.0), gt.fbp),
    }


@pytest.mark.parametrize("name", ["turn", "short", "displaced", "parallel"])
def test_images_of_a_device_that_filters(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, name: str) -> None:
    """As on a GPU: each kind of weight, both kinds of arrays, twice; the place of a NaN."""
    monkeypatch.setattr(RowFilter, "fits", lambda self, device: True)
    scan, algorithm = scans()[name]
    volume = gt.Volume((16, 16), 2.0)
    p = gt.sphere(8.0, (2.0, -1.0, 0.0)).project(scan)
    want = algorithm(gt.NumpyProjector(scan, volume), p.astype(float))
    A = gt.Projector(scan, volume, device=any_device)
    atol = interpolated(any_device, 2e-5, want)
    given = p.copy(), gpuopt.to_device(p, device=any_device)
    for _ in range(2):
        for data in given:
            got = algorithm(A, data)
            assert type(got) is type(data)
            image = got if isinstance(got, np.ndarray) else got.to_numpy()
            np.testing.assert_allclose(image, want, atol=atol)
    for data in given:
        np.testing.assert_array_equal(data if isinstance(data, np.ndarray) else data.to_numpy(), p)
    p[5, 3] = np.nan
    for data in (p, gpuopt.to_device(p, device=any_device)):
        with pytest.raises(ArrayError, match="projections: view 5, u 3 holds NaN or infinity"):
            algorithm(A, data)


def test_a_filter_refuses_other_arrays(any_device: gpuopt.Device) -> None:
    by = SMALL[2]
    p = gpuopt.to_device(rows_of(by), device=any_device)
    with pytest.raises(ArrayError, match="out: its shape"):
        by.on_device(p, p)
    turned = a_filter(8, columns_reversed=True)
    q = gpuopt.to_device(rows_of(turned), device=any_device)
    with pytest.raises(ArrayError, match="out: it is the projections"):
        turned.on_device(q, q)
    assert set(WINDOWS) >= {by.window for by in SMALL}


@pytest.mark.parametrize("wrong", [np.nan, np.inf])
def test_taps_are_finite(wrong: float) -> None:
    taps = gt.ramp(4, 1.0)
    taps[2] = wrong
    with pytest.raises(ArrayError, match="taps: one is NaN or infinite"):
        gt.filter_rows(np.ones((3, 4)), taps)


def test_rows_whose_transform_is_beyond_their_dtype() -> None:
    """The sum of a row was infinite in float32, and so was the result, which is not."""
    rows = np.full((1, 16), 3e37, np.float32)
    taps = gt.ramp(16, 1.0)
    np.testing.assert_allclose(gt.filter_rows(rows, taps), gt.filter_rows(rows.astype(float), taps), rtol=1e-6)
    with pytest.raises(ArrayError, match="rows: filtered they are beyond float32"):
        gt.filter_rows(rows, taps, scale=1e3)


def test_taps_are_real() -> None:
    """Their imaginary parts were dropped."""
    with pytest.raises(ArrayError, match=r"^taps: .*real numbers"):
        gt.filter_rows(np.ones((3, 4)), gt.ramp(4, 1.0) + 1j)  # type: ignore[arg-type]


def test_taps_that_no_memory_holds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("gpuopt.host_memory.free_bytes", lambda: 1 << 30)
    with pytest.raises(
        ParameterError, match=r"^columns: 2147483648 taps take 85,899 MB, where 537 MB, half of the free"
    ):
        gt.ramp(2**31, 1.0)
    assert gt.ramp((1 << 20) + 1, 1.0).shape == ((1 << 20) + 1,)


@pytest.mark.parametrize("scan", [gt.parallel2d(60, 32), gt.parallel2d(np.arange(60) * np.pi / 30, 32, offset=8.0)])
def test_rows_of_a_slice_that_a_kernel_filters(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, scan: gt.Geometry
) -> None:
    """They come back in the shape that the projector takes, here on CPUs as well."""
    if not _core.transform_length(any_device, 127):
        pytest.skip("the device's local memory holds no row")
    monkeypatch.setattr("gpuopt.tomo.filtering.RowFilter.fits", lambda self, device: True)
    p, volume = gt.sphere(6.0).project(scan), gt.Volume((20, 20))
    expected = gt.fbp(gt.NumpyProjector(scan, volume), p)
    A = gt.Projector(scan, volume, device=any_device)
    for given in (p, gpuopt.to_device(p, any_device)):
        np.testing.assert_allclose(np.asarray(gt.fbp(A, given)), expected, atol=0.02)


def test_a_fan_is_less_than_half_a_turn() -> None:
    assert np.isfinite(gt.ramp(315, 0.01, fan=True)).all()
    with pytest.raises(ParameterError, match=r"^spacing: 316 columns of 0.01 rad are half a turn or more"):
        gt.ramp(316, 0.01, fan=True)
    assert gt.ramp(316, 0.01).shape == (316,)
