"""Six of the eight algorithms, and SART along a helix, on one device: the Shepp-Logan head from exact projections.

python tomography_algorithms.py [SIZE] [FILE]: SIZE^3 voxels, SIZE views of SIZE x 1.5 SIZE pixels, rows to FILE. An
error is the root mean square in the inscribed cylinder, over the phantom's; at up to 32^3 the same by plain NumPy code
stands beside it, and how far the two images are apart.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

import gpuopt
import gpuopt.tomo as gt
from gpuopt.selection import select

size = int(sys.argv[1]) if len(sys.argv) > 1 else 64
out = Path(sys.argv[2] if len(sys.argv) > 2 else "tomography-algorithms.jsonl")
device = select()
volume = gt.Volume((size,) * 3, 128 / size)
head = gt.shepp_logan(field=128)
det, pixel = (size, size * 3 // 2), 192 / size
scans = {
    "parallel": gt.parallel3d(size, det, 128 / size),
    "circle": gt.circular(size, sod=500, sdd=750, det=det, pixel=pixel),
    "helix": gt.helical(2 * size, 4, sod=500, sdd=750, det=(size // 2, det[1]), pixel=pixel, pitch=32, curved=True),
}
data = {name: head.project(scan) for name, scan in scans.items()}
truth = head.sample(volume, supersample=2)
inside = np.broadcast_to(np.hypot(volume.x, volume.y[:, None]) < 64, truth.shape)


def error(image):
    return float(np.sqrt(((image - truth)[inside] ** 2).mean() / (truth[inside] ** 2).mean()))


runs = {
    "fbp": ("parallel", "fast", lambda A, p: gt.fbp(A, p)),
    "fdk": ("circle", "fast", lambda A, p: gt.fdk(A, p)),
    "sirt": ("circle", "exact", lambda A, p: gt.sirt(A, p, 20, bounds=(0, None))),
    "sart": ("circle", "exact", lambda A, p: gt.sart(A, p, 4, relaxation=0.3, bounds=(0, None))),
    "os_sart": ("circle", "exact", lambda A, p: gt.os_sart(A, p, 10, subsets=8, relaxation=0.5, bounds=(0, None))),
    "cgls": ("circle", "exact", lambda A, p: gt.cgls(A, p, 10)),
    "sart helix": ("helix", "exact", lambda A, p: gt.sart(A, p, 4, relaxation=0.3, bounds=(0, None))),
}
with out.open("w") as file:
    for name, (scan, pair, run) in runs.items():
        A = gt.Projector(scans[scan], volume, pair, device)
        there = gpuopt.to_device(data[scan], device)
        run(A, there)  # builds
        start = time.perf_counter()
        found = run(A, there)
        image = np.asarray(found) if isinstance(found, gt.Reconstruction) else found.to_numpy()
        seconds = time.perf_counter() - start
        row = {"device": device.name, "driver": device.driver, "algorithm": name, "scan": repr(scans[scan])}
        row |= {"voxels": size**3, "pair": pair, "seconds": seconds, "error": error(image)}
        if isinstance(found, gt.Reconstruction):
            row |= {"iterations": found.iterations, "residuals": found.residuals.tolist()}
        if size <= 32:
            plain = np.asarray(run(gt.NumpyProjector(scans[scan], volume, pair), data[scan]))
            row |= {"plain_error": error(plain), "apart": float(np.linalg.norm(image - plain) / np.linalg.norm(plain))}
        file.write(json.dumps(row) + "\n")
        print(name, {k: v for k, v in row.items() if k in ("seconds", "error", "plain_error", "apart")}, flush=True)
