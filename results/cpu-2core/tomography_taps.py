"""Back projection in turns with the ceiling of what interpolates without a texture unit: means of four pixels by loads.

python tomography_taps.py DEVICE FILE: rows to FILE. Every kernel is held against its reference before and after.
"""

import json
import sys
from pathlib import Path

import numpy as np

from gpuopt import Configuration, problems
from gpuopt.configuration import complete
from gpuopt.lab.timing import verification
from gpuopt.selection import select
from gpuopt.workloads.microbench.problem import microbenchmark
from gpuopt.workloads.microbench.questions import fitting, points

BLOCKS, CASES = 15, ("96x62x120x156", "128x62x240x312", "I1")
device = select(sys.argv[1])
kernels = {}
for point in points(device, fitting("taps", device), "float32", 16384, {"LANES": (8, 16), "AHEAD": (8, 16)}, width=256):
    exact = complete("microbench", point.configuration)
    problem = microbenchmark(exact, point.dtype, point.bytes, width=point.width, trips=point.trips, device=device)
    kernels[f"taps {exact}"] = (problem, exact, "taps")
for case in CASES:
    problem = problems.back_projection(case, device=device)
    for name in ("columns", "buffer_vectors"):
        exact = complete("tomography", Configuration(name))
        kernels[f"{problem.name} {exact}"] = (problem, exact, "update")
bound = {name: problem.prepare(exact, device) for name, (problem, exact, _) in kernels.items()}


def check():
    for name, (problem, exact, _) in kernels.items():
        verification.verify(bound[name], problem, exact)


check()
counts = {
    name: bound[name].prepared.work["special"]["taps"] if what == "taps" else problem.counted["update"]
    for name, (problem, _, what) in kernels.items()
}
rates = {name: [] for name in kernels}
for _ in range(BLOCKS):
    for name, at in bound.items():
        rates[name].append(counts[name] / float(np.median(at.prepared.sample(5)["device_ms"])) * 1e-6)
check()
ceiling = np.max([found for name, found in rates.items() if name.startswith("taps")], axis=0)
draw = np.random.default_rng(0).integers(0, BLOCKS, (2000, BLOCKS))
with Path(sys.argv[2]).open("w") as file:
    for name, found in rates.items():
        share = np.array(found) / ceiling
        low, high = np.quantile(np.median(share[draw], axis=1), [0.025, 0.975])
        row = {"device": device.name, "platform": device.platform, "driver": device.driver, "kernel": name}
        row |= {"g_s": float(np.median(found)), "of_taps": float(np.median(share)), "ci95": [float(low), float(high)]}
        file.write(json.dumps(row | {"blocks_g_s": found}) + "\n")
        print(f"{row['g_s']:.3f} G/s, {row['of_taps']:.2f} [{low:.2f}, {high:.2f}] of the ceiling: {name}", flush=True)
