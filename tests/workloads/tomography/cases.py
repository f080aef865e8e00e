"""What projectors run on: back projectors on scans of every kind, those along rays on several groups of them."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable

import numpy as np

import gpuopt
import rays
from gpuopt import Configuration, _core
from gpuopt import tomo as gt
from gpuopt.lab.timing.fields import VerifiedErrors
from gpuopt.problem import BoundPlan, Problem
from gpuopt.tomo import on_device
from gpuopt.workloads.tomography import problem as made
from gpuopt.workloads.tomography import reference as oracle
from gpuopt.workloads.tomography.reference_inputs import reference_inputs
from harness import Case, Room, Run, as_it_stands, draws, every_level, on, presets

BACK = {variant.name for variant in gpuopt.variants("tomography") if variant.family == made.FAMILY}
PAPER = {"naive", "intrinsics", "alu", "vector_input", "vector_output"}  # whose geometry is an arc about the source
VOLUME = gt.Volume((9, 14, 17), (1.5, 1.2, 1.1), (3, -2, 1))
SLICE = gt.Volume((21, 18), (1.2, 1.1), (-2, 1))
FLAT = {"sod": 60, "sdd": 95, "det": (11, 16), "pixel": (1.6, 1.4)}  # does not see the volume's edges
ARC = FLAT | {"curved": True}


def tilted(views: int = 9, parallel: bool = False, radius: float | None = None) -> gt.Geometry:
    """Views of free vectors whose rows are not parallel to z, each a little different."""
    circle = gt.circular(views, **(FLAT if radius is None else ARC), offset=(1.5, -2))
    draw = np.random.default_rng(views)
    turns = [np.linalg.qr(np.eye(3) + 0.1 * draw.standard_normal((3, 3)))[0] for _ in range(views)]
    turns = [turn * np.sign(np.diag(turn)) for turn in turns]
    vectors = np.concatenate([np.einsum("vij,vj->vi", turns, frame) for frame in circle.frames], axis=1)
    if radius is not None:
        table = np.concatenate([vectors, np.full((views, 1), radius)], axis=1)
        return gt.from_vectors(table, FLAT["det"], "cyl_cone_vec")  # type: ignore[attr-defined]
    return gt.from_vectors(vectors, FLAT["det"], "parallel3d_vec" if parallel else "cone_vec")  # type: ignore[attr-defined]


SCANS: dict[str, Callable[[], tuple[gt.Geometry, gt.Volume]]] = {
    "parallel-2d": lambda: (gt.parallel2d(13, 19, 1.3, 0.7), SLICE),
    "fan-flat": lambda: (gt.fan(13, 60, 95, 31, 1.2, offset=2.0), SLICE),
    "fan-arc": lambda: (gt.fan(13, 60, 95, 31, 1.2, curved=True, offset=2.0), SLICE),
    "fan-radius": lambda: (gt.fan(7, 60, 95, 31, 1.2, radius=40, offset=2.0), SLICE),
    "parallel": lambda: (gt.parallel3d(13, (11, 16), (1.6, 1.4), (2, -1)), VOLUME),
    "circle": lambda: (gt.circular(13, **FLAT, offset=(2, -3)), VOLUME),
    "helix": lambda: (gt.helical(37, 2.5, **FLAT, pitch=-6), VOLUME),
    "helix-arc": lambda: (gt.helical(37, 2.5, **ARC, pitch=6, offset=(1, 4)), VOLUME),
    "helix-radius": lambda: (gt.helical(11, 1.5, **FLAT, pitch=6, radius=70), VOLUME),
    "almost-flat": lambda: (gt.circular(11, **FLAT, radius=1e6), VOLUME),
    "one-view": lambda: (gt.circular(1, **FLAT), VOLUME),
    "one-voxel": lambda: (gt.circular(5, **FLAT), gt.Volume((1, 1, 1), 2.0)),
    "tilted": lambda: (tilted(), VOLUME),
    "tilted-parallel": lambda: (tilted(parallel=True), VOLUME),
    "tilted-arc": lambda: (tilted(radius=95), VOLUME),
    "tilted-radius": lambda: (tilted(radius=50), VOLUME),
}


@functools.cache
def back_problem(scan: str, weight: str = "adjoint") -> Problem:
    return made.of_scan(scan, *SCANS[scan](), weight)


ARCS = ("fan-arc", "helix-arc")  # the geometry assumed for Jang et al. 2009


def meetings(scans: Iterable[str], variants: Iterable[str]) -> list[tuple[str, str]]:
    """Variants with the scans that they are for."""
    return [(variant, scan) for variant in variants for scan in scans if is_for(variant, scan)]


def is_for(variant: str, scan: str) -> bool:
    return scan in ARCS if variant in PAPER else variant != "columns" or not scan.startswith("tilted")


# ---------------------------------------------------------------- along rays

# Several groups along z and two blocks of views; groups of few slices, which note where more views lie than they have
# work-items; rows that fall.
RAYS: dict[str, rays.Scan] = {
    **rays.SCANS,
    "tall": (gt.circular(70, 60, 95, (40, 12), (1.9, 1.8)), gt.Volume((140, 7, 9), (0.9, 1.2, 1.1))),
    "low": (gt.circular(70, 60, 95, (5, 12), (1.6, 1.8), offset=(1.0, -0.7)), gt.Volume((3, 7, 37), (0.9, 1.2, 0.5))),
}


def falling() -> rays.Scan:
    circle, volume = gt.circular(9, 60, 95, (16, 12), (2.4, 1.8)), gt.Volume((20, 7, 9), (0.6, 1.2, 1.1))
    source, centre, column, row = circle.frames
    return gt.from_vectors(np.concatenate([source, centre, column, -row], axis=1), (16, 12)), volume


RAYS["falling"] = falling()
# Of a result's root mean square: sums of mean 0 round by up to 2.3e-5 of it on CPUs. A texture unit's places are whole
# 256ths of a voxel: up to 0.058 of it for one ray (H200, 2026-11).
ROUNDED, TEXTURE = 5e-5, 1e-1


@functools.cache
def projected(scan: str, to_image: bool) -> tuple[np.ndarray, np.ndarray]:
    """What is projected, and what the oracle makes of it."""
    (x, y), same = rays.random(RAYS[scan]), reference_inputs(*RAYS[scan])
    return (y, oracle.joseph_adjoint(*same, y)) if to_image else (x, oracle.joseph(*same, x))


FAMILIES = {variant.name: variant.family for variant in gpuopt.variants("tomography")}


def ray_problem(scan: str, configuration: Configuration, device: gpuopt.Device) -> Problem:
    family = FAMILIES[configuration.variant]
    given, expected = projected(scan, family == "adjoint")
    texture = configuration.variant == "joseph_image" and device.type != "cpu"
    allowed = (TEXTURE if texture else ROUNDED) * np.sqrt(np.mean(expected**2))
    kernels = on_device.kernel_geometry(*RAYS[scan])

    def prepare(configuration: Configuration, device: gpuopt.Device) -> BoundPlan:
        out, taken = _core.empty(expected.shape, rays.FLOAT, device, True), gpuopt.to_device(given, device)
        image, data = (out, taken) if family == "adjoint" else (taken, out)
        name, parameters = configuration.variant, configuration.parameters
        plan = _core.prepare_joseph(None, image, data, kernels, accumulate=False, variant=name, parameters=parameters)
        return BoundPlan(plan.prepared, out)

    sizes = {"given": given.size, "result": expected.size}
    return Problem(
        "tomography", scan, rays.FLOAT, sizes, 0, {}, expected, np.asarray(allowed), 0, prepare, family=family
    )


# ---------------------------------------------------------------- what is run


def make(name: str, configuration: Configuration, device: gpuopt.Device) -> Problem:
    """Of a scan and a weight for back projectors, of `rays` and a scan for the others."""
    first, second = name.split()
    return ray_problem(second, configuration, device) if first == "rays" else back_problem(first, second)


def of(family: str, configurations: Iterable[Configuration]) -> list[Configuration]:
    return [configuration for configuration in configurations if FAMILIES[configuration.variant] == family]


def named(variant: str, configurations: Iterable[Configuration]) -> list[Configuration]:
    return [configuration for configuration in configurations if configuration.variant == variant]


LEVELS, DRAWS = every_level("tomography"), draws("tomography")
GATHERS = zip(named("joseph_gather", DRAWS), itertools.cycle(["tall", "low", "falling"]), strict=False)
WEIGHED = meetings(["circle", "helix-arc", "fan-flat", "fan-arc", "tilted"], ["image", "buffer", "columns", "alu"])
STANDARD = {variant.name: as_it_stands(variant) for variant in gpuopt.variants("tomography")}
# Tilted detectors with several rays a work-item, whose main axes differ.
LEANING = {"LOCAL_U": 8, "LOCAL_V": 4, "RAYS": 2, "UNROLL": 1}


def drawn(configuration: Configuration) -> Case:
    return configuration, ["tilted adjoint" if is_for(configuration.variant, "tilted") else "helix-arc adjoint"]


def near_as_a_whole(
    device: gpuopt.Device, configuration: Configuration, plan: BoundPlan, errors: VerifiedErrors
) -> None:
    """Along rays the whole result is nearer than its worst element: in the Frobenius norm."""
    if FAMILIES[configuration.variant] != made.FAMILY:
        texture = configuration.variant == "joseph_image" and device.type != "cpu"
        assert errors["l2_rel"] < (5e-3 if texture else 5e-6), configuration


ROOM = Room(
    make,
    {
        "sizes": Run(
            [(STANDARD[variant], [f"{scan} adjoint"]) for variant, scan in meetings(SCANS, sorted(BACK))]
            + [(STANDARD[variant], ["rays cone"]) for variant in ("joseph", "joseph_image", "joseph_gather")]
            + [(STANDARD["joseph_gather_any"], ["rays steep"]), (STANDARD["joseph_planes"], ["rays slice"])],
            thin=2,
        ),
        "weights": Run(
            [(STANDARD[name], [f"{scan} {weight}"]) for name, scan in WEIGHED for weight in oracle.WEIGHTS], thin=4
        ),
        "levels": Run(on("helix-arc adjoint", of(made.FAMILY, LEVELS)), thin=6),
        "drawn": Run([drawn(configuration) for configuration in of(made.FAMILY, DRAWS)[::2]], thin=3),
        "presets": Run(on("helix-arc adjoint", presets("tomography")) + on("fan-arc adjoint", presets("tomography"))),
        "forward": Run(on("rays cone", of("forward", LEVELS)[::2]), thin=6),
        # Half of the levels, and few on other devices: PoCL builds some of them in half a minute.
        "gathers": Run(on("rays tall", named("joseph_gather", LEVELS)[1::2]), thin=6),
        "mixed": Run([(configuration, [f"rays {scan}"]) for configuration, scan in GATHERS], thin=6),
        "planes": Run(on("rays plane", named("joseph_planes", LEVELS))),
        "any": Run(on("rays low", named("joseph_gather_any", LEVELS)[::2]), thin=3),
        "leaning": Run(
            [
                (Configuration(variant, **LEANING), [f"rays {scan}"])
                for scan in ("fan", "steep", "wide", "cone_vec")
                for variant in ("joseph", "joseph_image")
            ],
            thin=4,
        ),
    },
    also=near_as_a_whole,
)
