"""Products of the forty shapes beside cuBLAS, in turns: rows go to FILE.

The time is the device's, a run of many that wait behind a gate (ours) or behind a spinning kernel (PyTorch's). Each
result is checked against fp64 before it is timed and after; the error is the largest over the sum of an element's
magnitudes.
"""

import json
import statistics
import sys
import time
from pathlib import Path

import numpy as np
import torch

import gpuopt
from gpuopt import problems
from gpuopt.lab.device import source
from gpuopt.lab.run.cuda import torch_sample
from gpuopt.workloads.gemm.choice import Sizes, chosen
from gpuopt.workloads.gemm.operation import prepare_gemm
from gpuopt.workloads.gemm.shapes import Shape

ROUNDS = 7
ROUND_MS = 12.0  # of one side in a round
CHECKED = 64  # rows and columns of a result that are computed again in fp64, the last ones among them
LIMIT = 3e-6

device = gpuopt.devices()[0]
torch.backends.cuda.matmul.allow_tf32 = False


def picked(count: int) -> np.ndarray:
    """Indices that are computed again: spread over the whole, with both ends."""
    return np.unique(np.linspace(0, count - 1, min(count, CHECKED)).astype(int))


def error(a: np.ndarray, b: np.ndarray, found: np.ndarray) -> float:
    rows, columns = picked(a.shape[-2]), picked(b.shape[-1])
    left, right = a[..., rows, :].astype(np.float64), b[..., :, columns].astype(np.float64)
    some = found[..., rows, :][..., columns]
    return float((np.abs(some - left @ right) / (np.abs(left) @ np.abs(right))).max())


def timed(shape: Shape) -> dict[str, object]:
    random = np.random.default_rng(sum(shape[1:4]))
    batch = (shape.batch,) if shape.batch > 1 else ()
    a = random.uniform(-1, 1, (*batch, shape.m, shape.k)).astype(np.float32)
    b = random.uniform(-1, 1, (*batch, shape.k, shape.n)).astype(np.float32)
    ours = [gpuopt.to_device(array, device) for array in (a, b)]
    out = gpuopt.to_device(np.zeros((*batch, shape.m, shape.n), np.float32), device)
    plan = prepare_gemm(*ours, out)
    left, right = (torch.as_tensor(array, device="cuda") for array in (a, b))
    result = torch.empty(out.shape, device="cuda")

    def theirs() -> None:
        torch.matmul(left, right, out=result)

    def check() -> float:
        worst = 0.0
        for of, found in (("gpuopt", np.asarray(out)), ("cuBLAS", result.numpy(force=True))):
            off = error(a, b, found)
            if not off < LIMIT:
                raise ArithmeticError(f"{of}, {shape.name}: off by {off:.2g}, {LIMIT:.2g} at most")
            worst = off if of == "gpuopt" else worst
        return worst

    plan.run(), theirs()
    off = check()
    first = plan.sample(3, 2)["device_ms"], torch_sample(theirs, 3, 2)
    batches = [max(1, min(400, int(ROUND_MS / 3 / min(times)))) for times in first]
    times: tuple[list[float], list[float]] = ([], [])
    for _ in range(ROUNDS):
        times[0].extend(plan.sample(3, batches[0], True)["device_ms"])
        times[1].extend(torch_sample(theirs, 3, batches[1]))
    check()
    medians = [statistics.median(side) for side in times]
    return {
        "class": shape.kind,
        "weight": shape.weight,
        "mnk": [shape.m, shape.n, shape.k],
        "batch": shape.batch,
        "ours_ms": medians[0],
        "cublas_ms": medians[1],
        "error": off,
        "configuration": str(chosen(device, np.dtype("float32"), None, Sizes(shape.batch, shape.m, shape.n, shape.k))),
        "launches": len(plan.kernels),
    }


path = Path(sys.argv[1])
wanted = sys.argv[2:]
facts = {"device": device.name, "date": time.strftime("%Y-%m-%d", time.gmtime()), "commit": str(source.commit())}
with path.open("w") as file:
    for shape in problems.gemm_shapes():
        if wanted and shape.name not in wanted:
            continue
        row = {**timed(shape), **facts}
        print(*(row[name] for name in ("mnk", "ours_ms", "cublas_ms", "configuration")), flush=True)
        file.write(json.dumps(row) + "\n")
