"""Configurations that plain calls chose, for the next call of the same kind: choosing takes longer than a small
product."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any

import numpy as np

from gpuopt import records
from gpuopt._core import Device
from gpuopt.configuration import Configuration, generation
from gpuopt.tracing import traced

_MOST = 4096
_chosen: dict[tuple[object, ...], tuple[object, Configuration]] = {}


@traced("records")
def remembered(
    workload: str,
    device: Device,
    dtype: np.dtype[Any],
    variant: str | Configuration | None,
    choose: Callable[[], Configuration],
    of_input: Hashable = "",
) -> Configuration:
    """What ``choose()`` returned before for these arguments, or returns now where the user's records or the table of
    variants have changed since. ``of_input`` is what else it depends on."""
    key = (workload, device, dtype.num, variant, of_input)
    state = (records.state(workload), generation(workload))
    held = _chosen.get(key)
    if held is not None and held[0] == state:
        return held[1]
    configuration = choose()
    if len(_chosen) >= _MOST:
        _chosen.clear()
    _chosen[key] = state, configuration
    return configuration
