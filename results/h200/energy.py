"""The energy of runs on a GPU: steps of the papers, products by three ways, data types and blocks of copies.
FILE [SECONDS [WHAT]]: writes rows as it goes and ends within so many seconds, the idle device after the last included.
WHAT is `most` where it is left out, or `yang`: the data types, blocks and transposed products of Yang et al. 2012.

The copy of 1 GiB is measured twice, at the start and at the end.
"""

import os
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from functools import partial

import gpuopt
from gpuopt import problems
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.run.energy import EnergyPass, Lengths, asked_for
from gpuopt.lab.run.sweep import SweepRun
from gpuopt.lab.run.wanted import what_to_measure
from gpuopt.lab.timing.protocol import PROTOCOLS
from gpuopt.problem import Problem
from gpuopt.progress import Bar
from gpuopt.workloads.gem.molecules import capsid
from gpuopt.workloads.gem.problem import gem

BEGAN = time.perf_counter()
SMALL = "GPUOPT_ENERGY_SMALL" in os.environ  # to try this file where there is no GPU
PLAIN, QUAD = "copy(AHEAD=1, LOCAL=256, STRUCT=0, WIDTH=1)", "copy(AHEAD=1, LOCAL=256, STRUCT=0, WIDTH=4)"
TILE = "register_tile(COPY=1, PASS=1, TILE_K=16, TILE_M=128, TILE_N=256, WORK_M=8, WORK_N=16)"
TENSOR = ["tensor(TYPE=0, PRODUCTS=3)", "tensor(TYPE=2, PRODUCTS=3)", "tensor(TYPE=2, PRODUCTS=1, WARP_M=64, STEPS=2)"]
BLOCKS = ["paper:block_16x16", "paper:block_32x8", "paper:block_32x16", "paper:block_32x32"]
SYMMETRIC = "symmetric(TILE_X=64, TILE_Y=8, ROWS=2, UNROLL=5)"
TOLD = ("net_j", "mean_w", "gflop_j", "gb_j", "apart_pct", "power_pct")
WIDTH = 512 if SMALL else 8192
GEM = "tiled(DISTANCE=0, LOCAL=256, RSQRT=2, TILE=512, UNROLL=4, VERTICES=4)"

device = gpuopt.devices()[0] if not SMALL else gpuopt.devices()[-1]


def copied(configuration: str, dtype: str = "float32", width: int = 0) -> Problem:
    size = (1 << 20) if SMALL else (1 << 28 if width else 1 << 30)
    chosen = gpuopt.Configuration.parse(configuration)
    return problems.microbenchmark(chosen, dtype, size, width=width, device=device)


def grid(symmetric: bool = False) -> Problem:
    side = 64 if SMALL else 2048
    return problems.spmv_grid(side, side, symmetric=symmetric, device=device)


def atoms() -> Problem:
    molecule, surface = capsid(*((400, 4000) if SMALL else (8000, 270336)), dtype="float32")
    return gem(molecule, surface, name="capsid", device=device)


def product() -> Problem:
    return problems.gemm(256 if SMALL else 4096, device=device)


def scan() -> Problem:
    return problems.back_projection("I1:4" if SMALL else "I1", device=device)


def plan() -> Iterator[tuple[Callable[[], Problem], Sequence[str]]]:
    """Problems and what of them, the most important first."""
    yield lambda: copied(PLAIN), [PLAIN]
    yield product, [BLOCKS[0], *BLOCKS[2:], TILE, *TENSOR[:2]]
    yield grid, ["paper:basic", "paper:vectorized"]
    yield atoms, [GEM]
    yield scan, ["paper:naive"]
    yield lambda: copied(PLAIN, "uint8"), [PLAIN]
    yield lambda: copied("copy2d(LOCAL_X=16, LOCAL_Y=16)", width=WIDTH), ["copy2d(LOCAL_X=16, LOCAL_Y=16)"]
    yield lambda: copied("copy2d(LOCAL_X=32, LOCAL_Y=8)", width=WIDTH), ["copy2d(LOCAL_X=32, LOCAL_Y=8)"]
    yield grid, ["paper:local_offsets", "paper:aligned", "paper:image"]
    yield lambda: grid(True), [SYMMETRIC]
    yield product, [BLOCKS[1], *TENSOR[2:]]
    yield atoms, ["paper:basic", "paper:nvidia_style"]
    yield scan, ["paper:alu"]
    yield lambda: copied(QUAD), [QUAD]


def yang() -> Iterator[tuple[Callable[[], Problem], Sequence[str]]]:
    """What Figures 1, 5, 9 and 12 show of energy, the most important first."""
    small = 256 if SMALL else 4096
    yield lambda: copied(PLAIN), [PLAIN]
    yield lambda: problems.tmv(small, device=device), [f"paper:{step}" for step in ("naive", "f2", "tlp", "tlp_f2")]
    for across, down in ((8, 32), (64, 4)):
        blocks = f"copy2d(LOCAL_X={across}, LOCAL_Y={down})"
        yield partial(copied, blocks, width=WIDTH), [blocks]
    for across, down in ((16, 16), (8, 32), (8, 64)):
        blocks = f"cache_reuse(LOCAL_X={across}, LOCAL_Y={down})"
        yield partial(reused, blocks), [blocks]
    wide = "copy(AHEAD=1, LOCAL=256, STRUCT={}, WIDTH={})"
    for dtype, form in (("int16", (0, 1)), *(("float32", form) for form in ((0, 2), (1, 5), (1, 8), (0, 3), (1, 32)))):
        kind = wide.format(*form)
        yield partial(copied, kind, dtype), [kind]


def reused(configuration: str) -> Problem:
    """Pairs of rows of two matrices, each of 1024 x 1024 on a GPU."""
    side = 64 if SMALL else 1024
    chosen = gpuopt.Configuration.parse(configuration)
    return problems.microbenchmark(chosen, "float32", 2 * side * side * 4, width=side, device=device)


class Taken:
    """Energies of one pass, which tells idle power of its own, into one file."""

    def __init__(self, path: str, lengths: Lengths) -> None:
        self.recorder = Recorder(path)
        asked = asked_for(device, self.recorder)
        if asked is None:
            sys.exit("; ".join(self.recorder.notes))
        self.energy = EnergyPass(device, asked.meter, self.recorder, lengths=lengths)

    def measure(self, problem: Problem, names: Sequence[str], until: Callable[[], bool]) -> None:
        """Rows of what is built and verified, as long as there is time."""
        run = SweepRun(problem, device, PROTOCOLS["quick"], self.recorder)
        run.start(None)
        wanted = what_to_measure(problem, device, names, False)
        for number, configuration in enumerate(wanted.items):
            if not until():
                print(f"left out: {list(names[number:])}", flush=True)
                return
            named = wanted.named(configuration)
            run.candidates.clear()
            run.add(str(configuration), named, partial(run.variant, named), Bar(False, 0))
            for candidate in run.candidates:
                told(self.energy.measure(candidate))


def main() -> None:
    path, seconds = sys.argv[1], float(sys.argv[2]) if len(sys.argv) > 2 else 600.0
    planned = {"most": plan, "yang": yang}[sys.argv[3] if len(sys.argv) > 3 else "most"]()
    lengths = Lengths(idle_s=0.2, loop_s=0.2, settle_s=0.1, settle_cap_s=0.2) if SMALL else Lengths()
    a_point, idle = lengths.loops * (lengths.loop_s + 1.4) + 1.0, lengths.idle_s + 1.5

    def until() -> bool:
        return time.perf_counter() - BEGAN + 2 * a_point + 3 * idle < seconds

    taken, first = Taken(path, lengths), None
    for make, names in planned:
        if not until():
            print(f"left out: {list(names)}", flush=True)
            continue
        try:
            problem = make()
            taken.measure(problem, names, until)
        except (gpuopt.Error, MemoryError) as error:
            print(f"{list(names)}: {type(error).__name__}: {error}", flush=True)
            continue
        first = first or (problem, names)
        del problem
    taken.energy.conclude(Bar(False, 0))
    if first is not None:
        again = Taken(path.replace(".jsonl", "-again.jsonl"), lengths)
        again.measure(*first, lambda: True)
        again.energy.conclude(Bar(False, 0))


def told(row: dict) -> None:
    fields = [f"{name} {row[name]:.4g}" for name in TOLD if row.get(name) is not None]
    after = f"{time.perf_counter() - BEGAN:5.0f} s"
    print(after, row["problem"], row["configuration"], row["status"], *fields, row.get("reason") or "", flush=True)


main()
