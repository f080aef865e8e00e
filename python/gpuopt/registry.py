"""The records of all workloads.

The names come from the core's tables (``src/workloads/registry.def``). The record of a workload is ``WORKLOAD`` in
``gpuopt.workloads.<name>.study``. No list in Python names the workloads.
"""

from __future__ import annotations

import functools
import importlib

from gpuopt import _core
from gpuopt.lab.workload import SurveyWorkload, Workload


@functools.cache
def records() -> tuple[Workload | SurveyWorkload, ...]:
    """Return all records, in the order of the core's tables."""
    names = _core.workload_names()
    return tuple(importlib.import_module(f"gpuopt.workloads.{name}.study").WORKLOAD for name in names)
