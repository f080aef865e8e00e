"""The pictures of transposed products: lines show the rows' own bandwidths."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes

from dense_rows import SIZES, lines, several
from gpuopt import ParameterError
from gpuopt.lab import Study, tmv_plots
from gpuopt.lab.rows.groups import BESIDE
from study_rows import Row, timed


def test_bandwidths() -> None:
    (ax,) = tmv_plots.bandwidths(several("tmv")).findobj(Axes)
    found = lines(ax)
    x, rates = found["best"]
    np.testing.assert_allclose(x, [4 * n * n * 1e-6 for n in SIZES])
    np.testing.assert_allclose(rates, [4 * n * n / 0.1 * 1e-6 for n in SIZES])
    assert "columns shared, 64 x 4" in found


def test_the_read_bandwidth_is_that_of_reads() -> None:
    """Of the first size both kinds of reads, of the second a copy alone, of the third nothing."""
    study = several("tmv")
    first, second, _ = study.groups()
    rates = {"read": 30.0, "read_chunks": 33.0, "copy_chunks": 41.0}

    def ceiling(beside: Row, name: str) -> Row:
        made = timed("summary", name, 1.0, role="ceiling", gb_s=rates[name])
        return made | {key: beside[key] for key in BESIDE}

    def drawn(*ceilings: Row) -> list[tuple[float, float]]:
        (ax,) = tmv_plots.bandwidths(Study([*study.rows, *ceilings])).findobj(Axes)
        found = [line for line in ax.lines if line.get_label() == "read bandwidth"]
        return [(float(x), float(y)) for line in found for x, y in zip(*line.get_data(), strict=True)]

    copied = [ceiling(group.first, "copy_chunks") for group in (first, second)]
    x = first.first["footprint_bytes"] * 1e-6
    assert drawn(*copied, *(ceiling(first.first, name) for name in ("read", "read_chunks"))) == [(x, 33.0)]
    assert drawn(*copied) == []


OTHERS = {
    "unit": "unit b", "platform": "Portable Computing Language", "driver": "581", "device": "NVIDIA H100",
    "dtype": "float64", "cache_state": "cold", "protocol": "full",
}  # fmt: skip


@pytest.mark.parametrize("name", OTHERS)
@pytest.mark.parametrize("draw", [tmv_plots.bandwidths, tmv_plots.speedups, tmv_plots.gains])
def test_a_line_is_of_one_device_and_of_one_measurement_of_each_problem(draw: Any, name: str) -> None:
    one = [row | {"unit": "unit a"} for row in several("tmv").rows]
    says = f"{one[0]['problem']} with {name} " if name in ("cache_state", "protocol") else "2 devices or dtypes; make"
    with pytest.raises(ParameterError, match=f"^study: rows of {says}"):
        draw(Study([*one, *(row | {name: OTHERS[name]} for row in one)]))
    assert draw(Study(one))


def test_earlier_rows_without_a_unit_are_of_any() -> None:
    """Of another problem; of the same one they are another point at its size."""
    rows = several("tmv").rows
    smallest = [row for row in rows if row["problem"] == rows[0]["problem"]]
    told = [row | {"unit": "unit a"} for row in smallest]
    assert tmv_plots.bandwidths(Study([*told, *(row for row in rows if row not in smallest)]))
    with pytest.raises(ParameterError, match=r"^study: rows of tmv_64x64 with unit unit a and unknown; make a Study"):
        tmv_plots.bandwidths(Study([*told, *rows]))


def test_speedups() -> None:
    (ax,) = tmv_plots.speedups(several("tmv")).findobj(Axes)
    found = lines(ax)
    assert list(found) == ["float2", "columns shared, 32 x 8", "both, 32 x 8", "columns shared, 64 x 4", "both, 64 x 4"]
    for number, (x, gains) in enumerate(found.values()):
        np.testing.assert_allclose(x, [4 * n * n * 1e-6 * 1.02**number for n in SIZES])
        np.testing.assert_allclose(gains, 2 + number)  # each made-up step is faster than the one before


def test_without_the_first_step_there_are_no_speedups(tmp_path: Path) -> None:
    study = Study([row for row in several("tmv").rows if row["preset"] != "paper:naive"])
    with pytest.raises(ValueError, match="the naive step did not run"):
        tmv_plots.speedups(study)
    assert [path.name for path in tmv_plots.save(study, tmp_path)] == ["bandwidths.png"]


def test_files(tmp_path: Path) -> None:
    paths = tmv_plots.save(several("tmv"), tmp_path)
    assert [path.name for path in paths] == ["gains.png", "bandwidths.png", "speedups.png"]
    assert min(path.stat().st_size for path in paths) > 5000
