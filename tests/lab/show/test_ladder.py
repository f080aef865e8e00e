"""The ladder picture: everything is in it, nothing lies on anything else, and no pyplot is needed."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

import study_rows
from study_rows import row, timed

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import bars, keys, outside, overlaps, struck, texts, words
from gpuopt import ParameterError
from gpuopt.lab.report import Study
from gpuopt.lab.show import ladder, style

LONG = "register_tile_with_a_rather_long_name(TILE_M=128, TILE_N=128, WORK_M=8, WORK_N=8, VECTOR=16)"


@pytest.fixture
def study() -> Study:
    return Study(study_rows.rows(), study_rows.INFO)


@pytest.fixture
def crowded() -> Study:
    extra = [
        timed("summary", LONG.partition("(")[0], 4.1, configuration=LONG, params={"TILE_M": 128}),
        timed("summary", "near_bound", 4.4, noise=0.08),
        timed("summary", "tiny", 400.0),
        timed("summary", "bare", 12.0, ci_lo_ms=None, ci_hi_ms=None, bound_ms=None, pct_bound=None),
        row("summary", "broken", status="compile", reason="kernels/spmv/broken.cl:37: error: " + "no such name " * 20),
        timed("summary", "cuSPARSE CSR (cupyx.scipy.sparse.csr_matrix @ x)", 30.0, role="peer", pct_bound=None),
    ]
    return Study([*study_rows.rows(), *extra])


@pytest.fixture
def many(full: Study) -> Study:
    """25 bars and more, with caches that carry some of them far beyond the bound without caches."""
    extra = []
    for number in range(20):
        params = {"HALF": number % 2, "ITEMS": 8, "LOAD": 0, "SLICE": 64 * 4 ** (number % 5), "TILE_X": 64, "UNROLL": 9}
        inside = ", ".join(f"{name}={level}" for name, level in params.items())
        name, time = f"symmetric_sliced_{number}", 4.3 + number
        extra.append(
            timed("summary", name, time, configuration=f"{name}({inside})", params=params, preset=None)
            | {"uncached_ms": 3.0 * number, "pct_uncached": 300.0 * number / time}
            | {"accuracy": "HALF=1" if number % 2 else ""}
        )
    return Study([*full.rows, *extra])


def test_every_row_has_its_place(study: Study) -> None:
    said = words(ladder.ladder(study))
    for name in ("basic", "vectorized", "image", "padded", "sliced", "SciPy dia_array"):
        assert name in said
    assert "unsupported: needs images" in said
    assert "GFLOP/s" in said
    assert study_rows.DEVICE in said
    assert "2026-11-21" in said


def test_texts_do_not_overlap(study: Study, crowded: Study, full: Study, many: Study) -> None:
    for shown in (study, crowded, full, many):
        assert overlaps(ladder.ladder(shown)) == []


def test_texts_stay_inside_the_figure(crowded: Study, many: Study) -> None:
    for figure in map(ladder.ladder, (crowded, many)):
        assert outside(figure) == []


def stairs(ax: Axes) -> list[tuple[list[float], list[float]]]:
    lines = [line for line in ax.lines if line.get_color() == style.MODEL]
    return [(list(line.get_xdata()), list(line.get_ydata())) for line in lines]


def test_the_bound_without_caches_moves_from_bar_to_bar(full: Study) -> None:
    left = ladder.ladder(full).findobj(Axes)[0]
    rates = {r["variant"]: r["flops"] / r["uncached_ms"] * 1e-6 for r in full.summary if r.get("uncached_ms")}
    first, second, third = stairs(left)  # broken by the failed step, and between the sections
    assert first[0] == pytest.approx([rates["basic"]] * 2 + [rates["vectorized"]] * 2)
    assert first[1] == pytest.approx([-0.5, 0.5, 0.5, 1.5])
    assert second[0] == pytest.approx([rates["padded"]] * 2 + [rates["sliced"]] * 2)
    assert third[0] == pytest.approx([rates["sliced_half"]] * 2)
    said = words(ladder.ladder(full))
    assert "bound if there were no cache" in said
    assert "bound: the most this device allows" in said


def test_old_rows_have_no_stairs(study: Study) -> None:
    assert stairs(ladder.ladder(study).findobj(Axes)[0]) == []
    assert "no cache" not in words(ladder.ladder(study))


def test_values_stand_clear_of_both_bounds(full: Study, many: Study) -> None:
    for shown in (full, many):
        figure = ladder.ladder(shown)
        drawn = texts(figure)  # draws the figure, so that extents are known
        ax = figure.findobj(Axes)[0]
        boxes = [t.get_window_extent() for t in drawn if t.axes is ax and t.get_text().replace(".", "").isdigit()]
        boxes = [box for box in boxes if box.y0 > ax.bbox.y0]
        faces = [bar.get_window_extent() for bar in bars(ax)]  # what lies behind a bar does not strike its rate
        assert len(boxes) >= len([r for r in shown.summary if r["status"] == "ok"])
        for xs, ys in stairs(ax):
            for x, low, high in zip(xs[::2], ys[::2], ys[1::2], strict=True):
                (at, top), (_, bottom) = ax.transData.transform([(x, low), (x, high)])
                crossed = [b for b in boxes if b.x0 < at < b.x1 and bottom < (b.y0 + b.y1) / 2 < top]
                assert [b for b in crossed if not any(face.x1 > at and face.overlaps(b) for face in faces)] == []


def test_a_share_far_beyond_the_axis_is_an_arrow_with_its_number(many: Study) -> None:
    figure = ladder.ladder(many)
    right = figure.findobj(Axes)[1]
    arrows = [line.get_xdata()[0] for line in right.lines if line.get_marker() == ">"]
    far = [r for r in many.summary if (r.get("pct_uncached") or 0) > ladder.FARTHEST]
    assert arrows == [ladder.FARTHEST] * len(far)
    assert len(far) > 1
    assert f"{far[0]['pct_uncached']:.0f}" in words(figure).split("\n")


def test_rows_have_the_names_of_the_table(many: Study) -> None:
    twins = [
        timed("summary", "twin", 30.0 + n, configuration=f"twin(LOCAL=64, ROWS={n})", params={"LOCAL": 64, "ROWS": n})
        for n in (1, 2)
    ]
    study = Study([*many.rows, *twins])
    (group,) = study.groups()
    left = ladder.ladder(study).findobj(Axes)[0]
    names = [label.get_text().replace("\n", "") for label in left.get_yticklabels()]
    table = [group.label(row) for row in group.rows]
    assert {name.replace(" ", "") for name in names} == {name.replace(" ", "") for name in table}
    assert "twin(ROWS=2)" in names


def test_rows_of_a_long_table_keep_its_names() -> None:
    """The rows that are left out told the others from themselves."""
    every = [{"FIRST": n % 8, "SECOND": n // 8} for n in range(60)]
    rows = [timed("summary", "twin", 4.0 + n, configuration=f"twin {n}", params=p) for n, p in enumerate(every)]
    study = Study(rows)
    left = ladder.ladder(study).findobj(Axes)[0]
    (group,) = study.groups()
    names = [label.get_text().replace("\n", "") for label in left.get_yticklabels()]
    assert names == [group.label(row) for row in group.rows[:8]] == [f"twin(FIRST={n}, SECOND=0)" for n in range(8)]


def test_nothing_strikes_through_a_bar(study: Study, full: Study, many: Study) -> None:
    over = timed("summary", "over", 2.0, bound_ms=3.0, uncached_ms=5.0, pct_uncached=250.0, pct_bound=150.0)
    for shown in (study, full, many, Study([*full.rows, over])):
        assert struck(ladder.ladder(shown)) == []


def test_arrows_stand_in_the_legend(many: Study, study: Study) -> None:
    far = timed("summary", "far", 3.0, bound_ms=0.001)
    found = keys(ladder.ladder(Study([*many.rows, far])))
    assert found["bound beyond the axis"] == ">"
    assert found["no-cache share beyond the axis"] == ">"
    assert ">" not in keys(ladder.ladder(study)).values()


WIDE = {"driver": "GMWX " * 60, "problem": "WIDE_PROBLEM_OF_MANY_MEGABYTES " * 5}


def test_wide_titles_and_captions_are_broken_where_they_end(full: Study) -> None:
    wide = Study([row | WIDE for row in full.rows])
    figure = ladder.ladder(wide)
    assert outside(figure) == []
    assert overlaps(figure) == []
    assert words(figure).replace("\n", " ").count("GMWX") == 60


def test_bars_and_bounds_have_the_rows_values(study: Study) -> None:
    left, right = ladder.ladder(study).findobj(Axes)[:2]
    assert [bar.get_width() for bar in left.patches] == pytest.approx(
        [r["gflop_s"] for r in study.summary if r["status"] == "ok"]
    )
    bounds = {round(r["flops"] / r["bound_ms"] / 1e6, 6) for r in study.summary if r.get("bound_ms")}
    ticks = {round(float(path.vertices[0, 0]), 6) for c in left.collections for path in c.get_paths()}
    assert bounds <= ticks
    assert right.get_xlabel() == "percent of its own bound"


def test_a_bound_far_beyond_the_fastest_is_an_arrow() -> None:
    rows = [timed("summary", name, ms, bound_ms=bound) for name, ms, bound in (("a", 4.0, 3.0), ("b", 2.0, 0.01))]
    study = Study(rows)
    figure = ladder.ladder(study)
    ax = figure.findobj(Axes)[0]
    limit = ax.get_xlim()[1]
    rate = ladder._metric(study.rows).value
    rows = study.rows
    assert rate(rows[1]) < limit < 3 * rate(rows[1])
    (arrow,) = [line for line in ax.lines if line.get_marker() == ">"]
    assert rate(rows[1]) < arrow.get_xdata()[0] < limit


def test_the_papers_share_is_drawn_even_where_the_step_failed_here(study: Study) -> None:
    right = ladder.ladder(study).findobj(Axes)[1]
    hollow = [line.get_xdata()[0] for line in right.lines if line.get_marker() == "D"]
    assert {51, 86} <= set(hollow)


def test_no_panel_of_shares_where_neither_the_profile_nor_the_paper_has_one() -> None:
    steps = {"basic": 38.0, "max_threads": 31.0}  # of a paper that prints speed-ups alone
    made = [
        timed("summary", "pairs", ms, workload="gem", preset=f"paper:{name}", configuration=name, profile=None)
        for name, ms in steps.items()
    ]
    assert len(ladder.ladder(Study(made)).findobj(Axes)) == 1
    measured = [each | {"profile": "2026-11-21"} for each in made]
    assert len(ladder.ladder(Study(measured)).findobj(Axes)) == 2


def test_without_flops_the_bars_are_bytes_then_runs(study: Study) -> None:
    no_flops = Study([r | {"flops": None, "gflop_s": None} for r in study.rows])
    assert "GB/s" in words(ladder.ladder(no_flops))
    nothing = Study([r | {"gflop_s": None, "gb_s": None} for r in study.rows])
    assert "runs a second" in words(ladder.ladder(nothing))


def test_several_devices_stand_under_each_other(study: Study) -> None:
    both = Study([*study.rows, *[r | {"device": "NVIDIA H200"} for r in study.rows]])
    figure = ladder.ladder(both)
    said = words(figure)
    assert "NVIDIA H200" in said
    assert study_rows.DEVICE in said
    with pytest.raises(ValueError, match="2 groups"):
        ladder.ladder(both, ax=Figure().subplots())


def test_one_axes_may_be_given(study: Study) -> None:
    figure = Figure(figsize=(7, 4), layout="constrained")
    ax = figure.subplots()
    assert ladder.ladder(study, ax=ax) is figure
    assert ax.get_xlabel().startswith("GFLOP/s")
    assert len(figure.axes) == 1


def test_what_is_no_axes_is_refused(study: Study) -> None:
    with pytest.raises(ParameterError, match=r"^ax: it is 3; give an Axes"):
        ladder.ladder(study, ax=3)


def test_all_failed_is_still_a_picture() -> None:
    study = Study(
        [row("summary", "a", status="compile", reason="no"), row("summary", "b", status="wrong", reason="so")]
    )
    said = words(ladder.ladder(study))
    assert "compile: no" in said
    assert "wrong: so" in said


def test_no_rows_is_an_error() -> None:
    with pytest.raises(ValueError, match="no rows to draw"):
        ladder.ladder(Study([]))


def test_save_plots_writes_a_png(study: Study, tmp_path: Path) -> None:
    (path,) = study.save_plots(tmp_path / "deep" / "er")
    assert path.name == "ladder.png"
    assert path.read_bytes().startswith(b"\x89PNG")
    picture = ladder.ladder(study)
    assert isinstance(picture, style.Picture)
    assert picture._repr_png_().startswith(b"\x89PNG")


def test_pyplot_is_not_imported() -> None:
    code = "import sys; from gpuopt.lab import plots; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True, timeout=120)


def test_a_picture_without_a_profile_or_verdicts_says_so(full: Study) -> None:
    rows = [row | {"profile": None, "refused": "it was busy"} for row in full.rows]
    said = words(ladder.ladder(Study(rows, full.problem_info)))
    assert "bound of its memory alone: it has no profile" in said
    assert "NO VERDICTS: it was busy" in said
    assert "share of the no-cache bound, here" not in said
