"""A forked child that has inherited arrays and matrices: it may let go of them, and its calls are refused at once,
whatever other threads did on the device when it was made."""

from __future__ import annotations

import subprocess
import sys

import gpuopt

ENDED = """
import os, time

def ended(pid):
    begun = time.time()
    while (told := os.waitpid(pid, os.WNOHANG))[0] == 0 and time.time() < begun + 5:
        time.sleep(0.001)
    if told[0] == 0:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return "hung" if told[0] == 0 else os.waitstatus_to_exitcode(told[1])
"""


def printed(program: str, device: gpuopt.Device) -> tuple[str, str]:
    """What a program prints, and its errors."""
    code = ENDED + program.format(index=device.index)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    return done.stdout, done.stderr


PROGRAM = """
import gc, os, threading, time, warnings
import numpy as np
import gpuopt
import gpuopt.tomo as gt

warnings.simplefilter("ignore")
device = gpuopt.devices()[{index}]
x, a = np.ones(64, np.float32), np.ones((64, 64), np.float32)
A = gt.Projector(gt.parallel2d(90, 64), gt.Volume((64, 64)), pair="fast", device=device)
p = gpuopt.to_device(np.ones((90, 64), np.float32), device)
image = gpuopt.to_device(a, device)
A.back(p, out=A.backend.copy(image))
held = {{
    "M": gpuopt.DiaMatrix((np.ones((1, 64), np.float32), [0]), (64, 64), device=device),
    "d": gpuopt.to_device(a, device),
}}
held["M"] @ x
try:
    theirs = gpuopt.to_pyopencl(gpuopt.to_device(a, device))
except gpuopt.UnsupportedError:  # pyopencl is not installed
    theirs = None

def work():
    random = np.random.default_rng()
    out = A.backend.copy(image), A.backend.copy(p)
    while True:
        A.forward(image, out=out[1])
        A.back(p, out=out[0])
        gpuopt.dot(image, image)
        some = np.ones((int(random.integers(1, 200)),) * 2, np.float32)
        held["M"] @ x
        (gpuopt.to_device(some, device) + gpuopt.to_device(some, device)).to_numpy()

def refused(call):
    try:
        call()
    except gpuopt.Error:
        return True
    return False

def child():
    calls = [
        lambda: held["M"] @ x,
        lambda: held["d"] + held["d"],
        lambda: gpuopt.to_device(x, device),
        lambda: A.forward(image, out=p),
        lambda: A.back(p, out=image),
        lambda: gpuopt.dot(image, image),
        gpuopt.devices,
        *([lambda: gpuopt.from_pyopencl(theirs, device)] if theirs is not None else []),
    ]
    if not all(map(refused, calls)):
        return 3
    np.ones(1 << 20)
    held.clear()
    gc.collect()
    return 0

for _ in range(3):
    threading.Thread(target=work, daemon=True).start()
outcomes, until = set(), time.time() + 4
while time.time() < until:
    time.sleep(0.003)
    pid = os.fork()
    if pid == 0:
        os._exit(child())
    outcomes.add(ended(pid))
print(outcomes)
os._exit(0)
"""


def test_a_child_hangs_neither_in_calls_nor_in_letting_go(device: gpuopt.Device) -> None:
    outcomes, errors = printed(PROGRAM, device)
    assert outcomes == "{0}\n", errors


LEAVING = """
import os, sys, threading, time, warnings
import numpy as np
import gpuopt

warnings.simplefilter("ignore")
device = gpuopt.devices()[{index}]
x = np.ones((64, 64), np.float32)
gpuopt.to_device(x, device).to_numpy()

def work():
    while True:
        gpuopt.to_device(x, device).to_numpy()

threading.Thread(target=work, daemon=True).start()
outcomes = set()
for number in range(8):
    time.sleep(0.01)
    pid = os.fork()
    if pid == 0:
        print("child", end="", file=sys.stderr)
        sys.exit(7)
    outcomes.add(ended(pid))
print(outcomes)
sys.stdout.flush()
os._exit(0)
"""


def test_a_child_that_exits_does_not_wait_for_drivers(device: gpuopt.Device) -> None:
    outcomes, errors = printed(LEAVING, device)
    assert outcomes == "{7}\n", errors
    assert errors.count("child") == 8


def test_a_child_of_a_process_that_used_no_device_may_use_one(any_device: gpuopt.Device) -> None:
    code = (
        "import gpuopt, numpy as np, os\npid = os.fork()\n"
        "a = np.ones((8, 8), np.float32)\n"
        "if pid == 0:\n    ok = (gpuopt.gemm(a, a) == 8).all()\n    os._exit(0 if ok else 1)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]), (gpuopt.gemm(a, a) == 8).all())"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=120, check=False)
    assert done.stdout == "0 True\n", done.stdout + done.stderr
