"""Every workload's record, in the order of the core's tables.

A workload of the core's tables has a room ``gpuopt.workloads.<name>`` whose module ``study`` holds its record: nothing
else in Python lists the workloads.
"""

from __future__ import annotations

import functools
import importlib

from gpuopt import _core
from gpuopt.lab.workload import SurveyWorkload, Workload


@functools.cache
def records() -> tuple[Workload | SurveyWorkload, ...]:
    """All records."""
    names = _core.workload_names()
    return tuple(importlib.import_module(f"gpuopt.workloads.{name}.study").WORKLOAD for name in names)
