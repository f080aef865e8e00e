"""Repeated plain calls: products of device arrays and of NumPy's, small and large, and potentials."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import numpy as np
from whole_calls import Case, Made

import gpuopt
from gpuopt import _core
from gpuopt.configuration import levels_of
from gpuopt.workloads.gemm.choice import Sizes, chosen
from gpuopt.workloads.gemm.operation import prepare_gemm


def _close(got: np.ndarray, wanted: np.ndarray, tolerance: float, scale: np.ndarray | float) -> None:
    worst = float(np.max(np.abs(got.astype(np.float64) - wanted) / scale))
    if not worst <= tolerance:
        raise AssertionError(f"an error of {worst:.3g} where {tolerance:.3g} is allowed")


def _torch() -> Any:
    try:
        import torch
    except ImportError:
        return None
    return torch if torch.cuda.is_available() else None


def _torch_product(torch: Any, a: np.ndarray, b: np.ndarray) -> Callable[[], None]:
    torch.backends.cuda.matmul.allow_tf32 = False
    there = [torch.from_numpy(x).cuda() for x in (a, b)]

    def product() -> None:
        torch.mm(*there)
        torch.cuda.synchronize()

    return product


def _operands(m: int, n: int, k: int) -> tuple[np.ndarray, np.ndarray]:
    draw = np.random.default_rng(7)
    return tuple(draw.standard_normal(shape, dtype=np.float32) for shape in ((m, k), (k, n)))


def gemm_device(n: int, device: Any) -> Made:
    """Device arrays in and out, the result finished."""
    a, b = _operands(n, n, n)
    on = gpuopt.to_device(a, device), gpuopt.to_device(b, device)
    out = gpuopt.to_device(np.empty((n, n), np.float32), device)
    plan = prepare_gemm(*on, out)
    calls = {"gpuopt": lambda: gpuopt.gemm(*on), "out=": lambda: gpuopt.gemm(*on, out=out), "prepared": plan.run}
    calls["core"] = _without_python(*on)
    if torch := _torch():
        calls["pytorch"] = _torch_product(torch, a, b)
    rows = slice(0, min(n, 64))

    def check() -> None:
        wanted = a[rows].astype(np.float64) @ b.astype(np.float64)
        scale = np.abs(a[rows]).astype(np.float64) @ np.abs(b).astype(np.float64)
        for name in ("gpuopt", "out=", "prepared", "core"):
            found = calls[name]()
            _close((out if found is None else found).to_numpy()[rows], wanted, (n + 2) * 2.0**-24, scale)

    return Made(calls, check, {"flops": 2 * n**3})


def _without_python(a: gpuopt.DeviceArray, b: gpuopt.DeviceArray) -> Callable[[], Any]:
    """The same call without what Python does before the core: its checks, and the choice of a configuration."""
    (m, k), n = a.shape, b.shape[1]
    configuration = chosen(a.device, np.dtype("float32"), None, Sizes(1, m, n, k))
    given = a, b, None, 1.0, 0.0, None, False, False, a.device, configuration.variant, levels_of(configuration)
    return lambda: _core.gemm(*given)


def fast_fp32(n: int, device: Any) -> Made:
    """float32's accuracy by tensor cores, prepared and in plain calls, beside float32 itself."""
    a, b = _operands(n, n, n)
    on = gpuopt.to_device(a, device), gpuopt.to_device(b, device)
    out = gpuopt.to_device(np.empty((n, n), np.float32), device)
    plan, wide = prepare_gemm(*on, out, precision="fast_fp32"), prepare_gemm(*on, out, precision="bf16x6")
    calls = {"gpuopt": plan.run, "bf16x6": wide.run, "gemm": lambda: gpuopt.gemm(*on, precision="fast_fp32")}
    if torch := _torch():
        calls["pytorch"] = _torch_product(torch, a, b)
    rows = slice(0, 32)

    def check() -> None:
        wanted = a[rows].astype(np.float64) @ b.astype(np.float64)
        scale = np.abs(a[rows]).astype(np.float64) @ np.abs(b).astype(np.float64)
        for name in ("gpuopt", "bf16x6", "gemm"):
            found = calls[name]()
            _close((out if found is None else found).to_numpy()[rows], wanted, (n + 2) * 2.0**-24, scale)

    return Made(calls, check, {"flops": 2 * n**3})


def spmv_device(n: int, device: Any) -> Made:
    """y = M x of a banded matrix, device arrays and NumPy's."""
    offsets = np.array([-100, -1, 0, 1, 100])
    data = np.random.default_rng(3).standard_normal((5, n)).astype(np.float32)
    matrix = gpuopt.DiaMatrix((data, offsets), (n, n), device=device)
    x = np.random.default_rng(4).standard_normal(n).astype(np.float32)
    there = gpuopt.to_device(x, device)
    calls = {"gpuopt": lambda: gpuopt.spmv(matrix, there), "NumPy arrays": lambda: gpuopt.spmv(matrix, x)}
    calls["M @ x"] = lambda: matrix @ x
    wanted = None
    try:
        from scipy.sparse import dia_matrix

        host = dia_matrix((data, offsets), shape=(n, n))
        wanted = dia_matrix((data.astype(np.float64), offsets), shape=(n, n)) @ x
        calls["scipy"] = lambda: host @ x
    except ImportError:
        pass

    def check() -> None:
        if wanted is not None:
            for got in (gpuopt.spmv(matrix, there).to_numpy(), gpuopt.spmv(matrix, x), matrix @ x):
                _close(got, wanted, 1e-5, max(1.0, float(np.abs(wanted).max())))

    return Made(calls, check)


def atoms_and_points(atoms: int, points: int) -> tuple[tuple[np.ndarray, np.ndarray, np.ndarray], np.ndarray]:
    """A made-up molecule (positions, charges, radii) and points around it, float32."""
    draw = np.random.default_rng(5)
    xyz = draw.uniform(-20, 20, (atoms, 3)).astype(np.float32)
    charge, radius = draw.normal(size=atoms).astype(np.float32), np.full(atoms, 1.5, np.float32)
    directions = draw.normal(size=(points, 3))
    places = (40 * directions / np.linalg.norm(directions, axis=1, keepdims=True)).astype(np.float32)
    return (xyz, charge, radius), places


def gem(atoms: int, points: int, device: Any) -> Made:
    """Potentials of a made-up molecule, NumPy in and out."""
    molecule, places = atoms_and_points(atoms, points)
    (xyz, charge, _), surface = molecule, places
    call = functools.partial(gpuopt.gem, molecule, surface, phi_type="coulomb", electrostatic_size=20, device=device)

    def check() -> None:
        some = slice(0, 64)
        distance = np.linalg.norm(places[some, None, :].astype(np.float64) - xyz[None].astype(np.float64), axis=2)
        terms = charge.astype(np.float64) / distance
        got = call().astype(np.float64)[some]
        factor = float(got @ terms.sum(1) / (terms.sum(1) @ terms.sum(1)))
        _close(got, factor * terms.sum(1), 2e-5, np.abs(factor) * np.abs(terms).sum(1))

    total = functools.partial(gpuopt.gem, molecule, surface, electrostatic_size=20, device=device)
    return Made({"gpuopt": total, "coulomb": call}, check)


GOALS = {64: 0.04, 256: 0.045, 1024: 0.11, 4096: 2.65}
CASES = [
    Case(f"gemm, device arrays, {n}", functools.partial(gemm_device, n), on=on, goal_ms=GOALS[n])
    for n, on in ((64, ("cpu", "gpu")), (256, ("cpu", "gpu")), (1024, ("cpu", "gpu")), (4096, ("gpu",)))
]
CASES += [
    Case("fast_fp32, device arrays, 8192", functools.partial(fast_fp32, 8192), on=("gpu",), goal_ms=2 * 8.192**3 / 125),
    Case("spmv, 10^4 rows, 5 diagonals", functools.partial(spmv_device, 10_000), goal_ms=0.03),
    Case("spmv, 10^6 rows, 5 diagonals", functools.partial(spmv_device, 1_000_000)),
    Case("gem, 1000 atoms x 2000 points", functools.partial(gem, 1000, 2000), goal_ms=0.25),
]
