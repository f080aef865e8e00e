"""What the expressions of good and hostile arguments are made with. A reproducer is a call of these, after
``from hostile.call_values import *``."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse

import gpuopt
import gpuopt.molecule
from gpuopt import io, lab, microbench, papers, problems
from gpuopt import tomo as gt
from gpuopt.lab.compiled.entries import Compiled, Entry
from gpuopt.lab.compiled.listing import Instruction, Listing
from gpuopt.lab.device.aa_record import AA
from gpuopt.lab.device.aa_record import Shown as Compared
from gpuopt.lab.rows.ratios import Ratio
from gpuopt.lab.show.claims import Claims
from gpuopt.problem import Peer
from gpuopt.workloads.casebook.findings import not_run
from gpuopt.workloads.casebook.index import chosen
from gpuopt.workloads.casebook.running import Casebook
from hostile.raising import raising

__all__ = ["Path", "gpuopt", "gt", "io", "lab", "microbench", "np", "papers", "problems", "raising", "scipy"]


def shown(function: Any) -> Any:
    """Makes a helper part of what reproducers import; what it returns is made once a process."""
    __all__.append(function.__name__)
    return functools.cache(function)


def values(*shape: int, dtype: Any = np.float32) -> np.ndarray:
    return np.random.default_rng(sum(shape)).uniform(0.5, 1.5, shape).astype(dtype)


@shown
def banded() -> Any:
    return scipy.sparse.dia_array((values(3, 12), np.array([-1, 0, 1])), shape=(12, 12))


@shown
def matrix() -> gpuopt.DiaMatrix:
    return gpuopt.DiaMatrix(banded())


@shown
def molecule() -> gpuopt.Molecule:
    xyz = np.array([[0.0, 0, 0], [1.5, 0, 0], [0, 1.7, 0], [0, 0, 1.6]])
    return gpuopt.Molecule(xyz, np.array([0.5, -0.5, 0.25, -0.25]), np.full(4, 1.5), np.full(4, 0.7))


@shown
def surface() -> gpuopt.Surface:
    directions = gpuopt.molecule.fibonacci_sphere(20)
    return gpuopt.Surface(6 * directions, directions, np.array([[0, 1, 2], [1, 2, 3]]))


@shown
def volume() -> gt.Volume:
    return gt.Volume((4, 6, 6), 1.0)


@shown
def scan() -> gt.Geometry:
    return gt.circular(6, 60.0, 120.0, (6, 10), 1.5)


@shown
def projector() -> gt.Projector:
    return gt.Projector(scan(), volume())


@shown
def image() -> np.ndarray:
    return values(4, 6, 6)


@shown
def projections() -> np.ndarray:
    return values(6, 6, 10)


@shown
def phantom() -> gt.Phantom:
    return gt.sphere(2.0)


@shown
def problem() -> problems.Problem:
    return problems.gemm(16)


@shown
def study() -> lab.Study:
    return lab.Study(rows_of_a_study())


@shown
def rows_of_a_study() -> list[Any]:
    file = next(Path(__file__).resolve().parents[2].glob("results/cpu-2core/**/rows.jsonl"))
    return lab.Store(file).latest()[:40]


@shown
def results() -> str:
    """A results file in the working directory."""
    store = lab.Store("good-rows.jsonl")
    for row in [] if store.latest() else rows_of_a_study()[:5]:
        store.append({**row})
    return "good-rows.jsonl"


@shown
def peer() -> Peer[Any, Any]:
    return Peer("numpy", lambda problem: problem, lambda problem: problem.reference)


@shown
def device_array() -> gpuopt.DeviceArray:
    return gpuopt.to_device(values(12))


@shown
def profile() -> lab.Profile:
    return lab.Profile("a device", "1", "a platform", "2026-01-01", "0.1.0", {})


@shown
def surface_file() -> str:
    io.write_ply("good.ply", surface(), values(20, dtype=np.float64))
    return "good.ply"


@shown
def molecule_file() -> str:
    lines = ["ATOM 1 N ALA 1 0.0 0.0 0.0 0.5 1.5", "ATOM 2 C ALA 1 1.5 0.0 0.0 -0.5 1.7", "END"]
    Path("good.pqr").write_text("\n".join(lines) + "\n")
    return "good.pqr"


@shown
def scan_file() -> str:
    """A TIFF of six views of 4 rows and 10 columns."""
    from PIL import Image

    first, *others = [Image.fromarray(page) for page in values(6, 4, 10)]
    first.save("good.tif", save_all=True, append_images=others)
    return "good.tif"


@shown
def scan_in_a_file() -> gt.ScanFile:
    return gt.read_scan(scan_file(), 6, flat=4.0)


@shown
def sinogram() -> np.ndarray:
    return gt.sphere(4.0, (1.0, 0.0, 0.0)).project(gt.parallel2d(24, 16), dtype=np.float32)


@shown
def nested() -> list[Any]:
    """A list that holds itself."""
    made: list[Any] = []
    made.append(made)
    return made


@shown
def disguised() -> Any:
    """Claims an index, a float and an array, and raises at each of them."""

    def refuse(*_: object) -> Any:
        raise RuntimeError("no")

    names = ("__index__", "__float__", "__array__", "__iter__", "__len__", "__bool__", "__fspath__", "__eq__")
    return type("Disguised", (), {**dict.fromkeys(names, refuse), "__hash__": object.__hash__})()


@shown
def lying() -> Any:
    """Says that it is an array of another shape."""
    return type("Lying", (np.ndarray,), {"shape": (10**9, 10**9)})((2, 2), np.float32)


# ---------------------------------------------------------------- results of functions


@shown
def claims() -> Claims:
    return lab.claims(study(), paper="catanzaro2010")


@shown
def compiled() -> Compiled:
    listing = Listing("square", [Instruction("vmulps", "vmulps", "alu")])
    return Compiled("a file", [Entry("square(WG=64)", "square", "square", "live", "a chip", "live", listing=listing)])


@shown
def identical() -> AA:
    shown = Compared("event", "long", 1.0, 4, 0, 4, 0, 0.013)
    return AA("a device", "1", "a platform", "2026-01-01T00:00:00Z", "0.1.0", 60.0, (shown,))


@shown
def ratio() -> Ratio:
    return Ratio(0.5, 0.4, 0.6, "FAST", 12)


@shown
def casebook() -> Casebook:
    (entry,) = chosen("A2")
    return Casebook(gpuopt.devices()[0], "cpu", not_run(entry, "cpu", "nothing was run"))


@shown
def vectors() -> gt.Geometry:
    return gt.from_vectors(np.tile(np.array([1.0, 0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 1]), (4, 1)), (6, 10))
