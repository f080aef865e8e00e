"""Made-up rows of dense products for the tests of their pictures, and what pictures drew of them."""

from __future__ import annotations

from itertools import chain
from math import prod

import numpy as np
from matplotlib.axes import Axes
from matplotlib.container import ErrorbarContainer

from gpuopt import papers
from gpuopt.lab.report import Study
from study_rows import Row, timed

BLOCKS = 10
SIZES = (64, 128, 256)


def step_rows(workload: str, sizes: dict[str, int], speed: float = 1.0) -> list[Row]:
    """A good row of each preset, one of ours, a call and a peer, each twice as fast as the one before."""
    problem = f"{workload}_{'x'.join(map(str, sizes.values()))}"
    facts: Row = {"workload": workload, "problem": problem, "sizes": sizes, "dtype": "float32", "role": "variant"}
    facts |= {"footprint_bytes": 4 * prod(sizes.values()), "flops": 2.0 * prod(sizes.values())}
    made: list[Row] = []
    base: dict[str, float] = {}

    def measured(time_ms: float, baseline: str, against: float, **values: object) -> None:
        name, ratio = str(values.pop("variant")), time_ms / against
        same = facts | {"baseline": baseline, "gflop_s": facts["flops"] / time_ms * 1e-6} | values
        for block in range(BLOCKS):
            made.append(timed("block", name, time_ms, **same, block=block, ratio=ratio))
        ends: Row = {"ratio": ratio, "ratio_lo": 0.9 * ratio, "ratio_hi": 1.1 * ratio, "verdict": "FAST"}
        made.append(timed("summary", name, time_ms, **same, **ends, blocks=BLOCKS))

    for number, step in enumerate(papers.steps(workload).values()):
        time_ms = 8.0 / (1 + number) / speed
        base.setdefault("first", time_ms)
        measured(
            time_ms, "naive", base["first"], variant=step.configuration.variant, preset=step.preset,
            params=step.configuration.parameters, configuration=str(step.configuration),
            global_size=[sizes[next(iter(sizes))], 4 + number, 1],
        )  # fmt: skip
    measured(
        0.1 / speed, "naive", base["first"], variant="best", configuration="best(N=1)", params={"N": 1}, global_size=[8]
    )
    measured(0.5 / speed, "naive", base["first"], variant="a call", configuration="a call", role="call")
    measured(0.2 / speed, "naive", base["first"], variant="NumPy", configuration="NumPy", role="peer")
    return made


def several(workload: str = "gemm", speed: float = 1.0) -> Study:
    names = ("M", "N", "K") if workload == "gemm" else ("rows", "cols")
    return Study(chain.from_iterable(step_rows(workload, dict.fromkeys(names, n), speed) for n in SIZES))


def lines(ax: Axes) -> dict[str, tuple[np.ndarray, np.ndarray]]:
    """What errorbar drew, by label."""
    drawn = [container for container in ax.containers if isinstance(container, ErrorbarContainer)]
    return {
        str(bar.get_label()): tuple(np.array(values, dtype=float) for values in bar.lines[0].get_data())  # type: ignore[misc]
        for bar in drawn
    }
