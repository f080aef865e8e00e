"""What all pictures have in common: ticks to read an axis by, texts within the figure, legends of all marks."""

from __future__ import annotations

import itertools
from collections.abc import Callable

import pytest

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.lines import Line2D

import claims as made_up
import study_rows
from dense_rows import several, step_rows
from figures import bars, colour_of, few_ticks, keys, outside, overlaps, struck, words
from gpuopt import lab
from gpuopt.lab import gemm_plots, tmv_plots
from gpuopt.lab.report import Study
from gpuopt.lab.rows.claims import finding, sittings
from gpuopt.lab.rows.groups import CALLS, OURS, PAPER, PEERS
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.show import claim_pictures, energy_picture, fitting, gains
from gpuopt.lab.show.canvas import captioned_picture, legend_outside
from gpuopt.lab.show.claims import Claims
from gpuopt.lab.show.style import COLOURS, shades
from gpuopt.lab.show.ticks import byte_ticks, plain_ticks, rate_ticks

# ---------------------------------------------------------------- ticks


def log_axes(low: float, high: float) -> tuple[Figure, Axes]:
    figure = Figure()
    ax = figure.subplots()
    ax.set_xscale("log")
    ax.set_yscale("log")
    ax.set(xlim=(low, high), ylim=(low, high), xlabel="x", ylabel="y")
    return figure, ax


@pytest.mark.parametrize(
    "ends",
    [(0.77, 1.3), (1.01, 1.9), (2.1, 4.9), (0.5, 3), (0.999, 1.001), (3e5, 4e5), (1e-3, 1e6), (1, 10), (0.02, 1)],
)
@pytest.mark.parametrize("ticks", [plain_ticks, rate_ticks])
def test_an_axis_has_ticks_wherever_it_ends(ticks: Callable[[Axes], None], ends: tuple[float, float]) -> None:
    figure, ax = log_axes(*ends)
    plain_ticks(ax, "x")
    ticks(ax)
    assert few_ticks(figure) == []
    assert overlaps(figure) == []
    ax.set(xlim=(1.2, 1.7), ylim=(1.2, 1.7))  # as where something is drawn later
    assert few_ticks(figure) == []


@pytest.mark.parametrize("size", [1 << 20, 3 << 20])
def test_one_working_set_has_ticks_beside_it(size: int) -> None:
    figure, ax = log_axes(size / 2, 2 * size)
    byte_ticks(ax, size, size)
    plain_ticks(ax, "y")
    assert few_ticks(figure) == []
    assert "1 MiB" in words(figure) or "2 MiB" in words(figure)


def drawn_claims(*entries: made_up.Entry, speedups: tuple[float, ...] = (1.02,)) -> Figure:
    paper = made_up.paper(*entries)
    studies = [StudyRows(made_up.pair(speedup)) for speedup in speedups]
    found = {
        device: {(claim.paper, claim.id): finding(claim, device, here) for claim in paper.claims}
        for device, here in sittings(studies).items()
    }
    of = Claims([paper], found).of(paper)
    return claim_pictures.draw(paper, of, claim_pictures.pages_of(paper)[0])


def test_claims_near_1_have_ticks() -> None:
    assert few_ticks(drawn_claims(made_up.entry("order"))) == []


def test_sizes_have_ticks_even_of_one() -> None:
    one = Study(step_rows("gemm", {"M": 8, "N": 9, "K": 10}))
    for figure in (gemm_plots.sizes(one), gemm_plots.sizes(several()), tmv_plots.bandwidths(several("tmv"))):
        assert few_ticks(figure) == []


# ---------------------------------------------------------------- legends


def test_arrows_of_claims_stand_in_the_legend() -> None:
    order, huge = made_up.entry("order"), made_up.entry("huge", 1e9)
    assert claim_pictures.ARROWS["marker"] in keys(drawn_claims(order)).values()
    assert "printed" not in keys(drawn_claims(order))
    assert keys(drawn_claims(huge))["beyond the axis"] == ">"
    assert not {">", "<", claim_pictures.ARROWS["marker"]} & set(keys(drawn_claims(made_up.entry("a", 1.5))).values())
    assert outside(drawn_claims(order, huge)) == []


def test_rings_stand_in_the_legend() -> None:
    slower = Study([row | {"gflop_s": row["gflop_s"] and 5.0} for row in several().rows])
    assert "95% of its best rate" in keys(gemm_plots.sizes(slower))


def test_a_legend_takes_as_many_columns_as_fit() -> None:
    figure, part = captioned_picture("title", 3.0, ["caption"])
    part.subplots()
    legend_outside(part, [Line2D([], [], label=f"WIDE LABEL {n} " + "M" * 30) for n in range(6)], 6)
    (legend,) = figure.findobj(Legend)
    assert outside(figure) == []
    assert 1 < legend._ncols < 6  # type: ignore[attr-defined]
    legend_outside(part, [Line2D([], [], label="MW " * 100)], 6)
    assert outside(figure) == []


# ---------------------------------------------------------------- titles and captions


@pytest.mark.parametrize("text", ["GMWX " * 100, "M" * 400, "a caption of usual words, which is long enough. " * 20])
def test_captions_and_titles_end_within_the_picture(text: str) -> None:
    figure, part = captioned_picture(text, 3.0, [text, "the last line"])
    part.subplots()
    assert outside(figure) == []
    assert overlaps(figure) == []
    told = words(figure).replace("\n", "").replace(" ", "")
    assert told.count(text.replace(" ", "").strip()) == 2


def test_heads_of_gains_end_within_the_picture() -> None:
    wide = Study([row | {"driver": "GMWX " * 60} for row in several().rows])
    for figure in (gains.gains(several()), gains.gains(several("tmv")), gains.gains(wide)):
        assert outside(figure) == []
        assert overlaps(figure) == []


# ---------------------------------------------------------------- layers and colours


def test_what_papers_printed_stands_below_the_bars() -> None:
    for figure in (gains.gains(several()), gains.gains(several("tmv"))):
        assert struck(figure) == []
        for ax in figure.findobj(Axes):
            tops = [line for line in ax.lines if line.get_marker() == "D"]
            assert all(line.get_ydata()[0] % 1 > 0 for line in tops)  # type: ignore[index]


def test_shades_are_of_one_colour() -> None:
    assert shades("#0072B2", 1) == ["#0072b2"]
    made = shades("#0072B2", 3, dark=0.5, light=0.5)
    assert made == ["#003959", "#0072b2", "#80b9d8"]


def colours(ax: Axes) -> dict[str, str]:
    """The colours of the lines with labels."""
    found = {}
    for container in ax.containers:
        line = container.lines[0]  # type: ignore[attr-defined]
        found[str(container.get_label())] = colour_of(line)
    return found


def test_a_line_has_the_colour_of_its_kind_in_all_panels() -> None:
    left, textures, right = gemm_plots.sizes(several()).findobj(Axes)
    contest = colours(right)
    assert contest["the papers' best"] == COLOURS[PAPER].lower()
    assert contest["best"] == COLOURS[OURS].lower()
    assert contest["a call"] == COLOURS[CALLS].lower()
    assert contest["NumPy"] == COLOURS[PEERS].lower()
    others = set(contest.values()) - {contest["the papers' best"]}
    steps = colours(left)
    assert not others & set(steps.values())
    assert len(set(steps.values())) == len(steps) == 7
    assert list(steps.values()) == list(colours(textures).values())


def test_pairs_have_no_colour_of_the_gains_beside_them() -> None:
    row = {"kind": "block", "role": "variant", "status": "ok", "variant": "made"}
    speeds = {(0, 0, 0): 1.0, (1, 0, 0): 2.0, (0, 1, 0): 2.0, (0, 0, 1): 2.0}
    speeds |= {(1, 1, 0): 8.0, (1, 0, 1): 3.0, (0, 1, 1): 4.0, (1, 1, 1): 9.0}
    rows = []
    for block, (on, speed) in itertools.product(range(12), speeds.items()):
        named = {"params": dict(zip("ABC", on, strict=True)), "configuration": str(on)}
        rows.append(row | named | {"block": block, "median_ms": (1 + 0.01 * (block % 3)) / speed})
    figure = lab.stacking(StudyRows(rows, {"name": "made", "workload": "made"}, [])).picture()
    gained, pairs = figure.findobj(Axes)
    marks = [{colour_of(held.lines[0]) for held in ax.containers} for ax in (gained, pairs)]  # type: ignore[attr-defined]
    assert len(marks[1]) > 1
    assert not marks[0] & marks[1]
    assert few_ticks(figure) == []


def test_energies_of_far_and_near_have_ticks() -> None:
    steps = {"slow": (30.0, 300.0), "fast": (3.1, 300.0), "middle": (4.0, 320.0)}
    assert few_ticks(energy_picture.energy_plot(Study(study_rows.energy_rows(steps)))) == []


def test_bars_of_sizes_have_shades_of_the_papers_blue() -> None:
    (ax,) = gains.gains(several("tmv")).findobj(Axes)
    found = {colour_of(bar) for bar in bars(ax)}
    assert COLOURS[PAPER].lower() in found
    assert COLOURS[CALLS].lower() not in found


def test_words_of_any_length_are_broken_in_time() -> None:
    word = "a" * 5_000
    lines = fitting.wrapped(f"two {word}", 2.0, 9.0)
    assert lines[0] == "two"
    assert "".join(lines[1:]) == word
    assert all(fitting.inches_of(line, 9.0) <= 2.0 for line in lines)
    assert fitting.inches_of(lines[1] + "a", 9.0) > 2.0
    assert fitting.wrapped("iii", 1e-3, 9.0) == ["i", "i", "i"]
