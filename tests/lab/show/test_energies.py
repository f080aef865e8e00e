"""Energy as a person reads it: columns, what --explain says of it, and the picture."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

import study_rows

pytest.importorskip("matplotlib")

from figures import outside, overlaps, words
from gpuopt import ParameterError
from gpuopt.lab.report import Study
from gpuopt.lab.show import energy_picture

STEPS = {"basic": (21.7, 220.0), "vectorized": (9.4, 330.0), "sliced": (4.35, 610.0)}


@pytest.fixture
def measured() -> Study:
    return Study(study_rows.energy_rows(STEPS))


def test_a_study_without_energy_has_no_column_of_it(study: Study) -> None:
    assert "net" not in study.to_text(120).splitlines()[4]
    assert "GFLOP/J" not in study.to_text(120)
    assert "energy" not in study.explain(120)


def test_net_joules_and_work_per_joule_stand_in_the_table(measured: Study) -> None:
    text = measured.to_text(120)
    assert "net J" in text
    assert "GFLOP/J" in text
    line = next(line for line in text.splitlines() if line.strip().startswith("basic"))
    net = 21.7e-3 * (220 * 1.002 - 80)
    assert f"{net:.2f}" in line
    assert f"{0.0416 / net:.4f}" in line


@pytest.mark.parametrize("width", [60, 80, 110, 120])
def test_the_table_fits_with_energy(measured: Study, width: int) -> None:
    assert max(map(len, measured.to_text(width).splitlines())) <= width


def test_small_energies_are_told_in_millijoules() -> None:
    study = Study(study_rows.energy_rows({"basic": (0.02, 220.0)}))
    assert "net mJ" in study.to_text(120)


def test_the_explanation_names_source_coverage_idle_and_agreement(measured: Study) -> None:
    text = " ".join(measured.explain(120).split())
    assert "NVML's counter of the GPU's board" in text
    assert "its sensor samples 25 % of the time" in text
    assert "net is without the 80.0 W of the idle device" in text
    assert "two loops each, at most 0.6 % apart" in text
    assert "the integrated instant power is within 0.8 % of the counter" in text


def test_what_is_doubtful_is_marked_and_told() -> None:
    study = Study(study_rows.energy_rows({"basic": (21.7, 220.0)}, energy_note="its loops differ by 7.0 %"))
    assert "3.05 *" in study.to_text(120)
    assert "* remarks in --explain" in study.to_text(120)
    assert "* energy: basic (its loops differ by 7.0 %)" in study.explain(120)


def test_a_failed_measurement_leaves_its_reason_and_no_failure() -> None:
    rows = study_rows.energy_rows({"basic": (21.7, 220.0)})
    gone = {"status": "runtime", "reason": "the counter of nvml stood still for 2.0 s", "net_j": None, "gross_j": None}
    study = Study([rows[0], rows[1] | gone | {"gflop_j": None, "gb_j": None}])
    assert study.failures() == []
    assert "basic (the counter of nvml stood still for 2.0 s)" in study.explain(120)


def test_an_energy_of_another_environment_is_not_taken() -> None:
    rows = study_rows.energy_rows({"basic": (21.7, 220.0)}, env_hash="elsewhere")
    assert Study(rows).summary[0]["net_j"] is None


# ---------------------------------------------------------------- the picture


def test_the_front_is_what_nothing_is_better_than_in_both() -> None:
    points = [(3.0, 1.0), (1.0, 5.0), (2.0, 2.0), (2.5, 2.0), (4.0, 1.5), (1.0, 6.0)]
    assert energy_picture.front(points) == [(1.0, 5.0), (2.0, 2.0), (3.0, 1.0)]


@pytest.mark.parametrize("heights", [[0.5], [0.2, 0.2, 0.2], [0.0, 0.01, 0.9, 0.95, 1.0], [0.5] * 11])
def test_names_keep_apart_and_stay_beside_the_axes(heights: list[float]) -> None:
    places = energy_picture.spread_out(heights, 0.1)
    assert len(places) == len(heights)
    assert all(upper - lower >= 0.1 - 1e-9 for lower, upper in pairwise(places))
    assert min(places) >= 0
    assert max(places) <= 1 + 1e-9


@pytest.mark.parametrize("count", [1, 3, 30])
def test_the_picture_names_its_points(count: int) -> None:
    steps = {f"step_{number}": (3.0 + number % 7, 300.0 + 10 * number) for number in range(count)}
    figure = energy_picture.energy_plot(Study(study_rows.energy_rows(steps)))
    said = words(figure)
    assert "net" in said
    assert "step_0  3.00 ms" in said
    assert "NVML's counter of the GPU's board" in said
    assert ("have no name" in said) == (count == 30)
    assert overlaps(figure) == []
    assert outside(figure) == []


def test_a_study_without_energy_has_no_picture_of_it(study: Study) -> None:
    with pytest.raises(ParameterError, match="no energy of it was measured"):
        energy_picture.energy_plot(study)


def test_the_picture_says_what_takes_hardly_more_than_idling() -> None:
    """Watts beside 80 W of the idle device: below 1 % of the gross energy nothing is drawn."""
    steps = {"basic": (21.7, 220.0), "vectorized": (9.4, 80.2), "sliced": (4.35, 79.0), "padded": (15.0, 300.0)}
    figure = energy_picture.energy_plot(Study(study_rows.energy_rows(steps)))
    said = words(figure)
    assert (
        "Not drawn: 2 variants take hardly more power than the idle device; the fastest: sliced, 4.35 ms."
    ) in " ".join(said.split())
    assert "fastest drawn" in said
    assert overlaps(figure) == []
    assert outside(figure) == []
    whole = words(energy_picture.energy_plot(Study(study_rows.energy_rows(STEPS))))
    assert "no place" not in whole
    assert "fastest drawn" not in whole


def test_where_all_take_what_idling_takes_there_is_no_picture(tmp_path: Path) -> None:
    study = Study(study_rows.energy_rows({"basic": (21.7, 80.1), "sliced": (4.35, 79.0)}))
    with pytest.raises(ParameterError, match="study: 2 variants take hardly more power than the idle device; "):
        energy_picture.energy_plot(study)
    assert [path.name for path in study.save_plots(tmp_path)] == ["ladder.png"]


def test_pictures_of_a_study_with_energy_are_two(measured: Study, tmp_path: Path) -> None:
    assert [path.name for path in measured.save_plots(tmp_path)] == ["ladder.png", "energy.png"]
