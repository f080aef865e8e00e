"""Sizes are checked before data are made: for every workload, by an error that names the argument, the need and the
limit."""

from __future__ import annotations

from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import ParameterError, host_memory, problems
from gpuopt.registry import records
from gpuopt.workloads.common import memory
from gpuopt.workloads.common.memory import Needs

GIB = 1 << 30
# What each workload makes first: it must not come to that.
MAKERS = (
    *("gpuopt.workloads.gemm.reference.operands", "gpuopt.workloads.tmv.problem.uniform"),
    *("gpuopt.workloads.spmv.problem._grid_matrix", "gpuopt.workloads.gem.molecules._packed"),
    *("gpuopt.workloads.tomography.problem.of_scan", "gpuopt.workloads.microbench.problem._source"),
)
MILLION = 1_000_000
HUGE: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "gemm": ("m, n, k: 1000000 x 1000000 x 1000000 needs", lambda d: problems.gemm(MILLION, device=d)),
    "tmv": ("rows, cols: 1000000 x 1000000 needs", lambda d: problems.tmv(MILLION, device=d)),
    "spmv": ("width, height: 1000000 x 1000000 needs", lambda d: problems.spmv_grid(MILLION, MILLION, device=d)),
    "stencil": ("shape: 1000000 x 1000000 needs", lambda d: problems.spmv_stencil((MILLION, MILLION), device=d)),
    "globule": ("atoms: 100,000,000,000 needs", lambda d: problems.globule(10**11)),
    "capsid": ("atoms, vertices: 100,000,000,000 and 16 needs", lambda d: problems.capsid(10**11, 16)),
    "vertices": ("atoms, vertices: 16 and 100,000,000,000 needs", lambda d: problems.capsid(16, 10**11)),
    "cube": ("case: 100000 x 496 x 960 x 1248 needs", lambda d: problems.back_projection("100000", device=d)),
    "views": ("case: I1:1000000000 needs", lambda d: problems.back_projection("I1:1000000000", device=d)),
    "microbench": (
        "bytes: a source of 100,000,000",
        lambda d: problems.microbenchmark("copy", bytes=10**14, device=d),
    ),
    "survey": ("bytes: a source of 100,000,000", lambda d: gpuopt.microbench.copy_bandwidth(bytes=10**14, device=d)),
}


def refuse_data(monkeypatch: pytest.MonkeyPatch) -> None:
    def made(*_: Any, **__: Any) -> None:
        pytest.fail("data were made")

    for maker in MAKERS:
        monkeypatch.setattr(maker, made)


@pytest.mark.parametrize("name", HUGE)
def test_sizes_are_refused_before_data_are_made(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    refuse_data(monkeypatch)
    told, make = HUGE[name]
    with pytest.raises(ParameterError) as caught:
        make(any_device)
    text = str(caught.value)
    assert told in text
    assert " MB on the host, where " in text
    assert "may be taken (" in text


SUBJECTS = {
    "gemm": (("1000000",), "m, n, k: 1000000 x"),
    "tmv": (("1000000",), "rows, cols: 1000000 x"),
    "spmv": (("1000000x1000000",), "width, height: 1000000 x"),
    "gem": (("100000000000",), "atoms, points: 100,000,000,000 atoms"),
    "tomography": (("100000",), "case: 100000 x"),
}


def test_every_workload_of_problems_is_asked() -> None:
    assert set(SUBJECTS) == {record.name for record in records() if hasattr(record, "problem")}


@pytest.mark.parametrize("name", SUBJECTS)
def test_what_a_study_is_asked_for_is_refused(
    any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    refuse_data(monkeypatch)
    subjects, told = SUBJECTS[name]
    record = next(record for record in records() if record.name == name)
    with pytest.raises(ParameterError, match="may be taken") as caught:
        record.problem(subjects, "float32", any_device)
    assert str(caught.value).startswith(told)


CARD: Any = SimpleNamespace(type="gpu", unified_memory=False, global_bytes=80 * GIB, max_alloc_bytes=20 * GIB)


def test_each_limit_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(host_memory, "free_bytes", lambda: 16 * GIB)
    for needs, told in (
        (Needs(9 * GIB, 0), "9,664 MB on the host, where 8,590 MB may be taken (half of the free memory)"),
        (Needs(0, 41 * GIB), "44,023 MB on the device, where 42,950 MB may be taken (half of the free memory)"),
        (Needs(0, 30 * GIB, 21 * GIB), "22,549 MB in one buffer, where the device allows 21,475 MB"),
    ):
        with pytest.raises(ParameterError) as caught:
            memory.check("size", "5", needs, CARD)
        assert str(caught.value).startswith(f"size: 5 needs {told}")
    memory.check("size", "5", Needs(8 * GIB, 40 * GIB, 20 * GIB), CARD)
    memory.check("size", "5", Needs(15 * GIB, 79 * GIB), CARD, share=1.0)


def test_one_buffer_is_what_the_device_allows() -> None:
    """A matrix of 24 GB fits 80 GB of memory twice, but no buffer of 21 GB."""
    with pytest.raises(ParameterError, match="in one buffer, where the device allows"):
        memory.fit((6,), lambda e: Needs(0, e[0] * 4 * GIB, e[0] * 4 * GIB), lambda e: (e[0] // 2,), CARD, None, "rows")


def test_a_size_is_halved_only_where_max_bytes_asks_for_it() -> None:
    def halve(extents: tuple[int, ...]) -> tuple[int, ...]:
        return (max(1, extents[0] // 2),)

    def needs(extents: tuple[int, ...]) -> Needs:
        return Needs(0, extents[0] * GIB)

    with pytest.raises(ParameterError, match=r"rows: 64 needs .* 32 fits, and max_bytes"):
        memory.fit((64,), needs, halve, CARD, None, "rows")
    assert memory.fit((64,), needs, halve, CARD, 16 * GIB, "rows")[0] == (16,)
    assert memory.fit((64,), needs, halve, CARD)[0] == (32,)  # a name, a picture: no size that anybody gave


def test_named_cases_still_shrink(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    pytest.importorskip("skimage")
    monkeypatch.setattr(host_memory, "free_bytes", lambda: 80_000_000)
    problem = problems.spmv_image_affinity("camera", device=any_device)
    assert any(note.startswith("shrunk from 512 x 512") for note in problem.notes)


def test_a_molecule_of_ones_own_is_checked(any_device: gpuopt.Device, monkeypatch: pytest.MonkeyPatch) -> None:
    molecule, surface = problems.globule(50)
    monkeypatch.setattr(host_memory, "free_bytes", lambda: 5000)
    with pytest.raises(ParameterError, match=r"molecule, surface: 50 atoms and [\d,]+ points needs"):
        problems.gem(molecule, surface, device=any_device)
    assert surface.dtype == np.float32
