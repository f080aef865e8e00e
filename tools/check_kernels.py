"""Check every kernel with clang, given the macros of its table row: the standard ones, then every other level, of which
doubles have each fourth."""

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from pathlib import Path

from gpuopt import _core
from gpuopt.lab.kernels.kernel import Kernel
from gpuopt.workloads.casebook import index

KERNELS = Path(__file__).parents[1] / "kernels"
# The generic target has every extension: no #ifdef hides a branch. NVIDIA's, which lacks halves, is for what has its
# assembly once macros are expanded. Kernels of a workload share one argument list.
CLANG = ["clang", "-x", "cl", "-cl-std=CL1.2"]
GENERIC, PTX = ["--target=spir64-unknown-unknown"], ["--target=nvptx64-nvidia-cuda", "-Dasm=__asm__"]
CLANG += ["-Wall", "-Wextra", "-Werror", "-Wno-unused-parameter", f"-I{KERNELS}"]
ASSEMBLY = re.compile(r"\basm\b[^(\n]*\(")
TYPES = {
    **{f"int{bits}": [f"-DREAL={name}"] for bits, name in ((8, "char"), (16, "short"), (32, "int"), (64, "long"))},
    **{f"uint{bits}": [f"-DREAL={name}"] for bits, name in ((8, "uchar"), (16, "ushort"), (32, "uint"), (64, "ulong"))},
    "float16": ["-DREAL=ushort", "-DREAL_IS_HALF"],
    "float32": ["-DREAL=float", "-DREAL_IS_FLOAT"],
    "float64": ["-DREAL=double", "-DREAL_IS_DOUBLE", "-DINDEX=long"],
}
# What a plan adds for kernels that take the matrix's diagonals compiled in: three bands of a grid.
BANDS = ["-DBANDS=BAND(-9,1,0,-1)BAND(-1,3,-1,0)BAND(9,1,0,1)", "-DFIRST_OFFSET=-9", "-DLAST_OFFSET=9"]
BANDS += ["-DREACH_X=1", "-DREACH_Y=1"]
REGION = ["-DREGION=2", "-DPART=0"]
FORMS = [[f"-DKIND={kind}", f"-DSALT={int(kind != 3)}", "-DDIRECT=0", "-DMINUS_COULOMB=1"] for kind in (1, 2, 3)]
FORMS += [["-DKIND=3", "-DSALT=1", "-DCLAMP=1"]]
# Products of transposes with an addend, and of rows that begin where wide loads do, added to what was there.
PRODUCTS = [["-DTRANSPOSE_A=1", "-DTRANSPOSE_B=1", "-DADDEND=1"]]
PRODUCTS += [[*(f"-DALIGNED_{operand}=1" for operand in "ABD"), "-DADDEND=2"]]
# Back projections of flat and curved detectors, tilted and upright, each with another weight.
SCANS = [[f"-DCURVED={kind // 2}", f"-DUPRIGHT={kind % 2}", f"-DWEIGHT={kind % 3}"] for kind in range(4)]
SCANS += [[*scan, "-DGPU"] for scan in SCANS[2:]]
SCANS += [["-DCURVED=1", "-DWEIGHT=2", "-DDIMENSIONS=2"], ["-DCURVED=0", "-DWEIGHT=2", "-DDIMENSIONS=2", "-DUPRIGHT=1"]]
SCANS += [["-DANY=1", "-DMAIN=2", "-DCURVED=1"], ["-DANY=1", "-DMAIN=1", "-DPLANAR=1", "-DDIMENSIONS=2"]]
Case = tuple[str, list[str]]


def cases() -> Iterator[Case]:
    """Kernel files below KERNELS with the options to try; helper passes, in no table, with their own defaults."""
    in_tables = set()
    for workload in _core.workload_names():
        for variant in _core.variants(workload):
            in_tables.add(variant.source)
            standard = {parameter.name: parameter.standard for parameter in variant.parameters}
            settings = [standard]
            for parameter in variant.parameters:
                others = (level for level in parameter.levels if level != parameter.standard)
                settings += [{**standard, parameter.name: level} for level in others]
            main = "float32" if "float32" in variant.dtypes else variant.dtypes[0]
            for dtype in variant.dtypes:
                for macros in settings if dtype == main else settings[::4] if dtype == "float64" else [standard]:
                    given = [f"-D{name}={value}" for name, value in macros.items()]
                    yield variant.source, [*TYPES[dtype], *given, *(["-DSALT=0"] if workload == "gem" else [])]
                if workload == "gem":
                    given = [f"-D{name}={value}" for name, value in standard.items()]
                    yield from ((variant.source, [*TYPES[dtype], *given, *form]) for form in FORMS)
                if workload == "tomography":
                    given = [f"-D{name}={value}" for name, value in standard.items()]
                    yield from ((variant.source, [*TYPES[dtype], *given, *scan]) for scan in SCANS)
                if workload == "gemm":
                    given = [f"-D{name}={value}" for name, value in standard.items()]
                    yield from ((variant.source, [*TYPES[dtype], *given, *form]) for form in PRODUCTS)
    for entry in index.entries():
        for version in entry.versions:
            if isinstance(version.of, Kernel):
                in_tables.add(version.path)
                yield version.path, version.of.code.build_options(version.of.code.space.first()).split()
    for file in sorted(KERNELS.rglob("*.cl")):
        source = file.relative_to(KERNELS).as_posix()
        if source not in in_tables and not source.startswith("common/") and "/include/" not in source:
            yield from ((source, TYPES[dtype]) for dtype in ("float32", "float64"))


@cache
def mentions_assembly(source: str) -> bool:
    """Whether a kernel file, or one that it includes, has PTX for some values of its macros."""
    text = (KERNELS / source).read_text(encoding="utf-8")
    included = re.findall(r'^#include "(.+)"', text, re.MULTILINE)
    return ASSEMBLY.search(text) is not None or any(map(mentions_assembly, included))


def clang(case: Case, *more: str) -> subprocess.CompletedProcess[str]:
    source, options = case
    command = [*CLANG, *more, *options, *BANDS, *REGION, str(KERNELS / source)]
    return subprocess.run(command, capture_output=True, text=True)


def complaint(case: Case) -> str:
    """What clang says of one case, or nothing."""
    source, options = case
    by_ptx = mentions_assembly(source) and ASSEMBLY.search(clang(case, *GENERIC, "-E").stdout)
    run = clang(case, *(PTX if by_ptx else GENERIC), "-fsyntax-only")
    return f"{source} with {' '.join(options)}:\n{run.stderr}" if run.returncode else ""


def main() -> int:
    """Print one complaint a file; the exit status says whether there was any."""
    todo = list(cases())
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        found = {source: text for (source, _), text in zip(todo, pool.map(complaint, todo), strict=True) if text}
    print(*found.values(), f"{len(todo)} configurations, {len(found)} files with complaints", sep="\n")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
