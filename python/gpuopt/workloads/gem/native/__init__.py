"""The plain C++ loop of GEM to hold beside the kernels; ``workloads/common/cpp_loops`` compiles it."""

from __future__ import annotations

import ctypes
from importlib import resources

from gpuopt.workloads.common import cpp_loops
from gpuopt.workloads.common.cpp_loops import compiler

__all__ = ["FLAGS", "compiler", "library", "version"]

FLAGS = (*cpp_loops.THREADED, "-ffast-math")


def version(threads: int = 0) -> str:
    """What the compiler calls itself, with the flags and the number of threads; 0: one a processor."""
    if threads == 1:
        return f"{cpp_loops.described(tuple(flag for flag in FLAGS if flag != '-fopenmp'))}, 1 thread"
    return cpp_loops.described(FLAGS)


def library(name: str) -> ctypes.CDLL:
    """The loops of ``name``.cpp in this folder, compiled once. Raises Error with what the compiler says."""
    source = resources.files(__name__).joinpath(f"{name}.cpp").read_text(encoding="utf-8")
    return cpp_loops.library(source, FLAGS, name)
