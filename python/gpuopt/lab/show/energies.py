"""Energy in tables and explanations."""

from __future__ import annotations

from gpuopt.lab.rows.groups import Group
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.table import ABSENT, Forms, joined, significant

SOURCES = {
    "nvml": "NVML's counter of the GPU's board, memory and regulators included",
    "rapl": "RAPL's counters of all processor packages, without memory, and with whatever else ran on the host",
}
_UNITS = ((1.0, "J"), (1e-3, "mJ"), (1e-6, "uJ"))


def joule_unit(group: Group) -> tuple[float, str]:
    """What the net energies of the group are divided by, and the heading of their column."""
    most = max((abs(row["net_j"]) for row in group.rows if row["net_j"] is not None), default=1.0)
    scale, unit = next((each for each in _UNITS if most >= each[0]), _UNITS[-1])
    return scale, f"net {unit}"


def work_unit(group: Group) -> tuple[str, str]:
    """Which work is told per joule: flops where any is declared, else bytes."""
    counts_flops = any(row["gflop_j"] is not None for row in group.rows)
    return ("gflop_j", "GFLOP/J") if counts_flops else ("gb_j", "GB/J")


def cells(group: Group, row: Row) -> tuple[Forms, Forms]:
    """Net joules of a run and work per joule; `*` where the row says what is doubtful about them."""
    if row["net_j"] is None:
        return (("- *",) if row["energy_note"] else ABSENT), ABSENT
    scale, _ = joule_unit(group)
    doubtful = " *" if row["energy_note"] else ""
    per_joule = row["gflop_j"] if work_unit(group)[0] == "gflop_j" else row["gb_j"]
    return (f"{significant(row['net_j'] / scale)}{doubtful}",), (significant(per_joule),)


def remarks(group: Group) -> list[tuple[str, str]]:
    """Where the energies come from, how far to trust them, and what is doubtful about single ones."""
    known = [row for row in group.rows if row["net_j"] is not None]
    if not known and not any(row["energy_note"] for row in group.rows):
        return []
    out = [("energy", "; ".join(filter(None, [*_source(known), *_checks(known)])))] if known else []
    for note in dict.fromkeys(str(row["energy_note"]) for row in group.rows if row["energy_note"]):
        names = [group.label(row) for row in group.rows if row["energy_note"] == note]
        out.append(("* energy", f"{joined(names)} ({note})"))
    return out


def _source(rows: list[Row]) -> list[str]:
    sources = dict.fromkeys(str(row["meter"]) for row in rows)
    shares = {row["sensor_pct"] for row in rows if row["sensor_pct"] is not None}
    idles = [float(row["idle_w"]) for row in rows if row["idle_w"] is not None]
    return [
        joined([SOURCES.get(source, source) for source in sources]),
        f"its sensor samples {significant(min(shares), 2)} % of the time" if shares else "",
        f"net is without the {_ends(idles)} W of the idle device" if idles else "",
    ]


def _checks(rows: list[Row]) -> list[str]:
    apart = [float(row["apart_pct"]) for row in rows if row["apart_pct"] is not None]
    power = [float(row["power_pct"]) for row in rows if row["power_pct"] is not None]
    return [
        f"two loops each, at most {max(apart):.1f} % apart" if apart else "",
        f"the integrated instant power is within {max(map(abs, power)):.1f} % of the counter" if power else "",
    ]


def _ends(values: list[float]) -> str:
    least, most = significant(min(values)), significant(max(values))
    return least if least == most else f"{least} to {most}"
