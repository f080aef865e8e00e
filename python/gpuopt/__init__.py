"""gpuopt: which OpenCL optimizations pay on your device, how much, and why.

Importing touches no device: the first operation, or :func:`devices`, finds them.
"""

from __future__ import annotations

import importlib
import logging
from typing import TYPE_CHECKING, Any

from gpuopt import main_interpreter as _main_interpreter  # noqa: F401  raises ImportError in any other

try:
    from gpuopt import _core
except ImportError as error:
    if "libOpenCL" in str(error):
        raise ImportError(
            f"gpuopt needs the OpenCL ICD loader ({error}); install it with: apt-get install ocl-icd-libopencl1"
        ) from error
    raise
from gpuopt._core import (
    ArrayError,
    Device,
    DeviceArray,
    DeviceMemoryError,
    Error,
    HandleError,
    KernelBuildError,
    MismatchError,
    NoDeviceError,
    OpenCLError,
    ParameterError,
    UnsupportedError,
)
from gpuopt.arrays import axpy, dot, norm, pinned_empty, to_device
from gpuopt.configuration import Configuration, variants
from gpuopt.molecule import Molecule, Surface, electrostatic_size
from gpuopt.prefixes import search_prefixes
from gpuopt.pyopencl_arrays import from_pyopencl, pyopencl_queue, to_pyopencl
from gpuopt.selection import devices, use
from gpuopt.tracing import trace
from gpuopt.workloads.gem.contacts import PrecisionWarning
from gpuopt.workloads.gem.energy import SolvationEnergy, solvation_energy
from gpuopt.workloads.gem.operation import gem
from gpuopt.workloads.gemm.operation import gemm
from gpuopt.workloads.spmv.matrix import DiaMatrix
from gpuopt.workloads.spmv.operation import spmv
from gpuopt.workloads.tmv.operation import tmv

if TYPE_CHECKING:
    from gpuopt import io, lab, microbench, problems, tomo

__version__ = _core.__version__

# Quiet unless the application sets logging up.
logging.getLogger(__name__).addHandler(logging.NullHandler())

# OpenCL runtimes installed beside the running Python count as devices (wheels, conda).
_core.set_search_prefixes([prefix.encode(errors="surrogateescape") for prefix in search_prefixes()])

__all__ = [
    "ArrayError",
    "Configuration",
    "Device",
    "DeviceArray",
    "DeviceMemoryError",
    "DiaMatrix",
    "Error",
    "HandleError",
    "KernelBuildError",
    "MismatchError",
    "Molecule",
    "NoDeviceError",
    "OpenCLError",
    "ParameterError",
    "PrecisionWarning",
    "SolvationEnergy",
    "Surface",
    "UnsupportedError",
    "__version__",
    "axpy",
    "devices",
    "dot",
    "electrostatic_size",
    "from_pyopencl",
    "gem",
    "gemm",
    "io",
    "lab",
    "microbench",
    "norm",
    "pinned_empty",
    "problems",
    "pyopencl_queue",
    "solvation_energy",
    "spmv",
    "tmv",
    "to_device",
    "to_pyopencl",
    "tomo",
    "trace",
    "use",
    "variants",
]

_LAZY = {"io", "lab", "microbench", "problems", "tomo"}


def __getattr__(name: str) -> Any:
    if name in _LAZY:
        return importlib.import_module(f"gpuopt.{name}")
    raise AttributeError(f"module 'gpuopt' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted({*__all__, "molecule"})
