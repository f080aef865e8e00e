"""Results of tuning as people make them; files of them are in test_search.py."""

from __future__ import annotations

import re
from typing import Any

import numpy as np
import pytest

from gpuopt.checked import ParameterTypeError
from gpuopt.lab.kernels.published import Result


def made(**change: Any) -> Result:
    return Result(**{"levels": {"W": 1}, "ms": 2.0, **change})


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"samples": -1}, "samples: it is -1; give a list of number"),
        ({"samples": None}, "samples: it is None"),
        ({"samples": "2.0"}, "samples: it is '2.0'"),
        ({"samples": [1.0, "2"]}, "samples: it is a list"),
        ({"ms": "2.0"}, "ms: it is '2.0'; give a number or None"),
        ({"ms": True}, "ms: it is True"),
        ({"levels": [("W", 1)]}, "levels: it is a list; give a Mapping"),
        ({"levels": {"W": 1.5}}, "levels: it is a dict"),
        ({"status": 3}, "status: it is 3; give a text"),
    ],
)
def test_fields_of_a_wrong_type_are_refused(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterTypeError, match=f"^{re.escape(says)}"):
        made(**change)


def test_samples_may_be_any_list_of_times() -> None:
    for samples in ([1.0, 2], (1.5,), np.array([1.0, 2.0]), ()):
        assert made(samples=samples).ms == 2
