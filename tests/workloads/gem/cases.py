"""What GEM's variants run on: atoms in a ball and points around it, in every form of the model and every region."""

from __future__ import annotations

import functools
import itertools
import random

import numpy as np

import gpuopt
from gpuopt import Configuration, _core
from gpuopt.configuration import complete
from gpuopt.problem import BoundPlan, Problem
from gpuopt.workloads.gem import reference as oracle
from gpuopt.workloads.gem.pairs import Scene
from gpuopt.workloads.gem.problem import factorial, staged
from gpuopt.workloads.gem.solvation import Model
from harness import Case, Room, Run, as_it_stands, on, presets

SIZE, LAYER = 10.0, 2.0  # A: of the molecule, and around it up to the ions
MANY = "1029x107"
AWKWARD = ["1x1", "1x131", "37x1", MANY]  # atoms x points

# Heights of points over the surface, A: each region with its borders, and all of them in turn.
INSIDE, STERN, BULK = (-1.2, -4.0, -9.7), (0.0, 0.7, LAYER), (2.1, 3.5)
EVERYWHERE = (*INSIDE, *STERN, *BULK)
ONE_REGION = ("inside", "stern", "bulk")  # whose points are not sorted
HEIGHTS = {"inside": INSIDE, "stern": STERN, "bulk": BULK, "everywhere": EVERYWHERE}

MODELS = {
    f"{phi_type}{', salt' if salt else ''}{', compat' if compat else ''}": Model.of(
        size=SIZE, ion_exclusion=LAYER, salt=salt, phi_type=phi_type, compat=compat
    )
    for phi_type, salt, compat in itertools.product(["total", "reaction", "coulomb"], [0, 0.1], [None, "opendwarfs"])
}
# Differences of the dielectric constants that turn signs, vanish, or leave 1/d out of a sum.
MODELS["like media"] = Model.of(size=SIZE, salt=0.02, epsilon_in=7, epsilon_out=7)
MODELS["like media, reaction"] = Model.of(size=SIZE, salt=0.02, epsilon_in=7, epsilon_out=7, phi_type="reaction")
MODELS["a conductor in oil"] = Model.of(size=SIZE, epsilon_in=80, epsilon_out=2)
SALT = "total, salt"

# Of the sum of the terms' magnitudes. The literal formulas round a dozen times a pair.
TOLERANCE = {"float32": 1e-6, "float64": 1e-13}
LITERAL = {"float32": 4e-6, "float64": 4e-13}
# OpenCL leaves the accuracy of native_rsqrt open: x86 has 12 bits, and a term up to four roots. Errors average out.
NATIVE = 4 * 1.5 * 2.0**-12


@functools.cache
def scene(name: str, atoms: int, points: int, dtype: str, heights: tuple[float, ...]) -> Scene:
    """Atoms in a ball of 8.5 A and points at ``heights`` around it, in turn, far from the coordinates' origin."""
    draw, model = np.random.default_rng(atoms + points), MODELS[name]
    directions = draw.normal(size=(atoms + points, 3))
    directions /= np.linalg.norm(directions, axis=1, keepdims=True)
    inner = 0.85 * SIZE * draw.uniform(size=atoms) ** (1 / 3)
    height, normals, origin = np.resize(heights, points), directions[atoms:], np.array([80.0, -35.0, 20.0])

    def array(values: np.ndarray) -> np.ndarray:
        return np.ascontiguousarray(values, dtype=dtype)

    salt = model.kappa > 0 and model.phi_type != "coulomb"
    return Scene(
        array(origin + directions[:atoms] * inner[:, None]),
        array(draw.uniform(-1, 1, atoms)),
        inner,
        array(origin + (SIZE + height)[:, None] * normals),
        array((LAYER - height)[:, None] * normals) if salt else None,
        SIZE + height,
        model,
    )


@functools.cache
def expected(name: str, atoms: int, points: int, dtype: str, heights: tuple[float, ...]) -> list[np.ndarray]:
    """The potentials; the magnitude that their errors scale with, and that of the formulas as written; and what squares
    of distances lose when they are expanded, a unit in the last place of the largest coordinate's square."""
    given = scene(name, atoms, points, dtype, heights)
    # With compat, points on the sphere are of the inside as it is written, where far larger terms cancel.
    r = np.where(given.r == SIZE, np.nextafter(SIZE, 0), given.r) if given.model.compat else given.r
    written = oracle.magnitude(given.xyz, given.charge, given.points, given.shift, r, given.model, given.inner)
    both = np.concatenate([given.xyz, given.points]).astype(np.float64)
    farthest = ((both - (given.xyz.max(axis=0) + given.xyz.min(axis=0)) / 2) ** 2).sum(axis=1).max()
    apart = np.linalg.norm(given.points[:, None].astype(np.float64) - given.xyz, axis=2)
    lost = farthest * (np.abs(given.charge) / apart**3).sum(axis=1) * given.model.coulomb / given.model.epsilon_in
    return [oracle.minimal(*given.arrays), oracle.magnitude(*given.arrays), written, np.finfo(dtype).eps * lost]


def tolerance(
    configuration: Configuration, atoms: int, dtype: str, magnitude: np.ndarray, written: np.ndarray, lost: np.ndarray
) -> np.ndarray:
    chosen = configuration.parameters
    if configuration.variant == "pairs" and chosen["FORM"] == 0:
        return LITERAL[dtype] * written
    relative = TOLERANCE[dtype]
    if chosen["RSQRT"] == 1 and dtype == "float32":
        relative += NATIVE / np.sqrt(atoms)
    return relative * magnitude + (lost if chosen.get("DISTANCE") else 0)


def label(model: str, size: str = MANY, dtype: str = "float32", heights: str = "everywhere") -> str:
    """The name of a problem."""
    return "; ".join([model, size, dtype, heights])


def make(name: str, configuration: Configuration, device: gpuopt.Device) -> Problem:
    model, size, dtype, heights = name.split("; ")
    atoms, points = map(int, size.split("x"))
    case = model, atoms, points, dtype, HEIGHTS[heights]
    given, (exact, *scales) = scene(*case), expected(*case)

    def prepare(configuration: Configuration, device: gpuopt.Device) -> BoundPlan:
        out = _core.empty((points,), np.dtype(dtype), device, True)
        return BoundPlan(given.prepare(configuration, out), out)

    def allowed(configuration: Configuration) -> np.ndarray:
        return tolerance(configuration, atoms, dtype, *scales)

    sizes, bytes = {"atoms": atoms, "points": points}, given.xyz.nbytes + given.points.nbytes
    usual = allowed(complete("gem", configuration))
    return Problem(
        "gem", name, np.dtype(dtype), sizes, 0, {"scene": given}, exact, usual, bytes, prepare, tolerance_of=allowed
    )


def rules(device: gpuopt.Device, configuration: Configuration, dtype: str) -> list[tuple[bool, str]]:
    """What keeps a configuration from running, and the words that say so."""
    at = complete("gem", configuration).parameters
    root, images = at["RSQRT"], at.get("ATOMS", 0) >= 2
    found = [
        (dtype == "float64" and not device.fp64, "has no fp64"),
        (at.get("LOCAL", 1) > device.max_work_group_size, "a work-group of"),
        (device.local_bytes < 64 * 1024, "bytes of local memory"),
        (root in (2, 4) and "NVIDIA" not in device.vendor, "RSQRT=2 and 4 are written in PTX"),
        (root in (2, 4) and dtype == "float64", "RSQRT=2 and 4 are written for float32"),
    ]
    if configuration.variant == "pairs":
        found += [
            (at["MATH"] == 1 and at["VECTOR"] == 1, "MATH=1 needs VECTOR=2 or 4"),
            (images and at["VECTOR"] == 2, "an image's texels are 4 wide: no VECTOR=2"),
            (at["FORM"] == 1 and at["SPECIALIZED"] == 0, "it needs SPECIALIZED=1"),
            (at["FORM"] == 0 and root != 0, "FORM=0 has no reciprocal root: RSQRT=0"),
            (root == 2 and at["MATH"] == 1, "RSQRT=2 is written for scalars: MATH=0"),
            (images and dtype == "float64", "images hold float32 alone"),
            (images and not device.image_support, "has no images"),
            (images, "texels; "),
        ]
    return found


MAY_FIT = {"bytes of local memory", "texels; "}  # depend on more than is looked at here


def refusals(device: gpuopt.Device, configuration: Configuration, problem: Problem) -> tuple[set[str], set[str]]:
    broken = {words for holds, words in rules(device, configuration, problem.dtype.name) if holds}
    return broken - MAY_FIT, broken & MAY_FIT


# ---------------------------------------------------------------- what is run

# Little to compile for each of a model's eight programs; what else there is to a variant stands in its levels.
LEAN = [
    Configuration("pairs"),
    Configuration("pairs", SPECIALIZED=1, FORM=1, VERTEX=2),
    Configuration("tiled", VERTICES=2, UNROLL=1, LOCAL=64, RSQRT=0),
    Configuration("wide", ROWS=1),
]
BASES = [
    Configuration("pairs", SPECIALIZED=1, FORM=1),
    Configuration("tiled", VERTICES=2, UNROLL=1, LOCAL=64, RSQRT=0, TILE=64),
    Configuration("wide", ROWS=1),
]


def changed(base: Configuration, **levels: int) -> Configuration:
    return Configuration(base.variant, **{**base.parameters, **levels})


def levels_of(variant: str, parameter: str) -> list[int]:
    row = next(row for row in gpuopt.variants("gem") if row.name == variant)
    return next(p.levels for p in row.parameters if p.name == parameter)


def beside(base: Configuration) -> list[Configuration]:
    """Every level of every parameter beside those of ``base``."""
    full = complete("gem", base)
    return [changed(full, **{name: level}) for name in full.parameters for level in levels_of(base.variant, name)]


def papers_switches(configurations: list[Configuration]) -> list[Case]:
    """Inside there is most to go wrong; a program that serves all regions is shown them all."""
    found = []
    for configuration in configurations:
        specialized = configuration.variant != "pairs" or configuration.parameters["SPECIALIZED"]
        found.append((configuration, (label(SALT, heights="inside" if specialized else "everywhere"),)))
    return found


def drawn() -> list[Case]:
    """Some draws from all combinations of levels; loops that are written out only so far that they compile at once."""
    found: dict[Configuration, list[str]] = {}
    for row in gpuopt.variants("gem"):
        draw = random.Random(row.name)
        for _ in range(5):
            levels = {p.name: draw.choice(p.levels) for p in row.parameters}
            for name in levels.keys() & {"UNROLL", "VERTICES", "ROWS"}:
                levels[name] = min(levels[name], 2)
            if levels.get("FORM") == 1:
                levels["SPECIALIZED"] = 1
            if levels.get("FORM") == 0:
                levels["RSQRT"] = 0
            configuration = Configuration(row.name, **levels)
            case = random.Random(str(configuration))
            model, heights = case.choice(list(MODELS)), case.choice(ONE_REGION)
            sizes = [MANY, case.choice(AWKWARD)]
            found[configuration] = [label(model, size, heights=heights) for size in dict.fromkeys(sizes)]
    return list(found.items())


EVERY_MODEL = {
    model: [*(label(model, size) for size in AWKWARD), *(label(model, "37x5", heights=at) for at in ONE_REGION)]
    for model in MODELS
}
EXPANDED = Configuration("tiled", VERTICES=1, UNROLL=1, LOCAL=64, RSQRT=0, PARTS=1)
EXPANDED_ON = [
    *(label(SALT, size) for size in AWKWARD),
    *(label("total", size, heights="stern") for size in AWKWARD),
    label(SALT, dtype="float64", heights="inside"),
]
LITERAL_ON = [*(label(model, size) for model in (SALT, "reaction") for size in AWKWARD)]
LITERAL_ON.append(label("coulomb", heights="bulk"))
PRESETS = presets("gem")
CELLS = random.Random("cells").sample([cell for cell in [*factorial(), *staged()] if cell not in PRESETS], 56)
# What splitting makes of the flags: region, salt and kind of potential, as the paper's 16 kernels have them.
SPLIT_ON = [
    label(f"{phi_type}{salt}", "37x131", heights=heights)
    for phi_type, salt, heights in itertools.product(["total", "reaction", "coulomb"], ["", ", salt"], ONE_REGION)
]


def split() -> list[Case]:
    """Splitting alone in all of them; each preset that has it in three, in turn, so that together they meet all."""
    alone, *others = [preset for preset in PRESETS if preset.parameters["SPECIALIZED"]]
    turns = itertools.cycle(SPLIT_ON)
    return [(alone, SPLIT_ON), *((preset, [next(turns) for _ in range(3)]) for preset in others)]


ROOM = Room(
    make,
    {
        "sizes": Run([(base, names) for base in LEAN for names in EVERY_MODEL.values()], thin=4),
        "doubles": Run(
            [(base, [label(model, n, "float64") for n in AWKWARD]) for base in LEAN for model in (SALT, "coulomb")],
            thin=3,
        ),
        "expanded": Run([(changed(EXPANDED, DISTANCE=level), EXPANDED_ON) for level in (1, 2)], thin=2),
        "literal": Run([(Configuration("pairs", SPECIALIZED=1, REGISTER_SUM=1), LITERAL_ON)]),
        "stands": Run(on(label("total", heights="stern"), map(as_it_stands, gpuopt.variants("gem")))),
        "presets": Run(papers_switches(PRESETS)),
        "splitting": Run(split()),
        "factorial": Run(papers_switches(CELLS), thin=3),
        "levels": Run(
            on(label("total", heights="inside"), dict.fromkeys(itertools.chain(*map(beside, BASES)))), thin=3
        ),
        "drawn": Run(drawn(), thin=2),
        "roots": Run(
            [
                (changed(base, RSQRT=level), [label(SALT, dtype="float64", heights="inside")])
                for base in BASES[1:]
                for level in levels_of(base.variant, "RSQRT")
            ]
        ),
        # More parts of the atoms than there are tiles, and numbers that do not divide these.
        "parts": Run(
            [
                (changed(BASES[1], PARTS=parts), [label(SALT, size, heights="inside")])
                for size in ("1x1", "700x3", "4100x300")
                for parts in (1, 2, 8, 128)
            ]
        ),
    },
    refusals,
)
