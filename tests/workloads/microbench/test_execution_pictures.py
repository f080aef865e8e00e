"""The pictures of branches, live values and the activation matrix say what was measured, beside what papers found."""

from __future__ import annotations

from typing import Any

import pytest

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import colour_of
from figures import words as lines_of
from gpuopt.lab.rows.schema import ResultsError
from gpuopt.workloads.microbench import pictures as device_plots
from workloads.microbench.made_rows import activation, paths, row, values, xs, ys


def words(figure: Figure) -> str:
    return lines_of(figure).replace("\n", " ")


def test_branches_show_the_loss_and_what_a_branch_costs() -> None:
    figure = device_plots.branches(paths())
    left, right = figure.findobj(Axes)
    lost = [line for line in left.lines if len(xs(line)) == 6]
    assert len(lost) == 2
    for line in lost:
        assert ys(line) == pytest.approx([1, 2, 4, 8, 16, 32])
    costs = [line for line in right.lines if len(xs(line)) == 5]
    assert [ys(line)[0] for line in costs] == pytest.approx([8, 2])
    said = words(figure)
    assert "32x" in said
    assert "at worst 32 paths 32 times" in said
    assert "80 cycles an instruction" in said
    assert "costs up to 30 % on AMD" in said
    assert any(ys(line) == [30, 30] for line in right.lines)


@pytest.mark.parametrize(
    ("draw", "given", "says"),
    [
        ("branches", {"params": {"PATHS": 2}}, "rows: that of branches has no level LENGTH; leave it out"),
        ("registers", {"params": None}, "rows: that of registers has no level CHAINED"),
        ("registers", {"params": {"CHAINED": 0, "LIVE": "4"}}, "rows: that of registers has no level LIVE"),
        ("working_set", {"variant": "read", "sizes": {"bytes": "4"}}, "rows: the sizes of row 0 is"),
        ("cache_types", {"variant": "local", "params": {"A": [1, 2]}}, "rows: the params of row 0 is"),
    ],
)
def test_a_row_that_a_picture_cannot_read_is_named(draw: str, given: dict[str, Any], says: str) -> None:
    made = row(draw, 1.0) | {"gflop_s": 1.0} | given
    with pytest.raises(ResultsError, match=f"^{says}"):
        getattr(device_plots, draw)([made])


def test_a_line_of_branches_has_one_colour_in_both_panels() -> None:
    """Of the first line there is no kernel without a branch, so that the right panel lacks it."""
    first = min(paths(), key=lambda made: str(made["params"]["LENGTH"]))["params"]["LENGTH"]
    rows = [made for made in paths() if (made["params"]["LENGTH"], made["params"]["PATHS"]) != (first, 1)]
    left, right = device_plots.branches(rows).findobj(Axes)
    lost = [line for line in left.lines if len(xs(line)) > 4]
    (cost,) = [line for line in right.lines if len(xs(line)) == 5]
    assert len({colour_of(line) for line in lost}) == 2
    assert colour_of(cost) == colour_of(max(lost, key=lambda line: len(xs(line))))


def test_branches_without_their_uniform_twins_are_nothing() -> None:
    alone = [made for made in paths() if made["params"]["DIVERGENT"] and made["params"]["PATHS"] > 1]
    assert "nothing was measured" in words(device_plots.branches(alone))


def test_registers_show_knee_and_spills() -> None:
    figure = device_plots.registers(values())
    said = words(figure)
    assert "independent, 256 work-items, float32: holds to 224" in said
    assert "each waits for the one before, 256 work-items, float32: holds to 96" in said
    assert "at most 255 registers a work-item, spilled from 255 on" in said
    assert "1 point runtime: out of resources" in said
    (ax,) = figure.findobj(Axes)
    assert any(xs(line)[0] == 124 for line in ax.lines)  # the paper's wall
    hollow = {xs(line)[0] for line in ax.lines if line.get_markerfacecolor() == "white"}
    assert hollow == {255, 256, 320, 512}


def test_a_knee_is_the_last_that_holds() -> None:
    assert device_plots.knee({8: 50, 16: 100, 32: 91, 64: 89}) == 32
    assert device_plots.knee({8: 100, 16: 80, 32: 95, 64: 10}) == 32
    assert device_plots.knee({8: 100, 16: 100}) is None


def test_the_activation_matrix_is_held_against_16x16() -> None:
    product = [made | {"params": made["params"] | {"MATH": 0}} for made in activation()]
    figure = device_plots.activation_matrix([*activation(), *product])
    (ax,) = figure.findobj(Axes)
    lines = [line for line in ax.lines if len(xs(line)) == 9]
    assert len(lines) == 4  # the product alone is none of them
    ticks = [label.get_text() for label in ax.get_xticklabels()]
    assert ticks == ["1x256", "4x64", "8x32", "16x16", "32x8", "256x1", "8x64", "64x8", "8x128"]
    assert ys(lines[0])[2] == pytest.approx(1 / 0.9)
    diamond = next(line for line in ax.lines if line.get_marker() == "D")
    assert (xs(diamond), ys(diamond)) == ([2.0], [pytest.approx(1.77)])
    said = words(figure)
    assert "pow, N=4096: best 8x32, 1.11" in said
    assert "exp, N=1024" in said
    half = [made | {"dtype": "float16", "gflop_s": 2 * made["gflop_s"]} for made in activation()[:9]]
    figure = device_plots.activation_matrix([*activation(), *half])
    (ax,) = figure.findobj(Axes)
    assert len([line for line in ax.lines if len(xs(line)) == 9]) == 5
    assert "pow float16, N=1024: best 8x32, 1.11" in words(figure)
    assert "pow float32, N=1024: best 8x32, 1.11" in words(figure)
