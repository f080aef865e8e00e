"""Arguments as Python expressions: good ones by name, and hostile ones by what they are meant for. A reproducer is a
call of these, after ``from hostile.call_values import *``."""

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
from gpuopt.problem import Peer
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
    return gt.sphere(4.0, (1.0, 0.0, 0.0)).project(gt.parallel2d(6, 16), dtype=np.float32)


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


# By "Class.method.parameter", "function.parameter", or the parameter's name alone.
GOOD = {
    # gpuopt
    "gemm.A": "np.ones((8, 6), np.float32)",
    "gemm.B": "np.ones((6, 5), np.float32)",
    "gemm.C": "np.ones((8, 5), np.float32)",
    "gemm.out": "np.empty((8, 5), np.float32)",
    "spmv.A": "banded()",
    "x": "np.ones(12, np.float32)",
    "y": "np.ones(12, np.float32)",
    "out": "np.empty(12, np.float32)",
    "tmv.A": "np.ones((8, 6), np.float32)",
    "v": "np.ones(8, np.float32)",
    "tmv.out": "np.empty(6, np.float32)",
    "alpha": "2.0",
    "beta": "0.0",
    "transpose_a": "False",
    "transpose_b": "False",
    "transpose": "False",
    "to_device.a": "np.ones((3, 4), np.float32)",
    "DiaMatrix.matrix": "banded()",
    "diagonal.k": "1",
    "factor": "2.0",
    "divisor": "2.0",
    "__rmatmul__.x": "np.ones(12, np.float32)",
    "transpose.axes": "(1, 0)",
    "other": "np.ones(12, np.float32)",
    "planned.make": "lambda configuration: configuration",
    "columns": "False",
    "molecule": "molecule()",
    "surface": "surface()",
    "Molecule.xyz": "np.ones((4, 3))",
    "Molecule.charge": "np.ones(4)",
    "Molecule.radius": "np.ones(4)",
    "Molecule.depth": "np.ones(4)",
    "Surface.points": "np.ones((4, 3))",
    "Surface.normals": "np.ones((4, 3))",
    "Surface.faces": "np.array([[0, 1, 2]])",
    "Surface.height": "np.ones(4)",
    "dtype": "'float32'",
    "device": "None",
    "use.device": "gpuopt.devices()[0]",
    "workload": "'gemm'",
    "Configuration.variant": "'tiled'",
    "parse.text": "'tiled(TILE=16)'",
    "variant": "None",
    "spacing": "2.0",
    "margin": "2.0",
    "density": "1.0",
    "phi": "np.ones(20)",
    "kcal_per_mol": "-1.5",
    "SolvationEnergy.error": "0.001",
    "count": "12",
    # io
    "path": "'made.file'",
    "read_pqr.path": "molecule_file()",
    "read_ply.path": "surface_file()",
    "read_surface.path": "surface_file()",
    "vert": "'none.vert'",
    "write_dx.values": "np.ones(8)",
    "write_dx.grid": "gpuopt.molecule.Grid((0.0, 0.0, 0.0), 1.0, (2, 2, 2))",
    "write_dx.path": "'made.dx'",
    "write_ply.path": "'made.ply'",
    "write_vtk.path": "'made.vtk'",
    # lab
    "capture.call": "lambda: gpuopt.gemm(np.ones((8, 6), np.float32), np.ones((6, 5), np.float32))",
    "capture.folder": "'made-capture'",
    "problem": "problem()",
    "variants": "['naive']",
    "protocol": "'quick'",
    "peers": "()",
    "calls": "False",
    "points": "[lab.Point(gpuopt.Configuration('launch'), bytes=16384)]",
    "store": "None",
    "Store.path": "'made.jsonl'",
    "row": "dict(rows_of_a_study()[0])",
    "rows": "rows_of_a_study()",
    "studies": "[study()]",
    "study": "study()",
    "load.path": "results()",
    "Study.load.path": "results()",
    "paths": "results()",
    "audit.profile": "None",
    "sources": "study()",
    "directory": "'made-plots'",
    "name": "'naive'",
    "reference": "'naive'",
    "width": "80",
    "seconds": "0.2",
    "keep": "False",
    "Peer.name": "'peer'",
    "prepare": "lambda problem: problem",
    "run": "lambda state: state",
    "configuration": "'read(WIDTH=1)'",
    "Point.configuration": "gpuopt.Configuration('read', WIDTH=1)",
    "bytes": "16384",
    "sizes": "[16384]",
    "driver": "'1'",
    "date": "'2026-01-01'",
    "platform": "'a platform'",
    "gpuopt_version": "'0.1.0'",
    "ceilings": "{}",
    "Profile.device": "'a device'",
    "text": "profile().to_json()",
    "earlier": "None",
    "ceiling": "'dram'",
    "Profile.check_is_of.device": "gpuopt.devices()[0]",
    "progress": "False",
    # problems
    "image": "np.ones((12, 12))",
    "m": "16",
    "height": "12",
    "problems.spmv_grid.width": "12",
    "microbenchmark.width": "0",
    "shape": "(12, 12)",
    "problems.tmv.rows": "16",
    "cols": "16",
    "atoms": "40",
    "vertices": "50",
    "seed": "0",
    "radius": "1",
    "case": "'I1'",
    "Problem.name": "'a problem'",
    "Problem.dtype": "np.dtype('float32')",
    "Problem.sizes": "{'n': 4}",
    "Problem.inputs": "{}",
    "Problem.reference": "np.ones(4)",
    "Problem.tolerance": "np.ones(4)",
    "footprint_bytes": "16",
    # tomo
    "geometry": "scan()",
    "volume": "volume()",
    "A": "projector()",
    "projections": "projections()",
    "iterations": "2",
    "p": "projections()",
    "Geometry.shifted.v": "0.25",
    "Geometry.shifted.u": "-0.25",
    "forward.x": "image()",
    "Projector.forward.out": "np.empty((6, 6, 10), np.float32)",
    "Projector.back.out": "np.empty((4, 6, 6), np.float32)",
    "weight": "'adjoint'",
    "back_projection.weight": "'none'",
    "views": "[0, 1, 2]",
    "helical.views": "8",
    "turns": "1.0",
    "pitch": "2.0",
    "angles": "8",
    "sod": "60.0",
    "sdd": "120.0",
    "det": "(6, 10)",
    "fan.det": "10",
    "parallel2d.det": "10",
    "pixel": "1.0",
    "Volume.shape": "(4, 6, 6)",
    "voxel": "1.0",
    "centre": "0.0",
    "Blob.width": "2.0",
    "blob.width": "2.0",
    "Blob.centre": "(0.0, 0.0, 0.0)",
    "blob.centre": "(0.0, 0.0, 0.0)",
    "sphere.centre": "(0.0, 0.0, 0.0)",
    "sphere.radius": "2.0",
    "Ellipsoid.density": "1.0",
    "Ellipsoid.axes": "(1.0, 2.0, 3.0)",
    "bodies": "[gt.Ellipsoid(1.0, 2.0)]",
    "origin": "np.zeros((3, 3))",
    "direction": "np.ones((3, 3))",
    "density_at.points": "np.zeros((3, 3))",
    "project.points": "np.zeros((3, 3))",
    "view": "0",
    "point": "np.zeros(3)",
    "times": "2",
    "first": "0",
    "last": "2",
    "index": "[0, 1]",
    "dimensions": "3",
    "Geometry.detector": "scan().detector",
    "raw": "np.full((6, 6, 10), 2.0, np.float32)",
    "flat": "4.0",
    "dark": "0.0",
    "photons": "1000.0",
    "filter_rows.rows": "projections()",
    "taps": "gt.ramp(10, 1.0)",
    "ramp.columns": "10",
    "vectors": "np.eye(4, 12) + 1.0",
    "from_astra.geometry": "scan().to_astra()",
    "subsets": "2",
    "read_scan.path": "scan_file()",
    "read_scan.angles": "6",
    "read_scan.flat": "4.0",
    "ScanFile.source": "scan_in_a_file().source",
    "ScanFile.angles": "scan_in_a_file().angles",
    "find_centre.projections": "sinogram()",
    "find_centre.geometry": "6",
    "remove_rings.projections": "sinogram()",
}

# Objects whose methods are called; other classes are made of their own good arguments.
INSTANCES = {
    "DiaMatrix": "matrix()",
    "DeviceArray": "device_array()",
    "Molecule": "molecule()",
    "Surface": "surface()",
    "Study": "study()",
    "Geometry": "scan()",
    "Projector": "projector()",
    "Supersampled": "gt.Supersampled(gt.NumpyProjector(scan(), volume()))",
    "Volume": "volume()",
    "ScanFile": "scan_in_a_file()",
    "Phantom": "phantom()",
    "Profile": "profile()",
    "Problem": "problem()",
    "Frames": "scan().frames",
    "Detector": "scan().detector",
    "GeometricOperator": "projector()",
    "Peer": "peer()",
}
