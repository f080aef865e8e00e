"""Precisions of a matrix product: what a device can, what it says where it cannot, and which way a call goes."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import ArrayError, Configuration, ParameterError, UnsupportedError, _core
from gpuopt import records as tuned_records
from gpuopt.configuration import complete
from gpuopt.selection import reads_ptx
from gpuopt.workloads.gemm import precision
from gpuopt.workloads.gemm import reference as oracle
from gpuopt.workloads.gemm.operation import prepare_gemm
from products import PLAIN, close, matrix

A, B = np.ones((3, 4), np.float32), np.ones((4, 5), np.float32)


@pytest.fixture
def asked_anew() -> Iterator[None]:
    """Answers about precisions are kept a process: a test that fakes one takes them along."""
    precision._refusal.cache_clear()
    yield
    precision._refusal.cache_clear()


@pytest.mark.parametrize("name", precision.FORMS)
def test_a_precision_works_or_says_why_not(device: gpuopt.Device, name: str) -> None:
    a, b = matrix(70, 130), matrix(130, 50)
    if reads_ptx(device):
        result = gpuopt.gemm(a, b, precision=name, device=device)
        error = np.abs(result - oracle.product(a, b)) / oracle.magnitude(a, b)
        assert error.max() <= precision.FORMS[name].tolerance(130)
        return
    with pytest.raises(
        UnsupportedError, match=f"precision: {name}: .* has no tensor cores that OpenCL reaches"
    ) as info:
        gpuopt.gemm(a, b, precision=name, device=device)
    assert device.name in str(info.value)
    assert info.value.because == "device"


def test_fast_fp32_runs_anywhere(device: gpuopt.Device) -> None:
    a, b, c = matrix(70, 130), matrix(130, 50), matrix(70, 50)
    for numbers in ({}, {"alpha": 2, "beta": -1}):
        close(gpuopt.gemm(a, b, c, precision="fast_fp32", device=device, **numbers), a, b, c, **numbers)
    a[3, 5] = np.inf  # no short number holds it
    result = gpuopt.gemm(a, np.abs(b) + 1, precision="fast_fp32", device=device)
    assert np.isinf(result[3]).all()
    assert np.isfinite(np.delete(result, 3, axis=0)).all()


def test_bad_precisions_are_named(any_device: gpuopt.Device) -> None:
    with pytest.raises(ParameterError, match=r"precision: 'fp8' is none; use fp16, tf32, .*fast_fp32, or None"):
        gpuopt.gemm(A, B, precision="fp8", device=any_device)
    for name in ("tf32x3", "fast_fp32"):
        with pytest.raises(
            UnsupportedError, match=f"precision: {name} is made of float32 arrays, these are float64"
        ) as info:
            gpuopt.gemm(A.astype(float), B.astype(float), precision=name, device=any_device)
        assert info.value.because == "constraint"


@pytest.mark.usefixtures("asked_anew")
def test_a_probe_that_fails_is_a_reason(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where tensor cores seem to be there, a product that cannot be built, or comes out wrong, is refused, and
    "fast_fp32" goes on to float32."""
    monkeypatch.setattr(precision, "reads_ptx", lambda device: True)
    monkeypatch.setattr(precision, "_WORTH_SPLITTING", 0)
    prepared = _core.prepare_gemm
    tried = []

    def wrong(*arguments: Any) -> Any:
        tried.append(arguments[-2])
        if arguments[-1]["PRODUCTS"] == 1:
            raise _core.KernelBuildError("no such instruction")
        return prepared(*arguments[:3], 1.001, *arguments[4:-2], PLAIN.variant, PLAIN.parameters)

    monkeypatch.setattr(_core, "prepare_gemm", wrong)
    with pytest.raises(UnsupportedError, match=r"precision: tf32: .* does not run it: no such instruction; use None"):
        gpuopt.gemm(A, B, precision="tf32", device=any_device)
    with pytest.raises(UnsupportedError, match=r"precision: tf32x3: .* computes it wrongly: an error of 0.000"):
        gpuopt.gemm(A, B, precision="tf32x3", device=any_device)
    with pytest.raises(UnsupportedError, match="tf32x3"):  # known by now
        gpuopt.gemm(A, B, precision="tf32x3", device=any_device)
    assert tried == ["tensor", "tensor"]
    close(gpuopt.gemm(A, B, precision="fast_fp32", device=any_device), A, B)
    assert len(tried) == 2 + len(["fp16x3", "bf16x6", "bf16x9"])


@pytest.mark.usefixtures("asked_anew")
@pytest.mark.parametrize("kind", [_core.DeviceMemoryError, _core.Error])
def test_a_probe_that_cannot_run_now_is_no_reason(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, kind: type[Exception]
) -> None:
    monkeypatch.setattr(precision, "reads_ptx", lambda device: True)
    monkeypatch.setattr(precision, "_WORTH_SPLITTING", 0)
    prepared = _core.prepare_gemm

    def full(*arguments: Any) -> Any:
        raise kind("it cannot run now")

    monkeypatch.setattr(_core, "prepare_gemm", full)
    with pytest.raises(kind, match="it cannot run now"):
        gpuopt.gemm(A, B, precision="tf32x3", device=any_device)
    if kind is _core.DeviceMemoryError:
        close(gpuopt.gemm(A, B, precision="fast_fp32", device=any_device), A, B)
    monkeypatch.setattr(_core, "prepare_gemm", lambda *some: prepared(*some[:-2], PLAIN.variant, PLAIN.parameters))
    assert precision.refusal(any_device, "tf32x3") is None


def test_small_products_are_not_split(any_device: gpuopt.Device) -> None:
    float32 = np.dtype(np.float32)
    assert precision.fallbacks(any_device, float32, "fast_fp32", multiplications=1e6) == [
        precision.choose(any_device, float32)
    ]
    with pytest.raises(UnsupportedError, match="made of float32 arrays"):
        precision.fallbacks(any_device, np.dtype(np.float64), "fast_fp32", multiplications=1e6)


@pytest.mark.usefixtures("asked_anew")
def test_a_probe_that_passes_is_not_repeated(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "reads_ptx", lambda device: True)
    prepared, tried = _core.prepare_gemm, []

    def right(*arguments: Any) -> Any:
        tried.append(arguments[-1])
        return prepared(*arguments[:-2], PLAIN.variant, PLAIN.parameters)

    monkeypatch.setattr(_core, "prepare_gemm", right)
    float32 = np.dtype(np.float32)
    for _ in range(2):
        for name in ("bf16x6", "tf32"):
            chosen = precision.choose(any_device, float32, name)
            assert chosen.variant == "tensor"
            assert precision.FORMS[name].parameters.items() <= chosen.parameters.items()
    assert len(tried) == 2
    assert precision.choose(any_device, float32, "fast_fp32").parameters["TYPE"] == 1
    # Narrow numbers first, float32 itself last.
    fallbacks = precision.fallbacks(any_device, float32, "fast_fp32")
    assert [way.variant for way in fallbacks[:2]] == ["tensor", "tensor"]
    assert fallbacks[0].parameters["TYPE"] == 0
    assert fallbacks[-1] == precision.choose(any_device, float32)


def test_a_precision_and_a_variant_agree(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(precision, "_refusal", lambda index, name: None)
    with pytest.raises(ParameterError, match="variant: naive has no precision of its own"):
        gpuopt.gemm(A, B, precision="tf32", variant="naive", device=any_device)
    with pytest.raises(ParameterError, match="is not tf32; leave out one"):
        gpuopt.gemm(A, B, precision="tf32", variant=Configuration("tensor", TYPE=1), device=any_device)
    chosen = precision.choose(any_device, np.dtype(np.float32), "bf16x9", Configuration("tensor", STAGES=2))
    assert chosen.parameters["STAGES"] == 2
    assert chosen.parameters["PRODUCTS"] == 9


def test_numbers_that_do_not_fit_go_another_way(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """ "fast_fp32" takes the next way where one refuses the operands, and lets no other fault pass."""
    computed, tried = _core.gemm, []
    last = PLAIN
    monkeypatch.setattr("gpuopt.workloads.gemm.operation.fallbacks", lambda *arguments: [Configuration("tile"), last])

    def refusing(*arguments: Any) -> Any:
        tried.append(arguments[-2])
        if arguments[-2] == "tile":
            raise ArrayError("A, B: they hold Inf")
        return computed(*arguments)

    monkeypatch.setattr(_core, "gemm", refusing)
    close(gpuopt.gemm(A, B, precision="fast_fp32", device=any_device), A, B)
    assert tried == ["tile", "naive"]
    with pytest.raises(ArrayError, match="out: its shape"):
        gpuopt.gemm(A, B, out=np.empty((1, 1), np.float32), device=any_device)


@pytest.mark.parametrize("asked", [{}, {"precision": "fast_fp32"}])
def test_operands_whose_copies_the_memory_does_not_hold(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, asked: dict[str, Any]
) -> None:
    """A plain product, and "fast_fp32", go on without copies; one whose variant was named does not."""
    computed, tried = _core.gemm, []
    copying = complete("gemm", Configuration("register_tile", PASS=1))
    where = "gpuopt.workloads.gemm.operation."
    monkeypatch.setattr(where + "fallbacks", lambda *arguments: [Configuration("tile"), copying])
    monkeypatch.setattr(where + "_of_shape", lambda *arguments: copying)
    monkeypatch.setattr(where + "without_copies", lambda *arguments: PLAIN if arguments[-1] == copying else None)

    def full(*arguments: Any) -> Any:
        tried.append(arguments[-2])
        if arguments[-2] != PLAIN.variant:
            raise _core.DeviceMemoryError("A, turned, takes more bytes than are free")
        return computed(*arguments)

    monkeypatch.setattr(_core, "gemm", full)
    close(gpuopt.gemm(A, B, **asked, device=any_device), A, B)
    assert tried == [*(["tile"] if asked else []), "register_tile", "naive"]
    for named in ({"variant": copying}, {"precision": "tf32"}):
        with pytest.raises(_core.DeviceMemoryError, match="A, turned"):
            gpuopt.gemm(A, B, **named, device=any_device)


def test_a_prepared_plan_goes_another_way(device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    """Each run anew: as its numbers fit fp16, bf16 alone, or no short number at all."""
    if refused := precision.refusal(device, "fp16x3"):
        pytest.skip(refused)
    monkeypatch.setattr(precision, "_WORTH_SPLITTING", 0)
    fitting, wide, infinite = (matrix(150, 130) for _ in range(3))
    wide[::3, 1::2] *= np.float32(1e-20)  # 2^-66 of the others
    infinite[7, 9] = np.inf
    b, c = np.abs(matrix(130, 90)) + 1, matrix(150, 90)
    given, out = gpuopt.to_device(fitting, device), gpuopt.to_device(c, device)
    numbers = {"alpha": 2.0, "beta": -1.0}
    plan = prepare_gemm(
        given, gpuopt.to_device(b, device), out, C=gpuopt.to_device(c, device), precision="fast_fp32", **numbers
    )
    for a in (fitting, wide, fitting, infinite, wide, fitting):
        given.copy_from(a)
        out.fill_bytes(0xFF)
        plan.run()
        found = out.to_numpy()
        some = np.isfinite(a).all(axis=1)
        close(found[some], a[some], b, c[some], **numbers)
        assert np.isinf(found[~some]).all()
    times = plan.sample(3, 2)["device_ms"]
    assert len(times) == 3
    assert min(times) > 0
    close(out.to_numpy(), fitting, b, c, **numbers)


def test_a_plan_that_fits_has_no_other(any_device: gpuopt.Device) -> None:
    """What a variant never refuses needs no memory of ways that never run."""
    a, b = gpuopt.to_device(A, any_device), gpuopt.to_device(B, any_device)
    out = gpuopt.to_device(np.empty((3, 5), np.float32), any_device)
    arguments = (a, b, None, 1.0, 0.0, out, False, False, PLAIN.variant, PLAIN.parameters)
    one, two = _core.prepare_gemm(*arguments), _core.prepare_gemm(*arguments, [(PLAIN.variant, PLAIN.parameters)])
    assert two.kernels == one.kernels


def test_records_of_a_precision_are_for_it_alone(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, tmp_path: Any
) -> None:
    monkeypatch.setattr(tuned_records, "tuned_dir", lambda: tmp_path)
    here = {
        "name": any_device.name,
        "type": any_device.type,
    }  # a record of this very device is closer than shipped ones
    fp16, native = here | {"precision": "fp16"}, here | {"precision": "native"}
    of_halves = {"match": fp16, "variant": "tensor", "parameters": {"PRODUCTS": 1, "STAGES": 4}}
    of_floats = {"match": native, "variant": "unrolled", "parameters": {"UNROLL": 8}}
    unasked = {"match": {"type": any_device.type}, "variant": "tensor", "parameters": {"PRODUCTS": 1}}
    tuned_records.store_records("gemm", [of_halves, of_floats, unasked])
    float32 = np.dtype(np.float32)
    assert precision.choose(any_device, float32).variant == "unrolled"
    monkeypatch.setattr(precision, "_refusal", lambda index, name: None)
    assert precision.choose(any_device, float32, "fp16").parameters["STAGES"] == 4
    assert precision.choose(any_device, float32, "tf32").parameters["STAGES"] == 3
