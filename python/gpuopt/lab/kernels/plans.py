"""The plans of kernels for a problem, each in a process of its own or all in this one, and their programs ahead."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Protocol

import numpy as np

from gpuopt import configuration as tables
from gpuopt._core import Device, ParameterError
from gpuopt.configuration import Configuration, OwnVariant
from gpuopt.lab.kernels import binding, identity
from gpuopt.lab.kernels.binding import Code
from gpuopt.lab.kernels.builders import build_ahead
from gpuopt.lab.kernels.checks import Memory, OwnChecks, Right, flat
from gpuopt.lab.kernels.remote import RemoteMemory, Restore, remote
from gpuopt.lab.kernels.space import Levels
from gpuopt.lab.kernels.task import Arrays, Numbers, Task
from gpuopt.problem import BoundPlan, ManyOutputs


class Declared(Protocol):
    """What is asked of a kernel here: :class:`gpuopt.lab.Kernel`."""

    @property
    def name(self) -> str: ...
    @property
    def task(self) -> Task: ...
    @property
    def code(self) -> Code: ...
    def levels(self, configuration: Configuration) -> Levels: ...


def prepared(
    kernels: Mapping[str, Declared],
    rows: Mapping[str, OwnVariant],
    numbers: Numbers,
    arrays: Arrays,
    limit_s: float | None,
    right: Right,
    configuration: Configuration,
    device: Device,
) -> BoundPlan:
    """The plan of one configuration, whose first run may take ``limit_s``; None for one in this process. Raises
    ParameterError where the first kernel was defined anew, and what preparing raises."""
    first = next(iter(kernels.values()))
    if tables.own(first.name) != rows:
        raise ParameterError(f"{first.name}: it was defined anew since this problem was made; call .problem(...) again")
    kernel = kernels[configuration.variant]
    levels, told = kernel.levels(configuration), identity.of_plan(first.task, kernel.code)
    names = [one.name for one in first.task.results]
    if limit_s is not None:
        made = remote(first.task, kernel.code, device, levels, numbers, arrays, limit_s)
        memory = RemoteMemory(made, first.task, {**numbers, **levels}, names)
        before = Restore(made) if memory.changes_itself() else None
        asked = OwnChecks(memory, made.run, made, right)
        return BoundPlan(made, _output(memory, first.task, right), checks=asked, restore=before, plan=told)
    plan = binding.plan(first.task, kernel.code, device, levels, numbers, arrays)
    checks = OwnChecks(plan.memory, plan.prepared.run, plan.prepared, right)
    restore = plan.memory.restore if plan.memory.changes_itself(plan.prepared.run) else None
    return BoundPlan(plan.prepared, _output(plan.memory, first.task, right), checks=checks, restore=restore, plan=told)


def _output(memory: Memory | RemoteMemory, task: Task, right: Right) -> ManyOutputs:
    """The results in one row, as the reference of the problem is."""
    size = sum(exact.size for exact in right.exact.values())
    dtype = np.result_type(*(one.dtype for one in task.results))
    return ManyOutputs((size,), dtype, lambda: flat(memory.taken(), memory.results))


def standard(kernels: Mapping[str, Declared], numbers: Numbers, name: str) -> Configuration | None:
    """The standard configuration of a kernel at these sizes; None of one that the problem was made without."""
    return None if name not in kernels else Configuration(name, **kernels[name].code.space.standard(numbers))  # type: ignore[arg-type]


def built_ahead(
    kernels: Mapping[str, Declared],
    numbers: Numbers,
    configurations: Sequence[Configuration],
    device: Device,
    until: float | None = None,
) -> None:
    """Builds the programs of those configurations that all constraints admit."""
    first = next(iter(kernels.values()))
    for name, kernel in kernels.items():
        wanted = [kernel.levels(one) for one in configurations if one.variant == name]
        admitted = [levels for levels in wanted if kernel.code.space.broken({**numbers, **levels}) is None]
        build_ahead(device, first.task, kernel.code, numbers, admitted, until)
