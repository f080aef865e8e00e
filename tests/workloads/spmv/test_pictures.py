"""The picture of diagonal products over sizes: a panel a step with its bounds, and the fastest of each kind."""

from __future__ import annotations

from itertools import chain
from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes

from dense_rows import lines, step_rows
from gpuopt import papers
from gpuopt.lab import Study, spmv_plots
from gpuopt.workloads.spmv.labels import LABELS

ROWS = (1000, 4000, 16000)


def made(device_type: str = "gpu") -> Study:
    """Rows of each preset at three sizes, as a device of that type names them, with both bounds."""
    other = "paper:cpu" if device_type == "gpu" else "paper:vectorized"
    found = chain.from_iterable(step_rows("spmv", {"rows": n, "diags": 81}) for n in ROWS)
    rows = [row for row in found if row["preset"] != other]
    return Study([r | {"bound_ms": r["median_ms"] / 2, "uncached_ms": r["median_ms"] * 4} for r in rows])


def panels(study: Study) -> list[Axes]:
    return [ax for ax in spmv_plots.sizes(study).findobj(Axes) if ax.get_visible()]


@pytest.mark.parametrize(("device_type", "mine"), [("gpu", "paper:vectorized"), ("cpu", "paper:cpu")])
def test_each_step_has_its_panel(device_type: str, mine: str) -> None:
    *steps, below = panels(made(device_type))
    titles = [ax.get_title(loc="left") for ax in steps]
    assert len(titles) == 6
    assert LABELS.steps.get(mine, "vectorized") in titles
    assert "image" in titles
    said = [text.get_text() for ax in steps for text in ax.texts]
    assert ("Phenom II X4: 2.9 of 10.6 GFLOP/s" in said) == (device_type == "cpu")
    assert ("HD 5870: 32.9 of 38.4 GFLOP/s" in said) == (device_type == "gpu")
    assert "no number in the article" in said
    assert list(lines(below)) == ["the article's best", "ours, the fastest", "a call", "NumPy"]


def test_curves_are_the_rows_rates_and_bounds() -> None:
    first = panels(made())[0]
    ((x, rates),) = lines(first).values()
    np.testing.assert_allclose(x, ROWS)
    flops = np.array([2.0 * 81 * n for n in ROWS])
    np.testing.assert_allclose(rates, flops / 8.0 * 1e-6)
    bounds = {line.get_linestyle(): line.get_ydata() for line in first.lines if line.get_linestyle() in ("--", ":")}
    np.testing.assert_allclose(np.array(bounds["--"], float), 2 * rates)
    np.testing.assert_allclose(np.array(bounds[":"], float), rates / 4)


def test_of_ours_alone_there_is_no_panel_above() -> None:
    study = made()
    (below,) = panels(Study([row for row in study.rows if not row["preset"]]))
    assert list(lines(below)) == ["ours, the fastest", "a call", "NumPy"]


def test_files(tmp_path: Path) -> None:
    assert [path.name for path in spmv_plots.save(made(), tmp_path)] == ["sizes.png"]
    one = Study([row for row in made().rows if row["sizes"]["rows"] == ROWS[0]])
    assert spmv_plots.save(one, tmp_path) == []


def test_every_step_of_the_article_is_named_apart() -> None:
    names = [LABELS.steps.get(step.preset, step.preset) for step in papers.load("spmv").steps]
    assert len(set(names)) == len(names)
