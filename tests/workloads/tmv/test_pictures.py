"""The pictures of transposed products: lines show the rows' own bandwidths."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes

from dense_rows import SIZES, lines, several
from gpuopt.lab import tmv_plots


def test_bandwidths() -> None:
    (ax,) = tmv_plots.bandwidths(several("tmv")).findobj(Axes)
    found = lines(ax)
    x, rates = found["best"]
    np.testing.assert_allclose(x, [4 * n * n * 1e-6 for n in SIZES])
    np.testing.assert_allclose(rates, [4 * n * n / 0.1 * 1e-6 for n in SIZES])
    assert "columns shared, 64 x 4" in found


def test_files(tmp_path: Path) -> None:
    paths = tmv_plots.save(several("tmv"), tmp_path)
    assert [path.name for path in paths] == ["gains.png", "bandwidths.png"]
    assert min(path.stat().st_size for path in paths) > 5000
