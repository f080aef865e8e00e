"""NumPy's own tests of ``np.matmul``, on gpuopt.gemm in float32 and float64."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import gpuopt
from foreign.suites import calls, cases, installed

MODULE = installed("numpy._core.tests.test_multiarray") or installed("numpy.core.tests.test_multiarray")
SUITE = getattr(MODULE, "TestMatmul", None)

RUN = ("test_exceptions", "test_shapes", "test_result_types", "test_dot_equivalent")
# They end with a part on booleans, where the adapter stops them: all before it is of floats.
RUN_TO_BOOLEANS = (
    *("test_scalar_output", "test_vector_vector_values", "test_vector_matrix_values", "test_matrix_vector_values"),
    "test_matrix_matrix_values",
)

NOT_RUN = {
    "arrays of objects": (
        *("test_matmul_object", "test_matmul_object_type_scalar", "test_matmul_empty"),
        *("test_matmul_exception_multiply", "test_matmul_exception_add"),
    ),
    "booleans": ("test_matmul_bool",),
    "the text of a ufunc's refusal, and complex results": ("test_out_arg",),
    "a result whose elements stand apart: gemm refuses it": (
        "test_out_contiguous",
        "test_dot_equivalent_matrix_matrix_blastypes",
    ),
    "the text of a ufunc's refusal; a batch of nothing": ("test_empty_out",),
    "matmul's axes, a ufunc's own argument": ("test_matmul_axes",),
}


class OtherDtype(Exception):
    """The suite has come to a dtype that gemm does not take."""


def product(device: gpuopt.Device, a: np.ndarray, b: np.ndarray) -> Any:
    """``np.matmul(a, b)`` by gemm, which takes matrices and batches of them: vectors and broadcasts are made here."""
    if not {a.dtype, b.dtype} <= {np.dtype(np.float32), np.dtype(np.float64)}:
        raise OtherDtype(a.dtype)
    if not (a.ndim and b.ndim):
        raise ValueError("a number is no matrix")
    left, right = a[np.newaxis] if a.ndim == 1 else a, b[:, np.newaxis] if b.ndim == 1 else b
    stack = np.broadcast_shapes(left.shape[:-2], right.shape[:-2])
    both = [np.broadcast_to(m, stack + m.shape[-2:]).reshape(-1, *m.shape[-2:]) if stack else m for m in (left, right)]
    made = gpuopt.gemm(*map(np.ascontiguousarray, both), device=device)
    made = made.reshape(*stack, *made.shape[-2:])
    made = made[..., 0] if b.ndim == 1 else made
    return made[..., 0, :][()] if a.ndim == 1 and b.ndim > 1 else made[..., 0][()] if a.ndim == 1 else made


FOUND = [name for name in dir(SUITE) if name.startswith("test_")] if SUITE else []


@pytest.mark.parametrize("name", cases((*RUN, *RUN_TO_BOOLEANS), FOUND, NOT_RUN, "NumPy"))
def test_numpys_case(any_device: gpuopt.Device, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not any_device.fp64:
        pytest.skip(f"{any_device.name} has no fp64")

    def matmul(a: Any, b: Any) -> Any:
        return product(any_device, np.asarray(a), np.asarray(b))

    class Numpy:
        """NumPy with another matmul: a case calls it by this name."""

        def __getattr__(self, asked: str) -> Any:
            return matmul if asked == "matmul" else getattr(np, asked)

    class OnGpuopt(SUITE):  # type: ignore[misc, valid-type]
        types = "fd"

    OnGpuopt.matmul = staticmethod(matmul)
    monkeypatch.setattr(MODULE, "np", Numpy())
    if name in RUN_TO_BOOLEANS:
        OnGpuopt.types = "?fd"  # these cases leave out the first
        with pytest.raises(OtherDtype, match="bool"):
            getattr(OnGpuopt(), name)()
        return
    for arguments in calls(getattr(SUITE, name)):
        getattr(OnGpuopt(), name)(**arguments)
