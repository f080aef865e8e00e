"""Problems: inputs with a reference, a tolerance and their sizes, ready to be bound to a device."""

from gpuopt.problems.gem import gem
from gpuopt.problems.gemm import gemm
from gpuopt.problems.microbench import microbenchmark
from gpuopt.problems.molecules import capsid, globule
from gpuopt.problems.problem import Bound, Problem
from gpuopt.problems.spmv import spmv_grid, spmv_image_affinity, spmv_stencil
from gpuopt.problems.tmv import tmv
from gpuopt.problems.tomography import back_projection

__all__ = [
    "Bound",
    "Problem",
    "back_projection",
    "capsid",
    "gem",
    "gemm",
    "globule",
    "microbenchmark",
    "spmv_grid",
    "spmv_image_affinity",
    "spmv_stencil",
    "tmv",
]
