"""Bad input gets a typed error that names the argument and the fix."""

from __future__ import annotations

import copy
import gc
import os
import pickle
import subprocess
import sys
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

import numpy as np
import pytest
import scipy.sparse as sparse

import gpuopt
from gpuopt import Configuration, lab
from gpuopt.configuration import complete
from gpuopt.io import FormatError
from gpuopt.lab.device.bandwidth import BandwidthTest
from gpuopt.lab.kernels.checks import WrongResultError
from gpuopt.lab.rows.schema import ResultsError
from made_up import told

A = sparse.dia_array((np.ones((2, 8), np.float32), [0, 1]), shape=(8, 8))
X = np.ones(8, np.float32)


def product(**changes: object) -> object:
    arguments: dict[str, object] = {"A": A, "x": X} | changes
    return gpuopt.spmv(arguments.pop("A"), arguments.pop("x"), **arguments)  # type: ignore[type-var]


BAD_ARRAYS = {
    "x-dtype": ({"x": X.astype(np.float64)}, "x", "astype(np.float32)"),
    "x-integers": ({"x": np.ones(8, np.int32)}, "x", "astype(np.float32)"),
    "x-byte-order": ({"x": X.astype(">f4")}, "x", "newbyteorder"),
    "x-strided": ({"x": np.ones(16, np.float32)[::2]}, "x", "ascontiguousarray"),
    "x-fortran": ({"x": np.ones((8, 3), np.float32, order="F")}, "x", "ascontiguousarray"),
    "x-length": ({"x": np.ones(9, np.float32)}, "x", "(8,)"),
    "x-rank": ({"x": np.ones((8, 1, 1), np.float32)}, "x", "(n, k)"),
    "x-scalar": ({"x": np.float32(1)}, "x", "np.asarray"),
    "x-list": ({"x": [1.0] * 8}, "x", "np.asarray"),
    "x-objects": ({"x": np.array([None] * 8)}, "x", "astype"),
    "y-missing": ({"beta": 1}, "y", "beta"),
    "y-shape": ({"y": np.ones(7, np.float32), "beta": 1}, "y", "(8,)"),
    "y-dtype": ({"y": np.ones(8), "beta": 1}, "y", "astype(np.float32)"),
    "out-read-only": ({"out": np.frombuffer(bytes(32), np.float32)}, "out", "writable"),
    "out-shape": ({"out": np.ones((8, 1), np.float32)}, "out", "(8,)"),
    "out-dtype": ({"out": np.ones(8)}, "out", "astype"),
    "matrix-kind": ({"A": np.eye(8, dtype=np.float32)}, "A", "dia_array"),
    "matrix-integers": ({"A": A.astype(np.int32)}, "data", "astype(np.float32)"),
}


@pytest.mark.parametrize("case", BAD_ARRAYS)
def test_bad_arrays_name_argument_and_fix(any_device: gpuopt.Device, case: str) -> None:
    changes, argument, fix = BAD_ARRAYS[case]
    with pytest.raises(gpuopt.ArrayError) as caught:
        product(**changes)
    assert str(caught.value).startswith(f"{argument}:")
    assert fix in str(caught.value)
    assert isinstance(caught.value, ValueError)


def test_an_out_of_the_wrong_kind(any_device: gpuopt.Device) -> None:
    with pytest.raises(gpuopt.ArrayError, match="out: the inputs are NumPy arrays"):
        product(out=gpuopt.to_device(X, any_device))
    on_device = gpuopt.to_device(X, any_device)
    with pytest.raises(gpuopt.ArrayError, match="out: it is x itself"):
        product(x=on_device, out=on_device)


@pytest.mark.parametrize(
    ("data", "offsets", "message"),
    [
        (np.ones((2, 8), np.float32), np.array([1, 1]), "offsets: diagonal 1 is given twice"),
        (np.ones((2, 8), np.float32), np.array([0, np.nan]), "offsets: their dtype is float64"),
        (np.ones((2, 8), np.float32), np.array([0, 1, 2]), "data: its shape is"),
        (np.ones((2, 8), np.float32), np.array([[0, 1]]), "offsets: its shape is"),
        (np.ones(8, np.float32), np.array([0]), "data: its shape is"),
    ],
)
def test_bad_matrices(any_device: gpuopt.Device, data: np.ndarray, offsets: np.ndarray, message: str) -> None:
    with pytest.raises(gpuopt.ArrayError, match=message):
        gpuopt.DiaMatrix((data, offsets), (8, 8))


def test_a_matrix_needs_a_shape(any_device: gpuopt.Device) -> None:
    with pytest.raises(gpuopt.ArrayError, match="shape: it is needed"):
        gpuopt.DiaMatrix((np.ones((1, 8), np.float32), np.array([0])))
    with pytest.raises(gpuopt.ArrayError, match=r"shape: \(-1, 8\) is negative"):
        gpuopt.DiaMatrix((np.ones((1, 8), np.float32), np.array([0])), (-1, 8))


def test_complex_values_are_unsupported(any_device: gpuopt.Device) -> None:
    with pytest.raises(gpuopt.UnsupportedError, match="complex") as caught:
        product(A=A.astype(np.complex64))
    assert caught.value.because == "constraint"


def test_sizes_beyond_memory_name_the_bytes(any_device: gpuopt.Device) -> None:
    gc.collect()  # what tracebacks of earlier tests still hold
    before = any_device.allocated_bytes
    M = gpuopt.DiaMatrix((np.ones((1, 8), np.float32), np.array([0])), (2**40, 8), device=any_device)
    with pytest.raises(gpuopt.DeviceMemoryError, match=r"the result needs \d+\.\d+ GB \(\d+ bytes\)") as caught:
        M @ X
    assert isinstance(caught.value, MemoryError)
    with pytest.raises(gpuopt.DeviceMemoryError, match=r"needs \d+\.\d+ GB"):
        gpuopt._core.empty((2**42,), np.dtype(np.float32), any_device)
    del M, caught  # the traceback holds the matrix too
    gc.collect()
    assert any_device.allocated_bytes == before


@pytest.mark.parametrize("shape", [(2**32, 2**32), (2**62,), (2**61, 2), (2**63 - 1, 2**63 - 1)])
def test_sizes_beyond_64_bits_are_refused(any_device: gpuopt.Device, shape: tuple[int, ...]) -> None:
    for guarded in (False, True):
        with pytest.raises(gpuopt.DeviceMemoryError, match="a DeviceArray needs"):
            gpuopt._core.empty(shape, np.dtype(np.float32), any_device, guarded)
    assert gpuopt._core.empty((2**62, 2**62, 0), np.dtype(np.float32), any_device).nbytes == 0


def test_bandwidth_checks_where_it_writes(any_device: gpuopt.Device) -> None:
    def array(elements: int, dtype: type = np.float32, device: gpuopt.Device = any_device) -> gpuopt.DeviceArray:
        return gpuopt._core.empty((elements,), np.dtype(dtype), device)

    def prepare(source: gpuopt.DeviceArray, to: gpuopt.DeviceArray, variant: str, store: bool = False) -> None:
        shape = complete("microbench", Configuration(variant))
        gpuopt._core.prepare_microbench(
            source, to, width=0, trips=1, store=store, variant=shape.variant, parameters=shape.parameters
        )

    source = array(4096)
    with pytest.raises(gpuopt.ArrayError, match=r"^to: it holds 4080 elements, 4096 are written; give"):
        prepare(source, array(4080), "copy_chunks")
    with pytest.raises(gpuopt.ArrayError, match=r"^to: it holds 8 elements, 64 are written"):
        prepare(source, array(8), "read_chunks", store=True)
    with pytest.raises(gpuopt.ArrayError, match=r"^to: its dtype is int32, from's is float32"):
        prepare(source, array(4096, np.int32), "copy_chunks")
    with pytest.raises(gpuopt.ArrayError, match=r"^to: it is from itself"):
        prepare(source, source, "copy_chunks")
    with pytest.raises(gpuopt.ArrayError, match=r"^to: it holds 8 elements"):  # a chance sum is stored all the same
        prepare(source, array(8), "read_chunks")
    prepare(source, array(64), "read_chunks")
    for other in gpuopt.devices()[1:]:
        with pytest.raises(gpuopt.ArrayError, match=r"^to: it lies on another device"):
            prepare(source, array(4096, device=other), "copy_chunks")


def test_wrong_names_list_the_right_ones(any_device: gpuopt.Device) -> None:
    with pytest.raises(gpuopt.ParameterError, match="spmv has none called 'nope'; use one of basic"):
        product(variant="nope")
    with pytest.raises(gpuopt.ParameterError, match="LOCAL: 65 is not one of its levels; use one of 64, 128"):
        product(variant=Configuration("basic", LOCAL=65))
    with pytest.raises(gpuopt.ParameterError, match="WIDTH: spmv basic has no such parameter"):
        product(variant=Configuration("basic", WIDTH=4))
    with pytest.raises(gpuopt.ParameterError, match=r"LOCAL: 64\.5 is not a whole number"):
        Configuration("basic", LOCAL=64.5)  # type: ignore[arg-type]
    with pytest.raises(gpuopt.ParameterError, match="workload"):
        gpuopt.variants("nope")
    with pytest.raises(gpuopt.ParameterError, match="variant"):
        product(variant=3)


def test_a_group_larger_than_the_device_allows(device: gpuopt.Device) -> None:
    configuration = Configuration("copy", WIDTH=4, LOCAL=1024, AHEAD=1)
    if device.max_work_group_size >= 1024:
        pytest.skip("its groups may have 1024 work-items")
    with pytest.raises(gpuopt.UnsupportedError, match="work-group"):
        BandwidthTest(device, 1 << 20).prepare(configuration)


def test_arrays_of_two_devices_do_not_mix() -> None:
    found = gpuopt.devices()
    if len(found) < 2:
        pytest.skip("one device only")
    M = gpuopt.DiaMatrix(A, device=found[0])
    with pytest.raises(gpuopt.ArrayError, match="x: it lies on"):
        M @ gpuopt.to_device(X, found[1])
    with pytest.raises(gpuopt.UnsupportedError, match="device: A lies on"):
        gpuopt.spmv(M, X, device=found[1])


def kinds_of(base: type[gpuopt.Error]) -> Iterator[type[gpuopt.Error]]:
    for kind in base.__subclasses__():
        yield from (kind, *kinds_of(kind))


@pytest.mark.parametrize("kind", sorted(set(kinds_of(gpuopt.Error)), key=lambda kind: kind.__name__))
def test_errors_survive_pickling(kind: type[gpuopt.Error]) -> None:
    with suppress(TypeError):  # those of more than a message are below
        error = kind("x: too long; cut it")
        again = pickle.loads(pickle.dumps(error))
        assert (type(again), str(again)) == (kind, str(error))


def test_errors_with_more_than_a_message_survive_pickling(tmp_path: Path) -> None:
    """One that cannot be made again in the parent ends a pool of processes."""
    wrong = WrongResultError("wrong", "y: 3 of 9 elements are off")
    store = lab.Store(tmp_path / "rows.jsonl")
    unsaved = lab.UnsavedRowsError(lab.Study([]), store, "disk full", 3)
    for error in (wrong, unsaved, FormatError("a.pqr", 3, "it is no atom")):
        for again in (pickle.loads(pickle.dumps(error)), copy.deepcopy(error)):
            assert isinstance(again, gpuopt.Error)
            assert str(again) == str(error)
    assert pickle.loads(pickle.dumps(wrong)).word == "wrong"
    assert isinstance(pickle.loads(pickle.dumps(unsaved)), ResultsError)


def test_an_error_of_unsaved_rows_names_what_it_is_not_made_of() -> None:
    with pytest.raises(gpuopt.ParameterError, match=r"^store: it is 2; give a Store"):
        lab.UnsavedRowsError(1, 2, "disk full", 4)


def run_python(code: str, **environment: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], env=os.environ | environment, capture_output=True, text=True, timeout=120
    )


def test_no_device_is_an_error_that_points_to_the_doctor(tmp_path: Path) -> None:
    code = (
        "import gpuopt, numpy as np, scipy.sparse as s\nprint(gpuopt.devices())\n"
        "A = s.dia_array((np.ones((1,4),np.float32),[0]),shape=(4,4))\n"
        "try: gpuopt.spmv(A, np.ones(4,np.float32))\n"
        "except gpuopt.NoDeviceError as e: print('caught', e)"
    )
    done = run_python(code, OCL_ICD_VENDORS=str(tmp_path), OCL_ICD_FILENAMES="")
    assert done.returncode == 0, done.stderr
    assert "gpuopt doctor" in done.stdout
    assert "caught no OpenCL device found" in done.stdout


def test_a_kernel_that_does_not_build_names_file_and_line(tmp_path: Path, device: gpuopt.Device) -> None:
    folder = tmp_path / "kernels" / "spmv"
    folder.mkdir(parents=True)
    (folder / "basic.cl").write_text(
        '#include "spmv/include/dia.cl"\n\nkernel void spmv_basic(DIA_ARGUMENTS) {\n    int a = nonsense;\n}\n'
    )
    code = (
        "import gpuopt, numpy as np, scipy.sparse as s\n"
        "A = s.dia_array((np.ones((1,4),np.float32),[0]),shape=(4,4))\n"
        f"try: gpuopt.spmv(A, np.ones(4,np.float32), variant='basic', device={device.index})\n"
        "except gpuopt.KernelBuildError as e: print(e.file, e.line, 'nonsense' in e.log)"
    )
    done = run_python(code, GPUOPT_KERNEL_DIR=str(tmp_path / "kernels"), GPUOPT_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout.strip() == "spmv/basic.cl 4 True", done.stdout + done.stderr


@pytest.mark.parametrize("text", ["é", "\N{GRINNING FACE}"])
def test_messages_are_cut_between_characters(tmp_path: Path, device: gpuopt.Device, text: str) -> None:
    """A compiler quotes the line that it refuses; wherever the message ends, it stays text."""
    (tmp_path / "spmv").mkdir()
    code = (
        "import gpuopt, numpy as np, scipy.sparse as s\n"
        "A = s.dia_array((np.ones((1,4),np.float32),[0]),shape=(4,4))\n"
        "for shift in range(4):\n"
        f"    line = 'int a = nonsense; // ' + 'x' * shift + {text!r} * 400\n"
        f"    open({str(tmp_path / 'spmv' / 'basic.cl')!r}, 'w', encoding='utf-8').write("
        "'#include \"spmv/include/dia.cl\"\\nkernel void spmv_basic(DIA_ARGUMENTS) {\\n' + line + '\\n}\\n')\n"
        f"    try: gpuopt.spmv(A, np.ones(4,np.float32), variant='basic', device={device.index})\n"
        "    except gpuopt.KernelBuildError as e: print(e.line, 'nonsense' in str(e), '\\ufffd' in str(e))"
    )
    done = run_python(code, GPUOPT_KERNEL_DIR=str(tmp_path), GPUOPT_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout.splitlines() == ["3 True False"] * 4, done.stdout + done.stderr


def test_a_message_that_is_no_utf8_is_still_a_message(tmp_path: Path, device: gpuopt.Device) -> None:
    (tmp_path / "spmv").mkdir()
    (tmp_path / "spmv" / "basic.cl").write_bytes(
        b'#include "spmv/include/dia.cl"\nkernel void spmv_basic(DIA_ARGUMENTS) {\nint a = nonsense; // \xe9\n}\n'
    )
    code = (
        "import gpuopt, numpy as np, scipy.sparse as s\n"
        "A = s.dia_array((np.ones((1,4),np.float32),[0]),shape=(4,4))\n"
        f"try: gpuopt.spmv(A, np.ones(4,np.float32), variant='basic', device={device.index})\n"
        "except gpuopt.KernelBuildError as e: print(e.line)\n"
        "print('nonsense' in gpuopt._core.kernel_source('spmv/basic.cl'))"
    )
    done = run_python(code, GPUOPT_KERNEL_DIR=str(tmp_path), GPUOPT_CACHE_DIR=str(tmp_path / "cache"))
    assert done.stdout.splitlines() == ["3", "True"], done.stdout + done.stderr


def test_a_fork_is_refused_rather_than_hung(any_device: gpuopt.Device) -> None:
    code = (
        "import gpuopt, os, warnings\nwarnings.simplefilter('ignore')\ngpuopt.devices()\npid = os.fork()\n"
        "if pid == 0:\n    try: gpuopt.devices()\n"
        "    except gpuopt.Error as e: os.write(1, str(e).encode())\n    os._exit(0)\n"
        "os.waitpid(pid, 0)"
    )
    assert "spawn" in run_python(code).stdout


def test_an_import_touches_no_device_and_is_quick() -> None:
    code = (
        "import sys, time, numpy\nt = time.perf_counter()\nimport gpuopt\nprint(time.perf_counter() - t)\n"
        "heavy = {'scipy', 'pandas', 'matplotlib', 'skimage', 'trimesh'}\n"
        "print([m for m in sys.modules if m.split('.')[0] in heavy])\n"
        "print([l for l in open('/proc/self/maps') if 'libpocl' in l or 'intelocl' in l or 'libnvidia-opencl' in l])"
    )
    lines = run_python(code).stdout.splitlines()
    assert lines[1:] == ["[]", "[]"]


def test_completion_knows_the_modules() -> None:
    assert {"io", "molecule", "tomo"} <= set(dir(gpuopt))


UNDER = """
import os, numpy as np, gpuopt, gpuopt.tomo as gt
os.chdir({folder!r})
from gpuopt import lab
np.seterr(all="raise")
with open("points.ply", "w") as file:
    words = ["ply", "format ascii 1.0", "element vertex 1"]
    words += [f"property float {{name}}" for name in ("x", "y", "z", "nx", "ny", "nz")]
    file.write("\\n".join([*words, "end_header", "0 0 0 1e-30 1e-30 1e-30", ""]))
print(len(gpuopt.io.read_ply("points.ply")))
print(float(gt.blob(1.0).project(gt.parallel2d(4, 90)).min()) >= 0)
text = "kernel void twice(global float* x) {{ x[get_global_id(0)] *= 2; }}"
launch = lab.launch(items="n", local=1)
twice = lab.Kernel(text, "twice", arguments=[lab.inout("x", "n")], launch=launch, reference=lambda x: 2 * x)
study = lab.sweep(twice.problem(n=64), protocol="quick", peers=(), calls=False, store="rows.jsonl")
print(study.summary[0]["status"], lab.audit("rows.jsonl").ok, len(str(study)) > 0)
print(np.geterr()["under"])
"""


def test_programs_that_take_underflow_for_an_error(any_device: gpuopt.Device, tmp_path: Path) -> None:
    """Terms that vanish are zeros, as by NumPy's own settings."""
    lines = told(UNDER.format(folder=str(tmp_path)))
    assert lines == ["1", "True", "ok True True", "raise"]


def test_a_backend_that_matplotlib_does_not_know(tmp_path: Path) -> None:
    rows = Path(__file__).parents[2] / "results/cpu-2core/papers/intel-gemm-wide/rows.jsonl"
    call = f"lab.Study.load({str(rows)!r}).save_plots({str(tmp_path)!r})"
    code = f"import gpuopt\nfrom gpuopt import lab\ntry:\n    {call}\nexcept gpuopt.Error as error:\n    print(error)"
    [line] = told(code, MPLBACKEND="nonsense")
    assert line.startswith("MPLBACKEND: ")
    assert line.endswith("; unset it")
