"""A process ends as it should while a daemon thread is inside a call."""

from __future__ import annotations

import subprocess
import sys

import pytest

import gpuopt

PROGRAM = """
import os, threading, time
import numpy as np
import gpuopt
import gpuopt.tomo as gt

device = gpuopt.devices()[{index}]
A = np.ones((700, 700), np.float32)
projector = gt.Projector(gt.parallel3d(30, (24, 32)), gt.Volume((24, 32, 32)), device=device)
b = projector(np.ones((24, 32, 32), np.float32))
begun = threading.Event()

def work():
    while True:
        {call}
        begun.set()

threading.Thread(target=work, daemon=True).start()
begun.wait()
time.sleep({wait})
"""
FORK = """child = os.fork()
if child:
    raise SystemExit(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))
device ="""
CALLS = {
    "product": "gpuopt.gemm(A, A, device=device, variant='naive')",
    "copies": "gpuopt.to_device(A, device).to_numpy()",
    "reconstruction": "gt.sirt(projector, b, 20)",
    "iterations": "begun.set() or gt.cgls(projector, b, 100_000)",  # which leave commands behind that nobody waits for
}


JOINED = """
import atexit, threading
import numpy as np

stop = threading.Event()

def work():
    while not stop.is_set():
        gpuopt.gemm(A, A)

worker = threading.Thread(target=work, daemon=True)
atexit.register(lambda: (stop.set(), worker.join(), print("joined")))
import gpuopt

A = np.ones((100, 100), np.float32)
gpuopt.gemm(A, A)
worker.start()
"""


def test_a_handler_at_exit_may_wait_for_a_daemon_thread() -> None:
    """It was registered before gpuopt's own, and so runs after these."""
    ran = subprocess.run([sys.executable, "-c", JOINED], capture_output=True, text=True, timeout=60)
    assert (ran.returncode, ran.stdout, ran.stderr) == (0, "joined\n", "")


@pytest.mark.thin(others=1)
@pytest.mark.parametrize("call", CALLS)
def test_a_daemon_thread_in_a_call_does_not_end_the_process(device: gpuopt.Device, call: str) -> None:
    for number in range(7):
        program = PROGRAM.format(index=device.index, call=CALLS[call], wait=0.003 * number)
        ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=60)
        assert (ran.returncode, ran.stderr) == (0, "")


def test_a_daemon_thread_in_a_call_of_a_child_that_may_use_devices(device: gpuopt.Device) -> None:
    """Its process exits as Python's do, drivers' ends and all."""
    program = PROGRAM.format(index=device.index, call=CALLS["product"], wait=0.1).replace("device =", FORK, 1)
    for _ in range(3):
        done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=100)
        assert done.returncode == 0, done.stderr
