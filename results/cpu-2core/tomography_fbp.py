"""FBP of a 256 x 256 slice from 180 parallel views, whole calls with NumPy arrays, in turns with scikit-image's iradon.

python tomography_fbp.py DEVICE FILE: rows to FILE. Both are held against the head of Shepp and Logan first.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np
import skimage
from skimage.transform import iradon

import gpuopt.tomo as gt
from gpuopt.selection import select

device = select(sys.argv[1])
volume, scan = gt.Volume((256, 256), 1.0, -0.5), gt.parallel2d(180, 363, 1.0)
head = gt.shepp_logan(2, field=250)
p, truth = head.project(scan), head.sample(volume, supersample=4)
A = gt.Projector(scan, volume, "fast", device)
sinogram, theta = np.ascontiguousarray(p.T), -np.rad2deg(scan.angles)
calls = {
    "gpuopt.tomo.fbp": lambda: gt.fbp(A, p),
    f"scikit-image {skimage.__version__} iradon": lambda: iradon(sinogram, theta=theta, output_size=256, circle=False),
}
times = {name: [] for name in calls}
for name, call in calls.items():
    error = float(np.linalg.norm(call() - truth) / np.linalg.norm(truth))
    print(name, "error", round(error, 4))
    assert error < 0.35, f"{name}: {error}"
for _ in range(21):
    for name, call in calls.items():
        start = time.perf_counter()
        call()
        times[name].append((time.perf_counter() - start) * 1e3)
ours, theirs = map(np.array, times.values())
draw = np.random.default_rng(0)
picks = draw.integers(0, len(ours), (2000, len(ours)))
ratios = np.median((theirs / ours)[picks], axis=1)
row = {"device": device.name, "platform": device.platform, "driver": device.driver, "case": "fbp 256x256, 180 views"}
row |= {name: float(np.median(found)) for name, found in times.items()}
row |= {"ratio": float(np.median(theirs / ours)), "ci95": [float(q) for q in np.quantile(ratios, [0.025, 0.975])]}
Path(sys.argv[2]).write_text(json.dumps(row | {"ms": times}) + "\n")
print(row)
