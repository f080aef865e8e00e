"""The pictures of back projection show the rows' own numbers, and the paper's beside them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from study_rows import Row, row, timed

pytest.importorskip("matplotlib")

from matplotlib.axes import Axes
from matplotlib.text import Text

import gpuopt
from figures import bars, colour_of, widths, words
from gpuopt import papers
from gpuopt.lab.report import Study
from gpuopt.lab.rows.groups import CALLS, OURS, PEERS
from gpuopt.lab.show.style import COLOURS
from gpuopt.workloads.tomography import pictures as tomography_plots
from gpuopt.workloads.tomography import regions

CASES = {"I1": (63, 100, 100, 792, 64, 736), "cube64": (64, 64, 64, 31, 80, 104)}
UPDATES = 5e8


def case_rows(case: str) -> list[Row]:
    """The paper's steps, each faster than the one before, one of ours bounded by fetches, and a peer that cannot."""
    sizes = dict(zip(("z", "y", "x", "views", "rows", "columns"), CASES[case], strict=True)) | {"checked": 2000}
    facts: Row = {"workload": "tomography", "problem": case, "sizes": sizes, "counted": {"update": UPDATES}}
    facts |= {"role": "variant", "bound_by": None, "bound_ms": None}
    made = []
    for number, step in enumerate(papers.steps("tomography").values()):
        names: Row = {"preset": step.preset, "configuration": str(step.configuration)}
        if case == "I1":
            made.append(timed("summary", step.configuration.variant, 12.0 - number, **facts | names))
        else:
            failed: Row = {"status": "constraints", "reason": "it is for an arc"}
            made.append(row("summary", step.configuration.variant, **facts | names | failed))
    ours = facts | {"bound_by": "fetch.linear", "bound_ms": 0.4}
    made.append(timed("summary", "image", 0.5, **ours, configuration="image(Z=8)"))
    reason = {"status": "unsupported", "reason": "it takes parallel beams", "configuration": "iradon"}
    made.append(row("summary", "iradon", **facts | {"role": "peer"} | reason))
    return made


def test_bars_are_updates_a_second_beside_the_papers_gains() -> None:
    figure = tomography_plots.rates(Study([*case_rows("I1"), *case_rows("cube64")]))
    heart, cube = figure.findobj(Axes)  # in the order of the study
    np.testing.assert_allclose(widths(heart), [UPDATES / ms * 1e-6 for ms in (*range(12, 2, -1), 0.5)])
    np.testing.assert_allclose(widths(cube), [UPDATES / 0.5 * 1e-6])
    limits = [line.get_xdata()[0] for line in heart.lines if line.get_linestyle() == "--"]
    assert UPDATES / 0.4 * 1e-6 in limits
    told = words(figure)
    # Steps in buffers over the naive one there, 12 ms, and in images over the naive one of 7 ms.
    for said in ("1.3 to 1.45x", "0.48x", "0.94 to 0.98x", "1.33x", "1.40x", "2.33x"):
        assert said in told
    for said in ("in buffers or in images", "63 x 100 x 100 voxels, 792 views of 64 x 736"):
        assert said in told
    assert "it is for an arc" not in told
    assert "x" not in [text.get_text() for text in figure.findobj(Text)]  # a step whose gain the paper does not print


def test_calls_and_peers_have_the_colours_that_they_have_elsewhere() -> None:
    rows = case_rows("cube64")
    facts = {"status": "ok", "reason": None, "median_ms": 2.0, "preset": None}
    more = [
        r | facts | {"role": role, "variant": role, "configuration": role}
        for r in rows[-2:-1]
        for role in ("call", "peer")
    ]
    (ax,) = tomography_plots.rates(Study([*rows, *more])).findobj(Axes)
    assert {colour_of(bar) for bar in bars(ax)} == {COLOURS[name].lower() for name in (OURS, CALLS, PEERS)}


def test_rows_of_several_devices_are_refused() -> None:
    other = [made | {"device": "another"} for made in case_rows("I1")]
    with pytest.raises(ValueError, match="2 devices"):
        tomography_plots.rates(Study([*case_rows("I1"), *other]))


def test_images_and_files(tmp_path: Path, any_device: gpuopt.Device) -> None:
    phantom = np.zeros((8, 8), dtype=np.float32)
    phantom[2:6, 2:6] = 1
    figure = tomography_plots.images(phantom, phantom + np.float32(2e-6), phantom.astype(np.float64), "a device", 10)
    assert "10 iterations, on a device" in words(figure)
    assert "2e-06" in words(figure)
    paths = tomography_plots.save(Study(case_rows("I1")), tmp_path / "new")
    assert [path.name for path in paths] == ["rates.png"]
    assert paths[0].stat().st_size > 5000


def test_a_device_and_plain_code_make_the_same_image(any_device: gpuopt.Device) -> None:
    figure = tomography_plots.sart(any_device, iterations=1)
    titles = [ax.get_title() for ax in figure.findobj(Axes)]
    assert [title for title in titles if title] == ["phantom", "device, fp32", "NumPy, fp64", "difference"]
    images = [np.asarray(ax.images[0].get_array()) for ax in figure.findobj(Axes) if ax.images]
    assert np.abs(images[1] - images[2]).max() < 1e-4 * np.abs(images[2]).max()


def test_regions_show_the_largest_difference_of_the_volume() -> None:
    region = regions.REGIONS["I1 truncated"]
    truth = np.zeros((3, 6, 5), np.float32)
    truth[1, 2:4, 1:3] = 1
    on_device = truth.copy()
    on_device[0, 0, 0] += np.float32(3e-4)  # in another slice than the one that is shown
    found = [regions.Reconstructed("paper:alu", on_device, 1.0, [2.0, 1.0])]
    found.append(regions.Reconstructed("C++ loops", truth, 1.0, [2.0, 1.0]))
    figure = tomography_plots.regions([regions.Comparison(region, 7, truth, found)], "a device")
    told = words(figure)
    for said in (
        "2 iterations, on a device",
        "device, paper:alu",
        "I1 truncated: 3 x 6 x 5, 7 views",
        "at most 0.0003 of 1",
    ):
        assert said in told
