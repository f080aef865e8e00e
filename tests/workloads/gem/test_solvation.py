"""The numbers of the model: constants, regions, and bad ones by name."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest

from gpuopt._core import ParameterError
from gpuopt.workloads.gem.solvation import Model


def test_constants_of_the_model() -> None:
    accurate = Model.of(size=7, salt=1, epsilon_out=78.5)
    assert (accurate.coulomb, accurate.size, accurate.ion_exclusion) == (332.06371, 7.0, 2.0)
    assert accurate.kappa == pytest.approx(0.3287, abs=5e-5)
    legacy = Model.of(size=7, salt=0.25, constants="legacy")
    assert (legacy.coulomb, legacy.kappa) == (332.0, 0.158)
    given = Model.of(size=7, salt=1, epsilon_out=78.5, constants={"coulomb": 332, "temperature": 310})
    assert given.coulomb == 332
    assert given.kappa == pytest.approx(accurate.kappa * math.sqrt(332 / 332.06371 * 298.15 / 310), rel=1e-12)
    assert Model.of(size=7, constants={"kappa": 0.1}).kappa == 0.1
    assert Model.of(size=7).kappa == 0
    assert not Model.of(size=7).compat
    assert Model.of(size=7, compat="opendwarfs").compat
    numbers = [getattr(Model.of(size=np.float32(7), epsilon_in=2), name) for name in ("size", "epsilon_in", "kappa")]
    assert [type(number) for number in numbers] == [float] * 3


def test_regions_end_at_the_size_and_where_the_ions_begin() -> None:
    model = Model.of(size=10, ion_exclusion=2)
    got = model.regions([0, 10, np.nextafter(10, 11), 12, np.nextafter(12, 13), 100])
    assert got.tolist() == [1, 1, 2, 2, 3, 3]
    assert Model.of(size=10, ion_exclusion=0).regions([10, 10.1]).tolist() == [1, 3]


@pytest.mark.parametrize(
    ("change", "word"),
    [
        ({"salt": -0.1}, "salt: -0.1"),
        ({"salt": math.nan}, "salt: nan"),
        ({"epsilon_in": 0}, "epsilon_in: 0"),
        ({"epsilon_out": -80}, "epsilon_out: -80"),
        ({"size": 0.0}, "size: 0.0"),
        ({"size": math.inf}, "size: inf"),
        ({"size": "12"}, "size: '12'"),
        ({"size": None}, "size: None"),
        ({"ion_exclusion": -1}, "ion_exclusion: -1"),
        ({"phi_type": "sum"}, "phi_type: 'sum'.*'total', 'coulomb', 'reaction'"),
        ({"constants": "exact"}, "constants: 'exact'.*'accurate', 'legacy'"),
        ({"constants": {"debye": 3}}, "constants: 'debye'.*'coulomb', 'kappa', 'temperature'"),
        ({"constants": {"kappa": -1}}, "kappa: -1"),
        ({"constants": {"coulomb": 0}}, "coulomb: 0"),
        ({"constants": {"temperature": 0}}, "temperature: 0"),
        ({"compat": "gem"}, "compat: 'gem'.*'opendwarfs'"),
        ({"compat": True}, "compat: True.*'opendwarfs'"),
    ],
)
def test_bad_numbers_of_the_model_are_named(change: dict[str, Any], word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        Model.of(**{"size": 10.0, **change})
