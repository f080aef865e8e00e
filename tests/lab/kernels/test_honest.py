"""No honest kernel is called wrong, whatever it uses."""

from __future__ import annotations

import os

import pytest

import gpuopt
from gpuopt import lab
from honest_kernels import HONEST

SEEDS = int(os.environ.get("GPUOPT_JUDGE_SEEDS", "0"))


@pytest.mark.thin(others=1)
@pytest.mark.parametrize("name", HONEST)
def test_an_honest_kernel_passes(device: gpuopt.Device, name: str) -> None:
    """The seed of its data is drawn anew; a verdict tells it. GPUOPT_JUDGE_SEEDS makes a longer run, by all checks and
    so many seeds: `./dev attack` asks for up to 3."""
    honest = HONEST[name]()
    if honest.needs and not getattr(device, honest.needs):
        pytest.skip(f"{device.name} has no {honest.needs}")
    for seed in range(max(1, SEEDS)):
        found = lab.judge(
            honest.text,
            honest.kernel,
            device=device,
            level="judge" if SEEDS else "full",
            seed=seed if SEEDS else None,
            repeatable=honest.repeatable,
            **honest.sizes,
        )
        assert found.word == "ok", str(found)
