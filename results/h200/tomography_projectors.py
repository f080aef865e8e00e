"""Joseph's projections of cubes and their transposes, ASTRA's beside them where it is installed, and an OS-SART
iteration beside its parts: rows go to tomography-projectors.jsonl beside this file.

62 of 496 views of 960 x 1248 pixels. A sample is a ray's visit to a plane: rays times voxels along x, each of which
would be one fetch of a texture unit. Copies of the volume that a kernel wants are part of its time. The middle of the
first and the last view is held against fp64, the transpose against the forward's result: <A x, y> = <x, A^T y>.
"""

import json
import math
import time
from pathlib import Path

import numpy as np

import gpuopt
import gpuopt.tomo as gt
from gpuopt import Configuration, _core
from gpuopt.configuration import complete
from gpuopt.tomo.on_device import kernel_geometry
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.reference_inputs import reference_inputs

VIEWS, ROWS, COLUMNS, STEP = 496, 960, 1248, 8
KERNELS = {512: ["joseph", "joseph_image", "joseph_gather"], 1024: ["joseph", "joseph_gather"]}
SAMPLES = 10

device = gpuopt.devices()[0]
rows = []


def scan(size, detector=(ROWS, COLUMNS)):
    geometry = gt.circular(VIEWS, sod=750, sdd=1200, det=detector, pixel=0.32).subset(np.arange(0, VIEWS, STEP))
    return geometry, gt.Volume((size,) * 3, 256 / size)


def interval(values):
    draw = np.random.default_rng(0)
    medians = np.median(draw.choice(values, (2000, len(values))), axis=1)
    return [float(np.median(values)), *map(float, np.quantile(medians, [0.025, 0.975]))]


def keep(case, name, milliseconds=None, samples=0, **more):
    row = {"device": device.name, "driver": device.driver, "case": case, "what": name}
    if milliseconds:
        ms, low, high = interval(milliseconds)
        row |= {"ms": ms, "ci95": [low, high]} | ({"gsamples_s": samples / ms * 1e-6} if samples else {})
    rows.append(row | more)
    print({key: value for key, value in rows[-1].items() if key not in ("device", "driver")}, flush=True)


def inner(one, other):
    return float(sum(np.vdot(a.astype(np.float64), b.astype(np.float64)) for a, b in zip(one, other, strict=True)))


def transposed_error(x, ax, y, aty):
    """|<A x, y> - <x, A^T y>| / (|A x| |y|)."""
    return float(abs(inner(ax, y) - inner(x, aty)) / np.sqrt(inner(ax, ax) * inner(y, y)))


def middle_error(size, volume, x, projections):
    """Of the 8 x 8 pixels in the middle of the first and the last view, against fp64."""
    geometry, _ = scan(size, (8, 8))
    ends = [0, geometry.views - 1]
    exact = oracle.joseph(*reference_inputs(geometry.subset(np.array(ends)), volume), x.astype(np.float64))
    top, left = ROWS // 2 - 4, COLUMNS // 2 - 4
    found = projections[ends, top : top + 8, left : left + 8]
    return float(np.linalg.norm(found - exact) / np.linalg.norm(exact))


for size, names in KERNELS.items():
    geometry, volume = scan(size)
    draw = np.random.default_rng(size)
    x = np.resize(draw.standard_normal(1 << 22, dtype=np.float32), volume.shape)
    y = np.resize(draw.standard_normal(1 << 22, dtype=np.float32), geometry.shape)
    image, data = gpuopt.to_device(x, device), gpuopt.to_device(y, device)
    scratch, samples = _core.JosephScratch(device), math.prod(geometry.shape) * size
    projected = None
    for name in names:  # the exact forward first
        configuration = complete("tomography", Configuration(name))
        if name == "joseph_gather":
            data = gpuopt.to_device(y, device)
        plan = _core.prepare_joseph(
            scratch, image, data, kernel_geometry(geometry, volume), False, name, configuration.parameters
        ).prepared
        plan.run()
        if name == "joseph_gather":
            error = {"transposed_error": transposed_error(x, projected, y, image.to_numpy())}
        else:
            found = data.to_numpy()
            if projected is None:
                projected = found
            error = {"error_l2": middle_error(size, volume, x, found)}
        keep(f"cube{size}", str(configuration), plan.sample(SAMPLES)["device_ms"], samples, **error)
        del plan
    try:
        import astra
        import astra.experimental
        import torch

        nz, ny, nx = volume.shape
        corners = volume.corners()
        ends = np.stack([corners.min(axis=0), corners.max(axis=0)], axis=1).ravel().tolist()
        where = astra.create_projector("cuda3d", geometry.to_astra(), astra.create_vol_geom(ny, nx, nz, *ends))
        there = torch.as_tensor(x, device="cuda")
        seen = torch.zeros((ROWS, geometry.views, COLUMNS), device="cuda")
        times = []
        for _ in range(SAMPLES + 1):
            torch.cuda.synchronize()
            start = time.perf_counter()
            astra.experimental.direct_FP3D(where, there, seen)
            torch.cuda.synchronize()
            times.append((time.perf_counter() - start) * 1e3)
        error = middle_error(size, volume, x, np.moveaxis(seen.cpu().numpy(), 1, 0))
        keep(f"cube{size}", f"ASTRA {astra.__version__} FP3D", times[1:], samples, error_l2=error)
        del there, seen
    except ImportError as reason:
        print("ASTRA is left out:", reason)
    del image, data, scratch


def iterate(pair, geometry, volume):
    """An OS-SART iteration of 4 blocks, and what it is made of."""
    A = gt.Projector(geometry, volume, pair, device=device)
    keep("cube512", f"adjoint error, {pair}", adjoint_error=A.adjoint_error())
    b = gpuopt.to_device(np.resize(np.random.default_rng(1).random(1 << 22, dtype=np.float32), geometry.shape), device)
    found = gt.os_sart(A, b, 4, subsets=4)
    backend, queue, parts = A.backend, _core.DeviceArithmetic(device), np.zeros(4)

    def clock(run, repeats=5):
        run()
        queue.finish()
        start = time.perf_counter()
        for _ in range(repeats):
            run()
        queue.finish()
        return (time.perf_counter() - start) / repeats * 1e3

    step, weights = backend.full(volume.shape, 1.0), backend.full(volume.shape, 1.0)

    def times(part):
        seen, left = backend.full(part.data_shape, 0.0), backend.full(part.data_shape, 1.0)
        return [
            clock(lambda: part.forward(step, seen)),
            clock(lambda: part.back(left, step)),
            clock(lambda: backend.residual(left, seen, left)),
            clock(lambda: backend.update(step, 0.1, weights, step, None, None, None, step)),
        ]

    for block in range(4):
        parts += times(A.subset(np.arange(block, geometry.views, 4)))
    names = ("forward", "back", "residual", "update")
    keep(
        "cube512",
        f"OS-SART iteration, {pair}, {geometry.views} views in 4 blocks",
        list(found.seconds[1:] * 1e3),
        0,
        parts_ms=dict(zip(names, map(float, parts), strict=True)),
        over_sum_of_parts=float(np.median(found.seconds[1:]) * 1e3 / parts.sum()),
    )


geometry, volume = scan(512)
for pair in ("exact", "fast"):
    iterate(pair, geometry.subset(np.arange(0, geometry.views, 2)), volume)
Path(__file__).with_name("tomography-projectors.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
