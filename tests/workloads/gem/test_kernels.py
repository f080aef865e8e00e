"""Every GEM variant, level and combination of the paper's switches in every form of the model, held against fp64."""

from __future__ import annotations

import functools
import itertools
import random
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import Configuration, _core, papers
from gpuopt.configuration import complete
from gpuopt.workloads.gem import reference as oracle
from gpuopt.workloads.gem.pairs import Scene
from gpuopt.workloads.gem.problem import factorial
from gpuopt.workloads.gem.solvation import Model

SIZE, LAYER = 10.0, 2.0  # A: of the molecule, and around it up to the ions
AWKWARD = [(1, 1), (1, 131), (37, 1), (1029, 107)]  # atoms, points
MANY = AWKWARD[-1]

# Heights of points over the surface, A: each region with its borders, and all of them in turn.
INSIDE, STERN, BULK = (-1.2, -4.0, -9.7), (0.0, 0.7, LAYER), (2.1, 3.5)
EVERYWHERE = (*INSIDE, *STERN, *BULK)

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

Rule = tuple[bool, str]


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
        array(inner),
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


def check(
    device: gpuopt.Device,
    configuration: Configuration,
    name: str,
    size: tuple[int, int] = MANY,
    dtype: str = "float32",
    heights: tuple[float, ...] = EVERYWHERE,
) -> None:
    """Asserts potentials within tolerance, all of them written and nothing beside them. Raises UnsupportedError."""
    configuration, case = complete("gem", configuration), (name, *size, dtype, heights)
    out = _core.empty((size[1],), np.dtype(dtype), device, True)
    out.fill_bytes(0xFF)
    scene(*case).prepare(configuration, out).run()
    exact, *scales = expected(*case)
    error = np.abs(out.to_numpy() - exact) / tolerance(configuration, size[0], dtype, *scales)
    worst = int(np.argmax(np.where(np.isnan(error), np.inf, error)))
    assert error[worst] <= 1, f"{configuration}, {case}: {error[worst]:.3g} of what point {worst} may be off"
    assert out.guards_intact()


def rules(device: gpuopt.Device, configuration: Configuration, dtype: str) -> list[Rule]:
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


def check_or_refused(device: gpuopt.Device, configuration: Configuration, name: str, **case: Any) -> None:
    """A configuration gives the right potentials, or is refused for a rule that it breaks."""
    broken = {words for holds, words in rules(device, configuration, case.get("dtype", "float32")) if holds}
    refused = ""
    try:
        check(device, configuration, name, **case)
    except gpuopt.UnsupportedError as error:
        refused = str(error)
    if refused or broken - MAY_FIT:
        assert any(words in refused for words in broken), f"{configuration}: {refused or 'not refused'}"


# ---------------------------------------------------------------- every form of the model


def short(configuration: Configuration) -> str:
    """Without what is at its standard level."""
    usual = complete("gem", Configuration(configuration.variant)).parameters
    beside = {name: level for name, level in configuration.parameters.items() if level != usual[name]}
    return str(Configuration(configuration.variant, **beside))


# Little to compile for each of a model's eight programs; what else there is to a variant stands in its levels.
LEAN = [
    Configuration("pairs"),
    Configuration("pairs", SPECIALIZED=1, FORM=1, VERTEX=2),
    Configuration("tiled", VERTICES=2, UNROLL=1, LOCAL=64, RSQRT=0),
    Configuration("wide", ROWS=1),
]


@pytest.mark.thin(4)
@pytest.mark.parametrize("name", MODELS)
@pytest.mark.parametrize("configuration", LEAN, ids=short)
def test_every_model_at_awkward_sizes(device: gpuopt.Device, configuration: Configuration, name: str) -> None:
    for size in AWKWARD:
        check(device, configuration, name, size)
    for heights in (INSIDE, STERN, BULK):  # one region alone is not sorted
        check(device, configuration, name, (37, 5), heights=heights)


@pytest.mark.thin(3)
@pytest.mark.parametrize("name", [SALT, "coulomb"])
@pytest.mark.parametrize("configuration", LEAN, ids=short)
def test_double_precision_at_awkward_sizes(device: gpuopt.Device, configuration: Configuration, name: str) -> None:
    if not device.fp64:
        pytest.skip(f"{device.name} has no fp64")
    for size in AWKWARD:
        check(device, configuration, name, size, "float64")


@pytest.mark.thin(2)
@pytest.mark.parametrize("level", [1, 2])
def test_expanded_squares_at_awkward_sizes(device: gpuopt.Device, level: int) -> None:
    configuration = Configuration("tiled", VERTICES=1, UNROLL=1, LOCAL=64, RSQRT=0, PARTS=1, DISTANCE=level)
    for size in AWKWARD:
        check(device, configuration, SALT, size)
        check(device, configuration, "total", size, heights=STERN)
    if device.fp64:
        check(device, configuration, SALT, dtype="float64", heights=INSIDE)


def test_every_model_by_specialized_literal_formulas(device: gpuopt.Device) -> None:
    configuration = Configuration("pairs", SPECIALIZED=1, REGISTER_SUM=1)
    for name, size in itertools.product([SALT, "reaction"], AWKWARD):
        check(device, configuration, name, size)
    check(device, configuration, "coulomb", heights=BULK)


# ---------------------------------------------------------------- the paper's switches


def heights_of(configuration: Configuration) -> tuple[float, ...]:
    """Inside there is most to go wrong; a program that serves all regions is shown them all."""
    specialized = configuration.variant != "pairs" or complete("gem", configuration).parameters["SPECIALIZED"]
    return INSIDE if specialized else EVERYWHERE


@pytest.mark.thin(3)
@pytest.mark.parametrize("configuration", factorial(), ids=short)
def test_the_papers_switches_combined(device: gpuopt.Device, configuration: Configuration) -> None:
    check_or_refused(device, configuration, SALT, heights=heights_of(configuration))


@pytest.mark.parametrize("preset", papers.figures("gem"))
def test_the_papers_presets(device: gpuopt.Device, preset: str) -> None:
    configuration = papers.preset("gem", preset)
    check_or_refused(device, configuration, SALT, heights=heights_of(configuration))


# ---------------------------------------------------------------- every level

BASES = [
    Configuration("pairs", SPECIALIZED=1, FORM=1),
    Configuration("tiled", VERTICES=2, UNROLL=1, LOCAL=64, RSQRT=0, TILE=64),
    Configuration("wide", ROWS=1),
]


def beside(base: Configuration) -> list[Configuration]:
    """Every level of every parameter beside those of ``base``."""
    row, levels = next(v for v in gpuopt.variants("gem") if v.name == base.variant), complete("gem", base).parameters
    return [Configuration(row.name, **{**levels, p.name: level}) for p in row.parameters for level in p.levels]


def draws() -> list[Configuration]:
    """Some draws from all combinations of levels; loops that are written out only so far that they compile at once."""
    found = []
    for row in gpuopt.variants("gem"):
        draw = random.Random(row.name)
        for _ in range(5):
            drawn = {p.name: draw.choice(p.levels) for p in row.parameters}
            for name in drawn.keys() & {"UNROLL", "VERTICES", "ROWS"}:
                drawn[name] = min(drawn[name], 2)
            if drawn.get("FORM") == 1:
                drawn["SPECIALIZED"] = 1
            if drawn.get("FORM") == 0:
                drawn["RSQRT"] = 0
            found.append(Configuration(row.name, **drawn))
    return list(dict.fromkeys(found))


@pytest.mark.thin(3)
@pytest.mark.parametrize("configuration", dict.fromkeys(itertools.chain(*map(beside, BASES))), ids=short)
def test_every_level(device: gpuopt.Device, configuration: Configuration) -> None:
    check_or_refused(device, configuration, "total", heights=INSIDE)


@pytest.mark.thin(2)
@pytest.mark.parametrize("configuration", draws(), ids=short)
def test_levels_combined(device: gpuopt.Device, configuration: Configuration) -> None:
    draw = random.Random(str(configuration))
    name, heights = draw.choice(list(MODELS)), draw.choice([INSIDE, STERN, BULK])
    check_or_refused(device, configuration, name, heights=heights)
    check_or_refused(device, configuration, name, heights=heights, size=draw.choice(AWKWARD))


@pytest.mark.parametrize("base", BASES[1:], ids=short)
def test_every_root_in_double_precision(device: gpuopt.Device, base: Configuration) -> None:
    row = next(v for v in gpuopt.variants("gem") if v.name == base.variant)
    for level in next(p.levels for p in row.parameters if p.name == "RSQRT"):
        configuration = Configuration(base.variant, **{**base.parameters, "RSQRT": level})
        check_or_refused(device, configuration, SALT, dtype="float64", heights=INSIDE)


# ---------------------------------------------------------------- what a plan is made of


@pytest.mark.parametrize("parts", [1, 2, 8, 128])
@pytest.mark.parametrize("size", [(1, 1), (700, 3), (4100, 300)])
def test_parts_of_the_atoms(device: gpuopt.Device, size: tuple[int, int], parts: int) -> None:
    """More of them than there are tiles, and numbers that do not divide these."""
    configuration = Configuration("tiled", VERTICES=2, UNROLL=1, LOCAL=64, RSQRT=0, TILE=64, PARTS=parts)
    check(device, configuration, SALT, size, heights=INSIDE)


def test_a_plan_repeats(device: gpuopt.Device) -> None:
    """Sums in global memory begin anew."""
    for configuration in (Configuration("pairs"), BASES[2]):
        given, size = scene(SALT, *MANY, "float32", INSIDE), MANY[1]
        out = _core.empty((size,), np.dtype(np.float32), device, True)
        plan = given.prepare(complete("gem", configuration), out)
        plan.run()
        once = out.to_numpy()
        plan.run()
        np.testing.assert_array_equal(out.to_numpy(), once)


def test_a_plan_says_what_it_does(device: gpuopt.Device) -> None:
    pairs = MANY[0] * MANY[1]
    for configuration in LEAN:
        out = _core.empty((MANY[1],), np.dtype(np.float32), device)
        work = scene(SALT, *MANY, "float32", EVERYWHERE).prepare(complete("gem", configuration), out).work
        assert work["special"]["issue"] >= 8 * pairs
        assert work["bytes"]["dram"] >= 4 * (4 * MANY[0] + 4 * MANY[1])


@pytest.mark.parametrize("variant", [v.name for v in gpuopt.variants("gem")])
def test_each_variant_runs_as_it_stands(device: gpuopt.Device, variant: str) -> None:
    check(device, Configuration(variant), "total", heights=STERN)
