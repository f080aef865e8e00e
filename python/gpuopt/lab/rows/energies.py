"""What follows from the loops of which an energy was measured, and how a study's summaries come by it."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from statistics import fmean
from typing import Any

from gpuopt.lab.rows.row_fields import Energy
from gpuopt.lab.rows.schema import GROUPS, Row

LEAST = 0.01  # of the gross joules: net ones below are what the idle power itself wavers by
APART_PCT = 5.0  # what loops, and counter and instant power, may differ by; more is told in the row


def of_loops(row: Mapping[str, Any]) -> Energy:
    """The fields that follow from those of the loops (``loop_*``, ``idles_w``) and from the declared work of a run.

    What takes hardly more than idling has no work per joule, and loops that cannot be compared.
    """
    joules, seconds, runs = row["loop_j"], row["loop_s"], row["loop_runs"]
    idle_w = fmean(row["idles_w"])
    nets = [(j - idle_w * s) / n for j, s, n in zip(joules, seconds, runs, strict=True)]
    gross_j, net_j = sum(joules) / sum(runs), (sum(joules) - idle_w * sum(seconds)) / sum(runs)
    by_power, taken = row.get("loop_power_j"), net_j > LEAST * gross_j
    found: Energy = {
        "idle_w": idle_w,
        "gross_j": gross_j,
        "net_j": net_j,
        "mean_w": sum(joules) / sum(seconds),
        "gflop_j": _per_joule(row.get("flops"), net_j) if taken else None,
        "gb_j": _per_joule(_moved(row.get("bytes") or {}), net_j) if taken else None,
        "apart_pct": 100 * (max(nets) - min(nets)) / net_j if len(nets) > 1 and taken else None,
        "power_pct": 100 * (sum(by_power) / sum(joules) - 1) if by_power and sum(joules) > 0 else None,
    }
    return found


def doubts(row: Mapping[str, Any]) -> list[str]:
    """What the numbers of a row with the fields of :func:`of_loops` say against it, as clauses."""
    apart, power, idles = row["apart_pct"], row["power_pct"], row["idles_w"]
    taken = row["net_j"] > LEAST * row["gross_j"]
    changed_j = (max(idles) - min(idles)) * sum(row["loop_s"]) / sum(row["loop_runs"])
    told = {
        "it takes hardly more power than the idle device": not taken,
        f"its loops differ by {apart or 0:.1f} %": (apart or 0) > APART_PCT,
        f"the integrated power differs from the counter by {power or 0:+.1f} %": abs(power or 0) > APART_PCT,
        f"the idle device took {idles[0]:.1f} W before and {idles[-1]:.1f} W after": (
            taken and 100 * changed_j > APART_PCT * row["net_j"]
        ),
    }
    return [clause for clause, holds in told.items() if holds]


def ranked_j(row: Mapping[str, Any]) -> float | None:
    """The net joules that a row is ranked by; infinite where a run takes hardly more than the idle device, since they
    are noise then, and None where there are none."""
    if row["net_j"] is None:
        return None
    return float(row["net_j"]) if row["net_j"] > LEAST * (row["gross_j"] or 0.0) else math.inf


def is_ranked(row: Mapping[str, Any]) -> bool:
    """Whether a row has an energy of more than what the idle device takes."""
    net_j = ranked_j(row)
    return net_j is not None and math.isfinite(net_j)


def takes_less(row: Mapping[str, Any], other: Mapping[str, Any]) -> bool:
    """Whether a run takes 5 % less than that of another row, and less by more than the idle power wavers by."""
    if not (is_ranked(row) and is_ranked(other)):
        return False
    wavers_j = LEAST * max(row["gross_j"] or 0.0, other["gross_j"] or 0.0)
    return bool(other["net_j"] - row["net_j"] > max(APART_PCT / 100 * other["net_j"], wavers_j))


def tell_energies(rows: Sequence[Row]) -> None:
    """Fills in the energy of summaries and points, which stands in rows of kind energy of the same measurement and
    environment; of several the last. Where it could not be measured, their ``energy_note`` says why."""
    found = {(row["key"], row["env_hash"]): row for row in rows if row["kind"] == "energy" and row["key"]}
    for row in rows:
        is_result = row["kind"] in ("summary", "point") and (row["status"], row["role"]) == ("ok", "variant")
        told = found.get((row["key"], row["env_hash"])) if is_result else None
        if told is not None:
            fields: Any = {name: told.get(name) for name in GROUPS["energy"]}
            row.update(fields)
            row["energy_note"] = row["energy_note"] if told["status"] == "ok" else told["reason"]


def _per_joule(amount: float | None, joules: float) -> float | None:
    """In billions."""
    return amount * 1e-9 / joules if amount else None


def _moved(moved: Mapping[str, float]) -> float | None:
    """Bytes from memory, or of the only class that is declared, as rates count them."""
    return moved.get("dram") or (next(iter(moved.values())) if len(moved) == 1 else None)
