"""What a problem's kernels were compiled to, for the device at hand and for others (`lab.isa`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from gpuopt._core import Device, Error, ParameterError, Prepared
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.lab.compiled import live, targets
from gpuopt.lab.compiled.entries import LIVE, Compiled, Entry
from gpuopt.lab.compiled.targets import Target
from gpuopt.lab.device.environment import device_label
from gpuopt.lab.run.wanted import what_to_measure
from gpuopt.problem import Problem
from gpuopt.progress import Bar
from gpuopt.selection import Selector, select


@checked
def isa(
    problem: Problem,
    variants: str | Iterable[str | Configuration] = "all",
    *,
    targets: str | Sequence[str] = LIVE,
    device: Selector = None,
    progress: bool = False,
) -> Compiled:
    """Return what the kernels of a problem were compiled to: registers, instructions, those of the innermost loop, and
    how many wavefronts fit.

    problem, variants, device
        As for :func:`gpuopt.lab.sweep`; a search for levels does not take place. An own kernel's problem is one, too.
    targets
        "live" is the device at hand. The others are compiled for by clang, where it and a library of OpenCL's built-in
        functions are installed (Debian: clang-15, libclc-15): "gfx900", "gfx906", "gfx90a", "gfx1030" and "gfx1100" of
        AMD, "sm_70" to "sm_90" of NVIDIA, and AMD's VLIW generations "cypress" (HD 5870), "cedar", "barts" and
        "cayman". Source and build options are those that the device at hand is given.

    A kernel without numbers has a reason: a tool that is missing, a compiler that fails, a listing that cannot be
    trusted. Counts are of the text of a kernel: they say nothing of how often a loop runs, and those of different
    targets are not comparable. Raises ParameterError for an unknown variant or target.

    >>> from gpuopt import lab, problems
    >>> found = lab.isa(problems.gemm(256), ["naive", "vectorized"], targets=["gfx90a", "cypress"])  # doctest: +SKIP
    """
    chosen = select(device)
    names = [targets] if isinstance(targets, str) else list(targets)
    if not names:
        raise ParameterError("targets: none is given; use live, or names of chips")
    chips = [None if name == LIVE else _target(name) for name in dict.fromkeys(names)]
    wanted = what_to_measure(problem, chosen, variants, False)
    configurations = [item for item in wanted.items if isinstance(item, Configuration)]
    found: list[list[Entry]] = []
    bar = Bar(progress, len(configurations), "kernel")
    try:
        for configuration in configurations:
            bar.say(str(configuration))
            found.append(_entries(problem, configuration, chosen, chips))
            bar.step()
    finally:
        bar.close()
    about = (
        f"{problem.workload} {problem.name}: what its kernels become; source and options as on {device_label(chosen)}"
    )
    return Compiled(about, [row[at] for at in range(len(chips)) for row in found])


def _target(name: str) -> Target:
    return targets.target(name)


def _entries(
    problem: Problem, configuration: Configuration, device: Device, chips: Sequence[Target | None]
) -> list[Entry]:
    """One configuration on all targets."""
    label = str(configuration)
    try:
        prepared = problem.prepare(configuration, device).prepared
        kernel = prepared.kernels[prepared.main_step]
        code = prepared.code(prepared.main_step)
    except (Error, MemoryError) as error:
        return [_refused(label, None, device, chip, str(error)) for chip in chips]
    if code is None:
        return [_refused(label, None, device, chip, "it has no kernel of its own") for chip in chips]
    items = math.prod(kernel["global_size"])
    outputs = problem.reference.size / items if problem.checked is None and items else None
    return [_entry(label, prepared, kernel, code, device, chip, outputs) for chip in chips]


def _entry(
    label: str,
    prepared: Prepared,
    kernel: Mapping[str, Any],
    code: Mapping[str, Any],
    device: Device,
    chip: Target | None,
    outputs: float | None,
) -> Entry:
    name = kernel["entry_point"]
    try:
        if chip is None:
            listing, tool = live.read(device, code, kernel, prepared.run)
        else:
            made = targets.compile_for(chip, code["text"], code["options"])
            listing, tool = made.kernel(name), made.tool
    except Error as error:
        return _refused(label, name, device, chip, str(error))
    return Entry(label, name, *_named(device, chip), tool, listing, outputs)


def _refused(label: str, name: str | None, device: Device, chip: Target | None, reason: str) -> Entry:
    return Entry(label, name, *_named(device, chip), reason=reason)


def _named(device: Device, chip: Target | None) -> tuple[str, str, Any]:
    return (LIVE, device_label(device), "live") if chip is None else (chip.name, chip.title, chip.kind)
