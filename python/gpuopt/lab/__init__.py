"""The laboratory: sweeps, verified and timed rows, bounds, tables and pictures."""

from __future__ import annotations

import importlib
import importlib.util
from contextlib import suppress

from gpuopt.lab.device.profile import Profile
from gpuopt.lab.report import Study
from gpuopt.lab.rows.recorder import UnsavedRowsError
from gpuopt.lab.rows.store import Store
from gpuopt.lab.run.aa import aa
from gpuopt.lab.run.survey import survey
from gpuopt.lab.run.sweep import sweep
from gpuopt.lab.run.tune import tune
from gpuopt.lab.show.claims import claims
from gpuopt.problem import Peer

__all__ = [
    "Peer",
    "Point",
    "Profile",
    "Store",
    "Study",
    "UnsavedRowsError",
    "aa",
    "audit",
    "claims",
    "device_plots",
    "gem_plots",
    "plots",
    "profile",
    "survey",
    "sweep",
    "tune",
]

# Names that people look for here, although their modules import the lab: they are imported when they are asked for.
_ABOVE = {
    "Point": "gpuopt.workloads.microbench.points",
    "audit": "gpuopt.audit",
    "profile": "gpuopt.workloads.microbench.ceilings",
}
_MODULES = {"plots": "gpuopt.lab.show.ladder", "device_plots": "gpuopt.workloads.microbench.pictures"}


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
