"""The forty shapes as a study: its problems, what it takes of each, and its picture."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import gpuopt
from gpuopt import Configuration, ParameterError, _core, lab, lab_commands, problems, resolution
from gpuopt.lab.report import Study
from gpuopt.lab.run.wanted import plain_configuration, what_to_measure
from gpuopt.workloads.gemm import operation
from gpuopt.workloads.gemm import problem as gemm_problem
from gpuopt.workloads.gemm.shapes import Shape
from gpuopt.workloads.gemm.study import WORKLOAD
from study_rows import Row, timed


def test_a_batch_is_a_problem(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = problems.gemm(7, 5, 3, batch=4)
    assert problem.name == "gemm_7x5x3x4"
    assert problem.sizes == {"M": 7, "N": 5, "K": 3, "batch": 4}
    assert problem.flops == 4 * 2 * 7 * 5 * 3
    assert problem.footprint_bytes == 4 * 4 * (7 * 3 + 3 * 5 + 7 * 5)
    a, b = problem.inputs["A"], problem.inputs["B"]
    np.testing.assert_array_equal(problem.reference, a.astype(np.float64) @ b)
    assert len({matrix.tobytes() for matrix in (*a, *b)}) == 8
    monkeypatch.setattr(gemm_problem, "ALL_PRODUCTS", 7 * 5 * 3 * 40)
    some = problems.gemm(7, 5, 3, batch=50)
    assert some.checked is not None
    np.testing.assert_array_equal(some.checked[[0, -1]], [0, 49])
    every = some.inputs["A"].astype(np.float64) @ some.inputs["B"]
    np.testing.assert_array_equal(some.reference, some.seen(every))
    assert "40 of the 50 products" in some.notes[-1]
    with pytest.raises(ParameterError, match="batch: 0 products"):
        problems.gemm(4, batch=0)


def test_a_batch_is_swept(any_device: gpuopt.Device) -> None:
    problem = problems.gemm(9, 5, 17, batch=3)
    plan = problem.prepare(plain_configuration(problem, any_device), any_device)
    plan.prepared.run()
    off = np.abs(problem.seen(plan.output.to_numpy()) - problem.reference)
    assert (off <= problem.tolerance).all()


def test_a_set_stands_for_its_members(device: gpuopt.Device) -> None:
    assert WORKLOAD.problems(["7x8x9", "5"]) == [("7x8x9",), ("5",)]
    assert WORKLOAD.problems(["shapes"]) == [("shapes", shape.subject) for shape in problems.gemm_shapes()]
    with pytest.raises(ParameterError, match="shapes stands for many"):
        WORKLOAD.problems(["7x8x9", "shapes"])
    small = [shape for shape in problems.gemm_shapes() if shape.m * shape.n * shape.k * shape.batch < 2e7]
    assert len(small) > 7
    for shape in small:
        problem = WORKLOAD.problem(("shapes", shape.subject), "float32", device)
        batch = {"batch": shape.batch} if shape.batch > 1 else {}
        assert problem.sizes == {"M": shape.m, "N": shape.n, "K": shape.k} | batch
        assert list(problem.calls) == ["gpuopt.gemm(A, B)"]
    many = problems.gemm_shapes()[9]
    assert many.m == 8192
    if device.type == "cpu":
        with pytest.raises(ParameterError, match="many for a CPU"):
            WORKLOAD.problem(("shapes", many.subject), "float32", device)


def test_what_a_plain_call_takes_is_studied(
    device: gpuopt.Device, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Of the members of a set; one that does not fit is told, and the others go on."""
    asked: list[tuple[str, Any]] = []

    def sweep(problem: gpuopt.Problem, variants: Sequence[Any], **given: Any) -> Study:
        asked.append((problem.name, variants))
        Path(given["store"]).write_text("")
        return Study([], {})

    monkeypatch.setattr("gpuopt.lab.sweep", sweep)
    monkeypatch.setattr(lab_commands, "_show", lambda found, explain: None)
    workload = dataclasses.replace(WORKLOAD, sets={"shapes": ("16x16x16", "90000x90000x90000", "3x5x7x2")})
    run = [*("--out", str(tmp_path), "--no-plots", "--device", str(device.index))]
    runner, study = CliRunner(), lab_commands.study_command(workload)
    result = runner.invoke(study, ["shapes", *run], catch_exceptions=False)
    assert "left out: 90000x90000x90000: " in result.stderr
    runner.invoke(study, ["12", *run], catch_exceptions=False)
    assert asked == [("gemm_16x16x16", ["plain"]), ("gemm_3x5x7x2", ["plain"]), ("gemm_12x12x12", ["all"])]
    for wrong, says in ((["--m", "5"], "--m, --n and --k"), (["--precision", "nonsense"], "precision: 'nonsense'")):
        with pytest.raises(ParameterError, match=says):
            runner.invoke(study, ["shapes", *run, *wrong], catch_exceptions=False)
    with pytest.raises(ParameterError, match="shapes is for `gpuopt study`; give one of its members, such as 16x16x16"):
        runner.invoke(lab_commands.tune_command(workload), ["shapes"], catch_exceptions=False)
    workload = dataclasses.replace(WORKLOAD, sets={"shapes": ("90000x90000x90000",)})
    result = CliRunner().invoke(lab_commands.study_command(workload), ["shapes", *run])
    assert result.exit_code != 0
    assert "all of shapes are too large here" in result.stderr


@pytest.mark.parametrize("all_levels", [False, True])
def test_plain_is_what_a_plain_call_takes(
    device: gpuopt.Device, all_levels: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    taken: list[Configuration] = []

    def product(*given: Any) -> np.ndarray:
        taken.append(Configuration(given[-2], **given[-1].values))
        return np.zeros(1)

    def planned(problem: gpuopt.Problem) -> list[Any]:
        return what_to_measure(problem, device, "plain", all_levels).items

    symmetric = problems.spmv_stencil((5, 6))
    assert planned(symmetric) == [gpuopt.DiaMatrix(symmetric.inputs["A"], device=device).configuration]
    assert planned(problems.tmv(8)) == [resolution.resolve("tmv", device, "float32")]
    narrow, square, vector = problems.gemm(2000, 16, 500), problems.gemm(8), problems.gemm(2000, 1, 500)
    monkeypatch.setattr(_core, "gemm", product)
    monkeypatch.setattr(operation, "levels_of", lambda configuration: SimpleNamespace(values=configuration.parameters))
    for problem in (narrow, square, vector):
        gpuopt.gemm(problem.inputs["A"], problem.inputs["B"], device=device)
        assert planned(problem) == [taken[-1]]
    assert taken[2] not in taken[:2]  # on some CPUs one tile suits both matrices; a vector has none


def shape_rows(shape: Shape, ours: float, call: float, library: float | None) -> list[Row]:
    sizes = {"M": shape.m, "N": shape.n, "K": shape.k} | ({"batch": shape.batch} if shape.batch > 1 else {})
    facts: Row = {"workload": "gemm", "problem": f"gemm_{shape.subject}", "sizes": sizes, "footprint_bytes": 1}
    made = [
        timed("summary", "packed", ours, **facts),
        timed("summary", "gpuopt.gemm(A, B)", call, **facts, role="call"),
    ]
    return made + ([timed("summary", "NumPy", library, **facts, role="peer")] if library else [])


def test_the_picture_shows_each_shape_beside_a_library(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from matplotlib.axes import Axes

    from dense_rows import lines
    from figures import words

    shapes = problems.gemm_shapes()
    rows = [row for i, shape in enumerate(shapes) for row in shape_rows(shape, 2.0, 4.0, 1.0 + i if i else None)]
    # Of a call in another precision, and of a peer in one, none is compared.
    facts = {name: rows[-1][name] for name in ("workload", "problem", "sizes", "footprint_bytes")}
    rows.append(timed("summary", "PyTorch TF32", 1e-3, **facts, role="peer"))
    rows.append(timed("summary", "gpuopt.gemm(A, B, precision='fast_fp32')", 1e-3, **facts, role="call"))
    assert {path.name for path in lab.gemm_plots.save(Study(rows), tmp_path)} == {"shapes.png"}
    figure = lab.gemm_plots.shapes(Study(rows))
    text = words(figure)
    assert "39 of 40 shapes beside NumPy" in text
    weights = [shape.weight for shape in shapes[1:]]
    logs = [weight * math.log((1 + i) / 2) for i, weight in enumerate(weights, 1)]
    mean = math.exp(sum(logs) / sum(weights))
    assert f"kernels {mean:.3g} and whole call, NumPy arrays {mean / 2:.3g}" in text
    (ax,) = figure.findobj(Axes)
    drawn = lines(ax)
    found = {float(y): float(x) for bar in ax.containers for x, y in zip(*bar.lines[0].get_data(), strict=True)}
    names = dict(zip(ax.get_yticks(), [label.get_text() for label in ax.get_yticklabels()], strict=True))
    assert len(names) == 39
    assert set(drawn) == {"kernels", "whole call, NumPy arrays"}
    assert names[min(names)] == "32 x 32 x 32"
    assert found[min(names)] == pytest.approx(0.5)  # the call's: drawn last
    assert "matrix-vector" in text
    with pytest.raises(ParameterError, match="1 of the shapes"):
        lab.gemm_plots.shapes(Study(shape_rows(shapes[0], 1, 1, 1)))


def test_a_peer_takes_one_product() -> None:
    from gpuopt.workloads.gemm.peers import peers

    device = SimpleNamespace(type="cpu", name="made up", vendor="")
    batch = problems.gemm(3, 4, 5, batch=2)
    for peer in peers(device, []):  # type: ignore[arg-type]
        if peer.name.startswith("C++"):
            with pytest.raises(gpuopt.UnsupportedError, match="no batch"):
                peer.prepare(batch)
        else:
            np.testing.assert_allclose(peer.fetch(peer.run(peer.prepare(batch))), batch.reference, atol=1e-5)
