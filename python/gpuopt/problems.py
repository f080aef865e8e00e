"""Problems of all workloads, for :func:`gpuopt.lab.sweep`: inputs with a reference in fp64 and a tolerance."""

from gpuopt.problem import BoundPlan, Problem
from gpuopt.workloads.gem.molecules import capsid, globule
from gpuopt.workloads.gem.problem import gem
from gpuopt.workloads.gemm.problem import gemm
from gpuopt.workloads.gemm.shapes import gemm_shapes
from gpuopt.workloads.microbench.problem import microbenchmark
from gpuopt.workloads.spmv.problem import spmv_grid, spmv_image_affinity, spmv_stencil
from gpuopt.workloads.tmv.problem import tmv
from gpuopt.workloads.tomography.problem import back_projection
from gpuopt.workloads.tomography.ray_problem import projection

__all__ = [
    "BoundPlan",
    "Problem",
    "back_projection",
    "capsid",
    "gem",
    "gemm",
    "gemm_shapes",
    "globule",
    "microbenchmark",
    "projection",
    "spmv_grid",
    "spmv_image_affinity",
    "spmv_stencil",
    "tmv",
]
