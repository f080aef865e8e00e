"""The tables of docs/results/paper-jang2009.md."""

from typing import Any

from .paper_claims import tables
from .tables import Line, grid
from .values import Lines, significant

REGIONS = {
    "H200": Lines("results/h200/tomography-regions.jsonl"),
    "PoCL": Lines("results/cpu-2core/pocl-tomography-regions.jsonl"),
    "Intel": Lines("results/cpu-2core/intel-tomography-regions.jsonl"),
}
LOOPS = "C++ loops"


def _regions() -> list[Line]:
    """A line a region: seconds of ten iterations by the first step, the range over all steps from buffers and from
    textures, and the loops; how far images are from the object and from the loops' image."""
    lines: list[Line] = []
    for device, file in REGIONS.items():
        for region in dict.fromkeys(line["region"] for line in file.all()):
            found, loops = file.all(region=region), file.line(region=region, back_projector=LOOPS)
            steps = [line for line in found if line["back_projector"] != LOOPS]
            textures = [line for line in steps if line["back_projector"].endswith("_image")]
            first = file.line(region=region, back_projector="paper:naive")
            alu = file.line(region=region, back_projector="paper:alu")
            apart = max(float(line["apart_from_loops"]) for line in steps)
            lines.append(
                [
                    f"{device}, {region}, {loops['views']} views",
                    f"{first['seconds']:.2f}",
                    _range([line for line in steps if line not in textures]),
                    _range(textures),
                    f"{loops['seconds']:.2f}",
                    significant(float(loops["error"]), 2),
                    significant(float(alu["apart_from_loops"]), 2),
                    significant(apart, 2),
                ]
            )
    return lines


def _range(lines: list[dict[str, Any]]) -> str:
    """`1.93 to 2.06`, the least and the greatest seconds."""
    seconds = sorted(float(line["seconds"]) for line in lines)
    return f"{seconds[0]:.2f} to {seconds[-1]:.2f}" if seconds else "-"


HEADER = [
    *("", "naive, s", "all steps, buffers, s", "all steps, textures, s", "C++ loops, s"),
    *("error to the object", "apart: alu", "apart: all steps, at most"),
]
FINDINGS = (
    "**Eight outputs a work-item gain {table2-output-over-naive} over the naive product"
    " from textures on an H200**, printed"
    " {table2-output-over-naive:printed}.",
    "**From textures vectors gain {table2-vector-over-naive}, not {table2-vector-over-naive:printed}, and unrolling"
    " nothing** ({table2-unroll4-over-naive}, {table2-unroll8-over-naive} and"
    " {table2-unroll16-over-naive}). From buffers"
    " unrolling gains {table2-unroll4-over-naive-buffers} to {table2-unroll8-over-naive-buffers}, and vectors"
    " {table2-vector-over-naive-buffers}.",
    "**The arithmetic step of back projection brings {table3-alu-over-naive-i1} on image"
    " 1 and {table3-alu-over-naive-i2}"
    " on image 2**, printed {table3-alu-over-naive-i1:printed} and {table3-alu-over-naive-i2:printed}.",
    "**Four outputs of back projection at once lose on an H200**"
    " ({table3-vector-output-over-naive-i1} on image 1, printed"
    " {table3-vector-output-over-naive-i1:printed}) **and gain on CPUs**"
    " ({table3-vector-output-over-naive-i1@PoCL} by PoCL,"
    " {table3-vector-output-over-naive-i1@Intel} by Intel's runtime); four inputs lose nowhere.",
    "**Claims over serial code say little**: an H200 beats one thread of its host by"
    " {table3-naive-over-cpu-i1} on image 1,"
    " printed {table3-naive-over-cpu-i1:printed}; the same kernel on two cores of a CPU reaches"
    " {table3-naive-over-cpu-i1@PoCL} (PoCL) and {table3-naive-over-cpu-i1@Intel} (Intel).",
)
TABLES = {**tables("jang2009", *FINDINGS), "regions": grid(HEADER, _regions)}
