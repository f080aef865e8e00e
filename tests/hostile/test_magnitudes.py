"""Accepted geometry never ends the process and never gives NaN: lengths from 1e-60 to 1e60, in worker processes.

GPUOPT_MAGNITUDES_SECONDS and GPUOPT_MAGNITUDES_SEED make a longer run of other cases.
"""

from __future__ import annotations

import itertools
import os
import time
from collections import Counter

import numpy as np
import pytest

import gpuopt
import gpuopt.tomo as gt
from gpuopt import _core
from hostile.magnitudes import Case, Worker, answer, cases

SECONDS = float(os.environ.get("GPUOPT_MAGNITUDES_SECONDS", "4"))
LEAST_RUNS = 20  # of kernels
SEED = int(os.environ.get("GPUOPT_MAGNITUDES_SEED", "0"))


def _case(maker: str, scan: dict[str, object], **grid: object) -> Case:
    return {"maker": maker, "scan": scan, "grid": {"shape": (6, 12, 12), **grid}, "unit": 1.0, "factors": {}}


PARALLEL = {"angles": 8, "det": (6, 18)}
CONE = {"angles": 16, "sod": 60.0, "sdd": 120.0, "det": (12, 30), "pixel": 1.5}
CYLINDER = _case("from_vectors", {"det": (8, 9)}, shape=(5, 8, 7)) | {"kind": "cyl_cone_vec"}
# What used to end the process or to give NaN, as a caller wrote it; and what the error names.
KNOWN = {
    "centre": (_case("parallel3d", PARALLEL) | {"factors": {"centre": [1e20]}}, "centre along z: "),
    "large voxels": (_case("parallel3d", PARALLEL) | {"factors": {"voxel": [1e9]}}, "volume: in view "),
    "small pixels": (_case("circular", CONE | {"pixel": 1e-9}), "volume: in view "),
    "far detector": (_case("circular", CONE | {"sdd": 1e60}), "sdd: "),
    "far detector whose pixels are too small": (_case("circular", CONE | {"sdd": 1e11}), "volume: in view "),
    "offset": (_case("circular", CONE | {"offset": 1e39}), "offset along v: "),
    "cylinder that goes round itself": (CYLINDER | {"factors": {"radius": [0.01]}}, "radius: in view "),
    "back of a cylinder": (CYLINDER | {"factors": {"radius": [0.03]}}, "radius: in view "),
    "far source before a near detector": (
        _case("circular", CONE) | {"factors": {"voxel": [20.0], "sod": [1.8e10], "pixel": [8.3e-11]}},
        "volume: in view ",
    ),
    "volume far from the source of a cylinder": (
        _case("fan", {"angles": 7, "sod": 60.0, "sdd": 120.0, "det": 30, "pixel": 1.5}, shape=(12, 12))
        | {"factors": {"sod": [2.36e10], "pixel": [1.3e-11], "radius": [880.0]}},
        "radius: in view ",
    ),
    "source far from a cylinder": (CYLINDER | {"factors": {"S": [1e8]}}, "radius: in view "),
}


def test_a_cylinder_far_from_its_source_is_computed_right(device: gpuopt.Device) -> None:
    """Ten thousand times the source's distance is half of the most that is accepted."""
    found = answer(CYLINDER | {"factors": {"S": [1e4]}}, device)
    assert not found["wrong"]
    assert found["apart"] < 3e-3  # a GPU came to 1.4e-3


@pytest.mark.parametrize("name", KNOWN)
def test_known_ones(device: gpuopt.Device, name: str) -> None:
    case, says = KNOWN[name]
    worker = Worker(str(device.index))
    try:
        found = worker.ask(case)
    finally:
        worker.close()
    assert not found["wrong"]
    assert found["refused"].startswith(says)


def test_any_magnitudes(device: gpuopt.Device) -> None:
    worker, end, count = Worker(str(device.index)), time.monotonic() + SECONDS, Counter[str]()
    wrong = []
    try:
        for case in itertools.islice(cases(SEED), 10**6):
            if time.monotonic() > end and count["computed"] > 20:
                break
            found = worker.ask(case)
            count["refused" if "refused" in found else "computed"] += 1
            if found["wrong"]:
                wrong.append(f"{found['wrong']}: {case}")
    finally:
        worker.close()
    assert not wrong, "\n".join(wrong)
    assert count["computed"] > 20
    assert count["refused"] > 20


def test_kernels_stay_inside_whatever_the_numbers(device: gpuopt.Device) -> None:
    """The same lengths past the checks of Python, between guards: what comes out may be anything."""
    worker, end, computed = Worker(str(device.index), "unchecked"), time.monotonic() + SECONDS / 2, 0
    try:
        for case in itertools.islice(cases(SEED + 1), 10**6):
            if time.monotonic() > end and computed >= LEAST_RUNS:
                break
            found = worker.ask(case)
            assert not found["wrong"], f"{found['wrong']}: {case}"
            computed += found.get("ran", 0)
    finally:
        worker.close()


def test_what_is_accepted_stays_accepted() -> None:
    """Scans that exist: of synchrotrons, of nanometres, of nearly flat cylinders, of a volume close to its source."""
    for scan, volume in (
        (gt.circular(3, 145e3, 145.5e3, (4, 5), 1e-4), gt.Volume((4, 5, 6), 1e-4)),
        (gt.circular(3, 10.0, 1e4, (4, 5), 0.05), gt.Volume((4, 5, 6), 5e-5)),
        (gt.circular(3, 300, 500, (4, 5), 1.0, radius=1e10), gt.Volume((4, 5, 6))),
        (gt.circular(3, 8.0, 20.0, (4, 5), 1.0), gt.Volume((5, 10, 10))),
        (gt.parallel3d(3, (2048, 2048), 6.5e-4), gt.Volume((2048, 2048, 2048), 6.5e-4)),
        (gt.helical(5, 40, 595, 1085, (64, 736), (1.0947, 1.2858), 23.0, True), gt.Volume((512, 512, 512), 0.7)),
    ):
        scan.check(volume)


def test_sizes_are_counted_before_they_are_multiplied() -> None:
    def made(views: int = 1, **sizes: object) -> _core.TomographyGeometry:
        frames = np.tile([0.0, -1, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1], (views, 1))
        return _core.TomographyGeometry(
            frames=frames, parallel=True, radius=0.0, voxel=[1.0] * 3, middle=[0.0] * 3,
            **{"rows": 3, "columns": 3, "shape": [3, 3, 3], **sizes},
        )  # fmt: skip

    big = 1 << 30
    for sizes, name in (
        ({"shape": [big, big, big]}, "shape"),
        ({"rows": big, "columns": big}, "det"),
        ({"rows": 1 << 16, "columns": 1 << 16}, "det"),
        ({"rows": 2 * big}, "shape"),
    ):
        with pytest.raises(gpuopt.ParameterError) as raised:
            made(**sizes)
        assert raised.value.argument == name
    with pytest.raises(gpuopt.ParameterError, match="det"):
        made(views=8, columns=1 << 28, rows=1)


def test_volumes_and_scans_with_too_many_cells_are_refused() -> None:
    for make in (
        lambda: gt.Volume((1 << 31, 1, 1)),
        lambda: gt.parallel2d(3, 1 << 31),
        lambda: gt.parallel2d(1 << 40, 3),
        lambda: gt.helical(1 << 40, 2, 60.0, 120.0, (3, 3), 1.0, 5.0),
        lambda: gt.parallel2d([0.0, 1e7], 3),
    ):
        with pytest.raises(gpuopt.ParameterError):
            make()
    assert gt.Volume((1 << 30, 1 << 30, 1 << 30)).affine[0, 3] == -((1 << 30) - 1) / 2
