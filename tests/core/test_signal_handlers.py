"""A signal's handler runs within a wait of the call that it interrupts: what it may call there."""

from __future__ import annotations

import subprocess
import sys

import gpuopt

# A product takes more than the 100 ms from which on a wait looks at signals. Before, the handler waited for ever.
SCRIPT = """
import signal, sys, time
import numpy as np
import gpuopt

gpuopt.use(int(sys.argv[1]))
small, size, told = np.ones((4, 4), np.float32), 1024, []

def handler(number, frame):
    try:
        gpuopt.to_device(small)
        told.append("computed")
    except gpuopt.Error as error:
        told.append(str(error))

signal.signal(signal.SIGALRM, handler)
while True:
    A = np.ones((size, size), np.float32)
    gpuopt.gemm(A, A)
    start = time.perf_counter()
    gpuopt.gemm(A, A)
    took = time.perf_counter() - start
    if took > 0.3 or size >= 16384:
        break
    size *= 2
for part in (0.3, 0.5, 0.7):
    signal.setitimer(signal.ITIMER_REAL, part * took)
    assert (gpuopt.gemm(A, A) == size).all()
    time.sleep(took)
signal.setitimer(signal.ITIMER_REAL, 0)
assert len(told) == 3, told
assert (gpuopt.gemm(small, small) == 4).all()
print(sorted(set(told)))
"""


def test_a_handler_that_calls_gpuopt_is_answered(any_device: gpuopt.Device) -> None:
    run = subprocess.run(
        [sys.executable, "-c", SCRIPT, str(any_device.index)], capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    assert "computed" in run.stdout or "a signal's handler called gpuopt" in run.stdout
