"""What the papers printed for the presets of rows."""

from __future__ import annotations

from dataclasses import dataclass, fields, replace
from functools import cache

from gpuopt import papers
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.table import Forms


@dataclass(frozen=True)
class PaperFigure:
    """What a paper (its key) printed for a preset: its rate, its bound and the share of it, or its speed-up over the
    paper's first step, one number or a range, of values of ``dtype``; and the device's short name, led by its type
    beside rows of another."""

    gflop_s: float | None
    bound_gflop_s: float | None
    pct_bound: float | None
    bytes_per_2_flop: float | None
    speedup: float | None
    speedup_least: float | None
    speedup_most: float | None
    device: str
    device_type: str
    dtype: str
    paper: str

    @property
    def gain(self) -> str:
        """`1.7x`, `2 to 5x`, `1.12x, up to 1.13x`; empty without a speed-up."""
        most = f"{self.speedup_most:g}x" if self.speedup_most else ""
        if self.speedup:
            return f"{self.speedup:g}x" + (f", up to {most}" if most else "")
        return f"{self.speedup_least:g} to {most}" if self.speedup_least and most else most and f"up to {most}"

    def forms(self, beside_gains: bool = False) -> Forms:
        """`13.1 of 25.6 (51 %)`, `13.1 (51 %)`, `13.1`; `1.7x` of a paper that tells speed-ups, and `945 GFLOP/s` in a
        column of these."""
        if self.gain:
            return (self.gain,)
        rate = "-" if self.gflop_s is None else f"{self.gflop_s:g}"
        if beside_gains and self.gflop_s is not None:
            rate += " GFLOP/s"
        short = rate if self.pct_bound is None else f"{rate} ({self.pct_bound:.0f} %)"
        if self.bound_gflop_s is None:
            return (short, rate)
        return (short.replace(rate, f"{rate} of {self.bound_gflop_s:g}", 1), short, rate)


@cache
def _paper_figures(workload: str) -> dict[str, PaperFigure]:
    """The printed figures of a workload by preset, in the order of the paper's ladder."""
    names = [field.name for field in fields(PaperFigure)]
    return {preset: PaperFigure(**{n: f[n] for n in names}) for preset, f in papers.figures(workload).items()}


def paper_figure(row: Row) -> PaperFigure | None:
    """What the paper printed for the row's preset; None for rows that are no paper's, and for another dtype."""
    figure = _paper_figures(str(row["workload"] or "")).get(str(row["preset"] or ""))
    if figure is None or row["dtype"] not in (None, figure.dtype):
        return None
    if row["device_type"] in (None, figure.device_type):
        return figure
    return replace(figure, device=f"{figure.device_type.upper()} {figure.device}")


def paper_rank(row: Row) -> int:
    """The row's place among the steps of all papers on its workload; the last place for rows without a preset."""
    order = list(_paper_figures(str(row["workload"] or "")))
    preset = row["preset"]
    return order.index(preset) if preset in order else len(order)
