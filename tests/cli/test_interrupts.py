"""Ctrl-C: each long call ends within a second of it, each long command within two."""

from __future__ import annotations

import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import gpuopt
from gpuopt import _core, interrupts

SECONDS = float(os.environ.get("GPUOPT_INTERRUPT_SECONDS", "1"))
CALL = """
import json, os, signal, sys, threading, time
import numpy as np
import gpuopt
import gpuopt.tomo as gt

device = gpuopt.devices()[{index}]
rng = np.random.default_rng(3)
{before}
def interrupt():
    time.sleep(0.3)
    times.append(time.perf_counter())
    os.kill(os.getpid(), signal.SIGINT)

times = []
threading.Thread(target=interrupt).start()
try:
    {call}
except KeyboardInterrupt:
    pass
ended = time.perf_counter()  # a reconstruction ends with what it has so far
{after}
print(json.dumps(ended - times[0] if times else None))
sys.stdout.flush()
os._exit(0)  # an exit would wait for the device
"""
SCAN = """
volume = gt.Volume((48, 64, 64))
scan = gt.parallel3d(60, (48, 64))
projector = gt.Projector(scan, volume, device=device)
b = projector(rng.random((48, 64, 64), dtype=np.float32))
gt.{name}(projector, b, 1)
"""
PLAN = """
levels = dict(PAIRS=0, LOCAL_X=16, LOCAL_Y=16, TEXTURE=0)
x = gpuopt.to_device(rng.random((640, 640), dtype=np.float32), device=device)
y = gpuopt.to_device(np.empty((640, 640), np.float32), device=device)
plan = gpuopt._core.prepare_gemm(x, x, None, 1.0, 0.0, y, False, False, "naive", levels)
plan.run()
"""
CALLS = {
    "gemm": (
        "N = 2600 if device.type == 'cpu' else 12000\n"
        "A = rng.random((N, N), dtype=np.float32)\nB = A[:9, :9].copy()\ngpuopt.gemm(B, B, device=device)",
        "gpuopt.gemm(A, A, device=device, variant='naive')",
    ),
    "sample": (PLAN, "plan.sample(4000)"),
    "batch": (PLAN, "plan.sample(1, 4000)"),
    "period": (PLAN, "plan.sample(3, 2000, period=True)"),
    **{
        name: (SCAN.format(name=name), f"gt.{name}(projector, b, 4000)") for name in ("sirt", "sart", "os_sart", "cgls")
    },
}


def interrupted(device: gpuopt.Device, before: str, call: str, after: str = "") -> float | None:
    """Seconds from the signal to KeyboardInterrupt; None where the call ended before it."""
    code = CALL.format(index=device.index, before=before, call=call, after=after)
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout.splitlines()[-1])


@pytest.mark.thin(others=1)
@pytest.mark.parametrize("name", CALLS)
def test_ctrl_c_ends_a_long_call(device: gpuopt.Device, name: str) -> None:
    took = interrupted(device, *CALLS[name])
    assert took is not None, "the call was too short to be interrupted"
    assert took < SECONDS


@pytest.mark.thin(others=0)
def test_what_an_interrupted_call_worked_on_outlives_it(device: gpuopt.Device) -> None:
    """The device goes on: arrays that were dropped meanwhile must not be given to others, and the next result is
    right."""
    before = CALLS["gemm"][0] + "\nB = A[:64, :64].copy()"
    call = "gpuopt.gemm(A.copy()[: N - N // 3], A.copy(), device=device, variant='naive')"
    after = (
        "junk = [np.full((N - N // 3, N), 7, np.float32) for _ in range(3)]\n"
        "C = gpuopt.gemm(B, B, device=device)\n"
        "assert np.allclose(C, B @ B, rtol=1e-4)\n"
        "assert all((each == 7).all() for each in junk)"
    )
    took = interrupted(device, before, call, after)
    assert took is not None, "the call was too short to be interrupted"
    assert took < SECONDS


def test_an_array_of_the_callers_is_not_written_to_after_the_call(device: gpuopt.Device) -> None:
    before = "A = rng.random((1000, 1000), dtype=np.float32)\nout = np.empty_like(A)"
    after = "first = out.copy()\ntime.sleep(0.5)\nassert (out == first).all()"
    call = "[gpuopt.gemm(A, A, device=device, variant='naive', out=out) for _ in range(400)]"
    assert interrupted(device, before, call, after) is not None, "the calls were too short to be interrupted"


NO_THREADS = """
import ctypes, threading
import numpy as np
import gpuopt
from gpuopt import cli

device = gpuopt.devices()[{index}]
A = np.ones((1200, 1200), np.float32)
gpuopt.to_device(A, device)  # a runtime has its own threads now
libc, attributes = ctypes.CDLL(None), ctypes.create_string_buffer(64)
libc.pthread_attr_init(attributes)
assert libc.pthread_attr_setstacksize(attributes, ctypes.c_size_t(1 << 47)) == 0  # no thread has room for that
assert libc.pthread_setattr_default_np(attributes) == 0
try:
    threading.Thread(target=print).start()
except RuntimeError:
    assert [(gpuopt.gemm(A, A, device=device, variant="naive") == 1200).all() for _ in range(2)] == [True, True]
    print("computed")
    cli.main(["--version"])
"""


def test_a_process_without_room_for_threads_computes(device: gpuopt.Device, tmp_path: Path) -> None:
    if not sys.platform.startswith("linux"):
        pytest.skip("threads are refused by a function of glibc")
    program = NO_THREADS.format(index=device.index)
    env = {**os.environ, "GPUOPT_CACHE_DIR": str(tmp_path)}  # so that a kernel is built
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, env=env)
    assert (ran.returncode, ran.stdout) == (0, f"computed\ngpuopt {gpuopt.__version__}\n"), ran.stderr


def test_samples_without_end_are_refused(any_device: gpuopt.Device) -> None:
    x, y = (gpuopt.to_device(np.ones((8, 8), np.float32), device=any_device) for _ in range(2))
    plan = _core.prepare_gemm(
        x, x, None, 1.0, 0.0, y, False, False, "naive", {"PAIRS": 0, "LOCAL_X": 16, "LOCAL_Y": 16, "TEXTURE": 0}
    )
    for arguments, name in (((2**63,), "count"), ((1, 2**63), "batch"), ((-1,), "count"), ((1, 0), "batch")):
        with pytest.raises(gpuopt.ParameterError, match="is out of range; give") as caught:
            plan.sample(*arguments)
        assert caught.value.argument == name
    for arguments, name in (((1.5,), "count"), ((1, "2"), "batch"), ((1, 1, 1), "period")):
        with pytest.raises(gpuopt.ParameterError, match=f"{name}: it is "):
            plan.sample(*arguments)
    for call, name in ((plan.relocate, "pad_bytes"), (plan.code, "step")):
        for value in (0.5, -1, 2**63):
            with pytest.raises(gpuopt.ParameterError, match=f"{name}: "):
                call(value)


COMMANDS = {
    "study": ("study", "gemm", "300", "--no-plots"),
    "survey": ("study", "microbench", "--no-plots"),
    "tune": ("tune", "gemm", "400"),
    "profile": ("profile", "--force"),
    "aa": ("aa",),
}


@pytest.mark.parametrize("after", [0.3, 4.0])
@pytest.mark.parametrize("name", COMMANDS)
def test_ctrl_c_ends_a_command_and_keeps_its_rows(
    name: str, after: float, any_device: gpuopt.Device, tmp_path: Path
) -> None:
    out = tmp_path / "cache"
    arguments = [*COMMANDS[name], "--device", str(any_device.index)]
    env = {**os.environ, "GPUOPT_CACHE_DIR": str(out), "PYTHONUNBUFFERED": "1"}
    process = subprocess.Popen(
        [sys.executable, "-m", "gpuopt", *arguments],
        cwd=tmp_path,
        env=env,
        text=True,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    assert process.stdout is not None
    first = process.stdout.readline()
    time.sleep(after)
    before = [line for file in tmp_path.rglob("*.jsonl") for line in file.read_text().splitlines()]
    process.send_signal(signal.SIGINT)
    begin = time.perf_counter()
    told, _ = process.communicate(timeout=60)
    took = time.perf_counter() - begin
    assert process.returncode == 130, told
    assert "interrupted" in first + told
    assert took < 2 * SECONDS, told  # what it has measured is told, and the interpreter ends
    rows = [line for file in tmp_path.rglob("*.jsonl") for line in file.read_text().splitlines()]
    assert rows[: len(before)] == before
    assert all(json.loads(line) for line in rows)


def test_a_module_ends_with_the_code_of_an_interrupt_that_came_through_generated_code(tmp_path: Path) -> None:
    module = (
        'from gpuopt import cli\n\n@cli.app.command()\ndef x():\n    exec("raise KeyboardInterrupt")\n\ncli.main(["x"])'
    )
    (tmp_path / "ended.py").write_text(module)
    done = subprocess.run([sys.executable, "-m", "ended"], cwd=tmp_path, text=True, capture_output=True, timeout=60)
    assert (done.returncode, done.stderr.strip()) == (130, "gpuopt: interrupted")


def test_commands_of_one_process_share_a_thread(tmp_path: Path) -> None:
    code = (
        "import os\nfrom gpuopt import cli\n"
        "for _ in range(9):\n"
        "    try:\n        cli.main(['--version'])\n    except SystemExit:\n        pass\n"
        "    print(len(os.listdir('/proc/self/task')), len(os.listdir('/proc/self/fd')))\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True, capture_output=True, timeout=60)
    counts = [line for line in done.stdout.splitlines() if line[0].isdigit()]
    assert (done.returncode, len(counts), len(set(counts))) == (0, 9, 1), done.stdout + done.stderr


def test_a_stream_that_takes_nothing_does_not_keep_a_command(monkeypatch: pytest.MonkeyPatch) -> None:
    class Full(io.StringIO):
        def flush(self) -> None:
            raise OSError(28, "No space left on device")

    left: list[int] = []
    monkeypatch.setattr(interrupts.os, "_exit", left.append)
    monkeypatch.setattr(interrupts._core, "idle", lambda: False)
    monkeypatch.setattr(sys, "stdout", Full())
    interrupts.leave(3)
    assert left == [3]


def test_behind_a_command_the_process_has_its_own_handler_again(tmp_path: Path) -> None:
    """One that raises too, though C code keeps Python from it for longer than a command would wait."""
    code = (
        "import os, signal, threading\nimport numpy as np\nfrom gpuopt import cli\n"
        "before = signal.getsignal(signal.SIGINT)\n"
        "try:\n    cli.main(['--version'])\nexcept SystemExit:\n    pass\n"
        "assert signal.getsignal(signal.SIGINT) is before and signal.set_wakeup_fd(-1) == -1\n"
        "x = np.random.default_rng(0).random(30_000_000)\n"
        "threading.Timer(0.2, lambda: os.kill(os.getpid(), signal.SIGINT)).start()\n"
        "try:\n    np.sort(x)\n    np.sort(x)\nexcept KeyboardInterrupt:\n    print('heard')\n"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, text=True, capture_output=True, timeout=120)
    assert (done.returncode, done.stdout.splitlines()[-1]) == (0, "heard"), done.stderr


def test_a_command_gives_the_handler_back_where_an_interrupt_comes_meanwhile(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    pytest.importorskip("click")
    from gpuopt import cli

    before, real, interrupts = signal.getsignal(signal.SIGINT), signal.set_wakeup_fd, iter([True, True, False])

    def interrupted(fd: int, **given: bool) -> int:
        woken = real(fd, **given)
        if fd == -1 and next(interrupts):
            signal.raise_signal(signal.SIGINT)
        return woken

    monkeypatch.setattr(signal, "set_wakeup_fd", interrupted)
    with pytest.raises(KeyboardInterrupt):
        cli.main(["--version"])
    assert signal.getsignal(signal.SIGINT) is before
    assert real(-1) == -1
    assert next(interrupts, None) is None
