"""Scans whose lengths have magnitudes from 1e-60 to 1e60: each in a worker process, which a fault would end.

``python tests/hostile/magnitudes.py DEVICE checked`` is the worker: it reads a case a line and answers a line of JSON.
"""

from __future__ import annotations

import json
import math
import re
import select
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

Case = dict[str, Any]

# An ordinary scan of every maker, its volume, and the names of what is a length in mm; of pairs both entries change.
SCANS: dict[str, tuple[dict[str, Any], dict[str, Any], tuple[str, ...]]] = {
    "parallel2d": ({"angles": 5, "det": 18, "pixel": 1.2, "offset": 0.3}, {"shape": (9, 11)}, ("pixel", "offset")),
    "parallel3d": ({"angles": 8, "det": (6, 18), "pixel": 1.1}, {"shape": (6, 12, 12)}, ("pixel", "offset")),
    "fan": (
        {"angles": 7, "sod": 60.0, "sdd": 120.0, "det": 30, "pixel": 1.5},
        {"shape": (12, 12)},
        ("sod", "sdd", "pixel", "offset", "radius"),
    ),
    "circular": (
        {"angles": 6, "sod": 60.0, "sdd": 120.0, "det": (12, 30), "pixel": 1.5},
        {"shape": (6, 12, 12)},
        ("sod", "sdd", "pixel", "offset", "z0", "radius"),
    ),
    "helical": (
        {"views": 7, "turns": 1.5, "sod": 60.0, "sdd": 120.0, "det": (12, 30), "pixel": 1.5, "pitch": 6.0},
        {"shape": (6, 12, 12)},
        ("sod", "sdd", "pixel", "offset", "z0", "pitch", "radius", "turns", "start", "t_ref"),
    ),
    "from_vectors": ({"det": (8, 9)}, {"shape": (5, 8, 7)}, ("S", "C", "U", "Q", "radius")),
    "from_astra": (
        {
            "type": "cone",
            "DetectorRowCount": 8,
            "DetectorColCount": 9,
            "DetectorSpacingX": 2.0,
            "DetectorSpacingY": 2.0,
            "DistanceOriginSource": 60.0,
            "DistanceOriginDetector": 60.0,
            "ProjectionAngles": (0.1, 1.0, 2.3),
        },
        {"shape": (5, 8, 7)},
        ("DetectorSpacingX", "DetectorSpacingY", "DistanceOriginSource", "DistanceOriginDetector"),
    ),
}
GRID = ("voxel", "centre")
PAIRS = {"pixel", "offset", "voxel", "centre"}
SIGNED = {"offset", "centre", "z0", "pitch", "turns", "start", "t_ref"}
KINDS = ("cone_vec", "parallel3d_vec", "cyl_cone_vec")
NOT_LENGTHS = ("turns", "start", "t_ref")


def cases(seed: int) -> Iterator[Case]:
    """Without end: a scan with one to three lengths of any magnitude, or with all of them in another unit."""
    draw = np.random.default_rng(seed)
    while True:
        maker = str(draw.choice(list(SCANS)))
        scan, grid, lengths = SCANS[maker]
        case: Case = {"maker": maker, "scan": dict(scan), "grid": dict(grid), "unit": 1.0, "factors": {}}
        if maker == "from_vectors":
            case["kind"] = str(draw.choice(KINDS))
        elif "sod" in scan:
            case["scan"]["curved"] = bool(draw.integers(2))
        # Most scans with wild lengths are refused at once; tamer ones reach the kernels.
        decades = float(draw.choice([3, 6, 12, 24, 60]))
        if draw.random() < 0.25:
            case["unit"] = 10 ** draw.uniform(-decades, decades)
        else:
            names = [*lengths, *GRID]
            for name in draw.choice(names, draw.integers(1, 4), replace=False):
                count = len(grid["shape"]) if name in GRID else 2 if "det" in scan and name in PAIRS else 1
                if maker == "parallel2d" or (maker == "fan" and name not in GRID):
                    count = 2 if name in GRID else 1
                values = 10 ** draw.uniform(-decades, decades, count if draw.integers(2) else 1)
                if name in SIGNED:
                    values *= draw.choice([-1, 1], len(values))
                case["factors"][str(name)] = [float(v) for v in values]
        yield case


def scan_and_volume(case: Case) -> tuple[Any, Any]:
    """The geometry and the volume of a case; raises what they raise."""
    import gpuopt.tomo as gt

    unit, factors, maker = case["unit"], case["factors"], case["maker"]
    grid = dict(case["grid"], voxel=unit)
    scan: dict[str, Any] = dict(case["scan"])
    if maker == "from_vectors":
        rows = _vectors(case["kind"], unit, factors)
        scan = {"vectors": rows, "kind": case["kind"], **scan}
    for name, given in scan.items():
        if name in SCANS[maker][2] and name not in NOT_LENGTHS:
            scan[name] = given * unit
    for name, values in factors.items():
        value = values[0] * (1.0 if name in NOT_LENGTHS else unit) if len(values) == 1 else [v * unit for v in values]
        if name in GRID:
            grid[name] = value
        elif maker != "from_vectors":
            scan[name] = value
    volume = gt.Volume(**{name: _tuple(value) for name, value in grid.items()})
    if maker == "from_astra":
        return gt.from_astra(scan), volume
    return getattr(gt, maker)(**{name: _tuple(value) for name, value in scan.items()}), volume


def _tuple(value: Any) -> Any:
    return tuple(value) if isinstance(value, list) and value and not isinstance(value[0], list) else value


def _vectors(kind: str, unit: float, factors: dict[str, list[float]]) -> list[list[float]]:
    rows = []
    for angle in (0.1, 1.9, 3.3):
        towards, along = (
            np.array([math.sin(angle), -math.cos(angle), 0]),
            np.array([math.cos(angle), math.sin(angle), 0]),
        )
        lean = 0 if kind == "cyl_cone_vec" else 0.1
        parts = {
            "S": towards * (1 if kind == "parallel3d_vec" else 60),
            "C": -60 * towards,
            "U": 2 * along,
            "Q": 2 * np.array([lean, 0, 1]),
        }
        row = [float(v) for name, part in parts.items() for v in part * unit * factors.get(name, [1.0])[0]]
        rows.append(row + [120 * unit * factors.get("radius", [1.0])[0]] * (kind == "cyl_cone_vec"))
    return rows


# ---------------------------------------------------------------- what a worker does with a case


def answer(case: Case, device: Any) -> dict[str, Any]:
    """What came of a case: refused with a message, or computed; ``wrong`` says what of it is not as it should be."""
    import gpuopt
    import gpuopt.tomo as gt

    done = "made"
    try:
        geometry, volume = scan_and_volume(case)
        draw = np.random.default_rng(1)
        x, y = (draw.uniform(0.5, 1.5, shape).astype(np.float32) for shape in (volume.shape, geometry.shape))
        done = "NumPy"
        plain = gt.NumpyProjector(geometry, volume)
        with np.errstate(over="ignore", invalid="ignore", divide="ignore", under="ignore"):
            expected = {"forward": plain(x.astype(float)), "exact": plain.T(y.astype(float))}
            plain = gt.NumpyProjector(geometry, volume, "fast")
            for weight in ("adjoint", "none", "fdk"):
                expected[weight] = plain.back_project(y.astype(float), weight)
        done = "device"
        found = {}
        A = gt.Projector(geometry, volume, device=device)
        found["forward"], found["exact"] = A(x), A.T(y)
        for weight in ("adjoint", "none", "fdk"):
            found[weight] = gt.back_project(y, geometry, volume, weight, device=device)
        for variant in ("naive", "alu", "buffer", "image") if case["maker"] != "from_astra" else ():
            try:
                found["variant " + variant] = gt.back_project(y, geometry, volume, variant=variant, device=device)
            except gpuopt.UnsupportedError:
                continue
    except gpuopt.Error as error:
        return {"refused": str(error), "wrong": _unclear(str(error))}
    except Exception as error:
        return {"wrong": f"{done}: untyped {type(error).__name__}: {error}"}
    for name, image in expected.items():
        if not np.isfinite(image).all():
            return {"wrong": f"NumPy {name}: not finite"}
    worst = 0.0
    for name, image in found.items():
        if not np.isfinite(image).all():
            return {"wrong": f"{name}: not finite"}
        other = expected.get(name, expected["adjoint"])
        size = np.abs(other).max()
        apart = np.abs(image - other).max() / size if size else np.abs(image).max()
        worst = max(worst, float(apart))
        if apart > TOLERANCE:
            return {"wrong": f"{name}: {apart:.3g} of the largest value away from fp64, which is {size:.3g}"}
    return {"wrong": "", "apart": worst}


TOLERANCE = 0.05


def _unclear(message: str) -> str:
    """Why a message is not clear: it must name an argument first."""
    return "" if re.match(r"[A-Za-z_]\w*( along \w+)?: \S", message) else f"the message names no argument: {message}"


def unchecked(case: Case, device: Any) -> dict[str, Any]:
    """Kernels on a scan that Python would refuse: they may compute anything, but only inside their arrays."""
    import gpuopt
    from gpuopt import _core
    from gpuopt.tomo import checks, geometry, on_device, volume

    checks.SHORTEST, checks.LONGEST, checks.MOST_RADIANS = 0.0, math.inf, math.inf
    volume._MOST_UNLIKE = math.inf
    geometry._check_sizes = lambda *_: None
    standard = {row.name: {p.name: p.standard for p in row.parameters} for row in gpuopt.variants("tomography")}
    try:
        scan, grid = scan_and_volume(case)
        kernels = on_device.kernel_geometry(scan, grid)
    except (gpuopt.Error, ArithmeticError):
        return {"refused": "", "wrong": ""}
    float32, ran = np.dtype(np.float32), 0
    for name, parameters in standard.items():
        image, data = (_core.empty(shape, float32, device, True) for shape in (grid.shape, scan.shape))
        for array in (image, data):
            array.fill_bytes(0x3F)  # floats of 0.747
        try:
            if "joseph" in name:
                _core.prepare_joseph(
                    None, image, data, kernels, accumulate=False, variant=name, parameters=parameters
                ).prepared.run()
            else:
                configuration = gpuopt.Configuration(name, **parameters)
                on_device.plan_back_projection(kernels, data, image, "adjoint", 1.0, False, configuration).run()
        except gpuopt.Error:
            continue
        ran += 1
        if not (image.guards_intact() and data.guards_intact()):
            return {"wrong": f"{name} wrote past the end"}
    return {"wrong": "", "ran": ran}


def worker(device: str, how: str) -> None:
    import gpuopt

    chosen = list(gpuopt.devices())[int(device)]
    for line in sys.stdin:
        print(json.dumps((unchecked if how == "unchecked" else answer)(json.loads(line), chosen)), flush=True)


class Worker:
    """A process that answers cases; it is started anew after a fault."""

    def __init__(self, device: str, how: str = "checked") -> None:
        self._command = [sys.executable, str(Path(__file__).resolve()), device, how]
        self._process: subprocess.Popen[str] | None = None

    def ask(self, case: Case, seconds: float = 60.0) -> dict[str, Any]:
        if self._process is None:
            self._process = subprocess.Popen(
                self._command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True
            )
        process = self._process
        assert process.stdin
        assert process.stdout
        process.stdin.write(json.dumps(case) + "\n")
        process.stdin.flush()
        if not select.select([process.stdout], [], [], seconds)[0]:
            self.close()
            return {"wrong": f"no answer within {seconds:g} s"}
        line = process.stdout.readline()
        if line:
            return dict(json.loads(line))
        status = process.wait()
        self.close()
        return {"wrong": f"the process ended with status {status}"}

    def close(self) -> None:
        if self._process is not None:
            self._process.kill()
            self._process.communicate()
            self._process = None


if __name__ == "__main__":
    worker(sys.argv[1], sys.argv[2])
