"""The laboratory: sweeps, verified and timed rows, bounds, tables and pictures."""

from __future__ import annotations

from gpuopt.lab.peers import Peer
from gpuopt.lab.profiles import Profile, profile
from gpuopt.lab.results import Store
from gpuopt.lab.study import Study
from gpuopt.lab.survey import Point, survey
from gpuopt.lab.sweep import sweep
from gpuopt.lab.tune import tune

__all__ = [
    "Peer",
    "Point",
    "Profile",
    "Store",
    "Study",
    "device_plots",
    "gem_plots",
    "plots",
    "profile",
    "survey",
    "sweep",
    "tune",
]


def __getattr__(name: str) -> object:
    if name in ("plots", "device_plots", "gem_plots"):
        import importlib

        return importlib.import_module(f"gpuopt.lab.{name}")
    raise AttributeError(f"module 'gpuopt.lab' has no attribute {name!r}")
