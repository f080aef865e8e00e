"""Products of NumPy arrays, from array to array, beside CuPy and PyTorch and beside the same in three calls, in turns.

FILE gets the rows: for each way the median, least and greatest time in ms, and how many calls. Each result is checked
against fp64 before it is timed, and ours after.
"""

import json
import random
import statistics
import sys
import time
from collections.abc import Callable

import cupy
import numpy as np
import torch

import gpuopt

SIZES = (
    *((1024,) * 3, (2048,) * 3, (3000, 5000, 700), (4096,) * 3, (5000, 3001, 4099), (8192,) * 3),
    (16384, 4096, 2048),
)  # m, n, k
SECONDS = 2.5
LIMIT = 1e-5  # of the sum of an element's magnitudes

device = gpuopt.devices()[0]
torch.backends.cuda.matmul.allow_tf32 = False


def three_calls(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return gpuopt.gemm(gpuopt.to_device(a, device), gpuopt.to_device(b, device)).to_numpy()


def by_torch(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    return (torch.from_numpy(a).cuda() @ torch.from_numpy(b).cuda()).numpy(force=True)


WAYS: dict[str, Callable[[np.ndarray, np.ndarray], np.ndarray]] = {
    "gpuopt": lambda a, b: gpuopt.gemm(a, b, device=device),
    "to_device, gemm, to_numpy": three_calls,
    "CuPy": lambda a, b: cupy.asnumpy(cupy.asarray(a) @ cupy.asarray(b)),
    "PyTorch": by_torch,
}


def timed(m: int, n: int, k: int) -> dict[str, object]:
    numbers, order = np.random.default_rng(1), random.Random(1)
    a, b = numbers.random((m, k), np.float32) - 0.5, numbers.random((k, n), np.float32) - 0.5
    some = slice(None, None, 97)
    exact, most = a[some].astype(float) @ b, np.abs(a[some]).astype(float) @ np.abs(b)

    def check(way: str) -> None:
        off = float((np.abs(WAYS[way](a, b)[some] - exact) / most).max())
        if not off < LIMIT:
            raise ArithmeticError(f"{way}, {m} x {n} x {k}: off by {off:.2g}")

    for way in WAYS:
        check(way)
        WAYS[way](a, b)
    times: dict[str, list[float]] = {way: [] for way in WAYS}
    began = time.monotonic()
    while time.monotonic() - began < SECONDS or len(times["CuPy"]) < 5:
        for way in order.sample(list(WAYS), len(WAYS)):  # what ran before leaves its mark in the caches
            start = time.perf_counter()
            WAYS[way](a, b)
            times[way].append(1e3 * (time.perf_counter() - start))
    check("gpuopt")
    told = {way: [statistics.median(of), min(of), max(of), len(of)] for way, of in times.items()}
    return {"m": m, "n": n, "k": k, "device": device.name, **told}


with open(sys.argv[1], "w", encoding="utf-8") as file:
    for size in SIZES:
        file.write(json.dumps(timed(*size)) + "\n")
        file.flush()
