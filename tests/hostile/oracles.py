"""Right answers of accepted calls, in NumPy and fp64, for what is a plain formula."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

import gpuopt

TOLERANCE = 1e-4  # of fp32 sums of a dozen terms, beside their magnitudes


def host(array: Any) -> np.ndarray:
    return np.asarray(array.to_numpy() if isinstance(array, gpuopt.DeviceArray) else array, dtype=np.float64)


def gemm(given: Mapping[str, Any]) -> np.ndarray:
    a, b = host(given["A"]), host(given["B"])
    a = a.swapaxes(-2, -1) if given.get("transpose_a") else a
    b = b.swapaxes(-2, -1) if given.get("transpose_b") else b
    beta = float(given.get("beta", 0))
    return float(given.get("alpha", 1)) * (a @ b) + (beta * host(given["C"]) if beta else 0)


def tmv(given: Mapping[str, Any]) -> np.ndarray:
    return host(given["A"]).T @ host(given["v"])


def spmv(given: Mapping[str, Any]) -> np.ndarray:
    if isinstance(given["A"], gpuopt.DiaMatrix):
        raise KeyError("A")  # on the device
    dense = given["A"].toarray().astype(np.float64)
    beta = float(given.get("beta", 0))
    product = (dense.T if given.get("transpose") else dense) @ host(given["x"])
    return float(given.get("alpha", 1)) * product + (beta * host(given["y"]) if beta else 0)


def statistics(given: Mapping[str, Any]) -> np.ndarray:
    phi = host(given["phi"])
    return np.array([phi.min(), phi.max(), phi.mean(), np.sqrt((phi**2).mean())])


ORACLES: dict[str, Callable[[Mapping[str, Any]], np.ndarray]] = {
    "gemm": gemm,
    "tmv": tmv,
    "spmv": spmv,
    "to_device": lambda given: host(given["a"]),
    "molecule.statistics": statistics,
}


def fault(name: str, given: Mapping[str, Any], answer: Any) -> str:
    """What is wrong with an answer; empty where nothing is, or where there is no formula for it."""
    if name not in ORACLES:
        return ""
    with np.errstate(all="ignore"):
        try:
            expected = ORACLES[name](given)
        except KeyError:
            return ""
        found = host(list(answer.values()) if isinstance(answer, dict) else answer)
        if found.shape != expected.shape:
            return f"shape {found.shape} instead of {expected.shape}"
        single = np.abs(expected) < np.finfo(np.float32).max / 4  # beyond it fp32 may be infinite, rightly
        wrong = single & np.isfinite(expected) & ~(np.abs(found - expected) <= TOLERANCE * (1 + np.abs(expected)))
    return f"{found[wrong][0]!r} instead of {expected[wrong][0]!r}" if wrong.any() else ""
