"""The pictures of GEM: every row has its place, products and ratios are the rows', nothing lies on anything else."""

from __future__ import annotations

import re
import subprocess
import sys
from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from study_rows import Row
from workloads.gem.made_rows import BASIC, BASIC_MS, GAINS, TEXELS, TOGETHER, calls, pairs, refused, steps

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes
from matplotlib.collections import EllipseCollection, LineCollection, PolyCollection
from matplotlib.figure import Figure
from matplotlib.patches import Rectangle

from figures import few_ticks, outside, overlaps, struck, words
from gpuopt import ArrayError, ParameterError, papers
from gpuopt.lab.report import Study
from gpuopt.lab.rows.groups import OURS, PAPER
from gpuopt.lab.show import ladder
from gpuopt.lab.show.style import COLOURS, MODEL
from gpuopt.molecule import Molecule, Surface, fibonacci_sphere
from gpuopt.workloads.gem import pictures as gem_plots
from gpuopt.workloads.gem import surface_picture as gem_surface
from gpuopt.workloads.gem.problem import factorial, staged


def laid_out(figure: Figure) -> None:
    """Texts stay inside the figure, and off each other."""
    assert outside(figure) == []
    assert overlaps(figure) == []


def bars(ax: Axes) -> list[float]:
    return [bar.get_x() + bar.get_width() for bar in ax.patches]


# ---------------------------------------------------------------- Figures 6 to 8


def test_every_step_has_a_bar_of_its_gain(study: Study) -> None:
    figure = gem_plots.optimizations(study)
    alone, together, sets = figure.findobj(Axes)
    assert [len(ax.patches) for ax in (alone, together, sets)] == [13, 10, 3]
    wanted = [study.speedup(f"paper:{name}", "paper:basic").mid for name in ("max_threads", "kernel_splitting")]
    assert bars(alone)[:2] == pytest.approx([1 / mid for mid in wanted])
    assert bars(sets)[0] == pytest.approx(BASIC_MS / 0.4)
    assert [tuple(bar.get_facecolor())[:3] for bar in sets.patches[:1]] != [alone.patches[0].get_facecolor()[:3]]
    assert {OURS, PAPER} <= COLOURS.keys()


def test_diamonds_are_the_papers_and_ticks_the_products(study: Study) -> None:
    figure = gem_plots.optimizations(study)
    alone, together, _ = figure.findobj(Axes)
    diamonds = [line.get_xdata()[0] for line in alone.lines if line.get_marker() == "D"]
    assert diamonds == [1.3, 1.7, 1.3, 1.6, 2.3, 2.3, 1.2, 3.0]
    assert [line.get_xdata()[0] for line in together.lines if line.get_marker() == "D"] == [1.8, 3.2, 3.2, 4.1]
    lines = [lines for lines in together.collections if isinstance(lines, LineCollection)]
    ticks = [float(path.vertices[0, 0]) for found in lines for path in found.get_paths()]
    wanted = GAINS["LOCAL"] * GAINS["SPECIALIZED"]
    assert any(tick == pytest.approx(wanted) for tick in ticks)
    said = words(figure)
    assert "2.21" in said  # what the paper's 1.3 and 1.7 promise
    sets = study.speedup("paper:amd_best", "paper:nvidia_style")
    assert f"The AMD-style set over the NVIDIA-style one: {sets}." in said.replace("\n", " ")
    assert "The best here is tiled(VERTICES=2)." in said


def test_optimizations_are_laid_out(study: Study, whole: Study) -> None:
    for shown in (study, whole):
        figure = gem_plots.optimizations(shown)
        laid_out(figure)
        assert struck(figure) == []
        assert few_ticks(figure) == []


def test_the_ladder_and_the_best_have_the_papers_names() -> None:
    fast = pairs({"SPECIALIZED": 1, "REGISTER_SUM": 1, "VERTEX": 2, "LOCAL": 0, "UNROLL": 4})
    shown = Study([*(r for r in steps() if r["variant"] != "tiled"), *fast])
    (group,) = shown.groups()
    figure = ladder.ladder(shown)
    names = [label.get_text().replace("\n", " ") for label in figure.findobj(Axes)[0].get_yticklabels()]
    assert set(names) == {group.label(row) for row in group.rows}
    assert "MT + KS + RA + RP + LU4" in names
    said = words(gem_plots.optimizations(shown)).replace("\n", " ")
    assert "pairs(" not in said + words(figure)
    assert "The best here is MT + KS + RA + RP + LU4." in said


def test_a_step_that_failed_says_why_and_has_no_product() -> None:
    params = papers.preset("gem", "paper:image_memory").parameters
    rows = [r for r in steps() if r["preset"] != "paper:image_memory"]
    study = Study([*rows, refused(params, "this device has no images", "paper:image_memory")])
    figure = gem_plots.optimizations(study)
    assert "unsupported: this device has no images" in words(figure)
    laid_out(figure)
    alone, together, _ = figure.findobj(Axes)
    assert len(alone.patches) == 12
    assert len(together.patches) == 10


def test_whole_calls_are_over_the_basic_kernels_call(study: Study) -> None:
    figure = gem_plots.optimizations(Study([*study.rows, *calls()]))
    *_, whole = figure.findobj(Axes)
    assert bars(whole) == pytest.approx([10.5 / 4.5, 10.5 / 0.9])
    assert "Whole calls, with allocation and transfers" in words(figure)
    laid_out(figure)
    without = [row for row in calls() if "basic" not in str(row["variant"])]
    assert "Whole calls" not in words(gem_plots.optimizations(Study([*study.rows, *without])))


def test_few_steps_are_enough() -> None:
    names = {"paper:basic", "paper:kernel_splitting"}
    figure = gem_plots.optimizations(Study([r for r in steps() if r["preset"] in names]))
    assert [len(ax.patches) for ax in figure.findobj(Axes)] == [1, 1]


@pytest.mark.parametrize(
    "draw",
    [gem_plots.optimizations, gem_plots.factorial, gem_plots.stacking, gem_plots.replay, gem_plots.ways],
)
def test_without_one_basic_kernel_there_is_nothing_to_hold_against(draw: object) -> None:
    assert callable(draw)
    with pytest.raises(ValueError, match="no good row of paper:basic"):
        draw(Study([r for r in steps() if r["preset"] != "paper:basic"]))
    with pytest.raises(ValueError, match="2 groups of rows have paper:basic"):
        draw(Study([*steps(), *[r | {"device": "NVIDIA H200"} for r in steps()]]))


OF_BASIC = [
    pytest.param({"status": "wrong", "reason": "made so", "median_ms": None}, id="failed"),
    pytest.param(None, id="not asked for"),
]


@pytest.mark.parametrize("basic", OF_BASIC)
@pytest.mark.parametrize("name", ["device", "problem"])
def test_rows_of_several_devices_or_problems_are_refused_where_one_has_the_basic_kernel(
    name: str, basic: Row | None, tmp_path: Path
) -> None:
    """Rows by another protocol, without it, are beside them as before."""

    def beside(**values: str) -> Study:
        made = [r for r in steps() if r["kind"] == "summary"]
        rest = [r | (basic or {}) if r["preset"] == "paper:basic" else r for r in made]
        kept = [r for r in rest if basic is not None or r["preset"] != "paper:basic"]
        return Study([*steps(), *(r | values for r in kept)])

    for draw in (gem_plots.optimizations, gem_plots.factorial, gem_plots.stacking, gem_plots.replay, gem_plots.ways):
        with pytest.raises(ParameterError, match=r"^study: rows of 2 devices or problems; make a Study"):
            draw(beside(**{name: "another"}))
    assert gem_plots.save(beside(**{name: "another"}), tmp_path) == []
    assert gem_plots.optimizations(beside(protocol="full"))


# ---------------------------------------------------------------- the factorial


def test_each_combination_has_a_cell(whole: Study) -> None:
    figure = gem_plots.factorial(whole)
    ax = figure.findobj(Axes)[0]
    numbers = [t.get_text() for t in ax.texts if t.get_text().replace(".", "").isdigit()]
    assert len(numbers) == len(factorial()) - 2 + len(staged())
    said = words(figure).replace("\n", " ")
    assert f"IM + VAVM2 cannot run, unsupported: {TEXELS}." in said  # nowhere, so it has no line
    assert f"IM + VASM2 cannot run, unsupported: {TEXELS}." in said
    assert "In all cells FORM=0, RSQRT=0." in said
    assert "616 combinations" in said
    laid_out(figure)


@pytest.mark.whole
def test_a_cell_that_cannot_run_is_hatched(whole: Study) -> None:
    lacking = {"SPECIALIZED": 1, "VERTEX": 1, "MATH": 1, "VECTOR": 4, "LOCAL": 0}
    rows = [r for r in whole.rows if r["params"] != BASIC | lacking]
    figure = gem_plots.factorial(Study([*rows, refused(lacking, "no local memory")]))
    ax = figure.findobj(Axes)[0]
    assert len([patch for patch in ax.patches if patch.get_hatch()]) == 1
    assert "a: 1 cannot run, unsupported: no local memory." in words(figure).replace("\n", " ")
    laid_out(figure)


@pytest.mark.whole
def test_the_best_cell_is_framed(whole: Study) -> None:
    figure = gem_plots.factorial(whole)
    ax = figure.findobj(Axes)[0]
    frames = [p for p in ax.patches if isinstance(p, Rectangle) and not p.get_fill() and not p.get_hatch()]
    assert len(frames) == 2
    assert "best: MT + KS + RA + RP + atoms in LM, 4.05x" in words(figure)
    assert MODEL in {"#%02x%02x%02x".upper() % tuple(int(255 * c + 0.5) for c in f.get_edgecolor()[:3]) for f in frames}


def test_the_factorials_other_levels_are_those_of_most_cells(whole: Study) -> None:
    rows = [*whole.rows, *pairs({"FORM": 1, "SPECIALIZED": 1}), *pairs({"FORM": 1, "VERTEX": 1, "SPECIALIZED": 1})]
    assert "616 combinations" in words(gem_plots.factorial(Study(rows)))


def test_what_was_not_asked_for_stays_empty(study: Study) -> None:
    assert "not asked for" in words(gem_plots.factorial(study)).replace("\n", " ")


# ---------------------------------------------------------------- stacking


def test_stacking_compares_pairs_with_their_products(whole: Study) -> None:
    stacks = {stack.names: stack for stack in gem_plots.stacking(whole)}
    both = stacks["MT + KS"]
    assert both.product == pytest.approx(GAINS["LOCAL"] * GAINS["SPECIALIZED"])
    assert both.gain == pytest.approx(TOGETHER * both.product)
    assert 1 / both.share.mid == pytest.approx(TOGETHER, rel=1e-3)
    assert both.share.verdict == "SLOW"
    assert str(both).startswith("MT + KS: 1.77x together, 2.21x if gains multiplied: 80 % [80, 80], less than")
    assert "KS + VAVM4" in stacks
    assert not any(names.count("+") > 1 for names in stacks)
    shares = [stack.share.mid for stack in gem_plots.stacking(whole)]
    assert shares == sorted(shares, reverse=True)


def test_larger_sets_are_compared_when_asked_for(study: Study) -> None:
    assert [stack.names for stack in gem_plots.stacking(study, 3)] == ["KS + RP + VASM2", "KS + RP + IM"]


def test_without_blocks_there_is_no_verdict(study: Study) -> None:
    few = Study([r for r in study.rows if r["kind"] == "summary"])
    stack = next(stack for stack in gem_plots.stacking(few) if stack.names == "MT + KS")
    assert stack.share.verdict is None
    assert "80 %, undecided." in str(stack)


@pytest.mark.parametrize("of", [{"VERTEX": 1, "LOCAL": 0}, {"LOCAL": 0}, {}])
def test_rows_that_are_refused_a_verdict_give_none(of: dict[str, int]) -> None:
    """Both together, one alone or the basic kernel, on a busy machine."""
    why = "other programs wanted 3.0 times the processor's cores"
    changed: list[dict[str, int]] = [{"LOCAL": 0}, {"VERTEX": 1}, {"LOCAL": 0, "VERTEX": 1}]
    together = [*pairs({}, "paper:basic"), *chain.from_iterable(map(pairs, changed))]
    busy = [r | {"refused": why} if r["params"] == BASIC | of and r["kind"] == "summary" else r for r in together]
    (sure,), (share,) = gem_plots.stacking(Study(together)), [one.share for one in gem_plots.stacking(Study(busy))]
    assert (sure.share.verdict, sure.share.refused) == ("SLOW", None)
    assert (share.verdict, share.refused) == ("AMBIGUOUS", why)
    assert (share.mid, share.lo, share.hi) == (sure.share.mid, sure.share.lo, sure.share.hi)
    assert "undecided." in str(gem_plots.stacking(Study(busy))[0])


# ---------------------------------------------------------------- a surface


@pytest.fixture(scope="module")
def molecule() -> Molecule:
    return Molecule(np.zeros((1, 3)), np.ones(1), np.ones(1))


POINTS = fibonacci_sphere(500) * (4.0, 3.0, 2.0)


@pytest.mark.parametrize("normals", [None, POINTS])
def test_points_are_disks_from_three_sides(molecule: Molecule, normals: np.ndarray | None) -> None:
    figure = gem_plots.surface(molecule, Surface(POINTS, normals), POINTS[:, 0])
    sides = [ax for ax in figure.findobj(Axes) if ax.findobj(EllipseCollection)]
    assert len(sides) == 3
    for ax in sides:
        (disks,) = ax.findobj(EllipseCollection)
        assert 0.8 * 500 < len(disks.get_offsets()) < 1.3 * 500  # half look away, and each is drawn twice
    said = words(figure)
    assert re.search(r"min -3\.99, mean -?0\.00, max 3\.99 kcal/\(mol e\)", said)
    assert "1 atoms, +1 e; 500 points of their surface" in said
    laid_out(figure)


def test_colours_are_symmetric_about_zero(molecule: Molecule) -> None:
    figure = gem_plots.surface(molecule, Surface(POINTS), np.abs(POINTS[:, 0]), limit=2.5)
    bar = next(ax for ax in figure.findobj(Axes) if ax.get_xlabel() == "potential, kcal/(mol e)")
    assert bar.get_xlim() == (-2.5, 2.5)


@pytest.mark.parametrize("limit", [0.0, -1.0, float("nan"), float("inf")])
def test_colours_end_somewhere(molecule: Molecule, limit: float) -> None:
    with pytest.raises(ParameterError, match=r"^limit: .* give a positive one"):
        gem_plots.surface(molecule, Surface(POINTS), POINTS[:, 0], limit=limit)


def test_faces_are_triangles(molecule: Molecule) -> None:
    corners = np.array([[1.0, 0, 0], [-1, 0, 0], [0, 1, 0], [0, -1, 0], [0, 0, 1], [0, 0, -1]])
    faces = np.array([[a, b, c] for a in (0, 1) for b in (2, 3) for c in (4, 5)])
    figure = gem_plots.surface(molecule, Surface(corners, faces=faces), np.arange(6.0))
    triangles = figure.findobj(PolyCollection)
    assert [len(found.get_paths()) for found in triangles if not isinstance(found, EllipseCollection)][:3] == [8, 8, 8]
    assert not figure.findobj(EllipseCollection)


def test_of_many_points_a_part_is_drawn(molecule: Molecule, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gem_surface, "DRAWN", 100)
    assert "500 points of their surface, 100 of them drawn" in words(
        gem_plots.surface(molecule, Surface(POINTS), POINTS[:, 2])
    )


def test_a_flat_potential_is_still_a_picture(molecule: Molecule) -> None:
    assert "max 0 kcal/(mol e)" in words(gem_plots.surface(molecule, Surface(POINTS), np.zeros(500)))


@pytest.mark.parametrize("extent", [0.0, 1e-9, 1e-3, 0.015, 0.1])
@pytest.mark.parametrize("faces", [None, [[0, 1, 2]]])
def test_a_surface_of_hardly_any_extent_is_still_a_picture(
    molecule: Molecule, extent: float, faces: list[list[int]] | None
) -> None:
    points = extent * np.eye(3) if faces or extent else np.ones((1, 3))
    figure = gem_plots.surface(molecule, Surface(points, faces=faces and np.array(faces)), np.ones(len(points)))
    laid_out(figure)
    assert any(text.endswith(" Å") for text in words(figure).splitlines()), words(figure)


def test_potentials_must_fit_the_points(molecule: Molecule) -> None:
    with pytest.raises(ArrayError, match="phi"):
        gem_plots.surface(molecule, Surface(POINTS), np.zeros(3))


# ---------------------------------------------------------------- files


@pytest.mark.whole
def test_save_writes_what_the_rows_are_enough_for(study: Study, whole: Study, tmp_path: Path) -> None:
    assert [path.name for path in gem_plots.save(study, tmp_path / "few")] == ["optimizations.png"]
    paths = gem_plots.save(whole, tmp_path / "deep" / "er")
    assert [path.name for path in paths] == ["optimizations.png", "factorial.png", "ways.png", "ways.txt"]
    assert all(path.read_bytes().startswith(b"\x89PNG") for path in paths[:3])
    assert paths[3].read_text(encoding="utf-8") == f"{gem_plots.replay(whole)}\n"
    several = [r for r in whole.rows if "UNROLL" not in r["params"] or r["params"]["UNROLL"] == 1]
    assert [path.name for path in gem_plots.save(Study(several), tmp_path / "several")] == [
        "optimizations.png",
        "factorial.png",
    ]


def test_pyplot_is_not_imported() -> None:
    code = "import sys; from gpuopt.lab import gem_plots; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)
