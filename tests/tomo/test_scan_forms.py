"""Scans in other forms: free vectors, matrices, ASTRA's dictionaries, subsets; volumes; bad input by name."""

from __future__ import annotations

import math
import subprocess
import sys
from typing import Any

import numpy as np
import pytest

import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError
from scans import ANGLES, DET, HELIX, NAMES, PIXEL, SCANS, D, R, T, points

SPATIAL = [name for name in NAMES if SCANS[name].dimensions == 3]


@pytest.mark.parametrize("maker", [gt.fan, gt.circular])
def test_limits(maker: Any) -> None:
    """An endless radius makes a flat detector, an endless distance parallel beams."""
    det, pixel = (91, 1.3) if maker is gt.fan else ((40, 91), (1.1, 1.3))
    flat, almost = maker(ANGLES, R, D, det, pixel), maker(ANGLES, R, D, det, pixel, radius=1e9)
    parallel = (gt.parallel2d if maker is gt.fan else gt.parallel3d)(ANGLES, det, pixel)
    far = maker(ANGLES, 1e9, 1e9, det, pixel)
    assert maker(ANGLES, R, D, det, pixel, radius=math.inf).radius is None
    for one, other, tolerance in ((flat, almost, 1e-4), (parallel, far, 1e-5)):
        for view in range(4):
            x = points(flat)
            for a, b in zip(one.project(x, view), other.project(x, view), strict=True):
                np.testing.assert_allclose(a, b, rtol=tolerance / 100, atol=tolerance)
            np.testing.assert_allclose(one.rays(view).direction, other.rays(view).direction, atol=tolerance / 100)


@pytest.mark.parametrize("name", SPATIAL)
def test_vectors_are_the_scan_they_came_from(name: str) -> None:
    scan = SCANS[name]
    free = gt.from_astra(scan.to_astra())
    assert (type(free) is type(scan)) == ("vectors" in name)
    assert (free.shape, free.radius, free.parallel) == (scan.shape, scan.radius, scan.parallel)
    np.testing.assert_allclose(free.to_astra()["Vectors"], scan.to_astra()["Vectors"], atol=1e-12)
    x = points(scan)
    for view in range(scan.views):
        for a, b in zip(scan.project(x, view), free.project(x, view), strict=True):
            np.testing.assert_allclose(a, b, rtol=1e-11, atol=1e-10)


@pytest.mark.parametrize("name", [name for name in NAMES if SCANS[name].radius is None])
def test_matrices(name: str) -> None:
    scan = SCANS[name]
    volume = gt.Volume((5, 6, 7)[3 - scan.dimensions :], (3.0, 2.0, 1.0)[3 - scan.dimensions :], 4.0)
    x = points(scan)
    for view, (of_mm, of_index) in enumerate(zip(scan.matrices(), scan.matrices(volume), strict=True)):
        at = scan.project(x, view)
        column, row, w = of_mm @ np.append(x, np.ones((len(x), 1)), axis=1).T
        np.testing.assert_allclose(column / w, at.column, atol=1e-9)
        np.testing.assert_allclose(row / w, at.row, atol=1e-9)
        place = volume.points()[(4, 3, 2)[3 - scan.dimensions :]]
        np.testing.assert_allclose(of_index @ [2, 3, 4 if scan.dimensions == 3 else 0, 1], of_mm @ [*place, 1])
        if not scan.parallel:  # w is 1 at the detector's middle, 0 at the source
            assert of_mm[2] @ [*scan.frames.centre[view], 1] == pytest.approx(1)
            assert of_mm[2] @ [*scan.frames.source[view], 1] == pytest.approx(0, abs=1e-12)


def test_the_fdk_weight_of_a_flat_detector_is_that_of_its_matrix() -> None:
    scan = gt.circular(ANGLES, R, D, (40, 91), (1.1, 1.3), offset=(7.0, 5.0))
    x = points(scan)
    w = (scan.matrices()[2] @ np.append(x, np.ones((len(x), 1)), axis=1).T)[2]
    np.testing.assert_allclose(scan.fdk_weight(x, 2), (R / D / w) ** 2)


def test_astra_dictionaries() -> None:
    cone = {"type": "cone", "DetectorRowCount": 40, "DetectorColCount": 91, "DetectorSpacingX": 1.3}
    cone |= {"DetectorSpacingY": 1.1, "ProjectionAngles": ANGLES}
    cone |= {"DistanceOriginSource": R, "DistanceOriginDetector": D - R}
    made = gt.from_astra(cone)
    np.testing.assert_allclose(
        made.to_astra()["Vectors"],
        gt.circular(ANGLES, R, D, (40, 91), (1.1, 1.3)).to_astra()["Vectors"],
        atol=1e-12,
    )
    # ASTRA's own conversion of a circular cone at angle 0: the source at (0, -R, 0), u along x.
    at_zero = gt.from_astra(cone | {"ProjectionAngles": [0.0]}).to_astra()
    expected = [0, -R, 0, 0, D - R, 0, 1.3, 0, 0, 0, 0, 1.1]
    np.testing.assert_allclose(at_zero["Vectors"][0], expected, atol=1e-12)
    assert (at_zero["type"], at_zero["DetectorRowCount"], at_zero["DetectorColCount"]) == ("cone_vec", 40, 91)
    flat = gt.from_astra({**cone, "type": "parallel3d"}).to_astra()
    assert flat["type"] == "parallel3d_vec"
    np.testing.assert_allclose(flat["Vectors"][0, :3], [math.sin(T), -math.cos(T), 0])
    curved = SCANS["helical Rc=540"].to_astra()
    assert curved["type"] == "cyl_cone_vec"
    assert curved["Vectors"].shape == (4, 13)
    assert (curved["Vectors"][:, 12] == 540).all()
    np.testing.assert_allclose(np.linalg.norm(curved["Vectors"][:, 6:9], axis=1), 1.3)


@pytest.mark.parametrize("name", NAMES)
def test_subsets_and_finer_pixels(name: str) -> None:
    scan = SCANS[name]
    some = scan.subset([2, 0])
    assert some.shape == (2, *scan.shape[1:])
    for view, original in enumerate((2, 0)):
        np.testing.assert_array_equal(some.rays(view).direction, scan.rays(original).direction)
        np.testing.assert_array_equal(some.rays(view).origin, scan.rays(original).origin)
    assert scan.subset(slice(1, None)).views == scan.subset(np.array([False, True, True, True])).views == 3
    assert scan.subset(-1).views == 1
    fine = scan.refined(3)
    x = points(scan)
    coarse_at, fine_at = scan.project(x, 1), fine.project(x, 1)
    np.testing.assert_allclose((fine_at.column + 0.5) / 3 - 0.5, coarse_at.column, atol=1e-9)
    np.testing.assert_allclose(fine_at.density, coarse_at.density * 3 ** (scan.dimensions - 1))
    step = (slice(1, None, 3),) * (scan.dimensions - 1)
    np.testing.assert_allclose(fine.rays(1).direction[step], scan.rays(1).direction, atol=1e-12)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize(
    ("change", "argument"),
    [
        (lambda scan: scan.refined(1 << 30), "times"),
        (lambda scan: gt.sphere(5.0).project(scan.shifted(0, 1e300)), "u"),
        (lambda scan: scan.shifted(0, -1e308), "u"),
        (lambda scan: scan.shifted(0, 2e12), "u"),
        (lambda scan: scan.shifted(-1e300, 0), "v"),
    ],
)
def test_detectors_stay_within_the_limits_of_scans(name: str, change: Any, argument: str) -> None:
    scan = SCANS[name]
    if argument == "v" and scan.dimensions == 2:
        assert change(scan).shape == scan.shape
        return
    with pytest.raises(ParameterError) as info:
        change(scan)
    assert info.value.argument == argument


@pytest.mark.parametrize("name", NAMES)
def test_view_angles(name: str) -> None:
    """Those that a scan was made with, wherever its detector lies; of free vectors, those of the way to the source."""
    scan = SCANS[name]
    if "vectors" in name:
        towards = scan.frames.source if scan.parallel else scan.frames.source - scan.frames.centre
        np.testing.assert_allclose(scan.view_angles, np.arctan2(towards[:, 0], -towards[:, 1]))
    else:
        np.testing.assert_allclose(scan.view_angles, ANGLES)
        np.testing.assert_allclose(scan.shifted(0, 30).view_angles, ANGLES)


def test_the_half_fan() -> None:
    assert gt.fan(3, 500, 1000, 192, 1.2).half_fan == pytest.approx(math.atan(192 * 1.2 / 2000))
    assert gt.fan(3, 500, 1000, 192, 1.2, curved=True).half_fan == pytest.approx(192 * 1.2 / 2000)
    half = gt.fan(3, 500, 1000, 192, 1.2, radius=700.0)
    edge = half.project(np.array([0.0, 0.0, 0.0]), 0).column + 96
    sees = half.refined(2).rays(0).direction[-1]
    assert edge == pytest.approx(191.5)
    assert abs(half.half_fan) > math.acos(sees @ (-half.frames.source[0] / 500))


def test_a_cylinder_shows_its_hollow_side_alone() -> None:
    """With the source outside the cylinder, rays that miss it see nothing, by either description."""
    scan = gt.circular([0.0], R, D, (8, 91), 1.3, radius=500.0)
    x = np.array([[0.0, 0, 0], [590.0, -300.0, 0]])
    for one in (scan, gt.from_astra(scan.to_astra())):
        density = one.project(x, 0).density
        assert density[0] > 0
        assert density[1] == 0


def test_volumes() -> None:
    volume = gt.Volume((4, 6, 10), (2.0, 1.0, 0.5), (1.0, 2.0, 3.0))
    assert (volume.size, volume.cell, volume.ndim) == (240, 1.0, 3)
    np.testing.assert_allclose(volume.x, 3 + 0.5 * (np.arange(10) - 4.5))
    np.testing.assert_allclose(volume.y, 2 + (np.arange(6) - 2.5))
    np.testing.assert_allclose(volume.z, [-2, 0, 2, 4])
    np.testing.assert_allclose(volume.points()[1, 2, 3], [volume.x[3], volume.y[2], volume.z[1]])
    np.testing.assert_allclose(volume.affine @ [3, 2, 1, 1], [*volume.points()[1, 2, 3], 1])
    np.testing.assert_allclose(volume.corners().min(axis=0), [0.5, -1, -3])
    np.testing.assert_allclose(volume.corners().max(axis=0), [5.5, 5, 5])
    part = volume.part(1, 3)
    np.testing.assert_allclose(part.z, volume.z[1:3])
    np.testing.assert_allclose(part.points(), volume.points()[1:3])
    fine = volume.refined(2)
    np.testing.assert_allclose(fine.x.reshape(-1, 2).mean(axis=1), volume.x)
    flat = gt.Volume((6, 10), 0.5, (2.0, 3.0))
    assert (flat.ndim, flat.cell, flat.z.tolist()) == (2, 0.25, [0])
    assert flat.points().shape == (6, 10, 3)
    np.testing.assert_allclose(flat.affine @ [3, 2, 0, 1], [*flat.points()[2, 3], 1])
    assert gt.Volume((2, 3)) == gt.Volume([2, 3], 1, 0)
    assert "4 z x 6 y x 10 x" in repr(volume)


def test_what_scans_say_of_themselves() -> None:
    assert repr(gt.parallel2d(180, 256)) == "<parallel2d: 180 views, 256 columns of 1 mm>"
    assert repr(gt.parallel2d(1, 256)) == "<parallel2d: 1 view, 256 columns of 1 mm>"
    helix = gt.helical(496, 3, R, D, DET, PIXEL, 23.0, True)
    assert repr(helix).startswith("<helical: 496 views, curved (radius 1085.6 mm), 64 rows x 736 columns")
    with pytest.raises(ValueError, match="read-only"):
        helix.angles[0] = 1
    with pytest.raises(AttributeError):
        helix.sod = 1.0


CIRCLE: dict[str, Any] = {"angles": 8, "sod": R, "sdd": D, "det": (4, 6), "pixel": 1.0}


@pytest.mark.parametrize(
    ("make", "change", "word"),
    [
        (gt.parallel2d, {"angles": np.arange(180), "det": 9}, r"angles: they span 179 rad.*units=\"deg\""),
        (gt.circular, {**CIRCLE, "angles": np.arange(0, 360, 2)}, "angles: they span 358 rad, 57 turns"),
        (gt.helical, HELIX | {"views": np.arange(0, 720.0), "pitch": 0.0}, 'views: .*units="deg"'),
        (gt.circular, CIRCLE | {"angles": [0.0, math.nan]}, "angles: entry 1 is NaN"),
        (gt.circular, CIRCLE | {"angles": []}, "angles: its shape"),
        (gt.circular, CIRCLE | {"angles": 0}, "angles: 0 is no count"),
        (gt.circular, CIRCLE | {"angles": ["a"]}, "angles: it cannot be read"),
        (gt.circular, CIRCLE | {"sod": 0}, "sod: 0 cannot be"),
        (gt.circular, CIRCLE | {"sod": -1.0}, "sod: -1.0 cannot be"),
        (gt.circular, CIRCLE | {"sdd": math.nan}, "sdd: nan is no number"),
        (gt.circular, CIRCLE | {"sdd": "far"}, "sdd: it is 'far'; give a number"),
        (gt.circular, CIRCLE | {"sdd": True}, "sdd: it is True; give a number"),
        (gt.circular, CIRCLE | {"det": (4, 6, 8)}, r"det: .* has 3 entries; give \(v, u\)"),
        (gt.circular, CIRCLE | {"det": (0, 6)}, "det along v: 0 is no count"),
        (gt.circular, CIRCLE | {"det": (4, 6.5)}, "det along u: 6.5 is no count"),
        (gt.circular, CIRCLE | {"pixel": (1.0, 0.0)}, "pixel along u: 0.0 cannot be"),
        (gt.circular, CIRCLE | {"offset": (math.inf, 0.0)}, "offset along v: inf is no number"),
        (gt.circular, CIRCLE | {"radius": -5.0}, "radius: -5.0 cannot be"),
        (gt.circular, CIRCLE | {"radius": 1.0, "det": (4, 600)}, "det: along u the detector reaches .* radius 1 mm"),
        (gt.circular, CIRCLE | {"z0": math.nan}, "z0: nan"),
        (gt.helical, HELIX | {"views": 100}, "turns: it is missing"),
        (gt.helical, HELIX | {"views": 100, "turns": 0}, "turns: 0 turns make no helix"),
        (gt.helical, HELIX | {"views": [0.0, 1.0], "turns": 2}, "turns: views lists the angles already"),
        (
            gt.helical,
            HELIX | {"views": [0.0, 1.0], "turns": None, "start": 1.0},
            "start: views lists the angles already",
        ),
        (gt.helical, HELIX | {"views": 100, "turns": 1, "pitch": math.nan}, "pitch: nan"),
        (gt.Volume, {"shape": (4,)}, r"shape: .*\(z, y, x\)"),
        (gt.Volume, {"shape": list(range(10**6))}, r"^shape: \[0, 1, 2, 3, 4, 5, \.\.\.\] is not the shape"),
        (gt.Volume, {"shape": (4, 4), "voxel": [1.0] * 10**6}, r"^voxel: \[1.0, .* \.\.\.\] has 1000000 entries"),
        (gt.Volume, {"shape": (4, 0, 4)}, "shape along y: 0"),
        (gt.Volume, {"shape": (4, 4, 4), "voxel": (1, 1, -1)}, "voxel along x: -1"),
        (gt.Volume, {"shape": (4, 4), "voxel": (1, 1, 1)}, r"voxel: .* has 3 entries; give \(y, x\)"),
        (gt.Volume, {"shape": (4, 4), "centre": (math.nan, 0)}, "centre along y: nan"),
        (gt.from_vectors, {"vectors": np.zeros((3, 12)), "det": (4, 6)}, "vectors: view 0: its steps U and Q"),
        (gt.from_vectors, {"vectors": np.zeros((3, 13)), "det": (4, 6)}, r"vectors: their shape is \(3, 13\)"),
        (gt.from_vectors, {"vectors": np.full((1, 12), np.nan), "det": (4, 6)}, "vectors: view 0 holds NaN"),
        (gt.from_vectors, {"vectors": np.zeros((3, 12)), "det": (4, 6), "kind": "fan"}, "kind: 'fan'"),
        (
            gt.from_vectors,
            {"vectors": [[0, 0, 0, 0, 0, 0, 1, 0, 0, 0, 0, 1]], "det": (4, 6)},
            "view 0: its source lies in the detector's plane",
        ),
        (
            gt.from_vectors,
            {"vectors": [[0, -9, 0, 0, 9, 0, -1, 0, 0, 0, 0, 1, 18]], "det": (4, 6), "kind": "cyl_cone_vec"},
            "view 0: the hollow side",
        ),
        (
            gt.from_vectors,
            {"vectors": [[0, -9, 0, 0, 9, 0, 1, 0, 0.1, 0, 0, 1, 18]], "det": (4, 6), "kind": "cyl_cone_vec"},
            "view 0: its steps U and Q are not perpendicular",
        ),
        (gt.Volume((10, 10)).part, {"first": -1, "last": 3}, "^first: -1 to 3 is not a range"),
        (gt.Volume((10, 10)).part, {"first": 3, "last": 11}, "^last: 3 to 11 is not a range"),
        (gt.from_astra, {"geometry": {"type": "sparse_matrix"}}, "geometry: its type 'sparse_matrix'"),
        (gt.from_astra, {"geometry": {"type": "cone_vec", "DetectorRowCount": 3}}, "'DetectorColCount' is missing"),
        (gt.from_astra, {"geometry": 3}, "geometry: it is 3; give a Mapping"),
    ],
)
def test_bad_numbers_are_named(make: Any, change: dict[str, Any], word: str) -> None:
    with pytest.raises((ParameterError, ArrayError), match=word):
        make(**change)


def test_bad_pairs_of_scan_and_volume_are_named() -> None:
    scan = gt.circular(8, 100.0, 200.0, (4, 6), 1.0)
    scan.check(gt.Volume((10, 100, 100)))
    with pytest.raises(ParameterError, match=r"volume: it has 2 axes, the geometry 3; give a shape \(z, y, x\)"):
        scan.check(gt.Volume((10, 10)))
    with pytest.raises(ParameterError, match=r"volume: the source of view 0 at \(0, -100, 0\) mm lies inside"):
        scan.check(gt.Volume((10, 250, 250)))
    with pytest.raises(ParameterError, match="volume: in view 0 it reaches behind the source"):
        scan.check(gt.Volume((10, 10, 10), centre=(0, -150, 0)))
    with pytest.raises(ParameterError, match="volume: in view 0 it reaches behind the source"):
        gt.from_astra(scan.to_astra()).check(gt.Volume((10, 10, 10), centre=(0, -150, 0)))
    with pytest.raises(ParameterError, match="lies inside"):
        gt.fan(8, 100.0, 200.0, 6, 1.0).check(gt.Volume((250, 250)))
    gt.parallel3d(8, (4, 6)).check(gt.Volume((10, 9999, 9999)))
    for views, word in ((8, "out of bounds"), ([], "at least one"), (slice(9, None), "at least one"), (0.5, "views: ")):
        with pytest.raises(ParameterError, match=word):
            scan.subset(views)
    with pytest.raises(ParameterError, match="curved"):
        SCANS["helical Rc=D"].matrices()
    with pytest.raises(ParameterError, match="no curved detector in 2D"):
        gt.fan(8, 100.0, 200.0, 6, 1.0, curved=True).to_astra()


def test_importing_is_light() -> None:
    code = (
        "import gpuopt.tomo, sys; heavy = {'scipy', 'matplotlib', 'pandas', 'gpuopt.lab', 'tqdm'} & set(sys.modules);"
        "assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


FLAT = {"type": "fanflat", "DetectorCount": 6, "DetectorWidth": 1.0, "ProjectionAngles": [0.0, 1.0]}
CONE = {"type": "cone", "DetectorRowCount": 2, "DetectorColCount": 3, "ProjectionAngles": [0.0, 1.0]}
ORIGINS = {"DistanceOriginSource": 10.0, "DistanceOriginDetector": 10.0}
SPACINGS = {"DetectorSpacingX": 1.0, "DetectorSpacingY": 1.0}
FREE = {"Vectors": [[0, -100, 0, 0, 100, 0, 2, 0, 0, 0, 0, 2.0]]}


@pytest.mark.parametrize("bad", [None, "x", "1"])
@pytest.mark.parametrize(
    ("astra", "name"),
    [
        *((CONE | ORIGINS | SPACINGS, name) for name in [*CONE, *ORIGINS, *SPACINGS] if name != "type"),
        *((FLAT | ORIGINS, name) for name in [*FLAT, *ORIGINS] if name != "type"),
        (CONE | FREE | {"type": "cone_vec"}, "Vectors"),
        (FLAT | {"type": "fanflat_vec"}, "Vectors"),
    ],
)
def test_entries_of_astra_are_named(astra: dict[str, Any], name: str, bad: object) -> None:
    with pytest.raises((ParameterError, ArrayError), match=f"^{name}: "):
        gt.from_astra(astra | {name: bad})


@pytest.mark.parametrize("distance", [7.0, 0, -3.5])
def test_the_axis_may_lie_in_the_detector_of_astra_or_behind_it(distance: float) -> None:
    made = gt.from_astra(FLAT | ORIGINS | {"DistanceOriginDetector": distance})
    assert made.to_astra()["Vectors"][0].tolist() == [0, -10, 0, distance, 1, 0]
    cone = gt.from_astra(CONE | SPACINGS | ORIGINS | {"DistanceOriginDetector": distance})
    assert cone.to_astra()["Vectors"][0, [1, 4]].tolist() == [-10, distance]


@pytest.mark.parametrize("distance", [-10.0, -12])
@pytest.mark.parametrize("astra", [FLAT | ORIGINS, CONE | SPACINGS | ORIGINS], ids=["fan", "cone"])
def test_a_detector_of_astra_before_its_source_is_refused(astra: dict[str, Any], distance: float) -> None:
    with pytest.raises(ParameterError, match=r"^DistanceOriginDetector: at -1. mm it is not behind the source; give"):
        gt.from_astra(astra | {"DistanceOriginDetector": distance})
