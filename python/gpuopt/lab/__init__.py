"""The laboratory: sweeps, verified and timed rows, bounds, tables and pictures."""

from __future__ import annotations

import importlib
import importlib.util
from contextlib import suppress

from gpuopt.lab.compiled.difference import isa_diff
from gpuopt.lab.device.profile import Profile
from gpuopt.lab.kernels.arguments import constant, image, inout, input, local, output, sampler, scratch, value
from gpuopt.lab.kernels.capture import capture
from gpuopt.lab.kernels.file_isa import isa_of_file
from gpuopt.lab.kernels.judge import judge
from gpuopt.lab.kernels.kernel import Kernel
from gpuopt.lab.kernels.published import Results, read_results, write_kernel_tuner, write_t4
from gpuopt.lab.kernels.search import search
from gpuopt.lab.kernels.stages import launch, repeat, stage, zero
from gpuopt.lab.kernels.t1 import read_t1
from gpuopt.lab.kernels.t1_export import write_t1
from gpuopt.lab.kernels.task import work
from gpuopt.lab.kernels.tolerances import rounding, within
from gpuopt.lab.kernels.verdicts import Verdict
from gpuopt.lab.report import Study
from gpuopt.lab.rows.recorder import UnsavedRowsError
from gpuopt.lab.rows.store import Store
from gpuopt.lab.run.aa import aa
from gpuopt.lab.run.instructions import isa
from gpuopt.lab.run.survey import survey
from gpuopt.lab.run.sweep import sweep
from gpuopt.lab.run.tune import tune
from gpuopt.lab.show.changes import Changes, compare
from gpuopt.lab.show.claims import claims
from gpuopt.lab.show.portability import Portability, portability
from gpuopt.lab.show.stacking import Stacking, stacking
from gpuopt.problem import Peer

__all__ = [
    "Changes",
    "Kernel",
    "Peer",
    "Point",
    "Portability",
    "Profile",
    "Results",
    "Stacking",
    "Store",
    "Study",
    "UnsavedRowsError",
    "Verdict",
    "aa",
    "audit",
    "capture",
    "casebook",
    "claims",
    "compare",
    "constant",
    "device_plots",
    "energy_plot",
    "gem_plots",
    "image",
    "inout",
    "input",
    "isa",
    "isa_diff",
    "isa_of_file",
    "judge",
    "launch",
    "local",
    "output",
    "plots",
    "portability",
    "profile",
    "read_results",
    "read_t1",
    "repeat",
    "rounding",
    "sampler",
    "scratch",
    "search",
    "stacking",
    "stage",
    "survey",
    "sweep",
    "tune",
    "value",
    "within",
    "work",
    "write_kernel_tuner",
    "write_t1",
    "write_t4",
    "zero",
]

# Names that people look for here, although their modules import the lab, or matplotlib: they are imported when they are
# asked for.
_ABOVE = {
    "Point": "gpuopt.workloads.microbench.points",
    "audit": "gpuopt.audit",
    "casebook": "gpuopt.workloads.casebook.running",
    "energy_plot": "gpuopt.lab.show.energy_picture",
    "profile": "gpuopt.workloads.microbench.ceilings",
}
_MODULES = {"plots": "gpuopt.lab.show.ladder", "device_plots": "gpuopt.workloads.microbench.pictures"}


def __dir__() -> list[str]:
    return [*__all__]


def __getattr__(name: str) -> object:
    if name in _ABOVE:
        return getattr(importlib.import_module(_ABOVE[name]), name)
    if name in _MODULES:
        return importlib.import_module(_MODULES[name])
    if name.endswith("_plots"):  # `gem_plots`: a workload's pictures
        module, found = f"gpuopt.workloads.{name.removesuffix('_plots')}.pictures", None
        with suppress(ModuleNotFoundError):
            found = importlib.util.find_spec(module)
        if found:
            return importlib.import_module(module)
    raise AttributeError(f"module 'gpuopt.lab' has no attribute {name!r}")
