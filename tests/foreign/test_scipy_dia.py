"""SciPy's own tests of ``dia_array``, on DiaMatrix."""

from __future__ import annotations

from typing import Any
from unittest import mock

import numpy as np
import pytest
import scipy.sparse as sparse

import gpuopt
from foreign.suites import cases, installed

BASE = installed("scipy.sparse.tests.test_base")
SUITE = getattr(BASE, "TestDIA", None)

RUN = (
    *("test_binop_custom_type", "test_comparisons_custom_type", "test_constructor1", "test_diagonal"),
    *("test_getnnz", "test_imul_scalar", "test_invalid_shapes", "test_matmat_dense", "test_matvec"),
    *("test_mul_custom_type", "test_rmatvec", "test_rmul_scalar", "test_rmul_scalar_type_error"),
    *("test_small_multiplication", "test_transpose", "common_mul_scalar"),
)

NOT_RUN = {
    "complex numbers and integers: matrices hold float32 or float64": (
        *("test_astype", "test_astype_immutable", "test_real", "test_imag", "test_from_array", "test_from_list"),
        *("test_from_matrix", "test_bool", "test_bool_rollover", "test_setdiag_dtype"),
    ),
    "its second part negates booleans; test_matrix_as_scipy.py compares -M": ("test_neg",),
    "conversions between formats are SciPy's": (
        *("test_sparse_format_conversions", "test_size_zero_conversions", "test_tobsr", "test_tocsr", "test_solve"),
        *("test_convert_gh14555", "test_tocoo_gh10050", "test_tocoo_tocsr_tocsc_gh19245", "test_from_sparse"),
        *("test_constructor1_base", "test_constructor2", "test_constructor3", "test_constructor4"),
    ),
    "sums of matrices are not offered": (
        *("test_add", "test_radd", "test_sub", "test_rsub", "test_add0", "test_add_dense", "test_sub_dense"),
        *("test_add_sparse", "test_sub_sparse", "test_add_sub", "test_inplace_dense", "test_inplace_success"),
        *("test_empty_arithmetic", "test_size_zero_matrix_arithmetic"),
    ),
    "products of two sparse matrices are not offered": (
        "test_matmul",
        "test_matmat_sparse",
        "test_matmul_dia",
        "test_mu",
    ),
    "elementwise work on matrices is not offered": (
        *("test_abs", "test_round", "test_elementwise_power", "test_elementwise_multiply", "test_elementwise_divide"),
        *("test_elementwise_multiply_broadcast", "test_maximum_minimum", "test_pow", "test_unary_ufunc_overrides"),
        *("test_star_vs_at_sign_for_sparray_and_spmatrix", "test_mul_scalar", "test_dot_scalar"),
    ),
    "comparisons of matrices are not offered": (
        "test_eq",
        "test_ne",
        "test_eq_ne_different_shapes",
        "test_lt",
        "test_gt",
        "test_le",
        "test_ge",
    ),
    "sums, means and counts are not offered": (
        *("test_sum", "test_sum_invalid_params", "test_sum_dtype", "test_sum_out", "test_numpy_sum", "test_trace"),
        *("test_sum_mean_container_type", "test_mean", "test_mean_invalid_param", "test_mean_dtype", "test_mean_out"),
        *("test_numpy_mean", "test_empty", "test_count_nonzero", "test_nonzero", "test_numpy_nonzero"),
    ),
    "what SciPy's own constructor refuses": ("test_dtype_check",),
    "functions of matrices are not offered": ("test_expm", "test_inv"),
    "a matrix never changes: nothing is set, reshaped or copied": (
        *("test_setdiag", "test_setdiag_comprehensive", "test_reshape", "test_resize", "test_copy"),
    ),
    "SciPy divides in place in float32; M / 2 is float64, as SciPy's own M / 2": ("test_idiv_scalar",),
    "toarray takes no order and no out": ("test_toarray", "test_todense"),
    "x @ M with an object that has a shape is an error of a type": ("test_binop_custom_type_with_shape",),
    "texts and files are gpuopt's own": ("test_repr", "test_str", "test_str_maxprint", "test_pickle"),
    "the suite itself asks nothing: DIA has no such thing": (
        *("test_iterator", "test_getnnz_axis"),
        *("test_getelement", "test_setelement", "test_negative_index_assignment", "test_scalar_assign_2"),
        *("test_index_scalar_assign", "test_dtype_preservation", "test_dtype_preservation_empty_slice"),
        *("test_get_horiz_slice", "test_get_vert_slice", "test_get_slices", "test_non_unit_stride_2d_indexing"),
        *("test_slicing_2", "test_slicing_3", "test_None_slicing", "test_ellipsis_slicing", "test_ellipsis_fancy_bool"),
        *("test_ellipsis_fancy_slicing", "test_multiple_ellipsis_slicing", "test_slice_scalar_assign"),
        *("test_slice_assign_2", "test_self_self_assignment", "test_slice_assignment"),
        *("test_sparsity_modifying_assignment", "test_set_slice", "test_assign_empty", "test_assign_1d_slice"),
        *("test_dtype_preservation_empty_index", "test_bad_index", "test_fancy_indexing"),
        *("test_fancy_indexing_randomized", "test_missized_masking", "test_fancy_indexing_boolean"),
        *(
            "test_fancy_indexing_sparse_boolean",
            "test_fancy_indexing_regression_3087",
            "test_fancy_indexing_seq_assign",
        ),
        *("test_fancy_indexing_2d_assign", "test_fancy_indexing_empty", "test_bad_index_assign"),
        *("test_fancy_indexing_set", "test_fancy_assignment_dtypes", "test_sequence_assignment"),
        *("test_fancy_assign_empty", "test_fancy_indexing_ndarray", "test_fancy_assign_ndarray"),
        *("test_fancy_indexing_multidim_set", "test_fancy_assign_list", "test_fancy_assign_slice", "test_minmax"),
        *("test_minmax_axis", "test_minmax_container_type", "test_nanminmax", "test_minmax_invalid_params"),
        *("test_numpy_minmax", "test_argmax"),
    ),
}


class Adapted:
    """A DiaMatrix under the names of SciPy, whose operands become arrays of its dtype: gpuopt converts none."""

    __array_ufunc__ = None
    format = "dia"

    def __init__(self, matrix: gpuopt.DiaMatrix) -> None:
        self.matrix = matrix

    def __getattr__(self, name: str) -> Any:
        if name in ("shape", "dtype", "ndim", "nnz", "toarray", "diagonal"):
            return getattr(self.matrix, name)
        raise AttributeError(name)

    def _getnnz(self) -> int:
        return self.matrix.nnz

    def copy(self) -> Adapted:
        """Itself: a matrix never changes."""
        return self

    @property
    def T(self) -> Adapted:
        return Adapted(self.matrix.T)

    def transpose(self, axes: Any = None) -> Adapted:
        return Adapted(self.matrix.transpose(axes))

    def _operand(self, x: Any) -> np.ndarray:
        return np.ascontiguousarray(np.asarray(x), dtype=self.dtype).reshape(np.shape(x))

    def __matmul__(self, x: Any) -> Any:
        return self.matrix @ (x if isinstance(x, BASE.BinopTester) else self._operand(x))

    def __rmatmul__(self, x: Any) -> Any:
        return self._operand(x) @ self.matrix

    def __mul__(self, factor: Any) -> Any:
        made = self.matrix.__mul__(factor)
        return made if made is NotImplemented else Adapted(made)

    def __rmul__(self, factor: Any) -> Any:
        return Adapted(factor * self.matrix)


def suite(device: gpuopt.Device) -> Any:
    """SciPy's suite, which makes its matrices on ``device``."""

    def create(given: Any, shape: Any = None, dtype: Any = None) -> Adapted:
        if isinstance(given, tuple) and len(given) == 2 and all(isinstance(length, int) for length in given):
            empty = (np.empty((0, 0), np.float64 if dtype is None else dtype), np.empty(0, np.int64))
            return Adapted(gpuopt.DiaMatrix(empty, given, device=device))
        made = sparse.dia_array(given, shape=shape, dtype=dtype)
        real = made if made.dtype in (np.float32, np.float64) else made.astype(np.float64)
        return Adapted(gpuopt.DiaMatrix(real, device=device))

    class OnGpuopt(SUITE):  # type: ignore[misc, valid-type]
        spcreator = staticmethod(create)
        dia_container = staticmethod(create)
        math_dtypes = (np.float32, np.float64)

        common_mul_scalar = BASE._TestCommon.test_mul_scalar  # which TestDIA replaces

    with mock.patch.object(BASE, "supported_dtypes", [np.float32, np.float64]):
        OnGpuopt.init_class()
    OnGpuopt.is_array_test = True
    return OnGpuopt()


FOUND = [*(name for name in dir(SUITE) if name.startswith("test_")), "common_mul_scalar"] if SUITE else []


@pytest.mark.parametrize("name", cases(RUN, FOUND, NOT_RUN, "SciPy"))
def test_scipys_case(any_device: gpuopt.Device, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not any_device.fp64:
        pytest.skip(f"{any_device.name} has no fp64")
    monkeypatch.setattr(BASE, "issparse", lambda x: isinstance(x, Adapted) or sparse.issparse(x))
    getattr(suite(any_device), name)()
