"""Shared objects of every kind, and calls on them that always give the same."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from scipy.sparse import dia_array

import gpuopt
import gpuopt.tomo as gt
from gpuopt import io, problems, records
from gpuopt.lab.rows.schema import new_row
from gpuopt.lab.rows.store import Store

Call = Callable[[], Any]


class Bench:
    """Objects made once, for many threads; ``calls`` are by name, and each returns arrays or plain values."""

    def __init__(self, device: gpuopt.Device, folder: Path) -> None:
        self.device, self.folder = device, folder
        self.random = np.random.default_rng(11)
        self.calls: dict[str, Call] = {}
        for made in (self._products, self._molecules, self._scans, self._plans, self._files, self._facts):
            made()

    def _uniform(self, *shape: int) -> np.ndarray:
        return self.random.uniform(-1, 1, shape).astype(np.float32)

    def _products(self) -> None:
        offsets = [-40, -1, 0, 1, 40]
        whole = dia_array((self._uniform(5, 1600), offsets), shape=(1600, 1600))
        even = dia_array((np.ones((5, 1600), np.float32), offsets), shape=(1600, 1600))
        matrix = gpuopt.DiaMatrix(whole, device=self.device)
        x, columns = self._uniform(1600), self._uniform(1600, 4)
        on_device = gpuopt.to_device(x, self.device)
        self.calls |= {
            "M @ x": lambda: matrix @ x,
            "M @ X": lambda: matrix @ columns,
            "M @ x on the device": lambda: (matrix @ on_device).to_numpy(),
            "M.T @ x": lambda: matrix.T @ x,
            "spmv, uploaded": lambda: gpuopt.spmv(whole, x, device=self.device),
            "spmv with beta": lambda: gpuopt.spmv(matrix, x, alpha=2.0, beta=-1.0, y=x),
            "symmetric": lambda: (matrix.symmetric, gpuopt.DiaMatrix(even, device=self.device).symmetric),
            "to_numpy": on_device.to_numpy,
        }
        for rows, inner, cols in ((33, 65, 17), (96, 40, 64)):
            a, b = self._uniform(rows, inner), self._uniform(inner, cols)
            self.calls[f"gemm {rows}"] = lambda a=a, b=b: gpuopt.gemm(a, b, device=self.device)
            v = self._uniform(rows)
            self.calls[f"tmv {rows}"] = lambda a=a, v=v: gpuopt.tmv(a, v, device=self.device)
        large, larger = (gpuopt.to_device(self._uniform(80, 80), self.device) for _ in range(2))
        self.calls["gemm on the device"] = lambda: gpuopt.gemm(large, larger).to_numpy()

    def _molecules(self) -> None:
        molecule, surface = _capsid(self.random)
        self.calls |= {
            "gem": lambda: gpuopt.gem(molecule, surface, device=self.device),
            "gem with salt": lambda: gpuopt.gem(molecule, surface, salt=0.1, device=self.device),
        }

    def _scans(self) -> None:
        for name, scan, volume in (
            ("flat", gt.parallel2d(20, 24), gt.Volume((16, 16), 1.0)),
            ("cone", gt.circular(12, 60.0, 120.0, (8, 18), 2.0), gt.Volume((6, 12, 12), 1.0)),
            # its adjoint needs more of the memory that plans share than its projection
            ("tall", gt.parallel3d(90, (31, 41), (1.1, 0.9)), gt.Volume((9, 16, 17))),
        ):
            exact = gt.Projector(scan, volume, device=self.device)
            fast = gt.Projector(scan, volume, "fast", device=self.device)
            x, p = self._uniform(*exact.image_shape), self._uniform(*exact.data_shape)
            on_device = gpuopt.to_device(x, self.device), gpuopt.to_device(p, self.device)
            some = [np.arange(k, exact.views, step) for k, step in ((0, 1), (1, 2), (0, 5))]
            self.calls |= {
                f"{name}: A(x)": lambda A=exact, x=x: A(x),
                f"{name}: A.T(p)": lambda A=exact, p=p: A.T(p),
                f"{name}: A(x) on the device": lambda A=exact, d=on_device: A(d[0]).to_numpy(),
                f"{name}: A.T(p) on the device": lambda A=exact, d=on_device: A.T(d[1]).to_numpy(),
                f"{name}: fast A.T(p)": lambda A=fast, p=p: A.T(p),
                f"{name}: sirt": lambda A=exact, p=p: gt.sirt(A, p, iterations=2).image,
                f"{name}: cgls": lambda A=exact, p=p: gt.cgls(A, p, iterations=2).image,
            }
            for views in some:
                self.calls[f"{name}: {len(views)} views"] = lambda A=exact, x=x, v=views: A.subset(v)(x)
                self.calls[f"{name}: {len(views)} views back"] = lambda A=exact, p=p, v=views: A.subset(v).T(
                    np.ascontiguousarray(p[v])
                )
            filtered = gt.fdk if name == "cone" else gt.fbp
            inside = p * (np.arange(p.shape[-1]) % (p.shape[-1] - 1) > 0)  # it ends before the detector does
            self.calls[f"{name}: filtered"] = lambda A=fast, p=inside, filtered=filtered: filtered(A, p)
            self._renewed(name, scan, volume, x, p)

    def _renewed(self, name: str, scan: gt.Geometry, volume: gt.Volume, x: np.ndarray, p: np.ndarray) -> None:
        """A projector that all threads share, and that each tenth call replaces: plans are made while others are."""
        held, count = [gt.Projector(scan, volume, device=self.device)], itertools.count(1)

        def latest() -> gt.Projector:
            if next(count) % 10 == 0:
                held[0] = gt.Projector(scan, volume, device=self.device)
            return held[0]

        self.calls[f"new {name}: A(x)"] = lambda: latest()(x)
        self.calls[f"new {name}: A.T(p)"] = lambda: latest().T(p)

    def _plans(self) -> None:
        problem = problems.tmv(96, 80, device=self.device)
        plan = problem.prepare(gpuopt.Configuration("tlp"), self.device)

        def run() -> np.ndarray:
            plan.prepared.run()
            return plan.output.to_numpy()

        def sample() -> tuple[int, np.ndarray]:
            return len(plan.prepared.sample(2, 3)["device_ms"]), plan.output.to_numpy()

        def prepare() -> np.ndarray:
            own = problem.prepare(gpuopt.Configuration("naive"), self.device)
            own.prepared.run()
            return own.output.to_numpy()

        self.calls |= {"run": run, "sample": sample, "prepare": prepare, "guards": plan.output.guards_intact}
        plan.prepared.run()

    def _files(self) -> None:
        """Many writers of one file: whoever reads finds a whole one."""
        _, surface = _capsid(np.random.default_rng(12))
        phi, path = np.arange(len(surface), dtype=np.float64), self.folder / "shared.ply"
        io.write_ply(path, surface, phi)
        store = Store(self.folder / "rows.jsonl")
        record = {"match": {"name": "no such device"}, "variant": "naive", "parameters": {}}

        def write() -> np.ndarray:
            io.write_ply(path, surface, phi)
            return io.read_ply(path).points

        def keep() -> bool:
            made = store.append(new_row(kind="search", status="ok", workload="spmv", seed=len(store.rows())))
            return made["row_id"] in {row["row_id"] for row in store.rows()}

        def tuned() -> int:
            records.store_records("tmv", [record])
            return len(records.user_records("tmv"))

        self.store = store
        self.calls |= {"write_ply": write, "append": keep, "store_records": tuned}

    def _facts(self) -> None:
        self.calls |= {
            "variants": lambda: str(gpuopt.variants("spmv")),
            "devices": lambda: [device.key for device in gpuopt.devices()],
        }


def _capsid(random: np.random.Generator) -> tuple[gpuopt.Molecule, gpuopt.Surface]:
    xyz = random.uniform(-5, 5, (60, 3)).astype(np.float32)
    charge = random.uniform(-1, 1, 60).astype(np.float32)
    points = random.normal(size=(90, 3))
    points = (9 * points / np.linalg.norm(points, axis=1, keepdims=True)).astype(np.float32)
    molecule = gpuopt.Molecule(xyz, charge, np.full(60, 1.5, np.float32))
    return molecule, gpuopt.Surface(points, points / 9)
