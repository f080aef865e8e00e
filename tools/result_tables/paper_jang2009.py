"""The tables of docs/results/paper-jang2009.md."""

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
    """A line a region: seconds of ten iterations by the first step, the fastest one and the loops, and how far images
    are apart."""
    lines: list[Line] = []
    for device, file in REGIONS.items():
        for region in dict.fromkeys(line["region"] for line in file.all()):
            found, loops = file.all(region=region), file.line(region=region, back_projector=LOOPS)
            steps = [line for line in found if line["back_projector"] != LOOPS]
            first = file.line(region=region, back_projector="paper:naive")
            best = min(steps, key=lambda line: float(line["seconds"]))
            named = f"{best['seconds']:.2f} ({best['back_projector'].removeprefix('paper:')})"
            apart = max(float(line["apart_from_loops"]) for line in steps)
            lines.append(
                [
                    f"{device}, {region}, {loops['views']} views",
                    *(f"{first['seconds']:.2f}", named, f"{loops['seconds']:.2f}"),
                    *(significant(float(loops["error"]), 2), significant(apart, 2)),
                ]
            )
    return lines


HEADER = ["", "naive, s", "fastest step, s", "C++ loops, s", "error to the object", "images apart, at most"]
TABLES = {**tables("jang2009"), "regions": grid(HEADER, _regions)}
