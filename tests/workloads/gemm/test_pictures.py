"""The pictures of dense products: bars and lines show the rows' own numbers, and the papers' beside them."""

from __future__ import annotations

from itertools import chain
from math import prod
from pathlib import Path

import numpy as np
import pytest

from study_rows import Row, row, timed

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer
from matplotlib.figure import Figure
from matplotlib.legend import Legend
from matplotlib.patches import Rectangle

from gpuopt import papers
from gpuopt.lab import gemm_plots, tmv_plots
from gpuopt.lab.report import Study
from gpuopt.lab.rows.table import TERA

BLOCKS = 10
SIZES = (64, 128, 256)


def step_rows(workload: str, sizes: dict[str, int], speed: float = 1.0) -> list[Row]:
    """A good row of each preset, one of ours, a call and a peer, each twice as fast as the one before."""
    problem = f"{workload}_{'x'.join(map(str, sizes.values()))}"
    facts: Row = {"workload": workload, "problem": problem, "sizes": sizes, "dtype": "float32", "role": "variant"}
    facts |= {"footprint_bytes": 4 * prod(sizes.values()), "flops": 2.0 * prod(sizes.values())}
    made: list[Row] = []
    base: dict[str, float] = {}

    def measured(time_ms: float, baseline: str, against: float, **values: object) -> None:
        name, ratio = str(values.pop("variant")), time_ms / against
        same = facts | {"baseline": baseline, "gflop_s": facts["flops"] / time_ms * 1e-6} | values
        for block in range(BLOCKS):
            made.append(timed("block", name, time_ms, **same, block=block, ratio=ratio))
        ends: Row = {"ratio": ratio, "ratio_lo": 0.9 * ratio, "ratio_hi": 1.1 * ratio, "verdict": "FAST"}
        made.append(timed("summary", name, time_ms, **same, **ends, blocks=BLOCKS))

    for number, step in enumerate(papers.steps(workload).values()):
        time_ms = 8.0 / (1 + number) / speed
        base.setdefault("first", time_ms)
        measured(
            time_ms, "naive", base["first"], variant=step.configuration.variant, preset=step.preset,
            params=step.configuration.parameters, configuration=str(step.configuration),
            global_size=[sizes[next(iter(sizes))], 4 + number, 1],
        )  # fmt: skip
    measured(
        0.1 / speed, "naive", base["first"], variant="best", configuration="best(N=1)", params={"N": 1}, global_size=[8]
    )
    measured(0.5 / speed, "naive", base["first"], variant="a call", configuration="a call", role="call")
    measured(0.2 / speed, "naive", base["first"], variant="NumPy", configuration="NumPy", role="peer")
    return made


def several(workload: str = "gemm", speed: float = 1.0) -> Study:
    names = ("M", "N", "K") if workload == "gemm" else ("rows", "cols")
    return Study(chain.from_iterable(step_rows(workload, dict.fromkeys(names, n), speed) for n in SIZES))


def bars(ax: Axes) -> list[Rectangle]:
    return [patch for patch in ax.patches if isinstance(patch, Rectangle)]


def texts(figure: Figure) -> str:
    figure.canvas.draw()
    return "\n".join(str(text.get_text()) for text in figure.findobj(lambda part: hasattr(part, "get_text")))


def lines(ax: Axes) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """What errorbar drew, by label."""
    drawn = [container for container in ax.containers if isinstance(container, ErrorbarContainer)]
    return {
        str(bar.get_label()): tuple(np.array(values, dtype=float) for values in bar.lines[0].get_data())  # type: ignore[misc]
        for bar in drawn
    }


def test_gains_are_over_each_papers_own_first_step() -> None:
    figure = gemm_plots.gains(several())
    jang, yang = figure.findobj(Axes)
    steps = list(papers.steps("gemm"))
    for ax, paper in ((jang, papers.load("gemm", "jang2009")), (yang, papers.load("gemm", "yang2012"))):
        first = 1 + steps.index(paper.steps[0].preset)
        shown = sorted(bar.get_width() + 1 for bar in bars(ax))
        expected = sorted((1 + steps.index(s.preset)) / first for s in paper.steps[1:] for _ in SIZES)
        np.testing.assert_allclose(shown, expected)
    told = texts(figure)
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
    assert "8 x 9 x 10" in texts(gemm_plots.gains(one))
    figure = gemm_plots.gains(several("tmv"))
    (ax,) = figure.findobj(Axes)
    assert len(bars(ax)) == 5 * len(SIZES)
    assert "2.5 to 3.8" in texts(figure)


def test_a_failed_step_keeps_its_place() -> None:
    made = [r for r in step_rows("gemm", {"M": 8, "N": 8, "K": 8}) if r["preset"] != "paper:constant"]
    facts = {name: made[0][name] for name in ("workload", "problem", "sizes", "footprint_bytes")}
    facts |= {"preset": "paper:constant", "status": "unsupported", "reason": "no constant memory"}
    made.append(row("summary", "constant", **facts))
    assert "unsupported: no constant memory" in texts(gemm_plots.gains(Study(made)))


def test_rates_over_work_items_and_sizes() -> None:
    left, right = gemm_plots.sizes(several()).findobj(Axes)
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
    left, right = gemm_plots.sizes(several(speed=speed)).findobj(Axes)
    assert left.get_ylabel() == "TFLOP/s"
    assert max(lines(right)["best"][1]) == pytest.approx(15)


def test_unrolling_by_size() -> None:
    (ax,) = gemm_plots.unrolling(several()).findobj(Axes)
    found = lines(ax)
    assert list(found) == ["unrolled 4 times", "unrolled 8 times", "unrolled 16 times"]
    np.testing.assert_allclose(found["unrolled 8 times"][1], [4.0] * len(SIZES))
    papers_own = [
        line.get_ydata()[0] for line in ax.lines if line.get_marker() == "D" and list(line.get_xdata()) == [3072]
    ]
    assert papers_own == [1.05, 1.09, 1.07]


def test_bandwidths() -> None:
    (ax,) = tmv_plots.bandwidths(several("tmv")).findobj(Axes)
    found = lines(ax)
    x, rates = found["best"]
    np.testing.assert_allclose(x, [4 * n * n * 1e-6 for n in SIZES])
    np.testing.assert_allclose(rates, [4 * n * n / 0.1 * 1e-6 for n in SIZES])
    assert "columns shared, 64 x 4" in found


def test_files(tmp_path: Path) -> None:
    def names(paths: list[Path]) -> list[str]:
        assert all(path.stat().st_size > 5000 for path in paths)
        return [path.name for path in paths]

    assert names(gemm_plots.save(several(), tmp_path / "new")) == ["gains.png", "sizes.png", "unrolling.png"]
    assert names(tmv_plots.save(several("tmv"), tmp_path)) == ["gains.png", "bandwidths.png"]
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
