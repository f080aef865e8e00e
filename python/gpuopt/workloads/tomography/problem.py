"""Problems of back projection: random projections of a scan, and what the oracle makes of them at voxels spread over
the volume."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from gpuopt import _core
from gpuopt._core import Device, ParameterError
from gpuopt.checked import checked
from gpuopt.configuration import Configuration
from gpuopt.problem import BoundPlan, Problem, guarded_output
from gpuopt.selection import Selector, select
from gpuopt.tomo import Geometry, Volume, back_project, circular, from_vectors, helical, on_device, parallel2d
from gpuopt.workloads.common import memory, rounding
from gpuopt.workloads.common.on_devices import OnDevices
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.peers import peers
from gpuopt.workloads.tomography.reference_inputs import reference_inputs

FAMILY = on_device.FAMILY
CHECKED = 2000  # At most so many voxels are held against the reference.
TEXTURE_STEP = 1 / 256  # A texture unit rounds places between pixels to multiples of this.
PLACE_ROUNDINGS = 8  # A place on the detector may be off by so many roundings of its longer side, in fp32.
SEEN_ROUNDINGS = 14  # A sum of ones over a few views, times their weights, is off by so many roundings at most.
_BLOCK = 1 << 22  # So many random numbers are drawn; longer data repeat them.


@dataclass(frozen=True)
class Case:
    """A scan of given counts: the volume's ``shape`` (z, y, x), ``views``, and the detector ``det`` (rows, columns)."""

    name: str
    shape: tuple[int, int, int]
    views: int
    det: tuple[int, int]
    arc: bool
    """Whether it is the helix with a curved detector assumed for Jang et al. 2009; else a circle with a flat one."""
    turns: float = 1.0

    def scan(self) -> tuple[Geometry, Volume]:
        """The geometry and the volume."""
        if self.arc:
            pixel, pitch = (1.0947, 1.2858), 23.0
            return helical(self.views, self.turns, 595, 1085.6, self.det, pixel, pitch, curved=True), Volume(self.shape)
        # Whatever the counts: a volume 256 mm wide, a detector as large as 960 x 1248 pixels of 0.32 mm.
        pixel = (0.32 * 960 / self.det[0], 0.32 * 1248 / self.det[1])
        return circular(self.views, 750, 1200, self.det, pixel), Volume(self.shape, 256 / self.shape[2])


# Images 1 and 2 of Table 3 of Jang et al. 2009, taken to be those of its Figures 10 and 11.
ASSUMED = (
    "the paper prints no geometry: assumed are a helix of 595 mm about the axis, 23 mm a turn, with 736 x 64 pixels "
    "on an arc 1085.6 mm about the source, and voxels of 1 mm"
)
HEART = Case("I1", (63, 100, 100), 792, (64, 736), True, turns=4)
SLICES = Case("I2", (3, 260, 260), 1160, (64, 736), True, turns=2)
CALLS = ("paper:naive", "paper:alu", "paper:vector_output")  # whole calls that are timed with their transfers
UNEQUAL = (0.9, 1.25, 1.0)  # Edges of a voxel along z, y and x, as shares of what they are elsewhere.
FEWER_VIEWS = 192  # A CPU is given one in so many of their views, unless it is asked for all.


def cube(n: int, views: int = 496, rows: int = 960, columns: int = 1248) -> Case:
    """The case of n^3 voxels by which back projectors are commonly compared."""
    return Case(f"cube{n}", (n, n, n), views, (rows, columns), False)


@checked
def back_projection(
    case: str | Case = "I1",
    weight: str = "none",
    seed: int = 0,
    device: Selector = None,
    max_bytes: int | None = None,
) -> Problem:
    """Return the back projection of a case.

    ``case`` is "I1" or "I2" of Jang et al. 2009 (where ``device`` is a CPU with one in 192 of their views; "I1full" and
    "I2full" with all, "I1:N" and "I2:N" with N); a number "N", for N^3 voxels and 496 views of 960 x 1248; "cube", for
    512^3 voxels, or a small cube where ``device`` is a CPU; "NxVIEWSxROWSxCOLUMNS"; or "slice", 180 parallel views of a
    plane of 256 x 256.
    ``weight`` is one of :data:`gpuopt.tomo.operators.WEIGHTS`.

    Projections are random in [0, 1), float32, drawn from ``seed``; up to 2000 voxels are held against fp64. The counts
    of "cube" are halved until the problem fits half of the free memory, those of any cube with ``max_bytes`` until it
    fits these bytes; ``notes`` says so. Raises ParameterError, also for counts that do not fit, before any data are
    made.

    Examples
    --------
    >>> problem = problems.back_projection("8x6x4x12")
    >>> problem.inputs["projections"].shape, problem.inputs["volume"].shape, problem.counted
    ((6, 4, 12), (8, 8, 8), {'update': 3072.0})
    """
    name, geometry, volume, notes = scan_of(case, device, max_bytes)
    return of_scan(name, geometry, volume, weight, seed, notes)


def scan_of(
    case: str | Case, device: Selector = None, max_bytes: int | None = None
) -> tuple[str, Geometry, Volume, list[str]]:
    """Return the name, scan and volume of a case that fits the memory, and notes; arguments as of
    :func:`back_projection`."""
    chosen = None if device is None else select(device)
    if case == "slice":
        # Where scikit-image's iradon has its pixels.
        scan, plane = parallel2d(180, 363), Volume((256, 256), 1.0, -0.5)
        needs = _needed(plane.size, scan.views, 1, scan.detector.columns)
        memory.check("case", "slice", needs, chosen, max_bytes=max_bytes)
        return "slice", scan, plane, []
    given, notes = _case(case, chosen) if isinstance(case, str) else (case, [])
    if given.arc:
        notes = [*notes, ASSUMED]
        needs = _needed(math.prod(given.shape), given.views, *given.det)
        memory.check("case", str(case), needs, chosen, max_bytes=max_bytes)
    else:
        counts = (given.shape[0], given.views, *given.det)
        # A name such as "cube" asks for no counts: it may stand for smaller ones.
        argument = "case" if not isinstance(case, str) or case[0].isdigit() else None
        fitted, notes = memory.fit(counts, _needs, _halved, chosen, max_bytes, argument)
        if fitted != counts:
            given = cube(*fitted)
    return given.name, *given.scan(), notes


def of_scan(  # long: the plan, its reference and what makes it awkward share the geometry
    name: str,
    geometry: Geometry,
    volume: Volume,
    weight: str = "none",
    seed: int = 0,
    notes: Sequence[str] = (),
    most: int = CHECKED,
    ones: bool = False,
) -> Problem:
    """Return the back projection of any scan, of which ``most`` voxels at most are held against the reference; with
    ``ones``, of ones, for voxels that all views see. Raises ParameterError where scan and volume do not belong
    together."""
    geometry.check(volume)
    if weight not in oracle.WEIGHTS:
        raise ParameterError(f"weight: {weight!r} is not known; give one of {', '.join(map(repr, oracle.WEIGHTS))}")
    random = np.random.default_rng(seed)
    pixels = math.prod(geometry.shape)
    drawn = np.ones(1, np.float32) if ones else random.random(min(pixels, _BLOCK), dtype=np.float32)
    projections = np.resize(drawn, geometry.shape)
    checked = spread(volume.size, most, random)
    detector = (geometry.detector.rows, geometry.detector.columns)
    scan, grid = reference_inputs(geometry, volume)
    points = grid.centres(checked)
    reference = oracle.back_project_at(scan, grid, projections.reshape(geometry.views, *detector), points, weight)
    weights = sum(oracle.weights_at(scan, grid, points, view, weight) for view in range(geometry.views))
    known = on_device.input_properties_of(on_device.kernel_geometry(geometry, volume), volume)
    rounded = (geometry.views + 16) * rounding.unit_roundoff("float32")
    off = PLACE_ROUNDINGS * max(detector) * rounding.unit_roundoff("float32")

    def tolerance(configuration: Configuration) -> np.ndarray:
        """Neighbouring pixels differ by up to 1: an error of the place along u or v changes a value by as much."""
        if ones:
            return np.asarray(weights * SEEN_ROUNDINGS * rounding.unit_roundoff("float32"))
        texture = TEXTURE_STEP / 2 if configuration.variant == "image" else 0.0
        return np.asarray(weights * (2 * (off + texture) + rounded))

    return Problem(
        workload="tomography",
        name="_".join([name, *([weight] if weight != "none" else [])]),
        dtype=np.dtype(np.float32),
        sizes={
            **dict(zip("zyx"[3 - volume.ndim :], volume.shape, strict=True)),
            "views": geometry.views,
            "rows": detector[0],
            "columns": detector[1],
            "checked": len(checked),
        },
        seed=seed,
        inputs={"projections": projections, "geometry": geometry, "volume": volume, "weight": weight},
        reference=reference,
        tolerance=tolerance(Configuration("buffer")),
        tolerance_of=tolerance,
        footprint_bytes=4 * (pixels + volume.size),
        prepare=_prepare(projections, geometry, volume, weight),
        notes=[*notes, f"{len(checked):,} of the {volume.size:,} voxels are held against the reference"],
        checked=checked,
        counted={"update": float(volume.size) * geometry.views},
        input_properties=known,
        calls=_calls(projections, geometry, volume, weight) if known["equiangular"] else {},
        family=FAMILY,
        peers=peers,
        awkward=functools.cache(lambda: awkward(geometry, weight)),
    )


def awkward(geometry: Geometry, weight: str) -> list[Problem]:
    """Return small problems of a scan's kind: nothing that groups or vectors divide, with voxels of unequal edges that
    the detector does not see; 48 x 53 voxels, whole vectors and a rest, and more views than a launch takes at once; a
    detector that leans; and the first of ones, all seen, where an error of the sum shows."""
    scans: list[tuple[Geometry, Volume]]
    inside: tuple[Geometry, Volume]
    if geometry.dimensions == 2:
        scans = [(parallel2d(7, 71), Volume((71, 39))), (parallel2d(3, 99), Volume((48, 48)))]
        inside = parallel2d(7, 71), Volume((23, 39), 1.0)
    else:
        arc = geometry.radius is not None
        case = Case("awkward", (39, 13, 71), 7, (23, 71), arc, turns=1.3)
        scan, volume = case.scan()
        edges = Volume(volume.shape, tuple(share * edge for share, edge in zip(UNEQUAL, volume.voxel, strict=True)))
        scans = [(scan, edges), replace(case, shape=(3, 48, 53), views=67).scan()]
        inside = replace(case, det=(64, 71)).scan()[0], Volume((7, 13, 23), 0.2)
    every = max(volume.size for _, volume in scans)
    made = [of_scan(f"awkward{number}", *each, weight, number, most=every) for number, each in enumerate(scans)]
    if geometry.dimensions == 3 and not arc:
        lying = "none" if weight == "fdk" else weight  # which is for circles
        made.append(of_scan("awkward_leaning", turned(scan, 0.3, 0.2), edges, lying, most=every))
    return [*made, of_scan("awkward_ones", *inside, weight, ones=True)]


def turned(scan: Geometry, about_x: float, about_y: float) -> Geometry:
    """Return a scan with a flat detector turned as a whole, in radians, about x and then about y."""
    cx, sx, cy, sy = math.cos(about_x), math.sin(about_x), math.cos(about_y), math.sin(about_y)
    turn = np.array([[cy, 0, sy], [0, 1, 0], [-sy, 0, cy]]) @ np.array([[1, 0, 0], [0, cx, -sx], [0, sx, cx]])
    source, *others = (vectors @ turn.T for vectors in scan.frames)
    rays = -source if scan.parallel else source  # ASTRA has the direction that they go in
    kind = "parallel3d_vec" if scan.parallel else "cone_vec"
    return from_vectors(np.concatenate([rays, *others], axis=1), (scan.detector.rows, scan.detector.columns), kind)


def _calls(
    projections: np.ndarray, geometry: Geometry, volume: Volume, weight: str
) -> dict[str, Callable[[Device], Callable[[], np.ndarray]]]:
    """The paper's steps from NumPy arrays to NumPy arrays, copies to the device and back included."""

    def called(preset: str, device: Device) -> Callable[[], np.ndarray]:
        return lambda: back_project(projections, geometry, volume, weight, variant=preset, device=device).ravel()

    return {f"back_project(p, variant={preset!r})": partial(called, preset) for preset in CALLS}


def _prepare(
    projections: np.ndarray, geometry: Geometry, volume: Volume, weight: str
) -> Callable[[Configuration, Device], BoundPlan]:
    scan = on_device.kernel_geometry(geometry, volume)
    weighted = on_device.kernel_weight(geometry, weight)
    held = OnDevices(lambda device: _core.to_device(projections, device))

    def prepare(configuration: Configuration, device: Device) -> BoundPlan:
        out = guarded_output((volume.size,), np.dtype(np.float32), device)
        return BoundPlan(on_device.plan_back_projection(scan, held(device), out, *weighted, False, configuration), out)

    return prepare


def _case(text: str, device: Device | None) -> tuple[Case, list[str]]:
    on_cpu = device is not None and device.type == "cpu"
    for case in (HEART, SLICES):
        fewer = re.fullmatch(rf"{case.name}:([1-9]\d{{0,17}})", text)
        if fewer or (text == case.name and on_cpu):
            views = int(fewer[1]) if fewer else case.views // FEWER_VIEWS
            note = f"{views} of the paper's {case.views} views, over the same turns"
            note += "" if fewer else ": a CPU would take long for all"
            return replace(case, name=f"{case.name}_{views}views", views=views), [note]
        if text in (case.name, f"{case.name}full"):
            return case, []
    if text == "cube":
        return (cube(64, 31, 80, 104) if on_cpu else cube(512)), []
    if not re.fullmatch(r"[1-9]\d{0,17}(x[1-9]\d{0,17}){3}|[1-9]\d{0,17}", text):
        raise ParameterError(
            f"case: {text!r} is not known; give I1, I2, I1:VIEWS, cube, slice, N for N^3 voxels, or "
            "NxVIEWSxROWSxCOLUMNS"
        )
    return cube(*map(int, text.split("x"))), []


def _halved(counts: tuple[int, ...]) -> tuple[int, ...]:
    return tuple(max(1, count // 2) for count in counts)


def _needs(counts: tuple[int, ...]) -> memory.Needs:
    return _needed(counts[0] ** 3, *counts[1:])


def _needed(volume: int, views: int, rows: int, columns: int) -> memory.Needs:
    pixels, voxels = 4 * views * rows * columns, 4 * volume
    # On the device the projections are copied, to images or with zeros around them; each plan has a volume of its own.
    host, largest = pixels + 2 * voxels + 64 * rows * columns, max(pixels, voxels)
    return memory.Needs(host=host, device=3 * pixels + 6 * voxels, largest=largest)


def spread(count: int, most: int, random: np.random.Generator) -> np.ndarray:
    """Indices below ``count``: one drawn at random from each of ``most`` equal ranges, with the first and the last; all
    where they are no more."""
    if count <= most:
        return np.arange(count)
    places = ((np.arange(most) + random.random(most)) * count / most).astype(np.int64)
    places = np.minimum(places, count - 1)
    places[0], places[-1] = 0, count - 1
    return places
