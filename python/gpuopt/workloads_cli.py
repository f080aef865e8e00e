"""What `gpuopt study` and `gpuopt tune` can be asked for: a row a workload."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

import gpuopt

if TYPE_CHECKING:
    from gpuopt import Device
    from gpuopt.lab.study import Study
    from gpuopt.problems.problem import Problem


@dataclass(frozen=True)
class Workload:
    """One row a workload: its subcommand, and what makes its problem and its own pictures.

    problem(subjects, dtype, device, **options) and pictures(problem, device, directory, study) -> paths import what
    they need when called. ``most`` subjects may be named, which are one problem, or where they are ``several`` a
    problem each, all in one study; pictures are then given the last. ``designs`` are sets of configurations by name.
    """

    name: str
    summary: str
    subject: str
    default: tuple[str, ...]
    subject_help: str
    dtypes: tuple[str, ...]
    problem: Callable[..., Problem]
    pictures: Callable[[Problem, Device, Path, Study], list[Path]]
    most: int = 1
    several: bool = False
    options: tuple[Callable[[Any], Any], ...] = ()
    designs: Mapping[str, Callable[[], list[gpuopt.Configuration]]] = field(default_factory=dict)

    def problems(self, subjects: Sequence[str]) -> list[tuple[str, ...]]:
        """The subjects of each problem."""
        return ([(subject,) for subject in subjects] or [()]) if self.several else [tuple(subjects)]


def _affinity(subjects: Sequence[str], dtype: str, device: Device) -> Problem:
    from gpuopt import problems

    (subject,) = subjects
    if size := re.fullmatch(r"(\d+)x(\d+)", subject):
        width, height = int(size[1]), int(size[2])
        return problems.spmv_grid(width, height, radius=5, dtype=dtype, device=device, symmetric=True)
    return problems.spmv_image_affinity(subject, radius=5, dtype=dtype, device=device)


def _image_cut(problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    from gpuopt.lab import segmentation

    if "image" not in problem.inputs:
        return []
    image, degrees = problem.inputs["image"], problem.inputs["degrees"]
    operator = gpuopt.DiaMatrix(problem.inputs["A"], device=device).linear_operator()
    found = segmentation.smallest_eigenvectors(operator, 5, degrees, image.shape)
    path = directory / "cut.png"
    segmentation.plot_cut(image, found, name=problem.name, device=device.name).savefig(path, dpi=130)
    return [path]


def _potential(subjects: Sequence[str], dtype: str, device: Device, **options: Any) -> Problem:
    from gpuopt import problems

    given = list(subjects) or ["1500" if device.type == "cpu" else "20000"]
    if given == ["capsid"]:
        molecule, surface = problems.capsid(dtype=dtype)
        name = "capsid"
    elif re.fullmatch(r"\d+", given[0]) and len(given) == 1:
        molecule, surface = problems.globule(int(given[0]), dtype=dtype)
        name = f"globule_{given[0]}"
    else:
        molecule = gpuopt.io.read_pqr(given[0], dtype=dtype)
        read = gpuopt.io.read_surface(given[1], dtype=dtype) if len(given) == 2 else None
        surface = read or gpuopt.molecule.surface_points(molecule)
        name = Path(given[0]).stem
    return problems.gem(molecule, surface, name=name, **options)


def _potential_pictures(problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    import gpuopt.lab.gem_plots as gem_plots

    paths = gem_plots.save(study, directory)
    molecule, surface, model = problem.inputs["molecule"], problem.inputs["surface"], problem.inputs["scene"].model
    if len(surface) > 200_000:  # more than a picture shows
        return paths
    phi = gpuopt.gem(molecule, surface, electrostatic_size=model.size, device=device, **problem.inputs["options"])
    path = directory / "surface.png"
    gem_plots.surface(molecule, surface, phi).savefig(path, dpi=130)
    return [*paths, path]


def _cells() -> list[gpuopt.Configuration]:
    from gpuopt.problems.gem import factorial

    return factorial()


def _sizes(text: str, form: str, counts: Collection[int]) -> list[int]:
    """The numbers of `3`, `3x4`, ..., as many as ``counts`` allows."""
    if not re.fullmatch(r"\d+(x\d+)*", text) or text.count("x") + 1 not in counts:
        raise gpuopt.ParameterError(f"{text!r} is no size; write {form}")
    return [int(number) for number in text.split("x")]


def _product(
    subjects: Sequence[str],
    dtype: str,
    device: Device,
    m: int | None = None,
    n: int | None = None,
    k: int | None = None,
    **options: Any,
) -> Problem:
    from gpuopt import problems

    given = _sizes(subjects[0], "SIZE or MxNxK", (1, 3)) if subjects else [512 if device.type == "cpu" else 4096]
    named = (m, n, k)
    if any(named) and subjects:
        raise gpuopt.ParameterError("--m, --n and --k stand instead of SIZE; give one of the two")
    if any(named):
        given = [next(filter(None, (length, m, n, k))) for length in named]  # type: ignore[misc]
    rows, columns, depth = (given * 3)[:3]
    return problems.gemm(rows, columns, depth, dtype, device=device, **options)


def _precisions() -> list[gpuopt.Configuration]:
    from gpuopt.problems.gemm import precisions

    return precisions()


def _product_pictures(problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    from gpuopt.lab import gemm_plots

    return gemm_plots.save(study, directory)


def _transposed(subjects: Sequence[str], dtype: str, device: Device) -> Problem:
    from gpuopt import problems

    given = _sizes(subjects[0], "SIZE or ROWSxCOLS", (1, 2)) if subjects else [2048 if device.type == "cpu" else 8192]
    return problems.tmv(given[0], given[-1], dtype, device=device)


def _transposed_pictures(problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    from gpuopt.lab import gemm_plots

    return gemm_plots.save_tmv(study, directory)


def _back_projection(subjects: Sequence[str], dtype: str, device: Device, **options: Any) -> Problem:
    from gpuopt import problems

    return problems.back_projection(subjects[-1], device=device, **options)


def _back_projection_pictures(problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    from gpuopt.lab import tomography_plots

    return tomography_plots.save(study, directory, device)


POTENTIAL_OPTIONS = (
    click.option("--salt", type=float, default=0.0, show_default=True, help="mol/l."),
    click.option("--projection", type=float, default=0.0, show_default=True, help="A above the surface."),
    click.option("--phi-type", type=click.Choice(["total", "coulomb", "reaction"]), default="total", show_default=True),
)


def _distributions() -> list[str]:
    from gpuopt.reference.gemm import DISTRIBUTIONS

    return list(DISTRIBUTIONS)


PRODUCT_OPTIONS = (
    *(
        click.option(f"--{name}", type=click.IntRange(1), help=f"{name.upper()} alone, instead of SIZE.")
        for name in "mnk"
    ),
    click.option("--distribution", type=click.Choice(_distributions()), default="uniform", show_default=True),
    click.option("--precision", metavar="P", help="Of the whole call, and what is tuned, such as tf32x3."),
)

BACK_PROJECTION_OPTIONS = (
    click.option(
        "--weight", type=click.Choice(["none", "adjoint", "fdk"]), default="none", show_default=True,
        help="What a view's value counts with at a voxel.",
    ),
)  # fmt: skip

WORKLOADS = (
    Workload(
        "spmv",
        "Sparse matrix times vector: the pixel-affinity matrix of a photograph, stored by diagonals.",
        "IMAGE",
        ("camera",),
        "a picture file, the name of one of scikit-image's own, or WIDTHxHEIGHT for random values without a picture",
        ("float32", "float64"),
        _affinity,
        _image_cut,
    ),
    Workload(
        "gem",
        "Electrostatic potential of a molecule at the points of its surface, summed over all atoms.",
        "FILE.pqr [FILE.vert]",
        (),
        "a molecule with charges and radii, and its surface (MSMS, OFF, PLY; made here where it is left out); or a "
        "number of atoms of a made globule, by default 1500 for a CPU and 20000 for a GPU; or the made `capsid`",
        ("float32", "float64"),
        _potential,
        _potential_pictures,
        most=2,
        options=POTENTIAL_OPTIONS,
        designs={"factorial": _cells},
    ),
    Workload(
        "gemm",
        "Matrix product: the ladders of two papers, ours, and libraries, with the error of each beside its speed.",
        "SIZE | MxNxK",
        (),
        "one size for square matrices, or three, of A (M, K) and B (K, N); several are studied one after the other; by "
        "default 512 for a CPU and 4096 for a GPU",
        ("float32", "float64"),
        _product,
        _product_pictures,
        most=16,
        several=True,
        options=PRODUCT_OPTIONS,
        designs={"precisions": _precisions},
    ),
    Workload(
        "tmv",
        "Transposed matrix times vector, A.T @ v: a read of A.",
        "SIZE | ROWSxCOLS",
        (),
        "A's rows and columns, or one size for both; several are studied one after the other; by default 2048 for a "
        "CPU and 8192 for a GPU",
        ("float32", "float64"),
        _transposed,
        _transposed_pictures,
        most=16,
        several=True,
    ),
    Workload(
        "tomography",
        "Back projection of a scan's views into a volume: a paper's ladder at its two sizes, ours, and SART's images.",
        "CASE",
        ("I1", "I2", "cube"),
        "I1 and I2 (the paper's; a CPU is given one in 192 of their views, I1full all), cube (512^3 voxels, 496 views "
        "of 960 x 1248; a small one for a CPU), slice (a plane, which scikit-image knows too), N of N^3 voxels, or "
        "NxVIEWSxROWSxCOLUMNS",
        ("float32",),
        _back_projection,
        _back_projection_pictures,
        most=16,
        several=True,
        options=BACK_PROJECTION_OPTIONS,
    ),
)
