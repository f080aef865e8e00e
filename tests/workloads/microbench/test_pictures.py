"""The pictures of a device: what was measured is in them, nothing lies on anything else, and nothing is hidden."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from figures import bars, colour_of, few_ticks, outside, overlaps, struck, widths
from figures import words as lines_of
from gpuopt.lab.report import Study
from gpuopt.lab.rows.groups import PAPER
from gpuopt.lab.show.style import COLOURS
from gpuopt.workloads.microbench import kernel_pictures as kernel_plots
from gpuopt.workloads.microbench import pictures as device_plots
from workloads.microbench.made_rows import (
    BYTES,
    CEILINGS,
    KIB,
    MIB,
    Row,
    activation,
    failed,
    paths,
    row,
    values,
    xs,
    ys,
)


def copies() -> list[Row]:
    """As an H200 copies: 843 GB/s of chars, 4264 of float4, 2779 of float16."""
    by_size = ([1, 2, 4, 8, 12, 16, 20, 32, 64, 128], [843, 1597, 2777, 3918, 4111, 4264, 4138, 3917, 2779, 1500])
    rows = []
    for dtype, scalar in BYTES.items():
        for width, struct in [
            (1, 0),
            (2, 0),
            (3, 0),
            (4, 0),
            (8, 0),
            (16, 0),
            (3, 1),
            (5, 1),
            (8, 1),
            (16, 1),
            (32, 1),
        ]:
            if struct and dtype != "float32":
                continue
            rate = float(np.interp(np.log(scalar * width), np.log(by_size[0]), by_size[1])) * (0.93 if struct else 1)
            for ahead in (1, 4):
                params = {"WIDTH": width, "STRUCT": struct, "LOCAL": 256, "AHEAD": ahead}
                at = min(4264.0, rate * (1 + 0.1 * (ahead > 1)))
                rows.append(row("copy", at, dtype=dtype, params=params))
        if scalar < 4:
            rows.append(row("copy_packed", 4205.0 + 20 * scalar, dtype=dtype, params={"LOCAL": 256}))
    for width in (3, 5, 8, 16, 32):
        rows.append(row("copy_staged", 4100.0 - 8 * width, params={"WIDTH": width, "LOCAL": 128, "VIA": 1}))
    rows.append(failed("copy", "OpenCL has no vectors of 5; use STRUCT=1", params={"WIDTH": 5, "STRUCT": 0}))
    return rows


def sweep(noise: float = 0.015) -> list[Row]:
    generator = np.random.default_rng(0)
    rows = []
    for variant, width, share in (("reread", 4, 1.0), ("reread", 1, 0.55), ("reread_chunks", 16, 0.3)):
        for log in np.arange(14, 30.01, 0.25):
            size = int(2**log)
            down = [min(max(log - np.log2(cache), 0.0), 1.0) for cache in (192 * KIB, 40 * MIB)]
            rate = 31000 * (9000 / 31000) ** down[0] * (3900 / 9000) ** down[1]
            rate = min(rate, 31000 * share) * np.exp(noise * generator.standard_normal())
            rows.append(row(variant, rate, "cached", params={"WIDTH": width, "AHEAD": 8}, sizes={"bytes": size}))
    return rows


def shapes(sides: tuple[int, ...] = (1, 2, 4, 8, 16, 32, 64, 128, 256, 512, 1024)) -> list[Row]:
    rows = []
    for panel in kernel_plots.BLOCKS:
        variant = "cache_reuse" if panel == "activation" else panel
        for x in sides:
            for y in sides:
                if not 64 <= x * y <= 1024:
                    continue
                params = {"LOCAL_X": x, "LOCAL_Y": y} | ({"MATH": 1} if panel == "activation" else {})
                sizes = {"bytes": 256 * MIB, "width": 8192}
                if x * y == 1024 and variant == "tiled":
                    reason = f"{x * y * 12} bytes of local memory; the device has 49152"
                    rows.append(failed(variant, reason, params=params, sizes=sizes))
                    continue
                liked = {"cache_reuse": 3, "transpose": 4}.get(variant, 6)
                rate = 4000 * np.exp(-0.02 * (np.log2(x) - liked) ** 2) * (0.6 if variant == "transpose" else 1)
                flops: dict[str, Any] = (
                    {"gflop_s": rate * 4, "gb_s": 12.0} if variant in ("tiled", "cache_reuse") else {}
                )
                rows.append(row(variant, rate, params=params, sizes=sizes, **flops))
    return rows


def caches() -> list[Row]:
    def served(variant: str, tb_s: float, **params: int) -> Row:
        what = {"image1d": "image", "image2d": "image", "reread": "global"}.get(variant, variant)
        family = "cached" if variant == "reread" else variant
        made = row(variant, tb_s * 1000, family, params=params)
        return made | {"gb_s": None, "bytes": {what: tb_s * 1e12 * made["median_ms"] * 1e-3}}

    rows = [served("constant", 31.5, UNIFORM=1), served("constant", 1.1, UNIFORM=0), served("image1d", 16.1)]
    rows += [served("local", 31.3 / max(1, s / 4), STRIDE=s) for s in (1, 2, 4, 8, 16, 32)]
    rows += [served("image2d", 15.9, LINEAR=0), served("image2d", 8.2, LINEAR=1), served("reread", 31.0, WIDTH=4)]
    return [*rows, served("local", 20.0, STRIDE=1, GROUPS=4)]


def ladder() -> list[Row]:
    made = []
    for number, (name, rate, moved) in enumerate(
        [("basic", 1200, 2.2), ("vectorized", 1767, 2.1), ("padded", 1823, 2.1), ("sliced", 1996, 2.1),
         ("symmetric_sliced", 3600, 1.1), ("interior", 1990, 2.1), ("local_offsets", 1250, 2.2), ("image", 1300, 2.2)]
    ):  # fmt: skip
        values: dict[str, Any] = {
            "workload": "spmv",
            "problem": "grid 2048x2048 r6",
            "gflop_s": float(rate),
            "flops": 1e9,
        }
        preset = "paper:" + name if number < 3 else None
        made.append(row(name, 1.0, **values, gb_s=1.0, preset=preset, bytes={"dram": moved * 1e9, "requested": 4e9}))
    return [*made, failed("scatter", "needs 64-bit atomics", workload="spmv")]


PICTURES: dict[str, Any] = {
    "data_types": lambda: device_plots.data_types(copies()),
    "working_set": lambda: device_plots.working_set(sweep()),
    "block_dimensions": lambda: device_plots.block_dimensions(shapes()),
    "block_dimensions_few": lambda: device_plots.block_dimensions(shapes((4, 8, 16, 32, 64))),
    "cache_types": lambda: device_plots.cache_types(caches()),
    "branches": lambda: device_plots.branches(paths()),
    "registers": lambda: device_plots.registers(values()),
    "activation_matrix": lambda: device_plots.activation_matrix(activation()),
    "roofline": lambda: device_plots.roofline(ladder(), CEILINGS),
}


@pytest.fixture(params=PICTURES, scope="module")
def figure(request: pytest.FixtureRequest) -> Figure:
    made: Figure = PICTURES[request.param]()
    if os.environ.get("GPUOPT_LOOK"):  # a folder for a person to look at
        made.savefig(Path(os.environ["GPUOPT_LOOK"]) / f"{request.param}.png", dpi=110)
    return made


def words(figure: Figure) -> str:
    return lines_of(figure).replace("\n", " ")


def test_texts_stay_inside_and_off_each_other(figure: Figure) -> None:
    assert overlaps(figure) == []
    assert outside(figure) == []


def test_axes_can_be_read_and_bars_are_whole(figure: Figure) -> None:
    assert few_ticks(figure) == []
    assert struck(figure) == []


def test_few_points_have_ticks() -> None:
    one = [made for made in copies() if made["dtype"] == "float32" and not made["params"].get("STRUCT")][:1]
    for drawn in (device_plots.data_types(one), device_plots.working_set(sweep()[:1])):
        assert few_ticks(drawn) == []


def test_what_the_paper_says_of_caches_keeps_apart_where_one_memory_is_far_faster() -> None:
    far = [made | {"bytes": {name: 40 * count for name, count in made["bytes"].items()}} for made in caches()[-2:-1]]
    figure = device_plots.cache_types([*caches(), *far])
    assert overlaps(figure) == []
    assert outside(figure) == []


def test_types_have_the_colour_of_their_bars() -> None:
    left, right = device_plots.data_types(copies()).findobj(Axes)
    plain, mended = dict.fromkeys(colour_of(bar) for bar in bars(right))
    lines = {colour_of(line) for line in left.lines if line.get_marker() != "None"}
    assert mended not in lines
    assert len(lines) == len(BYTES)
    assert plain == COLOURS[PAPER].lower()


def test_ceilings_have_no_colour_of_points() -> None:
    (ax,) = device_plots.roofline(ladder(), CEILINGS).findobj(Axes)
    points = {colour_of(line) for line in ax.lines if line.get_marker() == "o"}
    ceilings = {colour_of(line) for line in ax.lines if line.get_marker() == "None"}
    assert not points & ceilings
    assert not ceilings & {colour.lower() for colour in COLOURS.values()}


def test_each_names_device_driver_date_and_version(figure: Figure) -> None:
    said = words(figure)
    for fact in ("NVIDIA H200", "driver 580.159.04", "2026-11-21", "gpuopt 0.1.0"):
        assert fact in said


def test_data_types_show_mends_and_ceiling() -> None:
    figure = device_plots.data_types(copies())
    left, right = figure.findobj(Axes)
    said = words(figure)
    assert "best copy: 4.26 TB/s" in said
    assert "GTX 480" in said
    assert "HD 5870" in said
    assert "1 point unsupported: OpenCL has no vectors of 5" in said
    assert "one element a work-item" in left.get_xlabel()
    chars = next(line for line in left.lines if len(xs(line)) == 6)  # without the structs' and the ceiling
    assert ys(chars)[0] == pytest.approx(843)  # not the faster one of AHEAD=4
    names = [label.get_text() for label in right.get_yticklabels()]
    assert names[:3] == ["char", "short", "half"]
    assert "struct of 32\nfloat" in names
    assert min(map(round, widths(right))) == 843
    assert "20 %" in said


def test_working_set_shows_levels() -> None:
    figure = device_plots.working_set(sweep())
    said = words(figure)
    (ax,) = figure.findobj(Axes)
    assert len([line for line in ax.lines if len(xs(line)) > 10]) == 3
    knees = [xs(line)[0] for line in ax.lines if line.get_linestyle() == "--"]
    assert knees == pytest.approx([192 * KIB, 40 * MIB], rel=0.35)
    assert "memory 3.9" in said
    assert "KiB" in said
    assert "reread, WIDTH=4" in said


def test_knees_close_to_each_other_keep_their_labels_apart() -> None:
    rows = []
    for log in np.arange(13, 30.01, 0.25):
        down = [min(max((log - np.log2(cache)) * 4, 0.0), 1.0) for cache in (48 * KIB, 160 * KIB, 1 * MIB, 5 * MIB)]
        rate = 400 * np.prod([0.5**share for share in down])
        rows.append(row("reread_chunks", float(rate), "cached", sizes={"bytes": int(2**log)}))
    figure = device_plots.working_set(rows)
    if os.environ.get("GPUOPT_LOOK"):
        figure.savefig(Path(os.environ["GPUOPT_LOOK"]) / "working_set_close.png", dpi=110)
    assert len([line for line in figure.findobj(Axes)[0].lines if line.get_linestyle() == "--"]) == 4
    assert overlaps(figure) == []


def test_a_working_set_of_few_points() -> None:
    said = words(device_plots.working_set(sweep()[:1]))
    assert "memory 31" in said


def test_block_dimensions_mark_best_and_usual() -> None:
    figure = device_plots.block_dimensions(shapes())
    maps = [ax for ax in figure.findobj(Axes) if ax.images]
    assert len(maps) == len(kernel_plots.BLOCKS) == 6
    for ax in maps:
        frames = [patch for patch in ax.patches if patch.get_linewidth() == 2.2]
        assert len(frames) == 2
        assert "100" in [text.get_text() for text in ax.texts]
    said = words(figure)
    assert "32x8 beats 16x16 by up to 8 %" in said
    assert "32x16 beats 16x16 by 12 %" in said
    assert "by up to 77 %" in said
    assert "Tflop/s" in said
    assert "points unsupported: 12288 bytes of local memory" in said


def test_the_largest_case_of_several_is_drawn() -> None:
    small = [r | {"sizes": {"bytes": MIB, "width": 64}, "gb_s": 1.0} for r in shapes((4, 8, 16))]
    figure = device_plots.block_dimensions([*small, *shapes()])
    assert "4.00 TB/s" in words(figure)


def test_cache_types_show_ratios_to_local_memory() -> None:
    figure = device_plots.cache_types(caches())
    left, right = figure.findobj(Axes)
    names = [label.get_text() for label in left.get_yticklabels()]
    assert names[:4] == ["constant, one address", "constant, divergent", "local", "local, stride 2"]
    assert names[-3:] == ["image 2D, nearest", "image 2D, linear", "global, cached"]
    hollow = [xs(line)[0] for line in right.lines if line.get_marker() == "D"]
    assert hollow == [2.05, 4.83]
    said = words(figure)
    assert "31.5 TB/s" in said
    assert "1.01" in said
    assert widths(left)[2] == pytest.approx(31300)


def test_roofline_has_every_ceiling_and_point() -> None:
    figure = device_plots.roofline(ladder(), CEILINGS)
    said = words(figure)
    for name in ("DRAM: 4.26 TB/s", "L2: 9.10 TB/s", "fp32 FMA: 61.6 Tflop/s", "fp64 FMA: 30.8 Tflop/s"):
        assert name in said
    for made in ladder():
        assert (f"{made['variant']}  " in said) == (made["status"] == "ok")
    assert "1 point unsupported: needs 64-bit atomics" in said
    (ax,) = figure.findobj(Axes)
    dots = [(xs(line)[0], ys(line)[0]) for line in ax.lines if line.get_marker() == "o"]
    assert (pytest.approx(1 / 2.2), pytest.approx(1200)) in dots


def test_a_roofline_of_several_problems_has_the_points_of_each() -> None:
    images = ("affinity_astronaut_512x512_r5", "affinity_camera_512x512_r5")
    figure = device_plots.roofline([made | {"problem": name} for name in images for made in ladder()], CEILINGS)
    said = words(figure)
    for name in images:
        assert f"symmetric_sliced, {name}  " in said
    assert "Roofline · Diagonal sparse matrix times vector ·" not in said
    test_texts_stay_inside_and_off_each_other(figure)


@pytest.mark.parametrize("count", [1, 2, 30])
def test_a_roofline_of_few_or_many_points_keeps_its_labels_apart(count: int) -> None:
    rows = [ladder()[0] | {"variant": f"variant_{i}", "gflop_s": 1000.0 + i} for i in range(count)]
    figure = device_plots.roofline(rows, {"fp32 FMA": CEILINGS["fp32 FMA"]})
    test_texts_stay_inside_and_off_each_other(figure)


@pytest.mark.parametrize(
    ("ceiling", "says"),
    [
        ({"rate": 3.0, "unit": "W"}, "unit 'W'"),
        ({}, "unit ''"),
        *(
            ({"rate": rate, "unit": "GB/s"}, f"^ceilings.'odd'.: rate {rate!r}".replace("[]", r"\[\]"))
            for rate in (None, "abc", [], float("inf"), 10**400)
        ),
    ],
)
def test_a_ceiling_without_rate_or_unit_is_named(ceiling: Row, says: str) -> None:
    with pytest.raises(ValueError, match=says):
        device_plots.roofline(ladder(), {"odd": ceiling})


DRAWERS = [
    device_plots.data_types,
    device_plots.working_set,
    device_plots.block_dimensions,
    device_plots.cache_types,
    device_plots.branches,
    device_plots.registers,
    device_plots.activation_matrix,
    lambda rows: device_plots.roofline(rows, CEILINGS),
]


@pytest.mark.parametrize("draw", DRAWERS)
def test_nothing_measured_is_said(draw: Any) -> None:
    assert "nothing was measured" in words(draw([]))
    assert "nothing was measured" in words(draw(Study([])))


@pytest.mark.parametrize("draw", DRAWERS)
def test_two_devices_are_refused(draw: Any) -> None:
    with pytest.raises(ValueError, match="2 devices"):
        draw([*ladder(), *[made | {"device": "another"} for made in ladder()]])


def test_failures_alone_are_counted() -> None:
    rows = [failed("image1d", "needs images", params={"AHEAD": ahead}) for ahead in (4, 8, 16)]
    said = words(device_plots.cache_types([*rows, failed("constant", "an error", "compile")]))
    assert "nothing was measured" in said
    assert "3 points unsupported: needs images" in said
    assert "1 point compile: an error" in said


def test_a_study_and_rows_without_family_do() -> None:
    bare = [{k: v for k, v in made.items() if k != "family"} for made in copies()]
    assert "best copy: 4.26 TB/s" in words(device_plots.data_types(Study(bare)))


def test_a_summary_stands_for_its_searches() -> None:
    rows = [made for made in copies() if made["status"] == "ok"]
    final = [made | {"kind": "summary", "gb_s": made["gb_s"] / 2} for made in rows]
    assert "best copy: 2.13 TB/s" in words(device_plots.data_types([*final, *rows]))


def test_pyplot_is_not_imported() -> None:
    code = "import sys; from gpuopt.lab import device_plots; assert 'matplotlib.pyplot' not in sys.modules"
    subprocess.run([sys.executable, "-c", code], check=True)
