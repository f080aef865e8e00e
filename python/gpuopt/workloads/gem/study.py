"""The record of GEM: `gpuopt study gem`."""

from __future__ import annotations

import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click
import numpy as np

from gpuopt import io
from gpuopt._core import Device
from gpuopt.lab.report import Study
from gpuopt.lab.workload import Workload
from gpuopt.molecule import surface_points
from gpuopt.problem import Problem
from gpuopt.workloads.gem import operation
from gpuopt.workloads.gem.molecules import capsid, globule
from gpuopt.workloads.gem.peers import peers
from gpuopt.workloads.gem.problem import check_size, factorial, gem, staged

MOST_SHOWN = 200_000  # points of a surface that a picture can show


def _problem(subjects: Sequence[str], dtype: str, device: Device, **options: Any) -> Problem:
    given = list(subjects) or ["1500" if device.type == "cpu" else "20000"]
    if given == ["capsid"]:
        molecule, surface = capsid(dtype=dtype)
        name = "capsid"
    elif re.fullmatch(r"\d{1,18}x\d{1,18}", given[0]) and len(given) == 1:
        atoms, points = map(int, given[0].split("x"))
        check_size("atoms, points", atoms, points, np.dtype(dtype), device)
        molecule, surface = capsid(atoms, points, dtype=dtype)
        name = f"capsid_{given[0]}"
    elif re.fullmatch(r"\d{1,18}", given[0]) and len(given) == 1:
        check_size("atoms, points", int(given[0]), 0, np.dtype(dtype), device)
        molecule, surface = globule(int(given[0]), dtype=dtype)
        name = f"globule_{given[0]}"
    else:
        molecule = io.read_pqr(given[0], dtype=dtype)
        read = io.read_surface(given[1], dtype=dtype) if len(given) == 2 else None
        surface = read or surface_points(molecule)
        name = Path(given[0]).stem
    return gem(molecule, surface, name=name, device=device, **options)


def _pictures(problem: Problem, device: Device, directory: Path, study: Study) -> list[Path]:
    from gpuopt.workloads.gem import pictures  # matplotlib, where pictures are drawn

    paths = pictures.save(study, directory)
    molecule, surface, model = problem.inputs["molecule"], problem.inputs["surface"], problem.inputs["scene"].model
    if len(surface) > MOST_SHOWN:
        return paths
    phi = operation.gem(molecule, surface, electrostatic_size=model.size, device=device, **problem.inputs["options"])
    path = directory / "surface.png"
    pictures.surface(molecule, surface, phi).savefig(path, dpi=130)
    return [*paths, path]


WORKLOAD = Workload(
    name="gem",
    summary="Electrostatic potential of a molecule at the points of its surface, summed over all atoms.",
    subject="FILE.pqr [FILE.vert]",
    default=(),
    subject_help="a molecule with charges and radii, and its surface (MSMS, OFF, PLY, OBJ, STL; made here where it is "
    "left out); or a number of atoms of a made globule, by default 1500 for a CPU and 20000 for a GPU; or the made "
    "`capsid`, or ATOMSxPOINTS for another of its kind",
    dtypes=("float32", "float64"),
    problem=_problem,
    pictures=_pictures,
    drawn=("optimizations.png", "factorial.png", "ways.png", "ways.txt", "surface.png"),
    most=2,
    options=(
        click.option("--salt", type=float, default=0.0, show_default=True, help="mol/l."),
        click.option("--projection", type=float, default=0.0, show_default=True, help="A above the surface."),
        click.option(
            "--phi-type", type=click.Choice(["total", "coulomb", "reaction"]), default="total", show_default=True
        ),
    ),
    designs={"factorial": factorial, "staged": staged},
    peers=peers,
)
