"""The short form of the attack by calls, and what found nothing to refuse it before."""

from __future__ import annotations

import inspect
import json
import subprocess
import sys
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import io, lab, microbench, problems
from gpuopt import tomo as gt
from hostile import call_targets, call_values, calls
from hostile.call_good import LEFT_OUT, RESULTS
from hostile.call_values import (
    banded,
    claims,
    compiled,
    disguised,
    identical,
    image,
    molecule,
    problem,
    projections,
    projector,
    ratio,
    scan,
    study,
    surface,
    vectors,
    volume,
)
from hostile.raising import raising

SECONDS = 8.0


def test_hostile_calls_are_answered_rightly_or_refused_by_typed_errors(device: gpuopt.Device) -> None:
    outcome = calls.attack(SECONDS, seed=20, device=device.key)
    for kind in ("crashes", "hangs", "untyped", "wrong"):
        assert outcome[kind] == [], kind
    assert outcome["refused_typed"] >= 10


def test_everything_public_is_attacked() -> None:
    names = {target.name for target in call_targets.targets()}
    assert len(names) > 200
    wanted = {"gemm", "Configuration.parse", "io.read_ply", "lab.Store.append", "tomo.Volume", "cli study gem"}
    assert wanted <= names
    assert not any(name.startswith(left) for name in names for left in call_targets.EXCLUDED)


def test_results_of_functions_are_attacked() -> None:
    found = call_targets.results()
    assert sorted(found) == sorted([*RESULTS, *LEFT_OUT])
    names = {target.name for target in call_targets.targets()}
    assert {"Claims.save", "Compiled.to_text", "AA.smallest", "Casebook.of", "Vectors.refined"} <= names


@pytest.mark.parametrize("target", [*call_targets.of_results()], ids=lambda target: target.name)
def test_results_answer_good_arguments(
    target: call_targets.Target, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    names = {name: getattr(call_values, name) for name in call_values.__all__}
    needed = [one.name for one in target.parameters if one.default is one.empty]
    eval(f"{target.expression}({', '.join(call_targets.good(target.name, one) for one in needed)})", names)


def test_every_public_function_holds_its_arguments_against_their_annotations() -> None:
    plain = [
        f"{path}.{name}"
        for path, module in call_targets.modules().items()
        for name in call_targets.members(module)
        if inspect.isfunction(function := getattr(module, name)) and not hasattr(function, "__wrapped__")
    ]
    assert plain == []


def test_the_command_line_ends_with_its_outcome_as_json(root: Path) -> None:
    command = [sys.executable, "-m", "tests.hostile.calls", "--seconds", "20", "--seed", "1", "--most", "3"]
    ended = subprocess.run(command, cwd=root, capture_output=True, text=True, timeout=120, check=False)
    outcome = json.loads(ended.stdout.splitlines()[-1])
    assert outcome["stage"] == "calls"
    assert outcome["tried"] + outcome["unmade"] == 3
    assert ended.returncode == 0


# ---------------------------------------------------------------- the judge itself


def target() -> call_targets.Target:
    return call_targets.Target("made", "made", (), {})


@pytest.mark.parametrize(
    ("error", "kind"),
    [
        (TypeError("unsupported operand"), "untyped"),
        (MemoryError(), "untyped"),
        (OSError("no number"), "untyped"),
        (gpuopt.ParameterError("alpha: it is None; give a number"), "refused_typed"),
        (FileNotFoundError(2, "No such file", "here"), "refused_typed"),
        (gpuopt.DeviceMemoryError("the device cannot hold it"), "refused_typed"),
    ],
)
def test_errors_are_judged(error: Exception, kind: str) -> None:
    assert calls.refusal(error, target())["kind"] == kind


def test_a_wrong_answer_is_found() -> None:
    from hostile import oracles

    given = {"A": np.ones((2, 3), np.float32), "v": np.ones(2, np.float32)}
    assert oracles.fault("tmv", given, np.full(3, 2.0)) == ""
    assert "instead of" in oracles.fault("tmv", given, np.array([2.0, 2.001, 2.0]))


# ---------------------------------------------------------------- found once


def ones(*shape: int) -> np.ndarray:
    return np.ones(shape, np.float32)


FOUND: list[tuple[Callable[[], Any], str]] = [
    (lambda: gpuopt.gemm(ones(2, 2), ones(2, 2), alpha=None), "alpha"),  # type: ignore[arg-type]
    (lambda: gpuopt.gemm(ones(2, 2), ones(2, 2), alpha=1j), "alpha"),  # type: ignore[arg-type]
    (lambda: gpuopt.gemm(ones(2, 2), ones(2, 2), alpha=10**400), "alpha"),
    (lambda: gpuopt.gemm(ones(2, 2), ones(2, 2), transpose_a="no"), "transpose_a"),  # type: ignore[arg-type]
    (lambda: gpuopt.gemm(ones(2, 2), ones(2, 2), variant=b"naive"), "variant"),  # type: ignore[call-overload]
    (lambda: gpuopt.spmv(banded(), ones(12), alpha="a\0b"), "alpha"),  # type: ignore[arg-type]
    (lambda: gpuopt.DiaMatrix((ones(1, 4), np.array([0])), (None, 4)), "shape"),  # type: ignore[arg-type]
    (lambda: gpuopt.variants(np.array(2)), "workload"),  # type: ignore[arg-type]
    (lambda: gpuopt.Configuration.parse(1e20), "text"),  # type: ignore[arg-type]
    (lambda: gpuopt.Configuration(None), "variant"),  # type: ignore[arg-type]
    (lambda: gpuopt.Surface(ones(2, 3), faces=[[1, 2, 3], [4]]), "faces"),  # type: ignore[arg-type]
    (lambda: molecule().astype(""), "dtype"),
    (lambda: gpuopt.electrostatic_size(7), "molecule"),  # type: ignore[arg-type]
    (lambda: gpuopt.to_device(ones(3)).fill_bytes(-1), "byte"),
    (lambda: gpuopt.to_device(ones(3)).shares_memory(None), "other"),  # type: ignore[arg-type]
    (lambda: io.read_ply("a\0b"), "path"),
    (lambda: io.read_pqr("no.pqr", dtype="no such"), "dtype"),
    (lambda: problems.gemm(16, seed=-1), "seed"),
    (lambda: problems.tmv(16, dtype="full"), "dtype"),
    (lambda: problems.projection(operation=np.ones(3)), "operation"),  # type: ignore[arg-type]
    (lambda: problems.projection(seed=-1), "seed"),
    (lambda: problems.spmv_stencil((12, 12), max_bytes="all"), "max_bytes"),  # type: ignore[arg-type]
    (lambda: lab.Peer(1, problem, problem), "name"),  # type: ignore[arg-type]
    (lambda: lab.Study(range(3)), "rows"),  # type: ignore[arg-type]
    (lambda: lab.Study.joined([]), "studies"),
    (lambda: lab.Store("\ud800"), "path"),
    (lambda: lab.sweep(np.ones(3)), "problem"),  # type: ignore[arg-type]
    (lambda: study().to_text(width="wide"), "width"),  # type: ignore[arg-type]
    (lambda: lab.audit({1: 2}), "paths"),  # type: ignore[arg-type]
    (lambda: microbench.branches(paths=set()), "paths"),
    (lambda: gt.Detector.of(1, (6, 10), 1.0, 0.0), "dimensions"),
    (lambda: scan().frames.at(2**63), "index"),
    (lambda: scan().project(np.ones(5), 0), "points"),
    (lambda: projector().forward(image()), "x"),
    (lambda: gt.NumpyProjector(scan(), volume()).forward(image(), out=np.empty((1, 6, 6, 10))), "out"),
    (lambda: volume().contains(np.zeros(0)), "point"),
    (lambda: gt.sphere(2.0).project(scan(), supersample=2**31), "supersample"),
    (lambda: gt.Blob(2.0).density_at(i for i in range(3)), "points"),  # type: ignore[arg-type]
    (lambda: gt.Blob(2.0).density_at({"a": 1}), "points"),  # type: ignore[arg-type]
    (lambda: gt.ramp(0, 1.0), "columns"),
    (lambda: gt.ramp(4, 5e-324), "spacing"),
    (lambda: gt.os_sart(projector(), projections(), mask=np.array(["a", "b"])), "mask"),
    (lambda: scan().view_indices(disguised()), "views"),
    (lambda: microbench.block_dimensions(width=2**63 - 1), "width"),
    (lambda: problems.spmv_image_affinity(smoothing=2**64), "smoothing"),
    (lambda: lab.gem_plots.surface(molecule(), surface(), np.ones(20), limit=-1), "limit"),
    (lambda: gpuopt.Molecule(disguised(), np.ones(4)), "xyz"),
    (lambda: lab.Store(disguised()), "path"),
    (lambda: gt.normalise(projections(), [None]), "flat"),
    (lambda: claims().save(b"x"), "directory"),  # type: ignore[arg-type]
    (lambda: claims().save_pictures("a\0b"), "directory"),
    (lambda: claims().to_text(width="80"), "width"),  # type: ignore[arg-type]
    (lambda: claims().to_text(only_measured=np.zeros(3)), "only_measured"),  # type: ignore[arg-type]
    (lambda: claims().of("catanzaro2010"), "paper"),  # type: ignore[arg-type]
    (lambda: lab.claims(study(), paper="daga2011").of(claims().papers[0]), "paper"),
    (lambda: compiled().to_text(width="80"), "width"),  # type: ignore[arg-type]
    (lambda: compiled().entry(np.zeros(3)), "label"),  # type: ignore[arg-type]
    (lambda: compiled().entry("square", b"live"), "target"),  # type: ignore[arg-type]
    (lambda: identical().smallest("no"), "clock"),  # type: ignore[arg-type]
    (lambda: identical().smallest(np.zeros(3)), "clock"),  # type: ignore[arg-type]
    (lambda: ratio().is_clear("wide"), "band"),  # type: ignore[arg-type]
    (lambda: vectors().refined(raising("object", "__class__")), "times"),
    (lambda: vectors().shifted(raising("whole", "__float__"), 0.0), "v"),
    (lambda: vectors().shifted(0.0, raising("object", "__class__")), "u"),
]


@pytest.mark.parametrize(("call", "argument"), FOUND, ids=[str(number) for number in range(len(FOUND))])
def test_refusals_name_the_argument(call: Callable[[], Any], argument: str) -> None:
    with pytest.raises((gpuopt.ParameterError, gpuopt.ArrayError)) as raised:
        call()
    assert raised.value.argument == argument


@pytest.mark.parametrize(
    "call",
    [
        lambda a: gpuopt.gemm(a, ones(4, 4)),
        lambda a: gpuopt.tmv(a, ones(4)),
        lambda a: gpuopt.spmv(banded(), a[0]),
        lambda a: gpuopt.to_device(a),
        lambda a: gpuopt.DiaMatrix((a, np.arange(4)), (4, 4)),
        lambda a: gpuopt.Molecule(a[:, :3], np.ones(4, np.float32)),
        lambda a: gpuopt.gem([a[:, :3], ones(4)], ones(4, 3)),
        lambda a: projector()(a),
        lambda a: projector().T(a),
        lambda a: gt.normalise(a, 2.0),
        lambda a: gt.parallel2d(a[0], 10),
        lambda a: gpuopt.molecule.statistics(a),
    ],
)
def test_masked_arrays_are_refused(call: Callable[[np.ndarray], Any]) -> None:
    with pytest.raises(gpuopt.ArrayError, match="masked"):
        call(np.ma.masked_array(ones(4, 4), np.eye(4)))


def test_masked_vectors_of_a_linear_operator_are_refused() -> None:
    A = projector().linear_operator()
    for call, length in ((A.matvec, A.shape[1]), (A.rmatvec, A.shape[0])):
        with pytest.raises(gpuopt.ArrayError, match=r"^v: masks"):
            call(np.ma.masked_array(np.ones(length, np.float32), np.arange(length) % 2))


def test_masks_of_arrays_in_lists_are_refused() -> None:
    rows = [np.ma.masked_array(ones(3), [0, 1, 0])] * 2
    for call in (
        lambda: gpuopt.Molecule(rows, ones(2)),  # type: ignore[arg-type]
        lambda: gpuopt.molecule.statistics([rows]),  # type: ignore[arg-type,list-item]
        lambda: gt.Ellipsoid(1.0, (1, 2, 3), centre=[np.ma.masked_array([1.0], [1]), 0, 0]),
    ):
        with pytest.raises(gpuopt.Error, match="masked"):
            call()


def test_what_the_host_cannot_hold_is_told() -> None:
    for call in (
        lambda: gpuopt.Surface(np.ones((4, 3)), normals=range(2**62)),  # type: ignore[arg-type]
        lambda: scan().project(range(2**62), 0),  # type: ignore[arg-type]
    ):
        with pytest.raises(gpuopt.Error, match="host's memory") as raised:
            call()
        assert isinstance(raised.value, MemoryError)


def test_any_real_number_is_a_float(tmp_path: Path) -> None:
    io.write_ply(tmp_path / "made.ply", surface(), np.ones(20), limit=Fraction(1, 3))  # type: ignore[arg-type]
    assert problems.gem(molecule(), surface(), projection=2**64).reference.size == 20
    assert gt.poisson_noise(np.ones(7, np.float32), 1e6).shape == (7,)


def test_an_empty_array_of_sizes_is_refused() -> None:
    with pytest.raises(gpuopt.ParameterError, match="sizes: there is none"):
        microbench.activation_matrix(sizes=np.zeros((0, 3)), store=1j)  # type: ignore[arg-type]


def test_numbers_of_numpy_do_not_overflow() -> None:
    assert problems.gemm(np.int8(100), max_bytes=np.int64(10**9)).reference.shape == (100, 100)


def test_a_wrong_type_is_a_type_error_and_a_value_error() -> None:
    for kind in (TypeError, ValueError):
        with pytest.raises(kind, match="alpha: it is None; give a number"):
            gpuopt.gemm(ones(2, 2), ones(2, 2), alpha=None)  # type: ignore[arg-type]
