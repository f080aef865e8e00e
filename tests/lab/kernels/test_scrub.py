"""Noise in local memory, on devices that need some of it for themselves."""

from __future__ import annotations

from typing import Any

import pytest

import gpuopt
from gpuopt import _core
from gpuopt.lab.kernels import scrub


@pytest.mark.parametrize(("most", "filled"), [(1.0, 1.0), (0.999, None), (0.0, 0.0)])
def test_what_a_device_keeps_back_is_left_to_it(
    device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, most: float, filled: float | None
) -> None:
    """A driver that refuses all of its local memory (NVIDIA's counts a byte of its own) gets noise in nearly all."""
    asked: list[int] = []
    prepared = _core.prepare_own

    def prepare_own(device: gpuopt.Device, steps: list[Any], *more: Any) -> Any:
        count = steps[0][4][0]
        if count > most * device.local_bytes:
            raise gpuopt.UnsupportedError("too much local memory")
        asked.append(count)
        return prepared(device, steps, *more)

    monkeypatch.setattr(_core, "prepare_own", prepare_own)
    monkeypatch.setattr(scrub, "KEPT_BACK", (0, device.local_bytes // 64))
    fill = scrub.scrubber(device)
    fill(5, True)
    fill(6, False)
    nearly = device.local_bytes - device.local_bytes // 64
    wanted = nearly if filled is None else int(filled * device.local_bytes)
    if filled == 1 and "NVIDIA" in device.platform:
        assert asked == [wanted, nearly, nearly]
    else:
        assert asked == ([wanted] * 2 if wanted else [])
