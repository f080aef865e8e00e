"""The picture of forty shapes: how many times as fast as libraries' products plain ones are, by class of shape."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from gpuopt._core import ParameterError
from gpuopt.lab.rows.groups import CALLS, OURS, PEERS, Group
from gpuopt.lab.rows.ratios import Ratio, ratio_by_one_clock
from gpuopt.lab.rows.schema import Row, time_ms
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import joined, significant
from gpuopt.lab.show.canvas import captioned_picture, labelled, legend_outside, provenance
from gpuopt.lab.show.gains import called, ends_of, in_order
from gpuopt.lab.show.style import COLOURS, INK, bar_axes, error_sides, interval_key
from gpuopt.lab.show.ticks import plain_ticks
from gpuopt.workloads.gemm.shapes import Shape, gemm_shapes, score

if TYPE_CHECKING:
    from matplotlib.figure import Figure

FEWEST = 8  # shapes that make a picture
ROW_INCHES = 0.2
_ALL = {(shape.m, shape.n, shape.k, shape.batch) for shape in gemm_shapes()}
KINDS = {OURS: ("kernels", "o"), CALLS: ("whole call, NumPy arrays", "D")}
# Of calls and peers, those in the arrays' own precision.
_COMPARED = {CALLS: ("gpuopt.gemm(A, B)",), PEERS: ("NumPy", "PyTorch", "CuPy")}


class Beside(NamedTuple):
    """A shape beside the fastest library: how many times as fast the kernels are, and the whole call, None where one of
    both did not run, or where no clock timed both."""

    shape: Shape
    library: str
    ratios: dict[str, Ratio | None]


def is_of_shapes(study: StudyRows) -> bool:
    """Whether a study has several of the shapes, each by one configuration of ours."""
    each = [group.section(OURS) for group in study.groups() if _sizes(group) in _ALL]
    return len(each) >= FEWEST and all(len(rows) == 1 for rows in each)


def beside_libraries(study: StudyRows) -> list[Beside]:
    """The shapes of :func:`gpuopt.problems.gemm_shapes` that a study has, with a library beside each, in their order.
    Raises ParameterError for rows of several devices or dtypes, or of one problem under several conditions."""
    groups = {_sizes(group): group for group in in_order(study)}
    found = []
    for shape in gemm_shapes():
        group = groups.get((shape.m, shape.n, shape.k, shape.batch))
        library = None if group is None else _fastest(group, PEERS)
        if group is not None and library is not None:
            ratios = {kind: _ratio(group, kind, library) for kind in KINDS}
            found.append(Beside(shape, str(library["variant"]), ratios))
    return found


def shapes(study: StudyRows) -> Figure:
    """How many times as fast as the fastest library's product ours is for each of forty shapes, by its kernels and as a
    whole call, with 95 % intervals; the caption says the geometric mean, weighted by class. Of several variants of ours
    it is the fastest; a study of `shapes` has what a plain call takes alone.

    Raises ParameterError for rows of several devices, or of one problem under several conditions, and for fewer than
    eight of the shapes.
    """
    found = beside_libraries(study)
    if len(found) < FEWEST:
        raise ParameterError(f"study: it has {len(found)} of the shapes beside a library; `gpuopt study gemm shapes`")
    means = {kind: mean(found, kind) for kind in KINDS}
    libraries = joined(list(dict.fromkeys(each.library for each in found)))
    told = [f"{KINDS[kind][0]} {significant(value)}" for kind, value in means.items() if value is not None]
    figure, part = captioned_picture(
        f"{called('gemm')}: {len(found)} of {len(gemm_shapes())} shapes beside {libraries}",
        1.5 + ROW_INCHES * (len(found) + len({each.shape.kind for each in found})),
        [
            f"Times as fast, geometric mean weighted by class: {joined(told)}. Kernels are timed by the device's clock "
            "beside a GPU's library, by the host's beside NumPy.",
            provenance([row for group in in_order(study) for row in group.rows]),
        ],
    )
    ax = part.subplots()
    places, names, y = list[float](), list[str](), 0.0
    for kind in dict.fromkeys(each.shape.kind for each in found):
        mine = [each for each in found if each.shape.kind == kind]
        ax.text(0.01, y, kind, transform=ax.get_yaxis_transform(), fontsize=8.5, va="center", color=INK, weight="bold")
        for number, each in enumerate(mine, 1):
            places.append(y + number)
            names.append(each.shape.name.replace("x", " x ").replace("  ", " "))
            for section, (label, marker) in KINDS.items():
                if (ratio := each.ratios[section]) is not None:
                    low, mid, high = ends_of(ratio)
                    style: dict[str, Any] = {
                        "color": COLOURS[section],
                        "marker": marker,
                        "markersize": 4.5,
                        "linestyle": "none",
                    }
                    ax.errorbar(mid, y + number, xerr=error_sides(low, mid, high), capsize=2, label=label, **style)
        y += len(mine) + 1
    ax.axvline(1, color=INK, linewidth=1, zorder=1)
    ax.set_xscale("log")
    ax.set_yticks(places, names, fontsize=8)
    bar_axes(ax, places)
    ax.set_ylim(y - 0.4, -0.7)
    plain_ticks(ax, "x")
    ax.set_xlabel("times as fast as the fastest library (more is faster)", fontsize=9)
    legend_outside(part, [*labelled(ax), interval_key()], 3)
    return figure


def mean(found: Sequence[Beside], kind: str) -> float | None:
    """The geometric mean of how many times as fast as libraries these are, weighted by class; None where none ran."""
    ratios = {each.shape: 1 / ratio.mid for each in found if (ratio := each.ratios[kind]) is not None}
    return score(ratios) if ratios else None


def _sizes(group: Group) -> tuple[int, int, int, int]:
    given = group.first["sizes"] or {}
    return given.get("M", 0), given.get("N", 0), given.get("K", 0), given.get("batch", 1)


def _fastest(group: Group, section: str) -> Row | None:
    named = _COMPARED.get(section)
    rows = [row for row in group.section(section) if row["status"] == "ok" and row["median_ms"]]
    rows = [row for row in rows if named is None or row["variant"] in named]
    return min(rows, key=time_ms, default=None)


def _ratio(group: Group, section: str, library: Row) -> Ratio | None:
    row = _fastest(group, section)
    return None if row is None else ratio_by_one_clock(group, row, library)
