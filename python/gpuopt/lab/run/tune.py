"""Tuning: a sweep whose winners become the configurations of plain calls on this device."""

from __future__ import annotations

import datetime
import functools
import itertools
import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from gpuopt import configuration as tables
from gpuopt import records as tuned_records
from gpuopt import sealed
from gpuopt._core import Device, Error, ParameterError
from gpuopt.checked import checked, methods_checked
from gpuopt.configuration import Configuration
from gpuopt.lab.device.environment import device_label, slug
from gpuopt.lab.report import Study
from gpuopt.lab.rows.energies import APART_PCT, LEAST, ranked_j, takes_less
from gpuopt.lab.rows.groups import Group
from gpuopt.lab.rows.ratios import Ratio, by_block, ratio_between
from gpuopt.lab.rows.schema import Row, levels, time_ms
from gpuopt.lab.rows.table import significant, small_quantity, spread
from gpuopt.lab.run.candidates import status_of
from gpuopt.lab.run.energy import Objective
from gpuopt.lab.run.sweep import sweep
from gpuopt.lab.run.wanted import fitting_variants, plain_configuration
from gpuopt.lab.timing import statistics
from gpuopt.problem import Problem
from gpuopt.records import Record
from gpuopt.selection import Selector, select
from gpuopt.unit import unit_of

InputProperties = frozenset[str]  # those that an input has


@dataclass(frozen=True)
class Choice:
    """The configuration chosen for inputs that have ``input_properties``; ``row`` is its summary.

    ``before`` is the summary of what a plain call used until now, ``ratio`` the new time divided by the old one. What
    was used stays unless another is FAST against it, and where verdicts are refused: ``rival`` is then the fastest of
    the others, with its ratio, if it was faster by its median. By the ``objective`` energy, it stays unless another
    takes 5 % less; ``idle`` others take hardly more than the idle device.
    """

    configuration: Configuration
    input_properties: InputProperties
    row: Row
    previous: Configuration
    before: Row | None
    ratio: Ratio | None
    rival: tuple[Configuration, Ratio] | None = None
    objective: Objective = "time"
    idle: int = 0

    def __str__(self) -> str:
        inputs = f"{' and '.join(sorted(self.input_properties))} inputs" if self.input_properties else "any input"
        return f"for {inputs}: {self.configuration}, {_told(self.row, self.objective)}; {self._gain()}"

    def _gain(self) -> str:
        if self.objective == "energy":
            return self._saving()
        if self.configuration == self.previous:
            stays = "a plain call used it before, too"
            if self.rival is None:
                return stays
            name, ratio = self.rival
            why = f": verdicts are refused, for {ratio.refused}" if ratio.refused else ""
            return f"{stays}; {name} is not certified to be faster (ratio of times {ratio.slowdown}){why}"
        if self.before is None or self.ratio is None:
            return f"a plain call used {self.previous} until now, which gave no time here"
        against = f"{self.previous}, {_told(self.before)}, which a plain call used until now"
        return f"{self.ratio.speedup} faster than {against}"

    def _saving(self) -> str:
        if self.configuration == self.previous:
            stays = "a plain call used it before, too"
            if ranked_j(self.row) == math.inf:
                return f"{stays}: an energy that is hardly more than the idle device's is held against no other"
            less = f"nothing takes {APART_PCT:g} % less, and less by more than {100 * LEAST:g} % of the gross energy"
            verb = "s" if self.idle == 1 else ""
            others = f"; {self.idle} other{'s' if self.idle > 1 else ''} take{verb} hardly more power than the idle "
            others += f"device, and {'is' if self.idle == 1 else 'are'} not compared"
            return f"{stays}, and {less}{others if self.idle else ''}"
        before_j = None if self.before is None else ranked_j(self.before)
        if before_j is None or self.before is None:
            return f"a plain call used {self.previous} until now, which gave no energy here"
        if math.isinf(before_j):
            return f"a plain call used {self.previous} until now, which takes hardly more power than the idle device"
        times = before_j / (self.row["net_j"] or math.inf)
        until_now = f"{self.previous}, {_told(self.before, 'energy')}, which a plain call used until now"
        return f"{significant(times)} times less than {until_now}"

    def gain(self) -> Record | None:
        """What is recorded of the gain: over what, and how many times faster, with the interval; None without one."""
        if (
            self.objective == "energy"
            or self.configuration == self.previous
            or self.ratio is None
            or not (self.ratio.lo and self.ratio.hi)
        ):
            return None
        speedup = {"mid": 1 / self.ratio.mid, "lo": 1 / self.ratio.hi, "hi": 1 / self.ratio.lo}
        return {"over": str(self.previous)} | {name: float(f"{value:.4g}") for name, value in speedup.items()}


@methods_checked
class Tuned(Study):
    """The study of a tuning; ``choices`` is what it found, ``records`` are those now stored in ``path``.

    Where nothing was stored, ``path`` is None; where something was not, ``reason`` says why.
    """

    def __init__(self, study: Study, choices: list[Choice], reason: str = "") -> None:
        super().__init__(study.rows, study.problem_info, [*study.notes, *map(str, choices)])
        self.interrupted = study.interrupted
        self.choices = choices
        self.records: list[Record] = []
        self.path: Path | None = None
        self.reason = ""
        if reason:
            self.not_stored(reason)

    def store(self, workload: str, records: list[Record]) -> None:
        """Makes these records what plain calls use. Raises Error where their file cannot be written."""
        self.path = tuned_records.store_records(workload, records)
        self.records += records

    def not_stored(self, reason: str) -> None:
        self.reason = reason
        self.notes.append(f"not stored: {reason}")


@checked
def tune(  # long: half of it is its arguments and what users read of them
    problem: Problem,
    *,
    device: Selector = None,
    variants: str | Iterable[str | Configuration] = "all",
    protocol: str = "full",
    store: str | Path | None = None,
    progress: bool | None = None,
    objective: Objective = "time",
) -> Tuned:
    """Sweeps a problem and makes the winners what plain calls use for its dtype on this device.

    The fastest correct configuration that leaves the accuracy alone, or has the precision that the problem asks for, is
    stored for inputs of its own kind (a symmetric matrix, where its variant needs one), and the fastest among variants
    that run on any input for the others; the problem's own ``input_properties`` limit both. What a plain call used
    until now is measured in the same blocks, and stays unless another is FAST against it, all of them held against it
    together. Rows go to ``store``, by default a file beside the records, and the same call goes on where an interrupted
    one stopped. By the ``objective`` "energy" (`docs/energy.md`), what takes the least net joules a run is stored, and
    what was used stays unless another takes 5 % less, and less by more than 1 % of the gross joules: net ones below
    these are noise, which nothing is chosen by; ParameterError says at once where no energy can be measured.
    Nothing is stored either in the place of a record that gave way because the problem's sizes do not admit it.
    Of a :class:`lab.Kernel` with ``versions``, its own configurations alone can be stored: notes say which version is
    FAST against the choice, by the objective time.
    After an interrupt, or where nothing ran, nothing is stored. The other parameters, and what is raised, are those of
    :func:`sweep`.

    Examples
    --------
    >>> problem = problems.gemm(32)
    >>> problem.input_properties  # of the calls that use what is stored
    {'precision': 'native'}
    >>> tuned = lab.tune(problem)  # doctest: +SKIP
    >>> tuned.choices[0].configuration  # doctest: +SKIP
    """
    chosen = select(device)
    workload = problem.workload
    names = [variants] if isinstance(variants, str) else list(variants)
    if not names:
        raise ParameterError("variants: none is given; use 'all' or names of gpuopt.variants")
    names = fitting_variants(problem) if variants == "all" else names
    rows_file = Path(store) if store is not None else rows_path(workload, chosen)
    if rows_file.parent == tuned_records.tuned_dir():
        sealed.made(rows_file.parent)  # the rows there are believed, so the folder is the user's alone
    used = _used_until_now(problem, chosen)
    study = sweep(
        problem,
        [*dict.fromkeys(used.values()), *names],
        protocol=protocol,
        device=chosen,
        peers=(),
        calls=False,
        store=rows_file,
        progress=progress,
        tunable_only=True,
        objective=objective,
    )
    held = _held(problem, study)
    choices = _choices(problem, study, held, used, objective)
    if study.interrupted:
        return Tuned(study, [], "the tuning was interrupted")
    if not choices:
        measured = "ran" if objective == "time" else "has an energy, above the idle device's,"
        return Tuned(study, [], f"nothing {measured} that leaves the accuracy alone")
    tuned = Tuned(study, choices)
    tuned.notes += _faster_versions(problem, study, choices[0])
    record = functools.partial(_record, problem, chosen, rows_file)
    made = [record(choice, choice.input_properties) for choice in choices]
    if kept := [one for pair in zip(choices, made, strict=True) if (one := _given_way(problem, chosen, *pair))]:
        tuned.not_stored(f"{kept[0]} is on record, which stays: the sizes of {problem.name} do not admit it")
        return tuned
    try:
        tuned.store(workload, made)
        if _taken(problem, chosen, held) != choices[0].configuration:
            tuned.store(workload, [record(choices[0], held)])  # a record of more properties stands before it
    except Error as error:
        tuned.not_stored(str(error))
    return tuned


def _record(
    problem: Problem, device: Device, evidence: Path, choice: Choice, input_properties: InputProperties
) -> Record:
    """The record that makes plain calls on this device use the choice for inputs with these properties. What stays
    keeps the gain that it once brought."""
    configuration = choice.configuration
    match: Record = {"name": device.name, "platform": device.platform, "type": device.type, "dtype": problem.dtype.name}
    match = match | dict(problem.input_properties) | dict.fromkeys(sorted(input_properties), True)
    gain = choice.gain()
    if gain is None:
        same = {"match": match, "variant": configuration.variant, "parameters": configuration.parameters}
        earlier = (old for old in tuned_records.user_records(problem.workload) if old | same == old)
        gain = next((old.get("gain") for old in earlier), None)
    return {
        "match": match,
        **_siblings(device),
        "variant": configuration.variant,
        "parameters": configuration.parameters,
        "evidence": str(evidence.absolute()),
        "date": datetime.datetime.now(datetime.timezone.utc).date().isoformat(),
        "driver": device.driver,
        "unit": unit_of(device),
        **({"gain": gain} if gain else {}),
        **({"objective": choice.objective} if choice.objective != "time" else {}),
    }


def _given_way(problem: Problem, device: Device, choice: Choice, record: Record) -> Configuration | None:
    """What is on record in the same place and gave way, unmeasured, for the problem's sizes do not admit it."""
    for old in tuned_records.user_records(problem.workload):
        if old["match"] == record["match"] and old.get("unit") in (None, record["unit"]):
            found = Configuration(old["variant"], **old.get("parameters", {}))
            if found in (choice.previous, choice.configuration):
                continue
            try:
                problem.prepare(tables.complete(problem.workload, found), device)
            except Error as error:
                if status_of(error) == "constraints":
                    return found
    return None


def _siblings(device: Device) -> Record:
    """Which other devices the record may serve."""
    of = {name: getattr(device, name, "") for name in ("architecture", "vendor")}
    return {"of": of} if of["architecture"] else {}


def rows_path(workload: str, device: Device) -> Path:
    """Where the rows of a tuning lie by default: beside the records, a file a device."""
    return tuned_records.tuned_dir() / f"{workload}-{slug(device_label(device))}.jsonl"


def _used_until_now(problem: Problem, device: Device) -> dict[InputProperties, Configuration]:
    """What a plain call uses, for every set of properties that the input may turn out to have."""
    names = _undeclared(problem)
    sets = [frozenset(some) for count in range(len(names) + 1) for some in itertools.combinations(names, count)]
    return {input_properties: _taken(problem, device, input_properties) for input_properties in sets}


def _undeclared(problem: Problem) -> list[str]:
    """The properties that variants require and the problem does not declare."""
    named = {name for variant in tables.variants(problem.workload) for name in variant.input_properties}
    return sorted(named - problem.input_properties.keys())


def _taken(problem: Problem, device: Device, input_properties: InputProperties) -> Configuration:
    """What a plain call takes for inputs with these of the undeclared properties; where there are none, for this
    input."""
    return plain_configuration(problem, device, input_properties if _undeclared(problem) else None)


def _held(problem: Problem, study: Study) -> InputProperties:
    """The properties of the input besides those that the problem declares: a variant that requires them ran."""
    ran = {row["variant"] for row in study.rows if row["role"] == "variant" and row["status"] == "ok"}
    needed = (name for v in tables.variants(problem.workload) if v.name in ran for name in v.input_properties)
    return frozenset(needed).difference(problem.input_properties)


def _choices(
    problem: Problem,
    study: Study,
    held: InputProperties,
    used: dict[InputProperties, Configuration],
    objective: Objective = "time",
) -> list[Choice]:
    """The best for the problem's own properties, and where it needs any, the best that needs none."""
    groups, workload = study.groups(), problem.workload
    if not groups:
        return []
    needs = {
        row.name: frozenset(row.input_properties).difference(problem.input_properties)
        for row in tables.variants(workload)
    }
    compared = {
        Configuration(str(row["variant"]), **levels(row)): row
        for row in groups[0].rows
        if row["kind"] == "summary" and row["role"] == "variant" and row["status"] == "ok"
    }
    costs = {
        configuration: cost
        for configuration, row in compared.items()
        if (cost := time_ms(row) if objective == "time" else ranked_j(row))
    }
    asked = (
        problem.input_properties.get("precision", tables.NATIVE) != tables.NATIVE
    )  # such a problem says what may be chosen
    standard = [c for c in costs if problem.tunable(c) and (asked or not tables.accuracy(workload, c))]
    ranked = sorted(standard, key=lambda configuration: costs[configuration])
    general = [configuration for configuration in ranked if not needs[configuration.variant]]

    def choice(ranked: Sequence[Configuration], inputs: InputProperties) -> Choice | None:
        previous = used[inputs]
        before = compared.get(previous)
        if before is None or previous not in ranked:
            first = ranked[0]
            if math.isinf(costs[first]):
                return None
            return Choice(first, needs[first.variant], compared[first], previous, before, None, objective=objective)
        if objective == "energy":
            chosen = next((c for c in ranked if takes_less(compared[c], before)), previous)
            row, idle = compared[chosen], sum(math.isinf(costs[c]) for c in ranked if c != previous)
            return Choice(chosen, needs[chosen.variant], row, previous, before, None, None, objective, idle)
        faster = _faster(groups[0], {c: compared[c] for c in ranked if c != previous}, before)
        chosen = next((c for c in ranked if c in faster), previous)
        ratio = ratio_between(groups[0], compared[chosen], before)
        rival = None
        if chosen == previous != ranked[0]:
            rival = ranked[0], ratio_between(groups[0], compared[ranked[0]], before)
        return Choice(chosen, needs[chosen.variant], compared[chosen], previous, before, ratio, rival)

    first = choice(ranked, held) if ranked else None
    if first is None:
        return []
    second = choice(general, frozenset()) if first.input_properties and general else None
    return [first] if second is None else [first, second]


def _faster(group: Group, others: Mapping[Configuration, Row], before: Row) -> set[Configuration]:
    """Those of ``others`` that are FAST against the row ``before``, by their ratios in common blocks. The verdicts
    allow for their number: of many equal ones, some look faster. None is where the study refuses its verdict."""
    own = by_block(group, before, "ratio")
    ratios = {}
    for configuration, row in others.items():
        if row["refused"] or before["refused"]:
            continue
        blocks = by_block(group, row, "ratio")
        common = [blocks[block] / own[block] for block in blocks if block in own]
        if common:
            ratios[str(configuration)] = common
    words = statistics.verdicts(ratios, group.band)
    return {configuration for configuration in others if words.get(str(configuration)) == "FAST"}


def _faster_versions(problem: Problem, study: Study, choice: Choice) -> list[str]:
    """Notes of the versions of a kernel that are FAST against the choice: calls of the kernel do not run them."""
    if choice.objective != "time" or not tables.own(problem.workload):
        return []
    group = study.groups()[0]
    versions = {
        Configuration(str(row["variant"]), **levels(row)): row
        for row in group.rows
        if (row["kind"], row["role"], row["status"]) == ("summary", "variant", "ok")
        and row["variant"] != choice.row["variant"]
    }
    return [
        f"{version}, {_told(versions[version])}, is faster than {choice.configuration}; calls of {problem.workload} do "
        f"not run it: call {version.variant}"
        for version in sorted(_faster(group, versions, choice.row), key=lambda version: time_ms(versions[version]))
    ]


def _told(row: Row, objective: Objective = "time") -> str:
    """The time of a summary, or its net energy."""
    if objective == "energy":
        doubtful = f" (doubtful: {row['energy_note']})" if row["energy_note"] else ""
        return f"net {small_quantity(row['net_j'] or 0.0, 'J')} a run{doubtful}"
    return f"{spread(row['median_ms'], row['ci_lo_ms'], row['ci_hi_ms'], digits=4)[0]} ms"
