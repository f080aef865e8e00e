"""The operation as its users call it."""

from __future__ import annotations

import concurrent.futures
from typing import Any

import numpy as np
import pytest
import scipy.sparse as sparse

import gpuopt
from gpuopt.workloads.spmv.operation import prepare_spmv
from workloads.spmv.small import laplacian, vector


def variants_for(matrix: gpuopt.DiaMatrix) -> list[str]:
    """The variants whose demands a matrix meets."""
    met = {"symmetric": matrix.symmetric, "grid": matrix.grid_width > 0, "columns": True}
    return [v.name for v in gpuopt.variants("spmv") if all(met[name] for name in v.input_properties)]


@pytest.mark.parametrize("columns", [None, 1, 4])
@pytest.mark.parametrize("variant", [None, *(v.name for v in gpuopt.variants("spmv"))])
def test_alpha_beta_addend_and_columns(device: gpuopt.Device, variant: str | None, columns: int | None) -> None:
    A = laplacian()
    shape = (200,) if columns is None else (200, columns)
    x, y = vector(*shape), vector(*shape, seed=4)
    kept = y.copy()
    result = gpuopt.spmv(A, x, y, alpha=-0.5, beta=2, variant=variant, device=device)
    np.testing.assert_allclose(result, -0.5 * (A @ x) + 2 * y, atol=1e-5)
    np.testing.assert_array_equal(y, kept)
    assert result.shape == shape
    assert result.dtype == np.float32


def test_beta_zero_does_not_read_the_addend(device: gpuopt.Device) -> None:
    result = gpuopt.spmv(laplacian(), vector(200), np.full(200, np.nan, np.float32), beta=0, device=device)
    assert np.isfinite(result).all()


def test_out_receives_the_result(device: gpuopt.Device) -> None:
    A, x, out = laplacian(), vector(200), np.empty(200, np.float32)
    assert gpuopt.spmv(A, x, out=out, device=device) is out
    np.testing.assert_allclose(out, A @ x, atol=1e-6)


def test_out_may_be_the_addend(device: gpuopt.Device) -> None:
    A, x, y = laplacian(), vector(200), vector(200, seed=5)
    expected = A @ x + y
    on_device = gpuopt.to_device(y, device)
    M = gpuopt.DiaMatrix(A, device=device)
    assert gpuopt.spmv(M, gpuopt.to_device(x, device), on_device, beta=1, out=on_device) is on_device
    np.testing.assert_allclose(on_device.to_numpy(), expected, atol=1e-6)
    assert gpuopt.spmv(A, x, y, beta=1, out=y, device=device) is y
    np.testing.assert_allclose(y, expected, atol=1e-6)


def test_transposes(device: gpuopt.Device) -> None:
    data = vector(3, 90, seed=6)
    A = sparse.dia_array((data, [-7, 0, 30]), shape=(60, 90))
    M = gpuopt.DiaMatrix(A, device=device)
    x = vector(60)
    np.testing.assert_allclose(M.T @ x, A.T @ x, atol=1e-6)
    np.testing.assert_allclose(gpuopt.spmv(A, x, transpose=True, device=device), A.T @ x, atol=1e-6)
    np.testing.assert_allclose(M.T.T @ vector(90), A @ vector(90), atol=1e-6)
    assert M.T.shape == (90, 60)


def test_row_indexed_data_may_hold_anything_outside_the_matrix(device: gpuopt.Device) -> None:
    values = np.array([[np.nan, 1, 2], [3, 4, 5], [6, 7, np.inf]], np.float32)
    M = gpuopt.DiaMatrix((values, np.array([-1, 0, 1])), (3, 3), device=device, indexed="row")
    dense = np.array([[3, 6, 0], [1, 4, 7], [0, 2, 5]], np.float32)
    for variant in variants_for(M):
        np.testing.assert_allclose(gpuopt.spmv(M, np.ones(3, np.float32), variant=variant), dense.sum(axis=1))


def test_infinities_stay_in_their_rows(device: gpuopt.Device) -> None:
    """A padded vector must not turn an infinity at the edge into NaN elsewhere: 0 * inf."""
    A = laplacian(150)
    x = vector(150)
    x[0], x[-1] = np.inf, -np.inf
    expected = A.tocsr() @ x
    for variant in gpuopt.variants("spmv"):
        result = gpuopt.spmv(A, x, variant=variant.name, device=device)
        np.testing.assert_array_equal(np.isfinite(result), np.isfinite(expected), err_msg=variant.name)


def test_what_narrow_data_leave_out_counts_as_zeros(device: gpuopt.Device) -> None:
    """One product must not see 0 * inf where another sees nothing: SciPy's own, where the data are as wide."""
    data = vector(2, 5)
    A, stored = (sparse.dia_array((values, [0, 3]), shape=(9, 12)) for values in (data, np.pad(data, ((0, 0), (0, 7)))))
    for transpose in (False, True):
        x = vector(9 if transpose else 12)
        x[[1, 6, 8]] = np.inf, np.nan, -np.inf
        with np.errstate(invalid="ignore"):
            wanted = (stored.T if transpose else stored) @ x
        M = gpuopt.DiaMatrix(A, device=device)
        several = np.stack([x, x], axis=1)
        products = [
            gpuopt.spmv(A, x, transpose=transpose, device=device),
            gpuopt.spmv(A, x[:, np.newaxis], transpose=transpose, device=device)[:, 0],
            gpuopt.spmv(A, several, transpose=transpose, device=device)[:, 1],
            gpuopt.spmv(M, x, transpose=transpose),
            gpuopt.spmv(M, gpuopt.to_device(x, device), transpose=transpose).to_numpy(),
            gpuopt.spmv(A, x, transpose=transpose, variant="unpacked", device=device),
            gpuopt.spmv(A, gpuopt.to_device(x, device), transpose=transpose, variant="unpacked").to_numpy(),
        ]
        for found in products:
            np.testing.assert_allclose(found, wanted, rtol=1e-6)


def test_device_arrays_stay_on_the_device(device: gpuopt.Device) -> None:
    A, x = laplacian(), vector(200)
    M = gpuopt.DiaMatrix(A, device=device)
    on_device = gpuopt.to_device(x, device)
    once = M @ on_device
    assert isinstance(once, gpuopt.DeviceArray)
    twice = M @ once
    np.testing.assert_allclose(twice.to_numpy(), A @ (A @ x), atol=1e-5)
    into = gpuopt.to_device(np.zeros(200, np.float32), device)
    assert gpuopt.spmv(M, on_device, out=into) is into
    np.testing.assert_array_equal(into.to_numpy(), once.to_numpy())


def test_plain_and_prepared_agree(device: gpuopt.Device) -> None:
    A, x = laplacian(), vector(200)
    M = gpuopt.DiaMatrix(A, device=device)
    for variant in gpuopt.variants("spmv"):
        plain = gpuopt.spmv(A, x, variant=variant.name, device=device)
        out = gpuopt.to_device(np.empty(200, np.float32), device)
        plan = prepare_spmv(M, gpuopt.to_device(x, device), out, variant.name)
        plan.run()
        np.testing.assert_array_equal(out.to_numpy(), plain)
        samples = plan.sample(3, batch=4)
        assert len(samples["device_ms"]) == len(samples["wall_ms"]) == 3
        np.testing.assert_array_equal(out.to_numpy(), plain)


def test_scipy_solves_with_the_operator(device: gpuopt.Device) -> None:
    from scipy.sparse.linalg import cg

    A = laplacian(60, "float64")
    if not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    right = vector(60, dtype="float64")
    solution, failed = cg(gpuopt.DiaMatrix(A, device=device).linear_operator(), right, rtol=1e-10)
    assert failed == 0
    np.testing.assert_allclose(A @ solution, right, atol=1e-8)


def test_eight_threads_share_a_session(device: gpuopt.Device) -> None:
    A = laplacian(1000)
    M = gpuopt.DiaMatrix(A, device=device)
    names = [v.name for v in gpuopt.variants("spmv")]

    def work(seed: int) -> float:
        x = vector(1000, seed=seed)
        worst = 0.0
        for i in range(12):
            worst = max(worst, float(np.abs(gpuopt.spmv(M, x, variant=names[(seed + i) % len(names)]) - A @ x).max()))
        return worst

    with concurrent.futures.ThreadPoolExecutor(8) as pool:
        assert max(pool.map(work, range(8))) < 1e-5


def test_the_golden_image_product(device: gpuopt.Device) -> None:
    """x_j = cos j on the 24 x 20 affinity matrix: sum -20.8690969, norm 16.5050198 (computed in fp64)."""
    from gpuopt.workloads.spmv import affinity

    y_axis, x_axis = np.mgrid[0:20, 0:24]
    image = ((x_axis - 9) ** 2 + (y_axis - 10) ** 2 <= 36) + 0.02 * ((7 * x_axis + 13 * y_axis) % 11)
    W, _ = affinity.affinity_matrix(image, 5, smoothing=0)
    product = gpuopt.DiaMatrix(W.astype(np.float32), device=device) @ np.cos(np.arange(480)).astype(np.float32)
    assert product.sum(dtype=np.float64) == pytest.approx(-20.8690969, abs=2e-5)
    assert np.linalg.norm(product.astype(np.float64)) == pytest.approx(16.5050198, rel=1e-6)


def test_a_matrix_says_what_it_runs(device: gpuopt.Device) -> None:
    symmetric, general = gpuopt.DiaMatrix(laplacian(), device=device), laplacian()
    general.data[0, 3] += 1
    unsymmetric = gpuopt.DiaMatrix(general, device=device)
    assert symmetric.symmetric
    assert not unsymmetric.symmetric
    assert symmetric.grid_width == unsymmetric.grid_width == 10
    table = {v.name: v for v in gpuopt.variants("spmv")}
    for matrix in (symmetric, unsymmetric):
        chosen = matrix.configuration
        assert set(chosen.parameters) == {p.name for p in table[chosen.variant].parameters}
        assert chosen.parameters.get("HALF", 0) == 0  # never less accurate unasked
        assert table[matrix.resolve(None, columns=True).variant].input_properties == ["columns"]
    assert "symmetric" not in table[unsymmetric.configuration.variant].input_properties
    assert symmetric.resolve("basic").variant == "basic"
    if device.type == "cpu":
        assert symmetric.configuration.variant == "symmetric_sliced"
        assert unsymmetric.configuration.variant == "sliced"
        assert symmetric.resolve(None, columns=True).variant == "columns_sliced"


def test_factors_that_the_dtype_cannot_hold_are_refused(device: gpuopt.Device) -> None:
    A, x, unit = laplacian(), vector(200), np.eye(3, dtype=np.float32)
    for name in ("alpha", "beta"):
        for large in (1e39, -1e308, 10**40):
            with pytest.raises(gpuopt.ParameterError, match=f"{name}: it is .*float32 ends at"):
                gpuopt.spmv(A, x, x, device=device, **{name: large})
            with pytest.raises(gpuopt.ParameterError, match=f"{name}: it is .*float32 ends at"):
                gpuopt.gemm(unit, unit, unit, device=device, **{name: large})
    assert np.isinf(gpuopt.gemm(unit[:1, :1], unit[:1, :1], alpha=np.inf, device=device)).all()


def test_repeated_products_read_the_vector_of_the_call(device: gpuopt.Device) -> None:
    """The plan of a product is kept; nothing of an earlier call may show in a later one."""
    A = laplacian(300)
    M = gpuopt.DiaMatrix(A, device=device)
    for seed in range(4):
        for columns in ((), (3,), (1,)):
            x, y = vector(300, *columns, seed=seed), vector(300, *columns, seed=seed + 10)
            np.testing.assert_allclose(M @ x, A @ x, atol=1e-5)
            np.testing.assert_allclose(gpuopt.spmv(M, x, y, alpha=3, beta=2), 3 * (A @ x) + 2 * y, atol=1e-5)
            np.testing.assert_allclose(gpuopt.spmv(M, x, y, alpha=seed, beta=1), seed * (A @ x) + y, atol=1e-5)


def test_transposes_of_matrices_that_were_packed(device: gpuopt.Device) -> None:
    """A packed form orders the diagonals anew; a transpose made afterwards must know."""
    data = vector(4, 120, seed=9)
    A = sparse.dia_array((data, [30, -7, 0, 12]), shape=(90, 120))
    M = gpuopt.DiaMatrix(A, device=device)
    for variant in variants_for(M):
        np.testing.assert_allclose(gpuopt.spmv(M, vector(120), variant=variant), A @ vector(120), atol=1e-5)
        np.testing.assert_allclose(gpuopt.spmv(M.T, vector(90), variant=variant), A.T @ vector(90), atol=1e-5)
        fresh = gpuopt.DiaMatrix(A, device=device).T
        np.testing.assert_allclose(gpuopt.spmv(fresh, vector(90), variant=variant), A.T @ vector(90), atol=1e-5)


def test_no_columns_at_all(device: gpuopt.Device) -> None:
    for variant in (None, "basic", "columns"):
        result = gpuopt.spmv(laplacian(), np.empty((200, 0), np.float32), variant=variant, device=device)
        assert result.shape == (200, 0)


def test_big_arrays_go_there_and_back(device: gpuopt.Device) -> None:
    """Buffers of megabytes lie in memory of another kind on CPU devices."""
    x = vector(3_000_001)
    there = gpuopt.to_device(x, device)
    np.testing.assert_array_equal(there.to_numpy(), x)
    n = 1_000_000
    A = sparse.dia_array((vector(3, n, seed=2), [-1, 0, 1]), shape=(n, n))
    np.testing.assert_allclose(gpuopt.spmv(A, x[:n], device=device), A @ x[:n], atol=1e-5)


def test_preparing_says_what_a_variant_needs(device: gpuopt.Device) -> None:
    general = laplacian()
    general.data[0, 3] += 1
    with pytest.raises(gpuopt.UnsupportedError, match="not symmetric") as caught:
        gpuopt.spmv(general, vector(200), variant="symmetric", device=device)
    assert caught.value.because == "constraint"
    line = sparse.dia_array((np.ones((1, 50), np.float32), [0]), shape=(50, 50))
    with pytest.raises(gpuopt.UnsupportedError, match="no grid"):
        gpuopt.spmv(line, vector(50), variant="tiles", device=device)


def test_a_record_that_does_not_fit_gives_way(device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """A tuned record chose a variant that takes at most 128 bands; a plain product must not fail for that."""
    scattered = sparse.dia_array((vector(200, 900), np.arange(-400, 400, 4)), shape=(900, 900))
    M = gpuopt.DiaMatrix(scattered, device=device)
    chosen = gpuopt.configuration.complete("spmv", gpuopt.Configuration("banded"))
    resolve = gpuopt.resolution.resolve
    monkeypatch.setattr(
        "gpuopt.workloads.spmv.matrix.resolve",
        lambda workload, device, dtype, variant=None, input_properties=None: (
            resolve(workload, device, dtype, variant, input_properties) if variant else chosen
        ),
    )
    assert M.configuration == chosen
    x = vector(900)
    with pytest.warns(UserWarning, match="200 bands") as told:
        np.testing.assert_allclose(M @ x, scattered @ x, atol=1e-4)
    assert [warning.filename for warning in told] == [__file__]
    assert M.configuration.variant == "interior"
    np.testing.assert_allclose((M @ gpuopt.to_device(x, device)).to_numpy(), scattered @ x, atol=1e-4)
    with pytest.raises(gpuopt.UnsupportedError, match="200 bands"):
        gpuopt.spmv(M, x, variant="banded")


def aligned(n: int, offset: int = 0) -> np.ndarray:
    """n floats that begin `offset` elements behind an address that is a multiple of 4096."""
    raw = np.empty(n + 2048, np.float32)
    start = -raw.ctypes.data % 4096 // 4 + offset
    return raw[start : start + n]


@pytest.mark.parametrize("variant", ["interior", "padded", "sliced", "symmetric_sliced"])
@pytest.mark.parametrize(("x_offset", "y_offset"), [(0, 0), (0, 3), (3, 0), (3, 3)])
def test_vectors_at_any_address(device: gpuopt.Device, variant: str, x_offset: int, y_offset: int) -> None:
    A = laplacian(5000)
    M = gpuopt.DiaMatrix(A, device=device)
    x, out = aligned(5000, x_offset), aligned(5000, y_offset)
    for seed in (1, 2):
        x[:] = vector(5000, seed=seed)
        assert gpuopt.spmv(M, x, out=out, variant=variant) is out
        np.testing.assert_allclose(out, A @ x, atol=1e-5)
    x.flags.writeable = False
    np.testing.assert_allclose(gpuopt.spmv(M, x, variant=variant), A @ x, atol=1e-5)


@pytest.mark.parametrize("variant", ["interior", "sliced", "symmetric_sliced"])
@pytest.mark.parametrize("shift", [0, 32])
def test_out_may_overlap_operands(device: gpuopt.Device, variant: str, shift: int) -> None:
    A = laplacian(5000)
    M = gpuopt.DiaMatrix(A, device=device)
    memory = aligned(5000 + shift)
    x, out = memory[:5000], memory[shift:]
    x[:] = vector(5000)
    expected = A @ x
    gpuopt.spmv(M, x, out=out, variant=variant)
    np.testing.assert_allclose(out, expected, atol=1e-5)
    x[:] = vector(5000)
    gpuopt.spmv(A, x, out=out, device=device)  # a CPU reads the matrix in place
    np.testing.assert_allclose(out, expected, atol=1e-5)
    x[:] = vector(5000)
    gpuopt.spmv(M, vector(5000, seed=4), x, beta=2, out=out, variant=variant)
    np.testing.assert_allclose(out, A @ vector(5000, seed=4) + 2 * vector(5000), atol=1e-5)


def test_results_do_not_share_memory(device: gpuopt.Device) -> None:
    n = 1_300_000  # 5 MB: memory that was let go is used again
    A = laplacian(n)
    M = gpuopt.DiaMatrix(A, device=device)
    x = vector(n)
    kept = [M @ (np.float32(k) * x) for k in range(1, 4)]
    address = kept[0].ctypes.data
    for k, y in enumerate(kept, 1):
        np.testing.assert_allclose(y[:1000], (A @ (np.float32(k) * x))[:1000], atol=1e-5)
    view = kept[1][10:20]
    before = view.copy()
    del kept, y
    again = [M @ x for _ in range(4)]
    assert any(other.ctypes.data == address for other in again)
    assert not any(np.shares_memory(view, other) for other in again)
    np.testing.assert_array_equal(view, before)


def test_diagonals_that_are_no_array_are_refused_by_name() -> None:
    ragged: Any = [[1.0], [2.0, 3.0]]
    for data, offsets, name in ((ragged, [0], "data"), (np.ones((1, 3), np.float32), ragged, "offsets")):
        with pytest.raises(gpuopt.ArrayError, match=f"^{name}: it cannot be read as an array"):
            gpuopt.DiaMatrix((data, offsets), (3, 3))
    with pytest.raises(gpuopt.Error, match="no number"):
        gpuopt.DiaMatrix((np.ones((1, 3), np.float32), [0]), (3, 3)) * np.timedelta64(2, "s")  # type: ignore[operator]


def test_what_is_no_matrix_is_named_beside_an_out() -> None:
    """NumPy's own error came first: it shows no memory of dates."""
    x = np.ones(3, np.float32)
    with pytest.raises(gpuopt.ArrayError, match="A: "):
        gpuopt.spmv(np.zeros((3, 3), "M8[s]"), x, out=x.copy())  # type: ignore[call-overload]


def test_what_is_no_matrix_is_named_as_its_function_does() -> None:
    with pytest.raises(gpuopt.ArrayError, match=r"^A: expected"):
        gpuopt.spmv(5, np.ones(3, np.float32), variant="banded")
    with pytest.raises(gpuopt.ArrayError, match=r"^matrix: expected"):
        gpuopt.DiaMatrix(5)
