"""Kernels that a signal's handler or a forked child calls while a call of the same kernel goes on: answered or refused,
and the call itself is right."""

from __future__ import annotations

import os
import subprocess
import sys
import threading

import gpuopt
from gpuopt import selection
from gpuopt.process_lock import ProcessLock

BEGIN = """
import os, signal, sys, threading, time
import numpy as np
import gpuopt
from gpuopt import lab

device, told = gpuopt.devices()[int(sys.argv[1])], []
text = '''kernel void slow(global const float* x, global float* z, int turns) {
    const int i = get_global_id(0);
    float v = x[i];
    for (int k = 0; k < turns; ++k) v = fma(v, 0.5f, x[i]);
    z[i] = v;
}'''

def by_numpy(x, turns):
    v = x
    for _ in range(min(turns, 100)):
        v = v * 0.5 + x
    return v

kernel = lab.Kernel(
    text,
    "slow",
    arguments=[lab.input("x", "n"), lab.output("z", "n"), lab.value("turns")],
    launch=lab.launch(items="n", local=1),
    reference=by_numpy,
)
x = np.ones(64, np.float32)

def turns_of(seconds):
    turns = 1 << 16
    kernel(x=x, turns=turns, device=device)  # it is built
    while True:
        begun = time.perf_counter()
        kernel(x=x, turns=turns, device=device)
        took = time.perf_counter() - begun
        if took > seconds or turns >= 1 << 30:
            return turns, took
        turns *= 2

def ended(pid):
    begun = time.time()
    while (told := os.waitpid(pid, os.WNOHANG))[0] == 0 and time.time() < begun + 8:
        time.sleep(0.001)
    if told[0] == 0:
        os.kill(pid, 9)
        os.waitpid(pid, 0)
    return "hung" if told[0] == 0 else os.waitstatus_to_exitcode(told[1])

def answered(call):
    try:
        call()
    except gpuopt.Error as error:
        return str(error)
    return "computed"
"""


def told(program: str, device: gpuopt.Device) -> str:
    """What a program prints."""
    line = [sys.executable, "-c", BEGIN + program, str(device.index)]
    done = subprocess.run(line, capture_output=True, text=True, timeout=100, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


IN_A_CALL = """
turns, took = turns_of(0.4)
signal.signal(signal.SIGALRM, lambda *given: told.append(answered(lambda: kernel(x=x, turns=turns, device=device))))
for part in (0.3, 0.6):
    signal.setitimer(signal.ITIMER_REAL, part * took)
    assert (kernel(x=x, turns=turns, device=device) == 2).all()
    time.sleep(took)
assert len(told) == 2, told
assert kernel(x=x, turns=1, device=device)[0] == 1.5
print(sorted({"refused" if "a signal's handler called gpuopt" in one else one for one in told}))
"""


def test_a_handler_that_calls_the_kernel_of_its_own_call(any_device: gpuopt.Device) -> None:
    """It waited for ever."""
    assert "refused" in told(IN_A_CALL, any_device)


IN_ANOTHER_PROCESS = """
turns, took = turns_of(0.5)
problem = kernel.problem(n=64, turns=turns, data={"x": x})
bound = problem.prepare(kernel.configurations(n=64, turns=1)[0], device)
signal.signal(signal.SIGALRM, lambda *given: told.append(answered(lambda: kernel.check(n=8, turns=3, device=device))))
for part in (0.3, 0.6):
    signal.setitimer(signal.ITIMER_REAL, part * took)
    bound.prepared.run()
    assert (bound.output.to_numpy() == 2).all()
    time.sleep(took)
signal.setitimer(signal.ITIMER_REAL, 0)
from gpuopt.lab.kernels.worker import WORKERS
assert WORKERS.generation[device.index] == 1
kernel.check(n=8, turns=3, device=device)
print(sorted({"refused" if "a signal's handler called gpuopt" in one else one for one in told}))
"""


def test_a_handler_within_a_question_leaves_its_worker(any_device: gpuopt.Device) -> None:
    """It ended the process of the kernel that it interrupted, whose row said crash."""
    assert told(IN_ANOTHER_PROCESS, any_device) == "['refused']\n"


WHILE_ONE_STARTS = """
from gpuopt.lab.kernels.worker import WORKERS
signal.signal(signal.SIGALRM, lambda *given: told.append(answered(lambda: kernel.check(n=8, turns=3, device=device))))
signal.setitimer(signal.ITIMER_REAL, 0.15)
kernel.check(n=16, turns=3, device=device)
children = open(f"/proc/self/task/{os.getpid()}/children").read().split()
kernel.check(n=32, turns=3, device=device)
assert told[0] == "computed" or "a signal's handler called gpuopt" in told[0], told
print(len(children), WORKERS.generation[device.index])
"""


def test_a_handler_while_a_worker_starts_starts_no_second(any_device: gpuopt.Device) -> None:
    assert told(WHILE_ONE_STARTS, any_device) == "1 1\n"


FORKED = """
turns, took = turns_of(0.2)
kernel.check(n=8, turns=3, device=device)

def work():
    while True:
        {work}

def child():
    said = answered(lambda: {call})
    return {{"computed": 1}}.get(said, 0 if "fork" in said else 3)

threading.Thread(target=work, daemon=True).start()
outcomes = set()
for _ in range(5):
    time.sleep(0.05)
    pid = os.fork()
    if pid == 0:
        os._exit(child())
    outcomes.add(ended(pid))
    if "hung" in outcomes:
        break
print(outcomes)
sys.stdout.flush()
os._exit(0)
"""


def test_a_forked_child_that_calls_a_kernel_is_refused(any_device: gpuopt.Device) -> None:
    call = "kernel(x=x, turns=turns, device=device)"
    assert told(FORKED.format(work=call, call=call), any_device) == "{0}\n"


def test_a_forked_child_that_checks_a_kernel_does_not_hang(any_device: gpuopt.Device) -> None:
    call = "kernel.check(n=64, turns=100, device=device)"
    assert told(FORKED.format(work=call, call=call), any_device) == "{1}\n"  # its kernel runs in a fresh process


def test_a_lock_of_a_process_is_free_for_handlers_and_children() -> None:
    lock = ProcessLock()
    over, taken = threading.Event(), threading.Event()

    def hold() -> None:
        with lock.here(), selection._lock.here():
            taken.set()
            over.wait(30)

    with lock.here(), lock.here():  # as a handler comes into it
        pass
    thread = threading.Thread(target=hold)
    thread.start()
    taken.wait(30)
    assert not lock.here().acquire(blocking=False)
    pid = os.fork()
    if pid == 0:
        is_free = all(each.here().acquire(timeout=2) for each in (lock, selection._lock))
        os._exit(0 if is_free else 1)
    over.set()
    thread.join()
    assert os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0


def test_a_handler_that_chooses_a_device_while_one_is_chosen(any_device: gpuopt.Device) -> None:
    with selection._lock.here(), gpuopt.use(any_device):
        assert selection.select() == any_device
