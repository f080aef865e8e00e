"""Times of every tile and stream that the model of products lists, for the forty shapes: FILE [SECONDS] gets the rows.

The time is the device's, a run of many that wait behind a gate; the estimate is that of the model that runs. A shape's
configurations take turns by their rank, those that are estimated at more than 2.5 times the fastest left out.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np

import gpuopt
from gpuopt import problems
from gpuopt.workloads.gemm.choice import Estimate, Sizes, explain
from gpuopt.workloads.gemm.operation import prepare_gemm
from gpuopt.workloads.gemm.shapes import Shape

FAR = 2.5  # times the fastest estimate
LONGEST_FLOPS = 2e11
SAMPLES_MS = 2.0

device = gpuopt.devices()[0]
random = np.random.default_rng(1)


def operands(shape: Shape) -> list[gpuopt.DeviceArray]:
    batch = (shape.batch,) if shape.batch > 1 else ()
    sides = (shape.m, shape.k), (shape.k, shape.n), (shape.m, shape.n)
    arrays = (random.uniform(-1, 1, (*batch, *side)).astype(np.float32) for side in sides)
    return [gpuopt.to_device(array, device) for array in arrays]


def timed(shape: Shape, estimate: Estimate) -> dict[str, object]:
    a, b, out = held[shape]
    plan = prepare_gemm(a, b, out, estimate.configuration)
    plan.run()
    batch = max(1, min(200, int(SAMPLES_MS / min(plan.sample(3, 2)["device_ms"]))))
    times = [ms for _ in range(3) for ms in plan.sample(3, batch, True)["device_ms"]]
    return {
        "shape": shape.name,
        "configuration": str(estimate.configuration),
        "ms": statistics.median(times),
        "estimate_ms": 1e3 * estimate.seconds,
        "launches": len(plan.kernels),
        "device": device.name,
        "date": time.strftime("%Y-%m-%d", time.gmtime()),
    }


path, ends = Path(sys.argv[1]), time.monotonic() + float(sys.argv[2] if len(sys.argv) > 2 else "inf")
shapes = [one for one in problems.gemm_shapes() if 2.0 * one.m * one.n * one.k * one.batch < LONGEST_FLOPS]
listed = {one: explain(device, np.dtype("float32"), Sizes(one.batch, one.m, one.n, one.k)) for one in shapes}
held = {one: operands(one) for one in shapes}
with path.open("w") as file:
    for rank in range(max(map(len, listed.values()))):
        for shape, estimates in listed.items():
            near = [one for one in estimates if one.seconds <= FAR * estimates[0].seconds]
            if rank < len(near) and time.monotonic() < ends:
                file.write(json.dumps(timed(shape, near[rank])) + "\n")
                file.flush()
