"""Configurations that plain calls chose, for the next call of the same kind: choosing takes longer than a small
product."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from gpuopt import records
from gpuopt._core import Device
from gpuopt.configuration import Configuration, generation

Choose = Callable[[Device, "np.dtype[Any]", None, "str | Configuration | None"], Configuration]

_MOST = 256
_chosen: dict[tuple[object, ...], tuple[object, Configuration]] = {}


def remembered(
    workload: str, device: Device, dtype: np.dtype[Any], variant: str | Configuration | None, choose: Choose
) -> Configuration:
    """What ``choose(device, dtype, None, variant)`` returned before, or returns now where the user's records or the
    table of variants have changed since."""
    key = (workload, device, dtype.num, variant)
    state = (records.state(workload), generation(workload))
    held = _chosen.get(key)
    if held is not None and held[0] == state:
        return held[1]
    configuration = choose(device, dtype, None, variant)
    if len(_chosen) >= _MOST:
        _chosen.clear()
    _chosen[key] = state, configuration
    return configuration
