"""What a problem's kernels were compiled to, for the device at hand and for others (`lab.isa`)."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from typing import Any

from gpuopt._core import Device, Error, ParameterError, Prepared
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.lab.compiled import live, tools
from gpuopt.lab.compiled.columns import columns
from gpuopt.lab.compiled.entries import LIVE, Compiled, Entry, How
from gpuopt.lab.compiled.listing import Listing
from gpuopt.lab.compiled.nvidia_gpu import with_occupancy
from gpuopt.lab.compiled.targets import Target, compile_for, target
from gpuopt.lab.compiled.tools import ToolError
from gpuopt.lab.device.environment import device_label
from gpuopt.lab.rows.names import names_of
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.run.wanted import Wanted, what_to_measure
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
    progress: bool | None = None,
) -> Compiled:
    """Return what the kernels of a problem were compiled to: registers, instructions, those of the innermost loop, and
    how many wavefronts fit.

    problem, variants, device
        As for :func:`gpuopt.lab.sweep`; a search for levels does not take place. An own kernel's problem is one, too.
    targets
        "live" is the device at hand. The others are compiled for by clang, where it and a library of OpenCL's built-in
        functions are installed (Debian 12: clang-15, libclc-15): "gfx900", "gfx906", "gfx90a", "gfx1030" and "gfx1100"
        of AMD, "sm_70" to "sm_90" of NVIDIA, and AMD's VLIW generations "cypress" (HD 5870), "cedar", "barts" and
        "cayman". Source and build options are those that the device at hand is given.

    A kernel without numbers has a reason: a tool that is missing, a compiler that fails, a listing that cannot be
    trusted. Counts are of the text of a kernel: they say nothing of how often a loop runs, and those of different
    targets are not comparable. Raises ParameterError for an unknown variant or target.

    Examples
    --------
    >>> found = lab.isa(problems.tmv(32), "naive")
    >>> [(entry.name, entry.target) for entry in found]
    [('naive', 'live')]
    >>> lab.isa(problems.gemm(256), ["naive", "vectorized"], targets=["gfx90a", "cypress"])  # doctest: +SKIP
    """
    chosen = select(device)
    chips = _chips(targets)
    wanted = _asked(problem, chosen, variants)
    found: list[list[Entry]] = []
    bar = Bar(progress, len(wanted), "kernel")
    try:
        for each in wanted:
            bar.say(each.name)
            found.append(_entries(each, chips))
            bar.step()
    finally:
        bar.close()
    return _together(problem, chosen, found)


def planned(
    problem: Problem, variants: Iterable[str | Configuration], targets: Sequence[str], device: Selector
) -> Compiled:
    """The entries that :func:`isa` would return, by their names alone: nothing is compiled."""
    chosen = select(device)
    chips = _chips(targets)
    return _together(
        problem, chosen, [[each.entry(chip) for chip in chips] for each in _asked(problem, chosen, variants)]
    )


def _chips(targets: str | Sequence[str]) -> list[Target | None]:
    """None stands for the device at hand."""
    names = [targets] if isinstance(targets, str) else list(targets)
    if not names:
        raise ParameterError("targets: none is given; use live, or names of chips")
    return [None if name == LIVE else target(name) for name in dict.fromkeys(names)]


def _asked(problem: Problem, device: Device, variants: str | Iterable[str | Configuration]) -> list[_Asked]:
    wanted = what_to_measure(problem, device, variants, False)
    configurations = [item for item in wanted.items if isinstance(item, Configuration)]
    names = names_of([_named_row(problem, wanted, each) for each in configurations])
    return [_Asked(problem, each, name, device) for each, name in zip(configurations, names, strict=True)]


def _together(problem: Problem, device: Device, found: Sequence[Sequence[Entry]]) -> Compiled:
    """The entries of each configuration, by target."""
    about = f"{problem.workload} {problem.name}: machine code; source and options as for {device_label(device)}"
    return Compiled(about, [each for of_target in zip(*found, strict=True) for each in of_target])


def _named_row(problem: Problem, wanted: Wanted, configuration: Configuration) -> Row:
    """What a name is made of."""
    return {
        "workload": problem.workload,
        "role": "variant",
        "variant": configuration.variant,
        "preset": wanted.named(configuration).preset,
        "params": configuration.parameters,
    }


_COUNTED = ("alu", "fetch", "store", "local", "atomic", "branch", "fma", "double", "special", "matrix", "private")
_IN_LOOP = ("loop_alu", "loop_fetch", "loop_store", "loop_local", "loop_fma", "widest_bits")


def code_fields(device: Device, prepared: Prepared) -> Row:
    """What a row says of a plan's main kernel as the device's driver compiled it, or why it says nothing. Asked for
    outside of timing, once for a program, its kernel and the size of its work-groups."""
    kernel = prepared.kernels[prepared.main_step]
    local_bytes = kernel.get("local_bytes")  # given at the launch, too; occupancy follows from it
    key = (device.key, kernel["binary_sha256"], kernel["entry_point"], local_bytes, *(kernel["local_size"] or ()))
    if key not in _known:
        try:
            code = prepared.code(prepared.main_step)
            if code is None:
                return {"instructions_note": "its main step is a copy, no kernel"}
            _known[key] = _told(*live.read(device, code, kernel, prepared.run), kernel)
        except ToolError as error:  # another time it may answer
            return {"instructions_note": str(error)[:300]}
        except Error as error:
            _known[key] = {"instructions_note": str(error)[:300]}
    return _known[key]


_known: dict[tuple[Any, ...], Row] = {}
READERS = 4  # kernels that tools read at a time


def codes_of(device: Device, plans: Mapping[str, Prepared]) -> dict[str, Row]:
    """The fields of several plans, by the same names; their tools run at the same time."""
    readers = ThreadPoolExecutor(READERS)
    try:
        return dict(zip(plans, readers.map(partial(code_fields, device), plans.values()), strict=True))
    except BaseException:
        readers.shutdown(wait=False, cancel_futures=True)  # before tools end: none is started behind them
        tools.end_all()
        raise
    finally:
        readers.shutdown(cancel_futures=True)


def _told(listing: Listing, tool: str, kernel: Mapping[str, Any]) -> Row:
    """What a listing says. It may be of another compiler than the driver's: what the driver's own log told stands."""
    told = columns(listing)
    named = {name: told.get(name) for name in (*_COUNTED, *_IN_LOOP)}
    row: Row = {
        "occupancy": listing.occupancy,
        "occupancy_by": listing.occupancy_by,
        "instructions": {name: value for name, value in named.items() if isinstance(value, int)},
        "instructions_by": tool,
    }
    if listing.registers is not None and kernel.get("registers") is None:
        row["registers"] = listing.registers
    if listing.spill_bytes is not None and kernel.get("spill_bytes") is None:
        row["spill_bytes"] = listing.spill_bytes
    return row


@dataclass(frozen=True)
class _Asked:
    """A configuration of a problem on a device, by the name that it has in tables."""

    problem: Problem
    configuration: Configuration
    name: str
    device: Device

    def entry(self, chip: Target | None, entry_point: str | None = None, **found: Any) -> Entry:
        """Its entry for a chip, the device's own where there is none."""
        where: tuple[str, str, How]
        where = (LIVE, device_label(self.device), "live") if chip is None else (chip.name, chip.title, chip.kind)
        return Entry(str(self.configuration), self.name, entry_point, *where, **found)


def _entries(asked: _Asked, chips: Sequence[Target | None]) -> list[Entry]:
    """One configuration on all targets."""
    try:
        prepared = asked.problem.prepare(asked.configuration, asked.device).prepared
        code = prepared.code(prepared.main_step)
        kernel = prepared.kernels[prepared.main_step]
    except (Error, MemoryError) as error:
        return [asked.entry(chip, reason=str(error)) for chip in chips]
    if code is None:
        return [asked.entry(chip, reason="its main step is a copy, no kernel") for chip in chips]
    entry_point = kernel["entry_point"]
    items = math.prod(kernel["global_size"])
    outputs = asked.problem.reference.size / items if asked.problem.checked is None and items else None
    found = []
    for chip in chips:
        try:
            listing, tool = _read(asked.device, chip, prepared, kernel, code)
        except Error as error:
            found.append(asked.entry(chip, entry_point, reason=str(error)))
        else:
            found.append(asked.entry(chip, entry_point, tool=tool, listing=listing, outputs_per_item=outputs))
    return found


def _read(
    device: Device, chip: Target | None, prepared: Prepared, kernel: Mapping[str, Any], code: Mapping[str, Any]
) -> tuple[Listing, str]:
    if chip is None:
        return live.read(device, code, kernel, prepared.run)
    made = compile_for(chip, code["text"], code["options"])
    listing = made.kernel(kernel["entry_point"])
    if made.machine:
        listing = with_occupancy(listing, made.machine, kernel["local_size"], None)
    return listing, made.tool
