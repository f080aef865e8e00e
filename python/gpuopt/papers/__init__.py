"""What the papers printed: one JSON file a paper, one step for each of its measured configurations, keyed by preset.

The files are read and checked at the first question. Papers and steps that are handed out are copies.
"""

from __future__ import annotations

import functools
import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from importlib import resources
from typing import Any

from gpuopt._core import Error, ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.papers import checks

SCHEMA = 1
# Rates and shares; speed-ups over the paper's first step for the workload, one number or the ends of a range, and over
# a CPU; what a compiled loop holds: arithmetic instructions and loads, the used part of each one's slots, registers;
# and the side of the square matrices that all this is of.
METRICS = (
    "side",
    *("gflop_s", "bound_gflop_s", "pct_bound", "bytes_per_2_flop"),
    *("speedup", "speedup_least", "speedup_most", "speedup_over_cpu"),
    *("alu", "alu_pct", "fetch", "fetch_pct", "alu_per_fetch", "registers"),
)


@checked
@dataclass(frozen=True)
class Step:
    """One measured configuration of a paper; ``figures`` has every name of ``METRICS``, None where none was printed."""

    workload: str
    preset: str
    configuration: Configuration
    device: str
    figures: Mapping[str, float | None]
    notes: tuple[str, ...]


@checked
@dataclass(frozen=True)
class Paper:
    """A paper's steps for one workload, in its own order, all of one dtype; ``devices`` holds their facts by short
    name."""

    key: str
    title: str
    citation: str
    short: str  # `Jang et al. 2009`
    dtype: str
    devices: Mapping[str, Mapping[str, str | float]]
    notes: tuple[str, ...]
    steps: tuple[Step, ...]
    ladder: bool  # each step goes on from the one before; else each stands beside the first


@checked
def of(workload: str) -> tuple[Paper, ...]:
    """Return the papers that measured ``workload``, by key; none where none did."""
    return tuple(_copy(paper) for paper in _papers().get(workload, ()))


@checked
def load(workload: str, key: str | None = None) -> Paper:
    """Return the paper that measured ``workload``, by its ``key`` where there are several. Raises ParameterError where
    there is none, or not one alone."""
    found = [paper for paper in of(workload) if key in (None, paper.key)]
    if len(found) == 1:
        return found[0]
    keys = ", ".join(paper.key for paper in of(workload))
    if found:
        raise ParameterError(f"key: several papers measured {workload!r}; give one of {keys}")
    if keys:
        raise ParameterError(f"key: {key!r} did not measure {workload!r}; use one of {keys}")
    raise ParameterError(f"workload: no paper measured {workload!r}; there are {', '.join(_papers())}")


@checked
def of_key(key: str) -> Paper:
    """Return a paper by its key, with its steps for the first workload that it measured. Raises ParameterError for an
    unknown key."""
    found = {paper.key: paper for papers in reversed(_papers().values()) for paper in papers}
    if key not in found:
        raise ParameterError(f"paper: there is none called {key!r}; use one of {', '.join(sorted(found))}")
    return _copy(found[key])


@checked
def paper_of(workload: str, preset: str) -> Paper | None:
    """Return the paper that a preset is of, None for what is no preset of the workload."""
    papers = _papers().get(workload, ())
    return next((_copy(paper) for paper in papers if any(step.preset == preset for step in paper.steps)), None)


@checked
def short(key: str) -> str:
    """Return how a paper is quoted, such as `Jang et al. 2009`. Raises ParameterError for an unknown key."""
    found = {paper.key: paper.short for group in _papers().values() for paper in group}
    if key not in found:
        raise ParameterError(f"key: no paper is called {key!r}; use one of {', '.join(sorted(found))}")
    return found[key]


@checked
def steps(workload: str) -> dict[str, Step]:
    """Return the steps of all papers on ``workload`` by preset, each paper's in its own order; empty without one."""
    return {step.preset: step for paper in of(workload) for step in paper.steps}


@checked
def preset(workload: str, name: str) -> Configuration:
    """Return the configuration that a preset names. Raises ParameterError for an unknown one."""
    known = {step.preset: step for paper in _papers().get(workload, ()) for step in paper.steps}
    if not known:
        load(workload)  # which says so
    if name not in known:
        raise ParameterError(f"variant: {workload} has no preset {name!r}; use one of {', '.join(known)}")
    return known[name].configuration


@checked
def figures(workload: str) -> dict[str, dict[str, Any]]:
    """Return the figures of each preset, with device, device_type, dtype, variant and the paper's key, in the papers'
    order; empty without a paper."""
    return {
        step.preset: {
            **step.figures,
            "device": step.device,
            "device_type": paper.devices[step.device]["type"],
            "dtype": paper.dtype,
            "variant": step.configuration.variant,
            "paper": paper.key,
        }
        for paper in _papers().get(workload, ())
        for step in paper.steps
    }


@checked
def presets_of_type(workload: str, device_type: str) -> set[str]:
    """Return the presets that a paper measured on this type of device; empty without a paper."""
    return {name for name, printed in figures(workload).items() if printed["device_type"] == device_type}


@checked
def figure(workload: str, variant: str, device_type: str = "gpu") -> Step | None:
    """Return the first step of a variant on a paper's GPU (or ``"cpu"``), None where nothing was printed."""
    for paper in of(workload):
        for step in paper.steps:
            if step.configuration.variant == variant and paper.devices[step.device]["type"] == device_type:
                return step
    return None


def _copy(paper: Paper) -> Paper:
    """The paper with mappings of its own: who changes them changes no later figure."""
    steps = tuple(replace(step, figures={**step.figures}) for step in paper.steps)
    return replace(paper, devices={name: {**facts} for name, facts in paper.devices.items()}, steps=steps)


@functools.cache
def _papers() -> dict[str, tuple[Paper, ...]]:
    by_workload: dict[str, tuple[Paper, ...]] = {}
    for file in sorted(resources.files(__name__).iterdir(), key=lambda file: file.name):
        if not file.name.endswith(".json"):
            continue
        for workload, paper in parse(file.read_text(encoding="utf-8"), file.name.removesuffix(".json")).items():
            before = by_workload.get(workload, ())
            taken = {step.preset for other in before for step in other.steps}
            if twice := [step.preset for step in paper.steps if step.preset in taken]:
                raise Error(f"{file.name}: {workload} has the preset {twice[0]} already, from another paper")
            by_workload[workload] = (*before, paper)
    return by_workload


@checked
def parse(text: str, key: str) -> dict[str, Paper]:
    """Return the paper in ``text`` once for each workload it measured. Raises Error, which says what is wrong."""
    try:
        document = json.loads(text)
        checks.keys(
            "the file",
            document,
            {"schema", "title", "citation", "short", "dtype", "ladder", "devices", "notes", "steps"},
        )
        if document["schema"] != SCHEMA:
            raise ValueError(f"its schema is {document['schema']!r}, not {SCHEMA}")
        devices = {name: _device(name, facts) for name, facts in document["devices"].items()}
        steps = [_step(entry, devices) for entry in document["steps"]]
        names = [(step.workload, step.preset) for step in steps]
        if len(set(names)) != len(names):
            raise ValueError("a preset stands there twice")
        title, citation, short, dtype = (
            checks.text(name, document[name]) for name in ("title", "citation", "short", "dtype")
        )
        notes = checks.texts("notes", document["notes"])
        if not isinstance(ladder := document["ladder"], bool):
            raise ValueError(f"ladder is {ladder!r}, neither true nor false")
    except (KeyError, TypeError, ValueError, AttributeError, RecursionError) as error:
        raise Error(f"{key}.json: {error}") from error
    return {
        workload: Paper(
            key,
            title,
            citation,
            short,
            dtype,
            devices,
            notes,
            tuple(s for s in steps if s.workload == workload),
            ladder,
        )
        for workload in dict.fromkeys(step.workload for step in steps)
    }


def _step(entry: dict[str, Any], devices: Mapping[str, Any]) -> Step:
    checks.keys("a step", entry, {"workload", "preset", "variant", "parameters", "device", "figures", "notes"})
    name = checks.text("preset", entry["preset"])
    if not name.startswith("paper:"):
        raise ValueError(f"the preset {name!r} does not begin with 'paper:'")
    if entry["device"] not in devices:
        raise ValueError(f"{name}: the device {entry['device']!r} is not described")
    unknown = set(entry["figures"]) - set(METRICS)
    if unknown:
        raise ValueError(f"{name}: unknown figures {sorted(unknown)}")
    printed = {metric: checks.positive(f"{name}: {metric}", value) for metric, value in entry["figures"].items()}
    return Step(
        workload=checks.text("workload", entry["workload"]),
        preset=name,
        configuration=Configuration(checks.text("variant", entry["variant"]), **entry["parameters"]),
        device=entry["device"],
        figures={metric: printed.get(metric) for metric in METRICS},
        notes=checks.texts(f"{name}: notes", entry["notes"]),
    )


def _device(name: str, facts: dict[str, Any]) -> dict[str, str | float]:
    if not {"name", "type"} <= set(facts) <= {"name", "type", "gb_s", "clock_mhz", "tflop_s"}:
        raise ValueError(f"the device {name!r} has the facts {sorted(facts)}")
    if facts["type"] not in ("gpu", "cpu"):
        raise ValueError(f"the device {name!r} is a {facts['type']!r}, neither 'gpu' nor 'cpu'")
    numbers = {key: checks.positive(key, value) for key, value in facts.items() if key not in ("name", "type")}
    return {"name": checks.text("name", facts["name"]), "type": facts["type"], **numbers}
