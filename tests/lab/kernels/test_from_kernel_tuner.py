"""What docs/from-kernel-tuner.md shows runs as it stands there, and people who write as for Kernel Tuner are helped."""

from __future__ import annotations

import json
import pickle
import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
import own_kernels
from gpuopt import MismatchError, ParameterError, UnsupportedError, lab

ADD = """
__kernel void vector_add(__global float* c, __global const float* a, __global const float* b, int n) {
    const int i = get_global_id(0);
    if (i < n) c[i] = a[i] + b[i];
}
"""


def test_the_page(
    root: Path, any_device: gpuopt.Device, brief_quick: None, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    (tmp_path / "vector_add.cl").write_text(ADD)
    (tmp_path / "stencil.cl").write_text(STENCIL.replace(", const float c", "").replace("p[0] + c * (", "("))
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.chdir(tmp_path)
    page = (root / "docs" / "from-kernel-tuner.md").read_text(encoding="utf-8")
    names: dict[str, Any] = {}
    quicker = {
        "1_000_000": "10_000",
        "1024": "128",
        "1026": "130",
        "=20, w": "=4, w",
        '{"use_local": [1]}': '{"use_local": [1], "tile_size_x": [2], "tile_size_y": [4]}',
        "configuration])": "configuration], protocol='quick')",
    }
    blocks = re.findall(r"```python\n(.*?)```", page, re.DOTALL)
    assert len(blocks) == 3
    with gpuopt.use(any_device):
        for block in blocks:
            for long, short in quicker.items():
                block = block.replace(long, short)
            exec(compile(block, "from-kernel-tuner.md", "exec"), names)
            if "vector_add" in block:
                assert names["found"].best["block_size_x"] in (64, 128, 256, 512)
    expected = names["stencil"].task.reference(names["padded"])
    np.testing.assert_allclose(names["out"], expected, atol=1e-5)


def test_levels_of_numpy_and_one_constraint() -> None:
    given = {"WIDTH": np.array([1, 2, 4]), "WG": [np.int32(32), np.int64(64)], "X": [np.float32(0.5), np.bool_(True)]}
    space = own_kernels.saxpy(parameters=given, constraints="WIDTH * WG < 100").code.space
    assert space.levels == {"WIDTH": (1, 2, 4), "WG": (32, 64), "X": ("0.5", 1)}
    assert len(list(space)) == 6


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"arguments": [np.zeros(1000), np.int32(3)]}, r"^arguments: number 1 is of type ndarray; declare"),
        ({"constraints": [lambda p: True]}, r"^constraints: it is a function; give an expression"),
        ({"parameters": {"WG": np.zeros((2, 2))}}, r"^WG: [\s\S]* is no list of levels"),
        ({"parameters": {"WG": [np.datetime64("2020-01-01")]}}, r"^WG: .* is no level"),
    ],
)
def test_what_is_written_as_for_kernel_tuner(change: dict[str, Any], says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        own_kernels.scaled(**change)


def test_no_best_where_nothing_ran(any_device: gpuopt.Device, brief_quick: None) -> None:
    wrong = own_kernels.scaled(own_kernels.SCALE.replace("2 * x[i]", "3 * x[i]"))
    assert lab.search(wrong, device=any_device, n=1000).best is None


STENCIL = """
#define TW (block_size_x * tile_size_x)
#define TH (block_size_y * tile_size_y)
__kernel void stencil(__global float *out, __global const float *in, const int w, const int h, const float c) {
    for (int j = get_local_id(1); j < TH; j += block_size_y)
        for (int i = get_local_id(0); i < TW; i += block_size_x) {
            const int x = get_group_id(0) * TW + i, y = get_group_id(1) * TH + j, pitch = w + 2;
            __global const float *p = in + (y + 1) * pitch + x + 1;
            if (x < w && y < h) out[y * w + x] = p[0] + c * (p[-pitch] + p[pitch] + p[-1] + p[1] - 4 * p[0]);
        }
}
"""


def around(padded: np.ndarray, c: float) -> np.ndarray:
    """A five-point stencil of an array with a border."""
    inner = padded[1:-1, 1:-1]
    return inner + c * (padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * inner)


def stencil(**more: Any) -> lab.Kernel:
    """In tiles, x first."""
    size = [lab.value("w"), lab.value("h")]
    given: dict[str, Any] = {
        "parameters": {"block_size_x": [16, 32], "block_size_y": [2, 4], "tile_size_x": [1, 2], "tile_size_y": [1, 4]},
        "constraints": ["block_size_x * block_size_y in [32, 64]", "tile_size_x**2 <= 4"],
        "arguments": [
            lab.output("out", ("h", "w")),
            lab.input("padded", ("h + 2", "w + 2")),
            *size,
            lab.value("c", "float32", 0.2),
        ],
        "launch": lab.launch(items=("w / tile_size_x", "h / tile_size_y"), local=("block_size_x", "block_size_y")),
        "reference": around,
    }
    return lab.Kernel(STENCIL, "stencil", **(given | more))


def test_sizes_of_a_halo_follow_from_the_array(any_device: gpuopt.Device) -> None:
    padded = np.random.default_rng(0).random((22, 35), np.float32)
    found = stencil()(padded=padded, configuration={"tile_size_y": 4}, device=any_device)
    np.testing.assert_allclose(found, around(padded, 0.2), rtol=1e-4)
    assert next(iter(stencil().check(w=33, h=20, device=any_device))) == "max_of_tol"


def test_arguments_in_another_order_are_told_where_a_result_is_wrong(any_device: gpuopt.Device) -> None:
    right = stencil()
    out, padded, w, h, c = right.task.arguments
    told = "stencil takes out, w, h, c in this order, declared are out, h, w, c"
    with pytest.raises(MismatchError, match=told) as wrong:
        stencil(arguments=[out, padded, h, w, c]).check(w=64, h=48, device=any_device)
    assert str(pickle.loads(pickle.dumps(wrong.value))) == str(wrong.value)  # as in a pool of processes


def test_a_constraint_that_does_not_hold_says_for_what(any_device: gpuopt.Device) -> None:
    with pytest.raises(UnsupportedError, match=r"'w % block_size_x == 0' does not hold for block_size_x=16, w=33"):
        stencil(constraints="w % block_size_x == 0").check(w=33, h=20, device=any_device)


def test_the_grid_of_kernel_tuner_is_named() -> None:
    with pytest.raises(ParameterError, match=r"^grid_div_x: launch has no such argument; give items="):
        lab.launch(grid_div_x=["block_size_x"])


def test_a_macro_that_nothing_uses_is_noted() -> None:
    unused = own_kernels.saxpy(parameters={"WIDTH": [1], "WG": [64], "UNROL": [1, 2]})
    assert unused.problem(n=100).notes == ["UNROL: neither the text of saxpy nor its launch has it"]
    assert not own_kernels.saxpy().problem(n=100).notes


def test_the_lab_lists_its_own_names() -> None:
    assert dir(lab) == sorted(lab.__all__)
    assert all(hasattr(lab, name) for name in dir(lab))


def test_fractional_levels_are_numbers_in_t1(tmp_path: Path) -> None:
    """As conditions take them; words stay words, as do numbers that are spelt in another way."""
    kernel = lab.Kernel(
        "kernel void f(global float* y) { y[get_global_id(0)] = U; }",
        "f",
        parameters={"WG": [2, 4], "U": [0.5, 1.5], "V": ["0.50", "1.5"], "W": [1, 2.5]},
        constraints=["U != 0.5 or WG > 2"],
        arguments=[lab.output("y", "n")],
        launch=lab.launch(items="n", local="WG"),
    )
    lab.write_t1(kernel, tmp_path / "f.json", n=64)
    written = json.loads((tmp_path / "f.json").read_text())["ConfigurationSpace"]["TuningParameters"]
    assert [(one["Name"], one["Type"], one["Values"]) for one in written] == [
        ("WG", "int", "[2, 4]"),
        ("U", "float", "[0.5, 1.5]"),
        ("V", "string", "['0.50', 1.5]"),
        ("W", "float", "[1, 2.5]"),
    ]
    again = lab.read_t1(tmp_path / "f.json")
    assert list(map(str, again.configurations())) == list(map(str, kernel.configurations(n=64)))
