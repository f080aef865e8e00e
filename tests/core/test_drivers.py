"""What drivers, disks and forks may do to a process: made-up ones, compiled from ``drivers/``."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

import gpuopt
from made_up import BUILD, needs_a_dynamic_loader, run_python, told

# ---------------------------------------------------------------- discovery

DISCOVER = """
import resource, gpuopt
from gpuopt import _core, doctor
_core.set_search_prefixes([{prefix!r}])
{before}
print([d.key for d in gpuopt.devices() if d.platform == "Made-up platform"])
found = _core.discovery()
print(found["prefix_dir_used"], found["prefix_dir_error"])
facts = {{"discovery": found, "devices": [{{}}]}}
print("\\n".join([*doctor._loader(found), *doctor._platforms(found), *doctor.advice(facts)]))
"""


@pytest.fixture
def prefix(built: Path, tmp_path: Path) -> Path:
    """A Python prefix with the made-up runtime in it."""
    vendors = tmp_path / "prefix" / "etc" / "OpenCL" / "vendors"
    vendors.mkdir(parents=True)
    (vendors / "made_up.icd").write_text(f"{built / 'platform.so'}\n")
    return tmp_path / "prefix"


def test_each_device_that_is_left_out_has_its_reason(prefix: Path) -> None:
    lines = told(DISCOVER.format(prefix=str(prefix), before=""))
    assert lines[:2] == ["['Made-up platform / fine']", "True None"]
    text = "\n".join(lines)
    assert "ok  Made-up platform, OpenCL 1.1 made up: fine" in text
    assert "!!  dumb is left out: clGetDeviceInfo failed: CL_OUT_OF_HOST_MEMORY" in text
    assert "!!  asleep is left out: its driver calls it unavailable" in text
    assert "!!  no compiler is left out: it has no compiler" in text


def test_a_temporary_folder_that_does_not_exist_costs_the_prefix_alone(prefix: Path) -> None:
    lines = told(DISCOVER.format(prefix=str(prefix), before=""), TMPDIR="/does/not/exist")
    assert lines[:2] == ["[]", "False no directory for temporary files; set TMPDIR to one that exists"]
    assert "!!  the runtimes installed beside this Python are not added: no directory" in "\n".join(lines)
    assert "set TMPDIR to another" in lines[-1]


def test_a_full_temporary_folder_hides_no_system_runtime(prefix: Path, tmp_path: Path) -> None:
    full = "resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0))"  # no file may get longer
    lines = told(DISCOVER.format(prefix=str(prefix), before=full), TMPDIR=str(tmp_path))
    assert lines[0] == "[]"
    assert lines[1].startswith("False ")
    assert "cannot be written" in lines[1]
    assert [entry.name for entry in tmp_path.iterdir()] == ["prefix"]
    system = "import gpuopt\ngpuopt._core.set_search_prefixes([])\nprint(*(d.platform for d in gpuopt.devices()))"
    found = told(system)
    if not found or not found[0]:
        pytest.skip("no runtime is installed on this system but those beside Python")
    for platform in found[0].split():
        assert platform in "\n".join(lines)


def test_a_setting_that_is_no_text_is_told(tmp_path: Path) -> None:
    vendors = str(tmp_path) + os.fsdecode(b"/\xff")
    code = "from gpuopt import _core\nname, value = _core.discovery()['user_setting']\nprint(name, ascii(value))"
    assert told(code, OCL_ICD_VENDORS=vendors) == [f"OCL_ICD_VENDORS '{tmp_path}/\\ufffd'"]


BELOW = """
import sys
sys.base_prefix = {prefix!r}
import gpuopt
print([d.key for d in gpuopt.devices() if d.platform == "Made-up platform"])
"""


def test_a_runtime_of_the_python_below_a_virtual_environment_is_found(prefix: Path, tmp_path: Path) -> None:
    code = BELOW.format(prefix=str(prefix))
    assert told(code) == ["['Made-up platform / fine']"]
    for name in ("OCL_ICD_VENDORS", "OCL_ICD_FILENAMES"):  # the user's own setting wins
        assert told(code, **{name: str(tmp_path)}) == ["[]"]


# ---------------------------------------------------------------- equal devices

TWINS = """
import gpuopt
from gpuopt import _core, unit
_core.set_search_prefixes([{prefix!r}])
for d in gpuopt.devices():
    if d.platform == "Made-up platform":
        print(d.key, d.pci, d.uuid[:4], unit.unit_of(d), unit.has_twins(d), sep="|")
"""


@pytest.mark.parametrize(
    ("way", "places"),
    [
        *((vendor, ["0001:41:03.1|", "0001:42:03.1|"]) for vendor in ("khr", "nvidia")),
        ("amd", ["0000:41:03.1|", "0000:42:03.1|"]),  # its extension names no domain
        ("uuid", ["|ab01", "|ab01"]),
        ("silent", ["|", "|"]),  # it lists extensions whose questions it refuses
    ],
)
def test_equal_devices_of_one_host_and_of_two_are_units_of_their_own(prefix: Path, way: str, places: list[str]) -> None:
    def units(host: str) -> list[str]:
        lines = told(TWINS.format(prefix=str(prefix)), MADE_UP_TWINS=way, GPUOPT_HOST=host)
        names = [f"Made-up platform / fine{number}" for number in ("", " #2")]
        found = [line.rsplit("|", 2) for line in lines]
        assert [text for text, _, _ in found] == [f"{name}|{at}" for name, at in zip(names, places, strict=True)]
        assert [twins for _, _, twins in found] == ["True", "True"]
        return [unit for _, unit, _ in found]

    here, there = units("a"), units("b")
    assert here == units("a")
    if way == "uuid":  # no two GPUs of this vendor share one: it is the same GPU in whatever container
        assert here == there
        assert len({*here}) == 2
    else:
        assert len({*here, *there}) == 4
    assert all(len(unit) == 12 and int(unit, 16) >= 0 for unit in here)


# ---------------------------------------------------------------- the cache of programs


def test_a_full_disk_leaks_no_file(device: gpuopt.Device, built: Path, tmp_path: Path) -> None:
    code = BUILD + (
        "build(64)\nheld = [os.readlink(e.path) for e in os.scandir('/proc/self/fd') if os.path.islink(e.path)"
        " and os.path.lexists(e.path)]\nprint([path for path in held if '/programs/' in path])"
    )
    preloaded = {"LD_PRELOAD": str(built / "disk.so"), "FULL_DISK": "1", "GPUOPT_CACHE_DIR": str(tmp_path)}
    assert told(code.format(index=device.index), **preloaded) == ["[]"]
    assert list((tmp_path / "programs").iterdir()) == []


def test_an_interrupted_write_goes_on(device: gpuopt.Device, built: Path, tmp_path: Path) -> None:
    code = BUILD.format(index=device.index) + "print(build(64).kernels[0]['from_disk'])"
    own = {"GPUOPT_CACHE_DIR": str(tmp_path)}
    assert told(code, LD_PRELOAD=str(built / "disk.so"), **own) == ["False"]
    assert told(code, **own) == ["True"]


# ---------------------------------------------------------------- queues

SAMPLE = BUILD + (
    "plan = build(64)\nplan.run()\n"
    "for batch, period in ((1, 0), (8, 0), (1024, 0), (3000, 0), (1, 1), (1023, 1), (1024, 1)):\n"
    "    s = plan.sample(2, batch, bool(period))\n"
    "    print(len(s['device_ms']), all(0 < x < 50 for x in s['wall_ms'] + s['device_ms']))"
)


def test_a_gate_holds_back_a_bounded_number_of_commands(device: gpuopt.Device, built: Path) -> None:
    needs_a_dynamic_loader()
    if device.type != "cpu":
        pytest.skip("the gate is a kernel there, which the library that counts does not see")
    done = run_python(SAMPLE.format(index=device.index), LD_PRELOAD=str(built / "queue.so"))
    assert done.stdout.splitlines() == ["2 True"] * 7, done.stderr
    held = [int(line) for line in done.stderr.split()]
    assert held[:2] == [8, 8]
    assert max(held) == 1024
    assert len(held) == 2 * (1 + 1 + 3) + 2 * (1 + 1 + 2)


FAILURE = """
import ctypes, gpuopt, numpy as np
from gpuopt import _core
d = gpuopt.devices()[{index}]
A = gpuopt.to_device(np.ones((8, 8), np.float32), d)
for _ in range(2):
    gpuopt.gemm(A, A)
print(_core.kept_counts(d)["plans"] > 0)
ctypes.c_int.in_dll(ctypes.CDLL(None), "failing").value = 1
try:
    gpuopt.gemm(A, A)
except gpuopt.OpenCLError as error:
    print("CL_OUT_OF_RESOURCES" in str(error))
found = _core.kept_counts(d)
print(found["plans"], found["plan_bytes"])
print(bool((gpuopt.gemm(A, A).to_numpy() == 8).all()), _core.kept_counts(d)["plans_made"] - found["plans_made"])
"""


def test_nothing_that_is_kept_outlives_an_error_of_the_device(device: gpuopt.Device, built: Path) -> None:
    needs_a_dynamic_loader()
    lines = told(FAILURE.format(index=device.index), LD_PRELOAD=str(built / "failure.so"))
    assert lines == ["True", "True", "0 0", "True 1"]


BLOCKS = """
import ctypes, sys, gpuopt, numpy as np
from gpuopt import _core
d = gpuopt.devices()[{index}]
flag = lambda name: ctypes.c_int.in_dll(ctypes.CDLL(None), name)
_core.set_staging(d, True, 4096, 3, 2, 8 * 4096, beside=0)
A = np.arange(1500 * 80, dtype=np.float32).reshape(1500, 80) % 5
B = np.arange(80 * 96, dtype=np.float32).reshape(80, 96) % 3
def right():
    return bool((gpuopt.gemm(A, B, device=d) == A @ B).all())
"""


def test_rows_that_cannot_come_back_are_an_error_and_the_next_product_is_right(
    device: gpuopt.Device, built: Path
) -> None:
    needs_a_dynamic_loader()
    code = """
print(right())
for reads in range(12):
    flag("reads_before_failure").value = reads
    try:
        print(right())
    except gpuopt.OpenCLError as error:
        print("CL_OUT_OF_RESOURCES" in str(error), flag("reads_before_failure").value)
    flag("reads_before_failure").value = -1
    print(right())
"""
    lines = told(BLOCKS.format(index=device.index) + code, LD_PRELOAD=str(built / "failure.so"))
    assert lines[0] == "True"
    assert {line.split()[0] for line in lines} == {"True"}
    assert sum(" " in line for line in lines) == 12


def test_products_in_blocks_without_threads(device: gpuopt.Device, built: Path) -> None:
    needs_a_dynamic_loader()
    code = """
print(right())
flag("no_threads").value = 1
print(right(), right(), flag("threads_refused").value > 0)
flag("reads_before_failure").value = 3
try:
    print(right())
except gpuopt.OpenCLError as error:
    print("CL_OUT_OF_RESOURCES" in str(error))
print(right())
"""
    lines = told(BLOCKS.format(index=device.index) + code, LD_PRELOAD=str(built / "failure.so"))
    assert lines == ["True", "True True True", "True", "True"]


COPIES = """
import ctypes, gpuopt, numpy as np
from gpuopt import _core
d = gpuopt.devices()[{index}]
flag = lambda name: ctypes.c_int.in_dll(ctypes.CDLL(None), name)
given = np.arange(100_000, dtype=np.float32)
A = gpuopt.to_device(given, d)
_core.set_staging(d, True, 4096, 3, 4)
"""


def test_copies_without_threads(device: gpuopt.Device, built: Path) -> None:
    """They ended by an error of the system's that is none of gpuopt's."""
    needs_a_dynamic_loader()
    code = """
flag("no_threads").value = 1
print(bool((gpuopt.to_device(given, d).to_numpy() == given).all()), flag("threads_refused").value > 0)
flag("no_threads").value = 0
print(bool((gpuopt.to_device(given, d).to_numpy() == given).all()))
"""
    assert told(COPIES.format(index=device.index) + code, LD_PRELOAD=str(built / "failure.so")) == ["True True", "True"]


def test_a_lost_device_is_told_by_the_first_error(device: gpuopt.Device, built: Path) -> None:
    """The wait after it, which fails too, took its place with an error that is none of gpuopt's."""
    needs_a_dynamic_loader()
    code = """
for reads in (0, 5):
    flag("reads_before_failure").value, flag("finish_fails").value = reads, 1
    try:
        A.to_numpy()
    except gpuopt.OpenCLError as error:
        print("CL_OUT_OF_RESOURCES" in str(error))
    flag("reads_before_failure").value, flag("finish_fails").value = -1, 0
print(bool((A.to_numpy() == given).all()))
"""
    lines = told(COPIES.format(index=device.index) + code, LD_PRELOAD=str(built / "failure.so"))
    assert lines == ["True", "True", "True"]


def test_signals_come_where_no_thread_can_wait_for_them(built: Path) -> None:
    """They stayed blocked."""
    needs_a_dynamic_loader()
    code = """
import ctypes, signal, gpuopt
from gpuopt import _core
before = signal.pthread_sigmask(signal.SIG_BLOCK, [])
ctypes.c_int.in_dll(ctypes.CDLL(None), "no_threads").value = 1
try:
    _core.end_if_unheard(0, 1.0, 1, "")
except gpuopt.Error as error:
    print("there is no thread" in str(error), signal.pthread_sigmask(signal.SIG_BLOCK, []) == before)
"""
    assert told(code, LD_PRELOAD=str(built / "failure.so")) == ["True True"]


# ---------------------------------------------------------------- forks

FORK = """
import os, signal, warnings, gpuopt, numpy as np
warnings.simplefilter("ignore")
from gpuopt.workloads.spmv.operation import prepare_spmv
d = gpuopt.devices()[{index}]
M = gpuopt.DiaMatrix((np.ones((1, 64), np.float32), np.array([0])), (64, 64), device=d)
host = np.ones(64, np.float32)
x, y = gpuopt.to_device(host, d), gpuopt.to_device(host, d)
plan = prepare_spmv(M, x, y, "basic")
square = gpuopt.to_device(np.ones((8, 8), np.float32), d)
gpuopt.gemm(square, square)
M @ host
plan.run()
if os.fork() == 0:
    signal.alarm(20)
    tries = {{
        "host": lambda: M @ host, "device": lambda: M @ x, "run": plan.run, "sample": lambda: plan.sample(2, 8),
        "to_numpy": x.to_numpy, "fill": lambda: x.fill_bytes(0), "to_device": lambda: gpuopt.to_device(host, d),
        "prepare": lambda: prepare_spmv(M, x, y, "basic"), "gemm": lambda: gpuopt.gemm(square, square),
    }}
    for name, attempt in tries.items():
        try:
            attempt()
        except gpuopt.Error as error:
            print(name, "fork" in str(error) and "spawn" in str(error), flush=True)
    os._exit(0)
_, status = os.wait()
print(status, bool((M @ host == host).all()))
"""


def test_what_was_made_before_a_fork_is_refused_after_it(device: gpuopt.Device) -> None:
    lines = told(FORK.format(index=device.index))
    assert lines[-1] == "0 True"
    names = ("host", "device", "run", "sample", "to_numpy", "fill", "to_device", "prepare", "gemm")
    assert lines[:-1] == [f"{name} True" for name in names]
