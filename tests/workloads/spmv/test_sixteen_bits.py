"""Products that read values of 16 bits."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse as sparse

import gpuopt
from workloads.spmv.small import laplacian, vector


def test_sixteen_bit_values_only_when_asked_for(device: gpuopt.Device) -> None:
    random = np.random.default_rng(8)
    data = (random.uniform(1, 2, (3, 400)) * 10.0 ** random.uniform(-3, 6, (3, 400))).astype(np.float32)
    A = sparse.dia_array((data, [-20, 0, 20]), shape=(400, 400))
    x = vector(400)
    rounded = gpuopt.DiaMatrix(A, device=device, stored="float16")
    assert rounded.stored == rounded.T.stored == "float16"
    assert rounded.configuration.parameters["HALF"] == 1
    symmetric = gpuopt.DiaMatrix(laplacian(), device=device, stored="float16")
    assert symmetric.configuration.parameters["HALF"] == 1
    magnitude = abs(A) @ abs(x)
    exact_error = np.abs(gpuopt.DiaMatrix(A, device=device) @ x - A @ x)
    error = np.abs(rounded @ x - A @ x)
    assert (exact_error <= 1e-5 * magnitude).all()
    # Half a unit in the last of 11 bits, or of the smallest subnormal: 2^-39 of the largest value.
    assert (error <= 2.0**-11 * magnitude + 3 * 2.0**-39 * data.max() + 1e-5 * magnitude).all()
    assert (error > exact_error).any()
    with pytest.raises(gpuopt.ParameterError, match="stored"):
        gpuopt.DiaMatrix(A, device=device, stored="bfloat8")


def test_sixteen_bit_values_of_the_largest_magnitudes(device: gpuopt.Device) -> None:
    for dtype, large in ((np.float32, 3.0e38), (np.float64, 1.7e308)):
        if dtype == np.float64 and not device.fp64:
            continue
        data = np.array([[large, -large / 3, large * 1e-4, 1.0]], dtype)
        A = gpuopt.DiaMatrix((data, [0]), (4, 4), device=device, stored="float16")
        x = np.full(4, 2.0**-8, dtype)
        np.testing.assert_allclose(A @ x, data[0] * x, rtol=2.0**-11, atol=large * 2.0**-46)
        most = np.finfo(dtype).max  # 16 bits would round it to what the dtype has no number for
        data = np.array([[most, -most, most * dtype(1 - 2.0**-12), np.inf]], dtype)
        A = gpuopt.DiaMatrix((data, [0]), (4, 4), device=device, stored="float16")
        np.testing.assert_allclose(A @ np.ones(4, dtype), data[0], rtol=2.0**-11)


@pytest.mark.parametrize(("value", "alpha", "x"), [(1e-10, 1e-30, 1e10), (1e38, 1e6, 1e-12), (1e-31, 1e-12, 1e18)])
def test_sixteen_bit_values_and_a_factor_beyond_their_scale(
    device: gpuopt.Device, value: float, alpha: float, x: float
) -> None:
    """alpha over the scale of the values is infinite, subnormal or 0 in float32."""
    data = (value * np.random.default_rng(0).uniform(0.5, 1, (1, 64))).astype(np.float32)
    A = gpuopt.DiaMatrix((data, [0]), (64, 64), device=device, stored="float16")
    x_of_them = np.full(64, x, np.float32)
    expected = alpha * (data[0].astype(float) * x_of_them)
    np.testing.assert_allclose(gpuopt.spmv(A, x_of_them, alpha=alpha), expected, rtol=2.0**-11)
    on_device = gpuopt.spmv(A, gpuopt.to_device(x_of_them, device), alpha=alpha)
    np.testing.assert_allclose(on_device.to_numpy(), expected, rtol=2.0**-11)
    np.testing.assert_allclose(A @ x_of_them, expected / alpha, rtol=2.0**-11)  # by other values than with the factor
