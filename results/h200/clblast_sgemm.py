"""CLBlast's SGEMM as installed, not tuned for the device, beside cuBLAS's through PyTorch: rows go to
clblast-sgemm.jsonl beside this file. ``python clblast_sgemm.py [path of libclblast.so.1]``. Times are of the host's
clock over a queue of products, blocks interleaved; results are held against fp64 in 64 rows.
"""

import ctypes
import json
import sys
import time
from pathlib import Path

import numpy as np
import torch

SIZES = {1024: 40, 2048: 20, 4096: 6, 8192: 2}  # products a sample
BLOCKS = 8
ROW_MAJOR, PLAIN = 101, 111

opencl = ctypes.CDLL("libOpenCL.so.1")
clblast = ctypes.CDLL(sys.argv[1] if len(sys.argv) > 1 else "libclblast.so.1")
pointer, size, integer = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int
for name in ("clCreateContext", "clCreateCommandQueue", "clCreateBuffer"):
    getattr(opencl, name).restype = pointer


def gpu():
    """A queue on the first GPU of any platform."""
    platforms = (pointer * 8)()
    count = ctypes.c_uint()
    opencl.clGetPlatformIDs(8, platforms, ctypes.byref(count))
    for platform in platforms[: count.value]:
        device = pointer()
        if opencl.clGetDeviceIDs(pointer(platform), ctypes.c_ulong(4), 1, ctypes.byref(device), None) == 0:
            fault = integer()
            context = pointer(opencl.clCreateContext(None, 1, ctypes.byref(device), None, None, ctypes.byref(fault)))
            queue = pointer(opencl.clCreateCommandQueue(context, device, ctypes.c_ulong(0), ctypes.byref(fault)))
            return context, queue
    raise SystemExit("no GPU")


context, queue = gpu()


def buffer(array):
    made = pointer(opencl.clCreateBuffer(context, ctypes.c_ulong(1), size(array.nbytes), None, None))
    data = array.ctypes.data_as(pointer)
    assert opencl.clEnqueueWriteBuffer(queue, made, 1, size(0), size(array.nbytes), data, 0, None, None) == 0
    return made


def read(made, array):
    data = array.ctypes.data_as(pointer)
    assert opencl.clEnqueueReadBuffer(queue, made, 1, size(0), size(array.nbytes), data, 0, None, None) == 0
    return array


def interval(values):
    draw = np.random.default_rng(0)
    medians = np.median(draw.choice(values, (2000, len(values))), axis=1)
    return [float(np.median(values)), *map(float, np.quantile(medians, [0.025, 0.975]))]


def compare(n, batch):
    """Rows of the two for matrices of n x n."""
    draw = np.random.default_rng(n)
    a, b = (draw.uniform(-1, 1, (n, n)).astype(np.float32) for _ in range(2))
    of_a, of_b, of_c = buffer(a), buffer(b), buffer(np.zeros_like(a))
    left, right = torch.from_numpy(a).cuda(), torch.from_numpy(b).cuda()
    torch.backends.cuda.matmul.allow_tf32 = False
    held = draw.choice(n, 64, replace=False)
    exact = (left[held].double() @ right.double()).cpu().numpy()

    def products():
        plain = (ROW_MAJOR, PLAIN, PLAIN, size(n), size(n), size(n), ctypes.c_float(1))
        operands = (of_a, size(0), size(n), of_b, size(0), size(n), ctypes.c_float(0), of_c, size(0), size(n))
        for _ in range(batch):
            state = clblast.CLBlastSgemm(*plain, *operands, ctypes.byref(queue), None)
            assert state == 0, state
        opencl.clFinish(queue)

    def cublas():
        for _ in range(batch):
            result = left @ right
        torch.cuda.synchronize()
        return result

    products()  # builds its kernels
    vendor = f"PyTorch {torch.__version__} (cuBLAS)"
    found = {"CLBlast": read(of_c, np.empty_like(a))[held], vendor: cublas()[held.tolist()].cpu().numpy()}
    runs = {"CLBlast": products, vendor: cublas}
    times = {name: [] for name in runs}
    for _ in range(BLOCKS):
        for name, run in runs.items():
            start = time.perf_counter()
            run()
            times[name].append((time.perf_counter() - start) / batch)
    for made in (of_a, of_b, of_c):
        opencl.clReleaseMemObject(made)
    for name, seconds in times.items():
        rate, low, high = interval(2e-12 * n**3 / np.array(seconds))
        error = float(np.linalg.norm(found[name] - exact) / np.linalg.norm(exact))
        print(f"{n:5d} {name:28s} {rate:6.2f} [{low:.2f}, {high:.2f}] TFLOP/s, error {error:.1e}", flush=True)
        row = {"device": torch.cuda.get_device_name(), "peer": name, "n": n, "tflop_s": rate, "ci95": [low, high]}
        yield row | {"frobenius": error, "blocks": BLOCKS, "batch": batch}


rows = [row for n, batch in SIZES.items() for row in compare(n, batch)]
Path(__file__).with_name("clblast-sgemm.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
