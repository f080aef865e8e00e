"""The page of whole calls on two CPU runtimes, beside NumPy, SciPy and a loop in C++."""

from __future__ import annotations

import json
from functools import cache
from statistics import median
from typing import Any, NamedTuple

from gpuopt import lab
from gpuopt.lab.rows.groups import CALLS, OURS, PEERS, Group
from gpuopt.lab.rows.table import joined
from gpuopt.workloads.gemm.shapes_picture import Beside, beside_libraries, mean

from .tables import Line, between, findings, grid
from .values import ROOT, noted, significant

SHAPES = "results/cpu-2core/intel-gemm-shapes/rows.jsonl"
STALLED = 10.0  # how many times as long as the shortest a library's longest block is where it stalled
FILES = {"Intel": "results/cpu-2core/intel-whole-calls.jsonl", "PoCL": "results/cpu-2core/pocl-whole-calls.jsonl"}
Entry = dict[str, Any]


@cache
def _rows(path: str) -> dict[tuple[str, str], Entry]:
    rows = map(json.loads, (ROOT / path).read_text(encoding="utf-8").splitlines())
    return {(row["case"], row["call"]): row for row in rows}


def _told(row: Entry) -> str:
    return f"{significant(row['median_ms'])} [{significant(row['low_ms'])}, {significant(row['high_ms'])}]"


def _calls() -> list[Line]:
    """A line a call: its median with the interval by each runtime, and its time over that of gpuopt's own."""
    files = [_rows(noted(path)) for path in FILES.values()]
    lines: list[Line] = []
    for case, call in files[0]:
        rows = [rows[case, call] for rows in files]
        own = [rows[case, "gpuopt"]["median_ms"] for rows in files]
        over = [significant(row["median_ms"] / ours, 3) for row, ours in zip(rows, own, strict=True)]
        lines.append([case, call, *map(_told, rows), " and ".join(over) if call != "gpuopt" else None])
    return lines


class Stall(NamedTuple):
    """A shape in some of whose blocks the library stalled: these, and the others, in ms."""

    name: str
    stalled: list[float]
    usual: list[float]


def _stall(group: Group) -> Stall | None:
    """None where the library stalled in no block."""
    (library,) = (row for row in group.section(PEERS) if row["status"] == "ok")
    blocks = [float(block["median_ms"]) for block in group.blocks_of["peer", str(library["configuration"])]]
    limit = STALLED * min(blocks)
    long, usual = [ms for ms in blocks if ms >= limit], [ms for ms in blocks if ms < limit]
    return Stall(_cube(group), long, usual) if long else None


def _cube(group: Group) -> str:
    sides = {group.first["sizes"][name] for name in "MNK"}
    return f"{sides.pop()}^3" if len(sides) == 1 else str(group.problem)


def _sizes(group: Group) -> tuple[int, ...]:
    sizes = group.first["sizes"]
    return (*(sizes[name] for name in "MNK"), sizes.get("batch", 1))


def _shapes() -> list[str]:
    study = lab.Study.load(ROOT / noted(SHAPES))
    found = beside_libraries(study)
    stalls = {_sizes(group): stall for group in study.groups() if (stall := _stall(group))}
    others = [each for each in found if tuple(each.shape[1:5]) not in stalls]
    kernels, calls, fewer_kernels, fewer_calls = (
        f"{mean(shapes, kind):.2f}" for shapes in (found, others) for kind in (OURS, CALLS)
    )
    usual = ", ".join(f"{median(stall.usual):.2g}" for stall in stalls.values())
    long = between([ms for stall in stalls.values() for ms in stall.stalled], ".0f")
    blocks = between([len(stall.stalled) for stall in stalls.values()], "d")
    narrow = [gain for each in others if each.shape.kind in ("tall", "batch") and (gain := _gain(each)) > 1]
    vectors = [1 / _gain(each) for each in others if 1 in (each.shape.m, each.shape.n)]
    sums = [1 / _gain(each) for each in others if each.shape.name in ("8x512x500000", "100x100x100000")]
    return [
        f"**Of forty shapes, {len(found)} by Intel's runtime** (`gpuopt study gemm shapes --quick`,"
        " [picture](../pictures/intel-gemm-shapes.png), rows in `results/cpu-2core/intel-gemm-shapes`), on another"
        f" machine, an {study.summary[0]['device']}: weighted by class, kernels have {kernels} and whole calls {calls}"
        f" of the rate of NumPy, but {fewer_kernels} and {fewer_calls} without"
        f" {joined([stall.name for stall in stalls.values()])}. In {blocks} of ten blocks of these NumPy itself stalled"
        f" for {long} ms ({usual} in the others): they lie farthest above 1 in the picture and say nothing of our"
        " kernels. Most comparisons have no verdict, for the machine was too noisy. Kernels of batches and of most"
        f" narrow results are {between(narrow, '.1f')} times as fast. Matrix-vector products took"
        f" {between(vectors, '.1f')} times as long there; they have their variant since. Results of few tiles with long"
        f" sums (8 x 512 x 500000, 100 x 100 x 100000) take {between(sums, '.1f')} times as long, small ones what a"
        " call takes.",
    ]


def _gain(each: Beside) -> float:
    """How many times as fast as the library the kernels are."""
    ratio = each.ratios[OURS]
    if ratio is None:
        raise ValueError(f"{each.shape.name}: it has no ratio")
    return 1 / ratio.mid


def _first_call() -> list[str]:
    intel, pocl = (
        {call: row["median_ms"] / 1e3 for (case, call), row in _rows(noted(path)).items() if case.startswith("first ")}
        for path in FILES.values()
    )
    kept = " and ".join(f"{of['caches']:.2f}" for of in (intel, pocl))
    after = " and ".join(f"{of['caches'] - of['import']:.2f}" for of in (intel, pocl))
    compiler, smallest = pocl["smallest kernel"] - pocl["context"], pocl["smallest kernel"]
    context, found = intel["context"] - intel["import"], pocl["devices"] - pocl["import"]
    return [
        f"**The first call of a process** takes {intel['gpuopt']:.2f} s by Intel's runtime: it imports for"
        f" {intel['import']:.2f} s, makes a context in {context:.2f} and builds its kernel. By"
        f" PoCL it takes {pocl['gpuopt']:.1f} s (1.0 wanted), of which the compiler takes {compiler:.2f} for the"
        f" smallest kernel there is. Rejected: a smaller kernel (`smallest kernel`, {smallest:.2f} s), and"
        f" discovery (`devices`, {found:.2f} s after the import). With gpuopt's programs kept"
        f" (`caches`) the first call takes {kept} s by Intel's runtime and PoCL, {after} of it after the import.",
    ]


TABLES = {
    "calls": grid(["case", "call", *(f"{name}, ms [95 % CI]" for name in FILES), "times ours"], _calls),
    "shapes": findings(_shapes),
    "first": findings(_first_call),
}
