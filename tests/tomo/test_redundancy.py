"""What counts how much in a filtered back projection: displaced detectors, short scans, limited angles, views in any
order, and what is refused."""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest

import gpuopt.tomo as gt
from gpuopt import ArrayError, ParameterError
from gpuopt.tomo.redundancy import Arc, limited, overlap

FIELD, COLUMNS = 40.0, 128  # mm
SOD, SDD = 120.0, 200.0
SLICE = gt.Volume((40, 40))
RADIUS = 18.0
DISC = gt.sphere(RADIUS)
HEAD = gt.shepp_logan(2, field=FIELD)
TURN = 2 * math.pi


def scan_of(kind: str, angles: Any, share: float, rows: int = 6) -> gt.Geometry:
    """A scan whose detector is displaced by a share of its width and reaches just beyond the object on its far side."""
    reach = 1.1 * RADIUS if kind == "parallel" else 1.1 * RADIUS * SDD / math.sqrt(SOD**2 - RADIUS**2)
    du = reach / (COLUMNS * (0.5 + abs(share)))
    offset = share * COLUMNS * du
    if kind == "parallel":
        return gt.parallel2d(angles, COLUMNS, du, offset)
    if kind == "cone":
        return gt.circular(angles, SOD, SDD, (rows, COLUMNS), (1.0, du), offset=(0.0, offset))
    return gt.fan(angles, SOD, SDD, COLUMNS, du, curved=kind == "arc", offset=offset)


def around(views: int = 240) -> np.ndarray:
    return np.arange(views) * TURN / views


def reconstruct(scan: gt.Geometry, phantom: Any, volume: gt.Volume = SLICE, **options: Any) -> np.ndarray:
    algorithm = gt.fbp if scan.parallel else gt.fdk
    return np.asarray(algorithm(gt.NumpyProjector(scan, volume), phantom.project(scan, dtype=float), **options))


def rings(image: np.ndarray, volume: gt.Volume = SLICE, most: float = 0.92) -> np.ndarray:
    """Means in four rings around the axis, as wide as each other."""
    image = image.reshape(image.shape[-2:])
    away = np.linalg.norm(volume.points().reshape(*image.shape, 3)[..., :2], axis=-1)
    edges = np.linspace(0, most * RADIUS, 5)
    return np.array([image[(away >= a) & (away < b)].mean() for a, b in itertools.pairwise(edges)])


SHARES = [0.0, 0.002, 0.03, 0.1, -0.25, 0.4, -0.45]


@pytest.mark.parametrize("kind", ["parallel", "fan", "arc", "cone"])
@pytest.mark.parametrize("share", SHARES)
def test_a_disc_by_a_displaced_detector(kind: str, share: float) -> None:
    volume = gt.Volume((1, 40, 40)) if kind == "cone" else SLICE
    scan = scan_of(kind, around(), share)
    body = gt.Ellipsoid(1.0, (RADIUS, RADIUS, math.inf)) if kind == "cone" else DISC
    image = reconstruct(scan, gt.Phantom([body]) if kind == "cone" else body, volume)
    np.testing.assert_allclose(rings(image, volume), 1, atol=0.01)


@pytest.mark.parametrize("kind", ["parallel", "fan", "arc", "cone"])
@pytest.mark.parametrize("share", [0.0, 0.03, -0.25, 0.45])
def test_the_head_by_a_displaced_detector(kind: str, share: float) -> None:
    """In a cone it is the head in space, in the slice that the source circles in."""
    solid = kind == "cone"
    fine = gt.Volume((1, 100, 100) if solid else (100, 100), 0.4)
    head = gt.shepp_logan(3, field=FIELD) if solid else HEAD
    scan = scan_of(kind, around(160), share, rows=2)
    algorithm = gt.fbp if scan.parallel else gt.fdk
    image = algorithm(gt.NumpyProjector(scan, fine), head.project(scan, 4, dtype=float))
    np.testing.assert_allclose(rings(image, fine), rings(head.sample(fine, 4, float), fine), rtol=0.01)


@pytest.mark.parametrize("kind", ["parallel", "fan"])
def test_the_weights_of_a_displaced_detector_change_little_where_they_begin(kind: str) -> None:
    """A hundredth of a pixel off, the image is that of a centred detector."""
    centred, beside = (reconstruct(scan_of(kind, around(), share), HEAD) for share in (0.0, 1e-4))
    assert np.abs(centred - beside).max() < 0.02


def test_wangs_weights() -> None:
    place = np.linspace(-9, 9, 181)
    for inner, outer in ((0.0, 5.0), (3.0, 5.0), (0.0, 9.0)):
        weights = overlap(place, inner, outer)
        np.testing.assert_allclose(weights + weights[::-1], 1, atol=1e-15)
        assert (np.diff(weights) >= 0).all()
        np.testing.assert_allclose(weights[np.abs(place) <= inner], 0.5)
        np.testing.assert_allclose(weights[place >= outer], 1)
    np.testing.assert_allclose(overlap(np.array([-2.5]), 0.0, 5.0), (1 - math.sin(math.pi / 4)) / 2)


@pytest.mark.parametrize("kind", ["parallel", "fan"])
def test_a_displaced_detector_takes_views_in_any_order(kind: str) -> None:
    views, image = around(120), None
    random = np.random.default_rng(0)
    for angles in (views, random.permutation(views), -views, views + 4 * TURN, np.concatenate([views, views + TURN])):
        scan = scan_of(kind, angles, 0.3)
        got = reconstruct(scan, HEAD)
        image = got if image is None else image
        np.testing.assert_allclose(got, image, atol=1e-9)


@pytest.mark.parametrize("kind", ["parallel", "fan", "arc"])
@pytest.mark.parametrize("share", [0.0, 0.3])
def test_golden_angles(kind: str, share: float) -> None:
    """Three widths of gaps, in an order that jumps around: each view counts by the angle around it."""
    angles = np.arange(300) * math.pi * (3 - 5**0.5)
    with pytest.raises(ParameterError, match=r'angles: they span .* 114 turns .* units="deg" .* units="rad"'):
        scan_of(kind, angles, share)
    make = gt.parallel2d if kind == "parallel" else gt.fan
    like = scan_of(kind, 300, share)
    d = like.detector
    rest = (d.columns, d.du) if kind == "parallel" else (SOD, SDD, d.columns, d.du, kind == "arc")
    for scan in (
        make(angles, *rest, offset=d.u_offset, units="rad"),
        make(np.rad2deg(angles), *rest, offset=d.u_offset, units="deg"),
    ):
        image = reconstruct(scan, DISC)
        np.testing.assert_allclose(rings(image), 1, atol=0.01)
        away = np.linalg.norm(SLICE.points(), axis=-1)
        assert image[away < 0.8 * RADIUS].std() < 0.02


@pytest.mark.parametrize("kind", ["fan", "arc", "cone"])
@pytest.mark.parametrize("more", [0, 30, 120])
def test_short_scans(kind: str, more: float) -> None:
    """Half a turn and the fan, and some degrees more; rising or falling, in any order."""
    volume = gt.Volume((1, 40, 40)) if kind == "cone" else SLICE
    half = scan_of(kind, 4, 0.0).half_fan
    angles = 0.4 + np.arange(180) * (math.pi + 2 * half + math.radians(more)) / 180
    body = gt.Phantom([gt.Ellipsoid(1.0, (RADIUS, RADIUS, math.inf))])
    for turned in (angles, np.random.default_rng(1).permutation(-angles)):
        np.testing.assert_allclose(rings(reconstruct(scan_of(kind, turned, 0.0), body, volume), volume), 1, atol=0.02)


# scikit-image's Hann and Hamming windows, as periodic ones. Those of the others go on for ever in space; transforms of
# other lengths cut them elsewhere.
@pytest.mark.parametrize(
    ("window", "theirs", "most"),
    [
        ("ram-lak", "ramp", 1e-10),
        ("shepp-logan", "shepp-logan", 5e-5),
        ("cosine", "cosine", 2e-4),
        ("hann", "hann", 1e-10),
        ("hamming", "hamming", 1e-10),
    ],
)
def test_a_tilt_series_is_that_of_scikit_image(
    window: str, theirs: str, most: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    transform = pytest.importorskip("skimage.transform", reason="scikit-image is not installed")
    windows = pytest.importorskip("scipy.signal.windows", reason="SciPy is not installed")
    monkeypatch.setattr(np, "hanning", lambda count: windows.hann(count, sym=False))
    monkeypatch.setattr(np, "hamming", lambda count: windows.hamming(count, sym=False))
    n = 65
    tilts = np.arange(-70, 71, 2.0)
    scan, volume = gt.parallel2d(tilts, n, units="deg"), gt.Volume((n, n))
    sinogram = gt.shepp_logan(2, field=56).project(scan, dtype=float)
    A = gt.NumpyProjector(scan, volume)
    with pytest.raises(ParameterError, match=r"angles: no view lies in 40 degrees .* limited_angle=True"):
        gt.fbp(A, sinogram)
    with pytest.warns(gt.LimitedAngleWarning, match="no view lies in 40 degrees"):
        ours = gt.fbp(A, sinogram, window=window, limited_angle=True)
    # Its rows of an image run from +y down.
    other = transform.iradon(sinogram.T, theta=tilts, filter_name=theirs, circle=True)[::-1]
    inner = np.linalg.norm(volume.points(), axis=-1) < n // 2 - 1
    assert np.linalg.norm((ours - other)[inner]) < most * np.linalg.norm(other[inner])


@pytest.mark.parametrize("kind", ["parallel", "fan", "arc"])
@pytest.mark.parametrize("degrees", [0, 60, 140])
def test_limited_angles_keep_the_mean_of_a_disc(kind: str, degrees: float) -> None:
    views = 1 if not degrees else 71
    angles = np.linspace(-degrees / 2, degrees / 2, views)
    like = scan_of(kind, 4, 0.0)
    d = like.detector
    if kind == "parallel":
        scan: gt.Geometry = gt.parallel2d(angles, d.columns, d.du, units="deg")
    else:
        scan = gt.fan(angles, SOD, SDD, d.columns, d.du, kind == "arc", units="deg")
    with pytest.raises(ParameterError, match="limited_angle=True"):
        reconstruct(scan, DISC)
    with pytest.warns(gt.LimitedAngleWarning, match="angles: "):
        image = reconstruct(scan, DISC, limited_angle=True)
    away = np.linalg.norm(SLICE.points(), axis=-1)
    assert image[away < 0.9 * RADIUS].mean() == pytest.approx(1, abs=0.03 if degrees else 0.1)


def test_a_fan_of_nearly_a_short_scan() -> None:
    """Ten degrees less than half a turn and the fan: all but a few rays are there, and count once."""
    like = scan_of("fan", 4, 0.0)
    angles = np.arange(200) * (math.pi + 2 * like.half_fan - math.radians(10)) / 200
    with pytest.warns(gt.LimitedAngleWarning, match="a short scan of this fan needs"):
        image = reconstruct(scan_of("fan", angles, 0.0), DISC, limited_angle=True)
    np.testing.assert_allclose(rings(image)[:3], 1, atol=0.03)


def test_weights_of_limited_angles_share_rays() -> None:
    step = math.pi / 150  # of which rays that are measured again lie whole numbers apart
    angles = np.arange(165) * step
    arc, alpha = Arc.of(angles, TURN), np.arange(-9, 10) * step / 2
    weights = limited(arc, alpha)
    assert weights.min() >= 0
    assert weights.max() <= 1
    for column, a in enumerate(alpha):
        again = (np.arange(165) + 150 - round(2 * a / step)) % 300
        seen = again < 165
        assert seen.any()
        other = weights[again[seen], len(alpha) - 1 - column]
        np.testing.assert_allclose(weights[seen, column] + other, 1, atol=1e-9)
        np.testing.assert_array_equal(weights[~seen, column], 1)


def test_a_lost_view_is_filled_by_its_neighbours() -> None:
    for kind, share in (("parallel", 0.0), ("parallel", 0.3), ("fan", 0.3), ("fan", 0.0)):
        angles = np.delete(around(), [50, 51])
        image = reconstruct(scan_of(kind, angles, share), DISC)
        np.testing.assert_allclose(rings(image), 1, atol=0.01)


# ---------------------------------------------------------------- what is refused or told


@pytest.mark.parametrize(
    ("kind", "angles", "share", "word"),
    [
        ("parallel", np.arange(180) * math.pi / 180, 0.3, "offset: .* near edge cuts .* only a full turn .* os_sart"),
        ("parallel", np.arange(270) * math.pi / 180, 0.3, "offset: .* only a full turn"),
        ("fan", np.arange(250) * math.pi / 180, 0.3, "offset: .* only a full turn"),
        ("fan", around(), 0.6, "offset: the detector reaches from u = .* no view sees the axis; .* os_sart"),
        ("parallel", around(), -0.5, "offset: the detector reaches from u = .* no view sees the axis"),
    ],
)
def test_what_cannot_be_weighted_is_refused(kind: str, angles: Any, share: float, word: str) -> None:
    with pytest.raises(ParameterError, match=word):
        reconstruct(scan_of(kind, angles, share), DISC)


ELLIPSE = gt.Phantom(gt.Ellipsoid(1.0, (15.0, 4.0, math.inf)))


@pytest.mark.parametrize("kind", ["parallel", "fan"])
@pytest.mark.parametrize(("hole", "told"), [(3, ""), (9, "warned"), (40, "refused")])
def test_holes_among_the_views_are_told(kind: str, hole: int, told: str) -> None:
    """Behind the widest gap, where a scan of fans begins, another one is a hole; of parallel beams that one is, too."""
    angles = np.deg2rad(np.r_[0:90, 90 + hole : 180 if kind == "parallel" else 240])
    A = gt.NumpyProjector(scan_of(kind, angles, 0.0), SLICE)
    filtered, p = gt.fbp if kind == "parallel" else gt.fdk, ELLIPSE.project(A.geometry, 2, dtype=np.float64)
    says = f"angles: no view lies in {hole + 1} degrees of "
    if told == "refused":
        with pytest.raises(ParameterError, match=says):
            filtered(A, p)
    if not told:
        filtered(A, p)
        return
    for _ in range(2):  # each call tells it
        with pytest.warns(gt.LimitedAngleWarning, match=says):
            filtered(A, p, limited_angle=told == "refused")


def test_clusters_of_views_are_no_turn() -> None:
    for angles in (np.r_[0:60, 180:240], np.r_[0:90, 150:240], [0, 1, 180, 181]):
        A = gt.NumpyProjector(scan_of("fan", np.deg2rad(angles), 0.0), SLICE)
        with pytest.raises(
            ParameterError, match=r"no view lies in \d+ degrees of the \d+ from the first view to the last"
        ):
            gt.fdk(A, ELLIPSE.project(A.geometry, dtype=np.float64))


@pytest.mark.parametrize("kind", ["parallel", "fan"])
@pytest.mark.parametrize("step", [1, 10, 30])
def test_views_that_nearly_coincide_are_at_one_place(kind: str, step: int) -> None:
    """Of two turns, rounded to float32, half of the gaps are next to nothing."""
    angles = np.deg2rad(np.arange(0, 720, step, dtype=np.float32))
    assert Arc.of(angles.astype(np.float64), TURN).closes(0.0)
    A = gt.NumpyProjector(
        gt.parallel2d(angles, 16) if kind == "parallel" else gt.fan(angles, 60.0, 90.0, 16, 1.5), SLICE
    )
    (gt.fbp if kind == "parallel" else gt.fdk)(A, np.zeros(A.data_shape))  # no warning


def test_turns_with_jitter_close() -> None:
    random = np.random.default_rng(1)
    assert Arc.of(np.deg2rad(np.arange(720) + random.uniform(-0.3, 0.3, 720)), TURN).closes(0.0)
    assert Arc.of(np.deg2rad(np.r_[0:360, 0.1:360]), TURN).closes(0.0)


def test_six_columns_on_both_sides_are_enough() -> None:
    A = gt.NumpyProjector(gt.parallel2d(around(40), 100, 0.1, 4.7), gt.Volume((8, 8), 0.5))
    gt.fbp(A, np.zeros(A.data_shape))


@pytest.mark.parametrize("kind", ["parallel", "fan"])
def test_a_displaced_detector_must_see_both_sides_of_the_axis(kind: str) -> None:
    for share in (0.49, -0.495):
        A = gt.NumpyProjector(scan_of(kind, around(), share), SLICE)
        with pytest.raises(ParameterError, match="columns on both sides of the axis"):
            (gt.fbp if kind == "parallel" else gt.fdk)(A, DISC.project(A.geometry, dtype=np.float64))


@pytest.mark.filterwarnings("ignore:volume. 2 slices of 4 lie beyond")
def test_a_detector_above_the_volume_is_told() -> None:
    """As where the offsets (v, u) were swapped."""
    volume = gt.Volume((4, 16, 16))
    for offset, centre in ((9.0, 0.0), (0.0, -9.0), (-9.0, 0.0)):
        for scan in (
            gt.parallel3d(8, (6, 24), offset=(offset, 0.0)),
            gt.circular(8, SOD, SDD, (6, 24), 1.5, offset=(1.5 * offset, 0.0)),
        ):
            there = gt.Volume(volume.shape, 1.0, (centre, 0.0, 0.0))
            with pytest.raises(
                ParameterError, match=r"offset: the detector reaches from v = .* give offset as \(v, u\)"
            ):
                reconstruct(scan, DISC, there)
            reconstruct(scan, gt.sphere(4.0), gt.Volume(volume.shape, 1.0, (offset + 3.0, 0.0, 0.0)))


def test_a_displaced_detector_of_half_a_turn_may_see_a_small_object() -> None:
    """As where it corrects the rotation's centre: the near side suffices."""
    small = gt.sphere(0.3 * RADIUS)
    scan = scan_of("parallel", 180, 0.2)
    image = reconstruct(scan, small)
    away = np.linalg.norm(SLICE.points(), axis=-1)
    assert image[away < 0.2 * RADIUS].mean() == pytest.approx(1, abs=0.01)


@pytest.mark.parametrize("kind", ["parallel", "fan"])
def test_truncated_projections_are_told(kind: str) -> None:
    scan = scan_of(kind, around(), 0.0)
    with pytest.warns(gt.TruncationWarning, match=r"projections: the object reaches an edge .* in 100% .* os_sart"):
        reconstruct(scan, gt.sphere(1.3 * RADIUS))
    with pytest.warns(gt.TruncationWarning, match="reaches an edge"):
        reconstruct(scan_of(kind, around(), 0.3), gt.sphere(1.3 * RADIUS))
    p = DISC.project(scan, dtype=float)
    noise = np.random.default_rng(0).normal(0, 0.02 * p.max(), p.shape)
    gt.fbp(gt.NumpyProjector(scan, SLICE), p + noise)  # says nothing


def test_warnings_point_at_the_caller() -> None:
    with pytest.warns(gt.TruncationWarning) as seen:
        reconstruct(scan_of("fan", around(), 0.0), gt.sphere(1.3 * RADIUS))
    assert seen[0].filename == __file__


def test_dead_pixels_are_named() -> None:
    scan = scan_of("parallel", 10, 0.0)
    p = DISC.project(scan, dtype=float)
    p[3, 7] = np.nan
    A = gt.NumpyProjector(scan, SLICE)
    with pytest.raises(ArrayError, match=r"projections: view 3, u 7 holds NaN or infinity; repair"):
        gt.fbp(A, p)
    p[5, 60:64] = np.inf
    for algorithm in (gt.fbp, gt.sirt):
        with pytest.raises(ArrayError, match=r"projections: view 3, u 7 .* infinity, as the first of 5; repair"):
            algorithm(A, p)


@pytest.mark.parametrize("units", ["rad", "deg", None])
def test_units_of_angles(units: str | None) -> None:
    angles = np.array([0.3, 1.0, 2.0])
    given = np.rad2deg(angles) if units == "deg" else angles
    det: Any = (SOD, SDD, (2, 9), 1.0)
    for scan in (
        gt.parallel2d(given, 9, units=units),
        gt.parallel3d(given, (2, 9), units=units),
        gt.fan(given, SOD, SDD, 9, 1.0, units=units),
        gt.circular(given, *det, units=units),
        gt.helical(given, None, *det, 5.0, units=units),
    ):
        np.testing.assert_allclose(scan.angles, angles, rtol=1e-15)
    start, middle = (np.rad2deg(x) if units == "deg" else x for x in (0.5, 1.5))
    helix = gt.helical(8, 2, *det, 5.0, start=start, t_ref=middle, units=units)
    assert helix.angles[0] == pytest.approx(0.5)
    assert helix.t_ref == pytest.approx(1.5)
    astra = {"type": "parallel3d", "DetectorRowCount": 2, "DetectorColCount": 9, "DetectorSpacingX": 1.0}
    made = gt.from_astra(astra | {"DetectorSpacingY": 1.0, "ProjectionAngles": given}, units=units)
    np.testing.assert_allclose(made.view_angles, angles)
    with pytest.raises(ParameterError, match="units: 'turns' is not known; give 'rad', 'deg'"):
        gt.parallel2d(given, 9, units="turns")
