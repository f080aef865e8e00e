"""The pictures of dense products: bars and lines show the rows' own numbers, and the papers' beside them."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest

from study_rows import row

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes
from matplotlib.legend import Legend

from dense_rows import SIZES, lines, several, step_rows
from figures import bars, words
from gpuopt import papers
from gpuopt.lab import gemm_plots
from gpuopt.lab.report import Study
from gpuopt.lab.rows.table import TERA


def test_gains_are_over_each_papers_own_first_step() -> None:
    figure = gemm_plots.gains(several())
    steps = list(papers.steps("gemm"))
    for ax, paper in zip(figure.findobj(Axes), papers.of("gemm"), strict=True):
        first = 1 + steps.index(paper.steps[0].preset)
        shown = sorted(bar.get_width() + 1 for bar in bars(ax))
        expected = sorted((1 + steps.index(s.preset)) / first for s in paper.steps[1:] for _ in SIZES)
        np.testing.assert_allclose(shown, expected)
    told = words(figure)
    for word in (
        "4.78",
        "1.051 to 1.1",
        "1.12, up to 1.13",
        "naive for Jang et al. 2009",
        "16 x 16 for Yang et al. 2012",
    ):
        assert word in told
    (legend,) = figure.findobj(Legend)
    assert [text.get_text() for text in legend.get_texts()][:3] == ["256", "128", "64"]


def test_gains_of_one_size_and_of_the_transposed_product() -> None:
    one = Study(step_rows("gemm", {"M": 8, "N": 9, "K": 10}))
    assert "8 x 9 x 10" in words(gemm_plots.gains(one))
    figure = gemm_plots.gains(several("tmv"))
    (ax,) = figure.findobj(Axes)
    assert len(bars(ax)) == 5 * len(SIZES)
    assert "2.5 to 3.8" in words(figure)


def test_a_failed_step_keeps_its_place() -> None:
    made = [r for r in step_rows("gemm", {"M": 8, "N": 8, "K": 8}) if r["preset"] != "paper:constant"]
    facts = {name: made[0][name] for name in ("workload", "problem", "sizes", "footprint_bytes")}
    facts |= {"preset": "paper:constant", "status": "unsupported", "reason": "no constant memory"}
    made.append(row("summary", "constant", **facts))
    assert "unsupported: no constant memory" in words(gemm_plots.gains(Study(made)))


def test_rates_over_work_items_and_sizes() -> None:
    left, textures, right = gemm_plots.sizes(several()).findobj(Axes)
    assert next(iter(lines(textures))) == "naive, textures"
    ladder = lines(left)
    assert next(iter(ladder)) == "naive"
    assert len(ladder) == 7
    x, rates = ladder["unrolled 4 times"]
    np.testing.assert_allclose(x, [n * (4 + 2) for n in SIZES])
    np.testing.assert_allclose(rates, [2 * n**3 / (8 / 3) * 1e-6 for n in SIZES])
    assert left.get_ylabel() == "GFLOP/s"
    contest = lines(right)
    assert set(contest) == {"the papers' best", "best", "a call", "NumPy"}
    x, rates = contest["best"]
    np.testing.assert_allclose(x, SIZES)
    np.testing.assert_allclose(rates, [2 * n**3 / 0.1 * 1e-6 for n in SIZES])


def test_great_rates_are_told_in_tflop_s() -> None:
    speed = TERA / (2 * SIZES[-1] ** 3 / 0.1 * 1e-6) * 1.5
    left, *_, right = gemm_plots.sizes(several(speed=speed)).findobj(Axes)
    assert left.get_ylabel() == "TFLOP/s"
    assert max(lines(right)["best"][1]) == pytest.approx(15)


def at_one_rate(first: int) -> Study:
    """Rows whose rates no longer rise from the size of this number on."""
    times = [max(8.0, SIZES[i] ** 3 / SIZES[first] ** 3 * 8) for i in range(len(SIZES))]
    made = [step_rows("gemm", dict.fromkeys("MNK", n), 8 / t) for n, t in zip(SIZES, times, strict=True)]
    return Study(chain.from_iterable(made))


@pytest.mark.parametrize(("first", "items"), [(0, SIZES[0] * 4), (1, SIZES[1] * 4), (2, None)])
def test_where_rates_saturate(first: int, items: int | None) -> None:
    study = at_one_rate(first)
    found = gemm_plots.saturations(study)
    assert found["paper:naive"] == items
    assert len(found) == 14
    figure = gemm_plots.sizes(study)
    left = figure.findobj(Axes)[0]
    rings = [line for line in left.lines if line.get_markersize() == 11]
    assert len(rings) == (7 if items else 0)
    assert (f"naive at {items}," if items else "naive still rises,") in words(figure)
    if rings:
        np.testing.assert_allclose(np.ravel(rings[0].get_data()), [items, lines(left)["naive"][1][first]])
    assert gemm_plots.saturations(Study(step_rows("gemm", {"M": 8, "N": 8, "K": 8}))) == {}


def with_loop(study: Study) -> Study:
    """The same with NumPy's rows as the serial loop's, and a call of the first step."""
    named = {"NumPy": gemm_plots.SERIAL_LOOP, "a call": "gpuopt.gemm(A, B, variant='paper:naive')"}
    made = []
    for given in study.rows:
        name = named.get(str(given["variant"]))
        made.append(given | {"variant": name, "configuration": name} if name else given)
    return Study(made)


def test_steps_over_a_cpu() -> None:
    figure = gemm_plots.over_cpu(with_loop(several()))
    (ax,) = figure.findobj(Axes)
    names = [text.get_text() for text in ax.get_yticklabels()]
    assert len(names) == 16
    assert names[-2:] == ["naive, whole call", "multiple output (8 x float4), whole call"]
    assert {"64", "128", "256"} <= {str(line.get_label()) for line in ax.lines}
    diamonds = [line.get_xdata()[0] for line in ax.lines if line.get_marker() == "D" and len(line.get_xdata())]
    steps = papers.load("gemm", "jang2009").steps
    assert {step.figures["speedup_over_cpu"] for step in steps} <= set(diamonds)
    # The loop takes 0.2 ms, naive 8, its whole call 0.5.
    points = [np.ravel(container.lines[0].get_data()).tolist() for container in ax.containers]
    assert pytest.approx([0.2 / 8, 0]) in points
    assert pytest.approx([0.2 / 0.5, 14]) in points
    with pytest.raises(ValueError, match="was not timed"):
        gemm_plots.over_cpu(several())


def test_rates_over_the_width_of_b() -> None:
    wide = [step_rows("gemm", {"M": 64, "N": n, "K": 32}) for n in (128, 512, 2048)]
    study = Study(chain(step_rows("gemm", {"M": 32, "N": 32, "K": 32}), *wide))
    drawn = lines(gemm_plots.widths(study).findobj(Axes)[0])
    assert list(drawn) == ["constant memory, 16 x 128", "constant memory, two queues", "NumPy"]
    x, rates = drawn["NumPy"]
    np.testing.assert_allclose(x, [128, 512, 2048])
    np.testing.assert_allclose(rates, [2 * 64 * n * 32 / 0.2 * 1e-6 for n in (128, 512, 2048)])
    with pytest.raises(ValueError, match="width of B alone"):
        gemm_plots.widths(several())


def test_unrolling_by_size() -> None:
    (ax,) = gemm_plots.unrolling(several()).findobj(Axes)
    found = lines(ax)
    assert list(found) == ["unrolled 4 times", "unrolled 8 times", "unrolled 16 times"]
    np.testing.assert_allclose(found["unrolled 8 times"][1], [4.0] * len(SIZES))
    papers_own = [
        line.get_ydata()[0] for line in ax.lines if line.get_marker() == "D" and list(line.get_xdata()) == [3072]
    ]
    assert papers_own == [1.05, 1.09, 1.07]


@pytest.mark.whole
def test_files(tmp_path: Path) -> None:
    def names(paths: list[Path]) -> list[str]:
        assert all(path.stat().st_size > 5000 for path in paths)
        return [path.name for path in paths]

    assert names(gemm_plots.save(several(), tmp_path / "new")) == ["gains.png", "sizes.png", "unrolling.png"]
    varied = Study(chain(*(step_rows("gemm", {"M": 8, "N": n, "K": 8}) for n in (8, 16))))
    expected = ["gains.png", "over_cpu.png", "sizes.png", "unrolling.png", "widths.png"]
    assert names(gemm_plots.save(with_loop(varied), tmp_path / "more")) == expected
    one = step_rows("gemm", {"M": 8, "N": 8, "K": 8})
    assert names(gemm_plots.save(Study(one), tmp_path)) == ["gains.png"]
    ours = [r for r in one if not r["preset"]]
    assert names(gemm_plots.save(Study(ours), tmp_path)) == []


def test_rows_of_two_devices_are_refused() -> None:
    made = step_rows("gemm", {"M": 8, "N": 8, "K": 8})
    other = [r | {"device": "another"} for r in made]
    for draw in (gemm_plots.gains, gemm_plots.sizes, gemm_plots.unrolling):
        with pytest.raises(ValueError, match="2 devices"):
            draw(Study([*made, *other]))
        with pytest.raises(ValueError, match="no rows"):
            draw(Study([]))
