"""Plain calls on CPUs beside what their users would take instead: NumPy, SciPy, a loop in C++."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np
from whole_calls import Case, Made

import gpuopt
from gpuopt.workloads.gem import peers
from whole_calls_cases.core import _close, _operands, atoms_and_points

PAUSE_S = 0.6  # right after a @ b of 1024^3 the same product of gpuopt takes 19 to 23 ms, later 12


def gemm_numpy(m: int, n: int, k: int, device: Any) -> Made:
    """NumPy arrays in and out."""
    a, b = _operands(m, n, k)
    calls = {"gpuopt": lambda: gpuopt.gemm(a, b, device=device), "numpy": lambda: a @ b}
    rows = slice(0, min(m, 64))

    def check() -> None:
        wanted = a[rows].astype(np.float64) @ b.astype(np.float64)
        scale = np.abs(a[rows]).astype(np.float64) @ np.abs(b).astype(np.float64)
        _close(calls["gpuopt"]()[rows], wanted, (k + 2) * 2.0**-24, scale)

    return Made(calls, check, {"flops": 2 * m * n * k}, PAUSE_S)


def tmv_numpy(m: int, n: int, device: Any) -> Made:
    """A transposed matrix times a vector, both NumPy's."""
    a, v = _operands(m, n, n)[0], np.random.default_rng(8).standard_normal(m, dtype=np.float32)
    calls = {"gpuopt": lambda: gpuopt.tmv(a, v, device=device), "numpy": lambda: a.T @ v}

    def check() -> None:
        wide = a.astype(np.float64)
        _close(calls["gpuopt"](), v @ wide, (m + 2) * 2.0**-24, np.abs(v) @ np.abs(wide))

    return Made(calls, check, pause_s=PAUSE_S)


def spmv_numpy(n: int, device: Any) -> Made:
    """A matrix of SciPy's and a vector: packed in each call, or kept as a DiaMatrix."""
    from scipy.sparse import dia_matrix

    offsets = np.array([-100, -1, 0, 1, 100])
    data = np.random.default_rng(3).standard_normal((5, n)).astype(np.float32)
    matrix, x = dia_matrix((data, offsets), shape=(n, n)), np.random.default_rng(4).standard_normal(n, dtype=np.float32)
    kept = gpuopt.DiaMatrix(matrix, device=device)
    calls = {"gpuopt": lambda: gpuopt.spmv(matrix, x, device=device), "M @ x": lambda: kept @ x}
    calls["scipy"] = lambda: matrix @ x
    wanted = dia_matrix((data.astype(np.float64), offsets), shape=(n, n)) @ x

    def check() -> None:
        for name in ("gpuopt", "M @ x"):
            _close(calls[name](), wanted, 1e-5, max(1.0, float(np.abs(wanted).max())))

    return Made(calls, check)


def gem_numpy(atoms: int, points: int, device: Any) -> Made:
    """Potentials beside the loop in C++ that studies have as a peer (OpenMP, -O3 -march=native -ffast-math)."""
    molecule, places = atoms_and_points(atoms, points)
    problem = gpuopt.problems.gem(molecule, places, size=20, device=device)
    calls = {"gpuopt": functools.partial(gpuopt.gem, molecule, places, electrostatic_size=20, device=device)}
    for peer in peers.peers(device, []):
        calls[peer.name] = functools.partial(peer.run, peer.prepare(problem))

    def check() -> None:
        for call in calls.values():
            _close(problem.seen(np.asarray(call())), problem.reference, 1.0, problem.tolerance)

    return Made(calls, check)


CPU = ("cpu",)
CASES = [
    Case(f"gemm, NumPy arrays, {m} x {n} x {k}", functools.partial(gemm_numpy, m, n, k), on=CPU, longest_s=1.0)
    for m, n, k in (
        (256,) * 3,
        (333, 517, 129),
        (1024,) * 3,
        (1000, 37, 2000),
        (2048,) * 3,
        (1, 4096, 4096),
        (4096, 1, 4096),
        (1, 300, 700),
    )
]
CASES += [
    Case("tmv, NumPy arrays, 4096 x 4096", functools.partial(tmv_numpy, 4096, 4096), on=CPU),
    Case("spmv, SciPy's matrix, 10^6 rows, 5 diagonals", functools.partial(spmv_numpy, 1_000_000), on=CPU),
    Case("gem, 16384 atoms x 65536 points", functools.partial(gem_numpy, 16384, 65536), on=CPU, longest_s=3.0),
]
