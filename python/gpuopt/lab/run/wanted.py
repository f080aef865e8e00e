"""What a sweep looks at, and which of it goes on to the comparison in blocks."""

from __future__ import annotations

import contextlib
import functools
import logging
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass

from gpuopt import _core, papers, resolution
from gpuopt import configuration as tables
from gpuopt._core import Device, ParameterError, Variant
from gpuopt.configuration import Configuration
from gpuopt.lab.rows.schema import sha256
from gpuopt.problem import Problem

WORDS = ("all", "paper", "plain")  # that stand for several configurations, or for one that the device decides
_DIGITS = 16  # of the hash of what a call takes
REMEASURED = 5  # winners of a search that are measured again in blocks: the best of many is partly luck

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Named:
    """A configuration, by the preset's name where it is one."""

    configuration: Configuration
    preset: str | None
    given: bool  # by the caller, as it is; else found by a search


@dataclass(frozen=True)
class Wanted:
    """What to look at, in the order asked for: configurations as given, and variants (by their row) to search."""

    items: list[Configuration | Variant]
    presets: dict[Configuration, str]

    def named(self, configuration: Configuration) -> Named:
        preset = self.presets.get(configuration)
        return Named(configuration, preset, bool(preset) or configuration in self.items)


def fitting_variants(problem: Problem) -> list[str]:
    """The variants of the problem's workload that can answer it: those of its family, and without those for inputs of
    another kind (such as several columns, where x is one vector)."""
    rows = [row for row in tables.variants(problem.workload) if not problem.family or row.family == problem.family]
    return [row.name for row in rows if problem.is_for(row)]


def plain_configuration(
    problem: Problem, device: Device, input_properties: Collection[str] | None = None
) -> Configuration:
    """What a plain call takes for the problem; with ``input_properties`` what it takes for an input of which these are
    known besides. Raises ParameterError where no record fits."""
    if input_properties is None and problem.plain is not None:
        return problem.plain(device)
    known: Mapping[str, object] = dict(problem.input_properties) | dict.fromkeys(input_properties or (), True)
    asked = {name: functools.partial(known.get, name) for name in known}
    try:
        return resolution.resolve(problem.workload, device, problem.dtype.name, input_properties=asked)
    except ParameterError:
        if problem.default_configuration is None:
            raise
        return problem.default_configuration


def call_plan(problem: Problem, name: str, device: Device) -> str | None:
    """A hash of the configuration that a whole call of the problem takes, of the kernel where somebody brings it, and
    of the workload's kernels where GPUOPT_KERNEL_DIR names files to edit; None where nothing of it is known."""
    taken, kernel = problem.call_configurations.get(name), problem.input_properties.get("kernel")
    if taken is None:
        with contextlib.suppress(ParameterError):  # no record fits; the call itself says so
            taken = plain_configuration(problem, device)
    told: list[object] = [None if taken is None else str(taken), kernel]
    if texts := _edited_kernels(problem.workload):
        told.append(texts)
    return sha256(told)[:_DIGITS] if any(told) else None


def _edited_kernels(workload: str) -> dict[str, str]:
    """The texts of the workload's kernels, by path, where GPUOPT_KERNEL_DIR names files; else none: those of the
    package do not change. All of them, for a call may run passes beside its configuration's kernel."""
    if not _core.kernels_may_change():
        return {}
    texts = {}
    for path in _core.kernel_paths():
        if path.startswith(f"{workload}/"):
            try:
                texts[path] = _core.kernel_source(path)
            except _core.Error as error:  # an include that is not there; a call that takes the file says so
                texts[path] = str(error)
    return texts


def what_to_measure(
    problem: Problem, device: Device, names: str | Iterable[str | Configuration], all_levels: bool
) -> Wanted:
    workload = problem.workload
    table = {variant.name: variant for variant in tables.variants(workload)}
    quoted = {name: papers.preset(workload, name) for name in papers.figures(workload)}
    other = set(table) - set(fitting_variants(problem)) if problem.family else set()
    quoted = {name: preset for name, preset in quoted.items() if preset.variant not in other}
    # Two presets may name one kernel (a paper's GPU and CPU form): a row is called by that of its own type of device,
    # else by the first.
    own = papers.presets_of_type(workload, device.type)
    presets: dict[Configuration, str] = {}
    for preset in sorted(quoted, key=lambda preset: preset not in own):
        if quoted[preset].variant in table:
            presets.setdefault(tables.complete(workload, quoted[preset]), preset)
    listed = [names] if isinstance(names, str) else list(names)
    given = [Configuration.parse(name) if isinstance(name, str) and "(" in name else name for name in listed]
    if "paper" in given and not quoted:
        raise ParameterError(f"variants: no paper measured {problem.name}; use 'all' or names of gpuopt.variants")
    sets: dict[str, list[str] | list[Configuration]] = {
        "all": [*quoted, *fitting_variants(problem)],
        "paper": list(quoted),
        **({"plain": [plain_configuration(problem, device)]} if "plain" in given else {}),
    }
    items: dict[Configuration | Variant, None] = {}
    for name in [item for one in given for item in (sets.get(one, [one]) if isinstance(one, str) else [one])]:
        exact = resolution.resolve(workload, device, problem.dtype.name, name)
        if problem.standard is not None and isinstance(name, str) and name == exact.variant:
            exact = problem.standard(name) or exact
        if all_levels and isinstance(name, str) and ":" not in name:
            items[table[exact.variant]] = None
            items.update(dict.fromkeys(preset for preset in presets if preset.variant == exact.variant))
        else:
            items[exact] = None
    if not items:
        raise ParameterError("variants: none is given; use 'all' or names of gpuopt.variants")
    _log.info("%s: %d configurations and variants to compare", workload, len(items))
    return Wanted(list(items), presets)


def pick_finalists(workload: str, looked_at: Sequence[Named], times: dict[Configuration, float]) -> list[Named]:
    """What is measured in blocks: configurations that were given, presets, the best of each variant and accuracy, and
    the best few of standard accuracy. If no configuration of a variant ran, one is kept, so that its row says why.
    """
    chosen = {named.configuration for named in looked_at if named.given}
    ranked = sorted(times, key=lambda configuration: times[configuration])
    classes = {configuration: tables.accuracy(workload, configuration) for configuration in ranked}
    chosen.update([configuration for configuration in ranked if not classes[configuration]][:REMEASURED])
    best: dict[tuple[str, str], Configuration] = {}
    for configuration in ranked:
        best.setdefault((configuration.variant, classes[configuration]), configuration)
    chosen.update(best.values())
    ran = {configuration.variant for configuration in ranked}
    for named in looked_at:
        if named.configuration.variant not in ran:
            chosen.add(named.configuration)
            ran.add(named.configuration.variant)
    return [named for named in looked_at if named.configuration in chosen]
