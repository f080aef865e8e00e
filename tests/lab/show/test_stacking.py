"""Effects of factors and pairs, against numbers worked by hand and simulated studies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping

import numpy as np
import pytest

from gpuopt import ParameterError, lab
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.show.stacking import Stacking


def study(
    speedups: Mapping[tuple[int, ...], float], blocks: int = 12, noise: float = 0.001, seed: int = 0
) -> StudyRows:
    """Rows of a kernel with a parameter for each place of the key, off at 1 and on at 2."""
    random = np.random.default_rng(seed)
    rows = []
    for block in range(blocks):
        drift = math.exp(0.05 * random.standard_normal())
        for on, speed in speedups.items():
            params = {"ABCDEF"[place]: 1 + one for place, one in enumerate(on)}
            time = drift * math.exp(noise * random.standard_normal()) / speed
            row = {"kind": "block", "role": "variant", "status": "ok", "variant": "made", "params": params}
            rows.append(row | {"block": block, "median_ms": time, "configuration": str(params)})
    return StudyRows(rows, {"name": "made", "workload": "made"}, [])


GOLDEN = {(0, 0): 1.0, (1, 0): 1.3, (0, 1): 1.7, (1, 1): 1.8}


def test_the_gains_that_daga_2011_prints() -> None:
    """More threads 1.3, kernel splitting 1.7, both 1.8: they overlap."""
    found = lab.stacking(study(GOLDEN, noise=1e-6))
    effects = {effect.factors: effect for effect in found.effects}
    assert effects["A",].times == pytest.approx(1.1732, abs=1e-3)
    assert effects["B",].times == pytest.approx(1.5342, abs=1e-3)
    assert effects["A", "B"].times == pytest.approx(0.8145, abs=1e-3)
    assert effects["A", "B"].verdict == "less than the product"
    assert found.shares == pytest.approx({"A": 0.1598, "B": 0.4280}, abs=1e-3)
    assert found.together == pytest.approx(1.8, abs=1e-3)
    assert found.product == pytest.approx(2.21, abs=1e-2)
    assert found.left_out("A") == pytest.approx(1.8 / 1.7, abs=1e-3)
    assert found.climbs() == {1.0: 2}
    said = str(found)
    assert "A with B: 0.814x" in said
    assert "All together: 1.80x; if the gains of each alone multiplied: 2.21x." in said


def made_of(factors: int, pair: float, seed: int) -> Stacking:
    gains = [1.0, 1.2, 1.4, 1.0][:factors]
    cells = {}
    for on in itertools.product((0, 1), repeat=factors):
        speed = math.prod(gain for gain, one in zip(gains, on, strict=True) if one)
        cells[on] = speed * (pair if on[0] and on[1] else 1.0)
    return lab.stacking(study(cells, blocks=10, noise=0.02, seed=seed))


def test_what_does_nothing_is_undecided_and_what_multiplies_does_not_overlap() -> None:
    """Over 60 studies of four factors, one of which does nothing, and a pair that brings a fifth more."""
    false, seen, covered = 0, 0, 0
    for seed in range(60):
        effects = {effect.factors: effect for effect in made_of(4, 1.2, seed).effects}
        truths = {("C", "D"): 1.0, ("B", "C"): 1.0, ("D",): 1.0, ("A", "B"): 1.2}
        covered += sum(effects[term].lo <= truth <= effects[term].hi for term, truth in truths.items())
        false += any(effects[term].verdict != "undecided" for term, truth in truths.items() if truth == 1.0)
        seen += effects["A", "B"].verdict == "more than the product"
    assert false <= 6
    assert seen >= 54
    assert covered >= 0.9 * 240


def test_cells_that_are_missing_are_named() -> None:
    cells = {on: 1.0 + sum(on) for on in itertools.product((0, 1), repeat=3)}
    del cells[1, 1, 1], cells[1, 1, 0]
    found = lab.stacking(study(cells))
    assert len(found.missing) == 2
    assert ("A", "B") in found.unknown
    assert found.shares is None
    assert str(found).endswith("Not told, for cells are missing: A, B, A with B")


def test_hill_climbing_may_miss_the_best() -> None:
    found = lab.stacking(study({(0, 0): 1.0, (1, 0): 0.9, (0, 1): 0.9, (1, 1): 2.0}, noise=0))
    assert found.climbs() == {0.5: 2}


def test_the_base_may_be_named() -> None:
    found = lab.stacking(study(GOLDEN), base={"B": 2})
    assert found.alone("B") == pytest.approx(1 / 1.7, abs=1e-2)


@pytest.mark.parametrize(
    ("rows", "given", "says"),
    [
        (study(GOLDEN, blocks=2), {}, "2 blocks"),
        (study({(0, 0): 1.0}), {}, "no parameter has two levels"),
        (study({(0,): 1.0, (1,): 2.0, (2,): 3.0}), {}, "A has the levels"),
        (study({(1, 0): 1.0, (0, 1): 2.0, (1, 1): 2.0}), {"base": {"A": 1, "B": 1}}, "all parameters off"),
        (study(GOLDEN), {"variant": "other"}, "no blocks of 'other'"),
        (study(GOLDEN), {"base": {"Q": 1}}, "no parameter 'Q'"),
        (study(GOLDEN), {"base": {"A": 7}}, "A=7 was not measured"),
        (StudyRows([], {}, []), {}, "variant: the study has none"),
    ],
)
def test_a_study_that_does_not_tell(rows: StudyRows, given: dict, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        lab.stacking(rows, **given)
