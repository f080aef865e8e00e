"""Under what conditions a comparison's numbers hold, in words: when it was measured, how busy the machine was, how
noisy the baseline. All of it follows from rows, so that a stored study says what the fresh one said."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from gpuopt.lab.rows.groups import Group
from gpuopt.lab.rows.refusals import Conditions, spread_of
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import percent_text
from gpuopt.lab.rows.taken_over import TakenOver, date_words, taken_over


def lines(study: StudyRows, of: Group | Sequence[Row] | None = None) -> list[str]:
    """Two plain lines of a header: when, by what, and how much of it was measured by an earlier run; and under what
    conditions, or why verdicts are refused. They are of one of the study's groups or of some points; by default of its
    first group, or of all its points."""
    of = of or next(iter(study.groups()), None) or study.points
    rows = _rows_of(of)
    if not rows:
        return []
    when = [f"measured {date}" if (date := dates_of(rows)) else "", str(taken_over_of(study, of) or ""), *made_by(rows)]
    return [" · ".join(filter(None, when)), " · ".join(state_of(study, of))]


def _rows_of(of: Group | Sequence[Row]) -> list[Row]:
    return [*of.rows, *of.blocks] if isinstance(of, Group) else list(of)


def dates_of(rows: Sequence[Row]) -> str:
    """When the rows' blocks, or points, were measured; empty where they do not say."""
    kind = "block" if any(row["kind"] == "block" for row in rows) else "point"
    times = [str(row["time_utc"]) for row in rows if row["time_utc"] and row["kind"] == kind]
    times = times or [str(row["time_utc"]) for row in rows if row["time_utc"]]
    return date_words(times) if times else ""


def taken_over_of(study: StudyRows, of: Group | Sequence[Row]) -> TakenOver | None:
    """How much of it an earlier run measured, and when; None where nothing."""
    return taken_over(_rows_of(of), study.problem_info.get("began_utc"))


def made_by(rows: Sequence[Row]) -> list[str]:
    """`gpuopt 0.1.0 (1a2b3c4d5)`, `unit 9f8e7d6c`."""
    commits = list(dict.fromkeys(_short(str(row["commit"])) for row in rows if row["commit"]))
    units = dict.fromkeys(str(row["unit"]) for row in rows if row["unit"])
    version = f"gpuopt {rows[-1]['gpuopt_version']}" + (f" ({', '.join(commits)})" if commits else "")
    return [version, *(f"unit {unit}" for unit in units)]


def state_of(study: StudyRows, of: Group | Sequence[Row]) -> list[str]:
    """`others wanted 3 % of 2 cores`, `steal 0 %`, `governor performance`, `noise ± 1.2 %`; first why verdicts are
    refused."""
    rows, band = _rows_of(of), of.band if isinstance(of, Group) else None
    conditions = Conditions.of(rows)
    why = next((str(row["refused"]) for row in rows if row["refused"]), None)
    facts = _facts(study, rows)
    told = [f"NO VERDICTS: {why}"] if why else []
    if conditions.others_load is None:
        told.append("load not recorded")
    elif not (why and "other programs" in why):
        cores = f" of {facts['cores']} cores" if facts.get("cores") else " of the cores"
        told.append(f"others wanted {100 * conditions.others_load:.0f} %{cores}")
    if conditions.steal_pct is not None:
        told.append(f"steal {conditions.steal_pct:.2g} %")
    if facts.get("quota"):
        told.append(f"CPU quota {facts['quota']:g}, which held us back for {conditions.quota_pct or 0:.2g} %")
    if facts.get("governor"):
        told.append(f"governor {facts['governor']}")
    if conditions.gpu_others:
        told.append(f"{conditions.gpu_others:.0f} other processes on the GPU")
    if band and "differed from itself" not in (why or ""):
        told.append(f"noise ± {percent_text(band)}")
    if (spread := spread_of(rows)) is not None and "within a block" not in (why or ""):
        told.append(f"the baseline changed by {percent_text(spread)} within a block")
    clocks = sorted({round(row["core_mhz"]) for row in rows if row["core_mhz"]})
    if clocks:
        told.append(f"core clock {' to '.join(str(mhz) for mhz in dict.fromkeys((clocks[0], clocks[-1])))} MHz")
    if conditions.throttled:
        told.append(f"throttled in {conditions.throttled} of {conditions.visits} visits")
    return told


def _facts(study: StudyRows, rows: Sequence[Row]) -> dict[str, Any]:
    """Cores that may be used, CPU quota and governor, of the environment of the last of the rows."""
    now = next((row["env_hash"] for row in reversed(rows) if row["env_hash"]), None)
    for row in reversed(study.rows):
        environment = row["environment"] if row["kind"] == "environment" and row["env_hash"] == now else None
        cpu = environment.get("cpu") if environment else None
        if cpu and isinstance(cpu, Mapping):
            kinds: dict[str, Any] = {"cores": int, "quota": (int, float), "governor": str}
            named = {"cores": "usable_threads", "quota": "quota_cpus", "governor": "governor"}
            facts: dict[str, Any] = {name: cpu.get(field) for name, field in named.items()}
            return {name: value for name, value in facts.items() if isinstance(value, kinds[name])}
    return {}


def _short(commit: str) -> str:
    head, plus, dirty = commit.partition("+")
    return f"{head[:9]}{plus}{dirty}"
