"""SciPy's own tests of ``dia_array``, on DiaMatrix."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, ClassVar

import numpy as np
import pytest
import scipy.sparse as sparse

import gpuopt
from foreign.suites import cases, installed

BASE = installed("scipy.sparse.tests.test_base")
SUITE = getattr(BASE, "TestDIA", None)

RUN = (
    *("common_mul_scalar", "test_None_slicing", "test_abs", "test_add", "test_add0", "test_add_dense"),
    *("test_add_sparse", "test_add_sub", "test_bad_index", "test_binop_custom_type", "test_bool"),
    *("test_comparisons_custom_type", "test_constructor1", "test_convert_gh14555", "test_copy"),
    *("test_count_nonzero", "test_diagonal", "test_dot_scalar", "test_dtype_check", "test_elementwise_divide"),
    *("test_elementwise_multiply", "test_elementwise_multiply_broadcast", "test_elementwise_power"),
    *("test_ellipsis_fancy_bool", "test_ellipsis_fancy_slicing", "test_ellipsis_slicing", "test_empty"),
    *("test_empty_arithmetic", "test_fancy_indexing", "test_fancy_indexing_boolean", "test_fancy_indexing_empty"),
    *("test_fancy_indexing_ndarray", "test_fancy_indexing_randomized", "test_fancy_indexing_regression_3087"),
    *("test_from_array", "test_from_list", "test_from_matrix", "test_from_sparse", "test_get_horiz_slice"),
    *("test_get_slices", "test_get_vert_slice", "test_getelement", "test_getnnz", "test_imul_scalar"),
    *("test_inplace_success", "test_invalid_shapes", "test_matmat_dense", "test_matmat_sparse", "test_matmul"),
    *("test_matvec", "test_maximum_minimum", "test_mean", "test_mean_dtype", "test_mean_invalid_param"),
    *("test_mean_out", "test_minmax_invalid_params", "test_missized_masking", "test_mu", "test_mul_custom_type"),
    *("test_mul_scalar", "test_multiple_ellipsis_slicing", "test_nanminmax", "test_neg"),
    *("test_non_unit_stride_2d_indexing", "test_nonzero", "test_numpy_mean", "test_numpy_nonzero", "test_radd"),
    *("test_rmatvec", "test_rmul_scalar", "test_rmul_scalar_type_error", "test_round", "test_rsub"),
    *("test_size_zero_conversions", "test_size_zero_matrix_arithmetic", "test_slicing_2", "test_slicing_3"),
    *("test_small_multiplication", "test_sparse_format_conversions", "test_str", "test_sub", "test_sub_dense"),
    *("test_sub_sparse", "test_sum", "test_sum_dtype", "test_sum_invalid_params", "test_sum_mean_container_type"),
    *("test_sum_out", "test_toarray", "test_tobsr", "test_tocoo_gh10050", "test_tocsr", "test_todense"),
    *("test_trace", "test_transpose"),
)

NOT_RUN = {
    "it is of complex numbers, booleans or integers alone": (
        *(
            "test_astype",
            "test_astype_immutable",
            "test_real",
            "test_imag",
            "test_bool_rollover",
        ),
        *(
            "test_setdiag_dtype",
            "test_dtype_preservation",
            "test_dtype_preservation_empty_index",
        ),
        *("test_dtype_preservation_empty_slice",),
    ),
    "it wants integers back": (
        "test_numpy_sum",
        "test_pow",
        "test_minmax",
    ),
    "a matrix never changes": (
        *(
            "test_setdiag",
            "test_setdiag_comprehensive",
            "test_resize",
            "test_setelement",
        ),
        *(
            "test_negative_index_assignment",
            "test_scalar_assign_2",
            "test_index_scalar_assign",
        ),
        *(
            "test_slice_scalar_assign",
            "test_slice_assign_2",
            "test_self_self_assignment",
            "test_slice_assignment",
        ),
        *(
            "test_sparsity_modifying_assignment",
            "test_set_slice",
            "test_assign_empty",
            "test_assign_1d_slice",
        ),
        *(
            "test_fancy_indexing_seq_assign",
            "test_fancy_indexing_2d_assign",
            "test_bad_index_assign",
        ),
        *(
            "test_fancy_indexing_set",
            "test_fancy_assignment_dtypes",
            "test_sequence_assignment",
        ),
        *(
            "test_fancy_assign_empty",
            "test_fancy_assign_ndarray",
            "test_fancy_indexing_multidim_set",
        ),
        *(
            "test_fancy_assign_list",
            "test_fancy_assign_slice",
        ),
    ),
    "values lie on the device: no array of them is shared, read or written": (
        "test_constructor1_base",
        "test_matmul_dia",
        "test_minmax_axis",
    ),
    "SciPy leaves it out itself for DIA: comparisons, the sign": (
        *(
            "test_eq",
            "test_ne",
            "test_eq_ne_different_shapes",
            "test_lt",
            "test_gt",
            "test_le",
            "test_ge",
        ),
        *("test_unary_ufunc_overrides",),
    ),
    "comparisons with numbers are not offered": ("test_fancy_indexing_sparse_boolean",),
    "argmax and argmin are not offered": (
        "test_argmax",
        "test_minmax_container_type",
    ),
    "reshape is not offered: M.tocoo() has it": ("test_reshape",),
    "x += M stays an error: NumPy must not iterate over M": ("test_inplace_dense",),
    "M * array stays an error, since it may be meant as M @ array; M.multiply(array) is elementwise": (
        "test_star_vs_at_sign_for_sparray_and_spmatrix",
    ),
    "SciPy divides in place in float32; M / 2 is float64, as SciPy's own M / 2": ("test_idiv_scalar",),
    "a product with an object that has a shape is an error of a type": ("test_binop_custom_type_with_shape",),
    "functions that take SciPy's own classes alone": (
        "test_expm",
        "test_inv",
        "test_numpy_minmax",
    ),
    "all its matrices are SciPy's own": (
        "test_solve",
        "test_tocoo_tocsr_tocsc_gh19245",
    ),
    "it is empty for DIA": (
        "test_iterator",
        "test_getnnz_axis",
    ),
    "texts and files are gpuopt's own": (
        "test_repr",
        "test_str_maxprint",
        "test_pickle",
    ),
}

METHODS = (
    *("toarray", "todense", "diagonal", "transpose", "to_scipy", "tocsr", "tocsc", "tocoo", "tobsr", "asformat"),
    *("copy", "astype", "sum", "mean", "max", "min", "nanmax", "nanmin", "trace", "count_nonzero", "nonzero", "dot"),
    *("multiply", "maximum", "minimum", "power"),
)


def ours(given: Any) -> Any:
    return given.matrix if isinstance(given, Adapted) else given


class Adapted:
    """A DiaMatrix under the names of SciPy, whose operands become arrays of its dtype: gpuopt converts none. Integers
    become float64; what no DiaMatrix holds (complex numbers, booleans, a dtype asked for) stays SciPy's own matrix."""

    __array_ufunc__ = None
    format = "dia"
    matrix: gpuopt.DiaMatrix
    device: ClassVar[gpuopt.Device]
    used: ClassVar[bool]

    def __new__(cls, given: Any, shape: Any = None, dtype: Any = None, copy: bool = False) -> Any:
        if isinstance(given, tuple) and all(isinstance(length, int) for length in given) and dtype is None:
            Adapted.used = True
            empty = np.empty((0, 0)), np.empty(0, np.int64)
            return cls.around(gpuopt.DiaMatrix(empty, given, device=cls.device))
        theirs = sparse.dia_array(given.to_scipy() if isinstance(given, Adapted) else given, shape=shape, dtype=dtype)
        if theirs.dtype not in (np.float32, np.float64):
            if dtype is not None or theirs.dtype.kind not in "iu":
                return theirs
            theirs = theirs.astype(np.float64)
        return cls.around(gpuopt.DiaMatrix(theirs, device=cls.device))

    @classmethod
    def around(cls, matrix: gpuopt.DiaMatrix) -> Any:
        made = object.__new__(cls)
        made.matrix = matrix
        return made

    def of(self, found: Any) -> Any:
        """What a method has returned, adapted where it is a DiaMatrix."""
        Adapted.used = True
        if found is self.matrix or not isinstance(found, gpuopt.DiaMatrix):
            return self if found is self.matrix else found
        return self.around(found)

    def __getattr__(self, name: str) -> Any:
        if name in ("tolil", "todok", "todia"):
            return lambda copy=False: self.asformat(name[2:])
        if name not in METHODS:
            raise AttributeError(name)

        def call(*given: Any, **named: Any) -> Any:
            Adapted.used = True
            try:
                return self.of(getattr(self.matrix, name)(*map(ours, given), **named))
            except gpuopt.UnsupportedError as error:
                raise NotImplementedError(error) from error

        return call

    def _getnnz(self) -> int:
        return self.nnz

    @property
    def T(self) -> Adapted:
        return self.of(self.matrix.T)

    def _operand(self, x: Any) -> Any:
        if isinstance(x, BASE.BinopTester | Adapted) or sparse.issparse(x) or np.iscomplexobj(x):
            return ours(x)
        return np.ascontiguousarray(np.asarray(x), dtype=self.dtype).reshape(np.shape(x))

    def __matmul__(self, x: Any) -> Any:
        return self.of(self.matrix @ self._operand(x))

    def __rmatmul__(self, x: Any) -> Any:
        return self.of(self._operand(x) @ self.matrix)


def attribute(name: str) -> property:
    return property(lambda self: self.of(getattr(self.matrix, name)))


def operator(name: str) -> Callable[..., Any]:
    def apply(self: Adapted, *given: Any) -> Any:
        Adapted.used = True
        return self.of(getattr(self.matrix, name)(*map(ours, given)))

    return apply


for name in ("shape", "dtype", "ndim", "nnz"):
    setattr(Adapted, name, attribute(name))
for name in (
    *("add", "radd", "sub", "rsub", "mul", "rmul", "truediv", "neg", "abs", "round", "pow", "bool"),
    *("eq", "ne", "lt", "le", "gt", "ge", "getitem"),
):
    setattr(Adapted, f"__{name}__", operator(f"__{name}__"))


def suite(device: gpuopt.Device) -> Any:
    """SciPy's suite, which makes its matrices on ``device``."""
    Adapted.device = device

    class OnGpuopt(SUITE):  # type: ignore[misc, valid-type]
        spcreator = Adapted
        dia_container = Adapted
        math_dtypes = (np.float32, np.float64)

        common_mul_scalar = BASE._TestCommon.test_mul_scalar  # which TestDIA replaces

    OnGpuopt.init_class()
    OnGpuopt.is_array_test = True
    return OnGpuopt()


FOUND = [*(name for name in dir(SUITE) if name.startswith("test_")), "common_mul_scalar"] if SUITE else []


@pytest.mark.parametrize("name", cases(RUN, FOUND, NOT_RUN, "SciPy"))
def test_scipys_case(any_device: gpuopt.Device, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    if not any_device.fp64:
        pytest.skip(f"{any_device.name} has no fp64")
    monkeypatch.setattr(BASE, "supported_dtypes", [np.float32, np.float64])
    monkeypatch.setattr(BASE, "issparse", lambda x: isinstance(x, Adapted) or sparse.issparse(x))
    case = getattr(suite(any_device), name)
    Adapted.used = False
    try:
        case()
    except pytest.skip.Exception as skipped:  # the suite does so where DIA is known to lack what it asks for
        pytest.fail(f"it no longer runs: {skipped}")
    assert Adapted.used, "it has no matrix that a DiaMatrix holds"
