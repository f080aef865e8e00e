"""Under what conditions the numbers of a table hold: a title and two plain lines, from rows alone."""

from __future__ import annotations

from collections.abc import Iterable

from gpuopt import labels
from gpuopt.lab.rows import conditions as machine
from gpuopt.lab.rows.groups import Group
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import joined
from gpuopt.lab.show import sittings


def title(group: Group) -> str:
    """`Matrix product · 1024^3 · float32`."""
    workload = group.first["workload"]
    return dotted([labels.of(workload).title or workload, group.subject, group.dtype])


def conditions(study: StudyRows, group: Group) -> list[str]:
    """Two lines: what was measured on what and when; and the state of the machine, within which times hold."""
    row = group.first
    blocks = max((int(each["blocks"] or 0) for each in group.rows), default=0)
    earlier, date = machine.taken_over_of(study, group), machine.dates_of([*group.rows, *group.blocks])
    units = {each["unit"] for each in study.rows if each["device"] == row["device"] and each["unit"]}
    known = [f"driver {row['driver']}" if row["driver"] else "", f"unit {row['unit']}" if len(units) > 1 else ""]
    facts = [
        group.device + (f" ({inside})" if (inside := ", ".join(filter(None, known))) else ""),
        f"{date}, all by an earlier run" if earlier and earlier.count == earlier.total else date,
        f"{earlier}, by an earlier run" if earlier and earlier.count < earlier.total else "",
        f"{row['protocol']}, {blocks} blocks" if blocks else str(row["protocol"] or ""),
        clocks(group.rows),
        cache_words(group),
    ]
    state = "; ".join(machine.state_of(study, group))
    return ["On " + "; ".join(filter(None, facts)) + ".", f"Times {sittings.held(group.blocks)}: {state}."]


def clocks(rows: Iterable[Row]) -> str:
    """`event clock`, or the clocks that the rows mix."""
    found = list(dict.fromkeys(str(row["clock"]) for row in rows if row["clock"]))
    return f"clocks {joined(found)}" if len(found) > 1 else "".join(f"{clock} clock" for clock in found)


def cache_words(group: Group) -> str:
    """Where the data of repeated runs are found, in words, with the rows' own word for it."""
    state = group.cache_state
    if state != "hot":
        meaning = {"large": "from memory", "cold": "from memory, caches flushed before every sample"}
        return f"{meaning[state]} ({state})" if state in meaning else state
    in_cache = not any(row["bound_by"] == "dram" for row in group.rows)
    return "cache-resident (hot)" if in_cache else "from memory and caches, which hold a part (hot)"


def dotted(parts: Iterable[object]) -> str:
    return " · ".join(str(part) for part in parts if part)
