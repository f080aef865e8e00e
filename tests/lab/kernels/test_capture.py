"""Captured calls are built by the system's compiler and run beside the library, on every device."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import threading
import weakref
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import Configuration, _core, lab
from gpuopt import tomo as gt

COMPILER = shutil.which("cc")
STRICT = ["-std=c99", "-pedantic", "-Wall", "-Wextra", "-Werror"]
RANDOM = np.random.default_rng(3)
A = RANDOM.standard_normal((70, 50)).astype(np.float32)
B = RANDOM.standard_normal((50, 90)).astype(np.float32)
X = RANDOM.standard_normal(300).astype(np.float32)


def matrix() -> Any:
    sparse = pytest.importorskip("scipy.sparse")
    values = RANDOM.standard_normal((3, 300)).astype(np.float32)
    return sparse.dia_array((values, np.array([-1, 0, 1])), shape=(300, 300))


@pytest.fixture
def environment(tmp_path: Path) -> dict[str, str]:
    """The runtimes that this process sees, shown to another one's loader."""
    folder = tmp_path / "vendors"
    folder.mkdir()
    used = [one["library"] for one in _core.discovery()["vendor_files"] if one["status"] == "used"]
    for number, library in enumerate(used):
        (folder / f"{number}.icd").write_text(library + "\n")
    return {**os.environ, "OCL_ICD_VENDORS": str(folder)}


def built(folder: Path) -> Path:
    if COMPILER is None:
        pytest.skip("there is no C compiler")
    probe = folder.parent / "probe.c"
    probe.write_text("#include <CL/cl.h>\nint main(void) { return (int)clGetPlatformIDs(0, 0, 0) == 1; }\n")
    line = [COMPILER, "-DCL_TARGET_OPENCL_VERSION=120", "-o", str(folder.parent / "probe"), str(probe), "-lOpenCL"]
    if subprocess.run(line, capture_output=True, check=False).returncode:
        pytest.skip("the compiler finds no headers or no loader of OpenCL")
    line = [COMPILER, *STRICT, "-o", "replay", "replay.c", "-lOpenCL"]
    done = subprocess.run(line, cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder


def replayed(folder: Path, environment: dict[str, str], *arguments: str) -> subprocess.CompletedProcess[str]:
    line = [str(folder / "replay"), *arguments]
    return subprocess.run(
        line, cwd=folder, env=environment, capture_output=True, text=True, timeout=100, check=False, errors="replace"
    )


def projector(device: gpuopt.Device) -> Any:
    scan = gt.circular(6, 60.0, 120.0, (6, 10), 1.5)
    return gt.Projector(scan, gt.Volume((4, 6, 6), 1.0), device=device)


def reconstruction(device: gpuopt.Device) -> Callable[[], Any]:
    projections = RANDOM.uniform(0.5, 1.5, (6, 6, 10)).astype(np.float32)
    return lambda: gt.sirt(projector(device), projections, iterations=2)


def product(variant: str, **parameters: int) -> Callable[[gpuopt.Device], Callable[[], Any]]:
    def made(device: gpuopt.Device) -> Callable[[], Any]:
        scaled = A * np.float32(RANDOM.uniform(1, 2))  # memory that is used again does not hold the same product
        return lambda: gpuopt.gemm(scaled, B, device=device, variant=Configuration(variant, **parameters))

    return made


CALLS: dict[str, Callable[[gpuopt.Device], Callable[[], Any]]] = {
    "gemm": lambda device: lambda: gpuopt.gemm(A, B, device=device),
    "parts of a buffer": product("constant", QUEUES=0),
    "two queues": product("constant", QUEUES=2),
    "spmv": lambda device: lambda: gpuopt.spmv(matrix(), X, device=device),
    "image of a buffer": lambda device: lambda: gpuopt.spmv(matrix(), X, device=device, variant="image"),
    "tmv": lambda device: lambda: gpuopt.tmv(A, A[:, 0].copy(), device=device),
    "reconstruction": reconstruction,
    "two stages": lambda device: lambda: own_kernels.total()(x=X, device=device),
    "image and local memory": lambda device: lambda: own_kernels.blur()(img=A, f=np.ones(3, np.float32), device=device),
}


@pytest.mark.parametrize("name", CALLS)
def test_a_captured_call_is_equal_beside_the_library(
    name: str, device: gpuopt.Device, tmp_path: Path, environment: dict[str, str]
) -> None:
    if "image" in name and not device.image_support:
        pytest.skip(f"{device.name} has no images")
    folder = built(lab.capture(CALLS[name](device), tmp_path / "report"))
    done = replayed(folder, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert f"device: {device.name}, driver {device.driver}" in done.stdout
    assert re.search(r"^launch 0: \w+, .* items in groups of .*: \d+\.\d+ ms$", done.stdout, re.MULTILINE)
    assert done.stdout.endswith("\nequal\n")
    assert "differ" not in done.stdout
    assert re.search(r": equal$", done.stdout, re.MULTILINE)  # something was written
    readme = (folder / "README.txt").read_text()
    assert device.driver in readme
    assert "./replay" in readme


TEXT = r"""
// a trigraph, which makes the next line a part of this one ??/
// where a compiler knows them
struct given { float by; int plus; char odd; };
/* "quotes" 'and' \n %s Ünï ☃ \\ ??= */
__kernel void strange(struct given s, __global const float* x, __global float* z, __local float* kept, int n) {
    const int i = get_global_id(0);
    kept[get_local_id(0)] = i < n ? x[i] : 0;
    barrier(CLK_LOCAL_MEM_FENCE);
    if (i < n) z[i] = s.by * kept[get_local_id(0)] + s.plus * SIGN;
}
"""


def strange() -> lab.Kernel:
    struct = np.dtype([("by", "f4"), ("plus", "i4"), ("odd", "i1")], align=True)
    return lab.Kernel(
        TEXT,
        "strange",
        parameters={"SIGN": [-1, 1]},
        arguments=[
            lab.value("s", struct),
            lab.input("x", "n"),
            lab.output("z", "n"),
            lab.local("kept", "4 * 50"),
            lab.value("n"),
        ],
        launch=lab.launch(items="n", local=50),
    )


def test_strange_text_and_values_are_taken_over(
    device: gpuopt.Device, tmp_path: Path, environment: dict[str, str]
) -> None:
    result = []

    def call() -> None:
        result.append(strange()(s=(2.5, -7, 3), x=X, device=device))

    folder = built(lab.capture(call, tmp_path / "a folder; of $words"))
    np.testing.assert_allclose(result[0], np.float32(2.5) * X + 7, rtol=1e-6)
    assert TEXT.encode() in (folder / "program0.cl").read_bytes()
    whole = (folder / "replay.c").read_bytes()
    assert whole.isascii()
    assert b"??" not in whole
    assert rb'"\000\000\040\100\371\377\377\377\003' in whole  # 2.5, -7, 3
    done = replayed(folder, environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_texts_become_literals_of_c(tmp_path: Path) -> None:
    from gpuopt.lab.kernels import replay

    text = '-DX="a\\b??/" %s\n\t☃\x7f9'
    objects: list[Any] = []
    facts = [{"name": "k", "text": b"", "options": text}]
    tables = replay.tables(facts, objects, [], [], ("*/ // \\", '"??='))
    assert tables.isascii()
    if COMPILER is None:
        pytest.skip("there is no C compiler")
    names = re.search(r"recorded_platform\[\].*\n.*", tables)
    options = re.search(r'"program0.cl", (".*")}', tables)
    assert names is not None
    assert options is not None
    source = tmp_path / "told.c"
    literals = f"static const char {names[0]}\nstatic const char options[] = {options[1]};\n"
    shown = "fputs(recorded_platform, stdout), fputs(recorded_device, stdout), fputs(options, stdout)"
    source.write_text(f"#include <stdio.h>\n{literals}int main(void) {{ {shown}; return 0; }}\n")
    subprocess.run([COMPILER, *STRICT, "-trigraphs", "-Wno-trigraphs", "-o", "told", source], cwd=tmp_path, check=True)
    told = subprocess.run([tmp_path / "told"], capture_output=True, check=True).stdout
    assert told.decode() == '*/ // \\"??=' + text


def test_differences_and_errors_have_an_exit_status(
    any_device: gpuopt.Device, tmp_path: Path, environment: dict[str, str]
) -> None:
    kernel = own_kernels.scaled()
    folder = built(lab.capture(lambda: kernel(x=X, device=any_device), tmp_path / "report"))
    right = np.float32(2) * X + 1
    expected = next(one for one in folder.glob("*.bin") if np.allclose(np.fromfile(one, np.float32)[:300], right))
    changed = np.fromfile(expected, np.float32)
    changed[7] += 3
    changed[9] = np.nan
    changed.tofile(expected)
    done = replayed(folder, environment)
    assert done.returncode == 1
    assert re.search(r"largest difference is [23](\.\d+)?: number 7 was", done.stdout)
    assert "1 of them are NaN or infinite" in done.stdout
    assert done.stdout.endswith("\ndifferent\n")
    assert replayed(folder, environment, "no such platform").returncode == 2
    expected.unlink()
    missing = replayed(folder, environment)
    assert missing.returncode == 2
    assert expected.name in missing.stderr
    (folder / "program0.cl").write_text("does not build")
    failed = replayed(folder, environment, any_device.platform, any_device.name)
    assert failed.returncode == 2
    assert re.search(r"clBuildProgram failed with code -\d+", failed.stderr)


def test_what_the_host_writes_between_launches_is_written_again(
    device: gpuopt.Device, tmp_path: Path, environment: dict[str, str]
) -> None:
    kernel = own_kernels.saxpy()

    def call() -> None:
        for factor in (1, 2):
            kernel(a=2.0, x=X * np.float32(factor), y=X, device=device)

    folder = built(lab.capture(call, tmp_path / "report"))
    done = replayed(folder, environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "launch 1" in done.stdout
    assert len(list(folder.glob("*.bin"))) == 3  # x, which y is too, 2 x, and the last result


def test_what_others_write_into_shared_memory_is_written_again(tmp_path: Path, environment: dict[str, str]) -> None:
    pytest.importorskip("pyopencl")
    x = gpuopt.to_device(np.ones(64, np.float32))
    other = gpuopt.from_pyopencl(gpuopt.to_pyopencl(x))
    folder = built(lab.capture(lambda: (x + x, other.copy_from(np.zeros(64, np.float32)), x + x), tmp_path / "report"))
    done = replayed(folder, environment)
    assert done.returncode == 0, done.stdout + done.stderr


def test_memory_that_was_lent_is_let_go(any_device: gpuopt.Device, tmp_path: Path) -> None:
    """A CPU works in the caller's arrays, which may be gone when the call has ended."""
    alive: list[Any] = []

    def call() -> None:
        for factor in (1, 2):
            left, right = A * np.float32(factor), B.copy()
            gpuopt.gemm(left, right, device=any_device)
            alive.extend((weakref.ref(left), weakref.ref(right)))

    held = any_device.allocated_bytes
    lab.capture(call, tmp_path / "report")
    assert [one() for one in alive] == [None] * 4
    assert any_device.allocated_bytes == held


def test_launches_of_other_threads_are_not_recorded(any_device: gpuopt.Device, tmp_path: Path) -> None:
    def call() -> None:
        other = threading.Thread(target=lambda: gpuopt.gemm(A, B, device=any_device))
        other.start()
        other.join()
        own_kernels.scaled()(x=X, device=any_device)

    folder = lab.capture(call, tmp_path / "report")
    assert re.findall(r"^    \d+: (\w+) of program", (folder / "README.txt").read_text(), re.MULTILINE) == ["scaled"]


# ---------------------------------------------------------------- what is refused


def sampled(device: gpuopt.Device) -> None:
    problem = own_kernels.scaled().problem(n=100, isolated=False)
    problem.prepare(Configuration("scaled"), device).prepared.sample(1)


def caught(device: gpuopt.Device) -> None:
    try:
        sampled(device)
    except gpuopt.ParameterError:
        gpuopt.gemm(A, B, device=device)


BAD: dict[str, tuple[Callable[[gpuopt.Device], Any], str]] = {
    "nothing": (lambda device: None, "call: it launches no kernel"),
    "samples": (sampled, "call: it takes samples"),
    "a worker's kernel": (
        lambda device: own_kernels.scaled().check(n=100, device=device),
        "call: its kernels run in a process of their own",
    ),
    "a capture": (
        lambda device: lab.capture(lambda: gpuopt.gemm(A, B, device=device), "inner"),
        "call: it captures a call itself",
    ),
    "too much": (
        lambda device: gpuopt.gemm(A, B, device=device),
        "most_bytes: the call works on more than 30000 bytes",
    ),
}


@pytest.mark.parametrize("name", BAD)
def test_what_cannot_be_captured_leaves_nothing(
    name: str, any_device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    call, told = BAD[name]
    held = any_device.allocated_bytes
    with pytest.raises(gpuopt.ParameterError, match=f"^{told}"):
        lab.capture(lambda: call(any_device), "report", most_bytes=30_000 if name == "too much" else 2**30)
    assert list(tmp_path.iterdir()) == []
    assert not _core.is_recording()
    assert any_device.allocated_bytes == held


def test_an_error_that_the_call_caught_fails_the_capture(any_device: gpuopt.Device, tmp_path: Path) -> None:
    """Of a launch that failed: here, one that needs too much memory."""

    def call() -> None:
        with pytest.raises(gpuopt.ParameterError):
            gpuopt.gemm(A, B, device=any_device)
        own_kernels.scaled()(x=X[:100], device=any_device)

    with pytest.raises(gpuopt.ParameterError, match=r"^most_bytes"):
        lab.capture(call, tmp_path / "report", most_bytes=10_000)


def test_two_devices_are_refused(tmp_path: Path) -> None:
    devices = gpuopt.devices()
    if len(devices) < 2:
        pytest.skip("there is one device")
    with pytest.raises(gpuopt.ParameterError, match=r"^call: it launches on"):
        lab.capture(lambda: [gpuopt.gemm(A, B, device=one) for one in devices], tmp_path / "report")


def test_an_error_of_the_call_passes_and_an_empty_folder_stays(any_device: gpuopt.Device, tmp_path: Path) -> None:
    def call() -> None:
        gpuopt.gemm(A, B, device=any_device)
        raise LookupError("mine")

    (tmp_path / "report").mkdir()
    with pytest.raises(LookupError, match="mine"):
        lab.capture(call, tmp_path / "report")
    assert list((tmp_path / "report").iterdir()) == []
    assert lab.capture(lambda: gpuopt.gemm(A, B, device=any_device), tmp_path / "report") == tmp_path / "report"


@pytest.mark.parametrize("kind", ["holds files", "is a file", "has a NUL"])
def test_a_folder_that_cannot_be_used_is_refused_before_the_call(kind: str, tmp_path: Path) -> None:
    def never() -> None:
        pytest.fail("it was called")

    path = tmp_path / "report"
    if kind == "holds files":
        path.mkdir()
        (path / "mine").write_text("kept")
    elif kind == "is a file":
        path.write_text("kept")
    else:
        path = tmp_path / "a\0b"
    with pytest.raises(gpuopt.ParameterError, match=r"^folder: "):
        lab.capture(never, path)
    assert all(one.read_text() == "kept" for one in tmp_path.rglob("*") if one.is_file())


def test_a_folder_that_cannot_be_written_is_left_as_it_was(
    any_device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(path: Path, parts: Any, **more: Any) -> None:
        if path.name == "replay.c":
            raise gpuopt.Error("full")
        path.write_bytes(b"".join(parts))

    monkeypatch.setattr("gpuopt.lab.kernels.capture.write", full)
    with pytest.raises(gpuopt.Error, match="full"):
        lab.capture(lambda: gpuopt.gemm(A, B, device=any_device), tmp_path / "report")
    assert not (tmp_path / "report").exists()


def test_files_of_the_calls_own_stay(any_device: gpuopt.Device, tmp_path: Path) -> None:
    def call() -> None:
        (tmp_path / "report").mkdir()
        (tmp_path / "report" / "README.txt").write_text("kept")
        gpuopt.gemm(A, B, device=any_device)

    with pytest.raises(gpuopt.ParameterError, match=r"^folder: .* it holds files already"):
        lab.capture(call, tmp_path / "report")
    assert [one.read_text() for one in (tmp_path / "report").iterdir()] == ["kept"]


def test_a_call_may_change_the_working_folder(
    any_device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "there").mkdir()
    monkeypatch.chdir(tmp_path)
    folder = lab.capture(lambda: (gpuopt.gemm(A, B, device=any_device), os.chdir("there")), "report")
    assert (folder, (folder / "replay.c").exists()) == (tmp_path / "report", True)
    assert not any((tmp_path / "there").iterdir())
