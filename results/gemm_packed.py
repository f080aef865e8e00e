"""Times of the tiles of ``packed`` that the model of products on CPUs lists, by products of many sizes: DEVICE FILE.

Each configuration's result is held against fp64 first. Configurations take turns; the time is the median of the turns,
by the host's clock, of a product of arrays on the device. `cost` is the model's.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import gpuopt
from gpuopt.configuration import NATIVE, Configuration
from gpuopt.lab.device import source
from gpuopt.resolution import found
from gpuopt.selection import select
from gpuopt.workloads.gemm.cpu_choice import tiles
from gpuopt.workloads.gemm.operation import prepare_gemm

SIZES = (
    *("64x64x64", "100x100x100", "256x256x256", "512x512x512", "1000x1000x1000", "1024x1024x1024", "2048x2048x2048"),
    *("333x517x129", "1000x37x2000", "2000x16x500", "2000x80x500", "2000x200x2000", "24x2000x500", "4x2000x2000"),
    *("512x4096x2048", "4096x512x2048", "700x1024x512", "128x2048x2048"),
)
TURNS = 9
TURN_S = 0.02
NEAR = 1.35  # times the model's cheapest

device = select(sys.argv[1])
random = np.random.default_rng(1)
best = found("gemm", device, "float32", {"precision": lambda: NATIVE})
assert best is not None  # some record of a CPU fits any
record = best.configuration


def timed(sizes: str, transpose_a: bool) -> list[dict[str, object]]:
    m, n, k = map(int, sizes.split("x"))
    a = random.uniform(-1, 1, (k, m) if transpose_a else (m, k)).astype(np.float32)
    b = random.uniform(-1, 1, (k, n)).astype(np.float32)
    on_device = [gpuopt.to_device(array, device) for array in (a, b, np.zeros((m, n), np.float32))]
    listed = tiles(record, 1, m, n, k)
    least = min(one.cost for one in listed)
    plans, costs = {}, {}
    rows = np.unique(np.linspace(0, m - 1, min(m, 32)).astype(int))
    wide = (a.T if transpose_a else a)[rows].astype(np.float64)
    right, size = wide @ b, np.abs(wide) @ np.abs(b)
    for one in listed:
        for by_pass in (0, 1):
            taken = {"ROWS": one.rows, "VECTORS": one.vectors, "PASS": by_pass}
            configuration = Configuration("packed", **(record.parameters | taken))
            if one.cost > NEAR * least or configuration in plans:
                continue
            plan = prepare_gemm(*on_device, configuration, transpose_a=transpose_a)
            plan.run()
            off = np.abs(on_device[2].to_numpy()[rows] - right)
            if not (off <= (k + 2) * 2.0**-24 * size).all():
                raise ArithmeticError(f"{sizes}, {configuration}: off by {off.max():.2g}")
            plans[configuration], costs[configuration] = plan, one.cost
    runs = max(1, int(TURN_S / (2.0 * m * n * k / 1e11 + 5e-5)))
    times: dict[Configuration, list[float]] = {configuration: [] for configuration in plans}
    for _ in range(TURNS):
        for number in random.permutation(len(plans)):
            configuration = [*plans][number]
            begin = time.perf_counter()
            for _ in range(runs):
                plans[configuration].run()
            times[configuration].append((time.perf_counter() - begin) / runs * 1e3)
    facts = {"device": device.name, "platform": device.platform, "date": time.strftime("%Y-%m-%d", time.gmtime())}
    return [
        {"shape": sizes, "transpose_a": transpose_a, "configuration": str(configuration)}
        | {"ms": statistics.median(each), "least_ms": min(each), "cost": costs[configuration]}
        | facts
        | {"commit": str(source.commit())}
        for configuration, each in times.items()
    ]


with Path(sys.argv[2]).open("w") as file:
    for sizes in SIZES:
        for transpose_a in (False, True):
            for row in timed(sizes, transpose_a):
                file.write(json.dumps(row) + "\n")
            file.flush()
