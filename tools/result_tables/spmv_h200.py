"""Tables of docs/results/spmv-h200.md."""

from .tables import (
    BOUND,
    GBS,
    GFLOPS,
    MS,
    Aim,
    Cell,
    Column,
    Line,
    aims,
    behind,
    between,
    compared,
    faster,
    findings,
    grid,
    ladder,
    of_field,
    paper_steps,
    printed,
    setup,
    several,
    time,
    tried,
)
from .values import Row, Rows, rate

BIG = Rows("results/h200/spmv-2048x2048/rows.jsonl")
SMALL = Rows("results/h200/spmv-321x481/rows.jsonl")

PAPER_SIZES = {
    size: Rows("results/h200/papers/spmv-sizes/rows.jsonl", f"grid_symmetric_{grid_size}_")
    for size, grid_size in (
        ("128 x 128", "128x128"),
        ("321 x 481", "321x481"),
        ("512 x 512", "512x512"),
        ("1024 x 1024", "1024x1024"),
    )
}
PAPER = PAPER_SIZES["1024 x 1024"]

STEPS = ["paper:basic", "paper:aligned", "paper:local_offsets", "paper:vectorized", "paper:image", "paper:cpu_coarse"]
TWO_ROWS = "interior(LOCAL=256, ROWS=2, UNROLL=9, SLICE=0, LOAD=0)"
SYMMETRIC = "symmetric(TILE_X=64, TILE_Y=8, ROWS=2, UNROLL=5)"
HALF = "banded(HALF=1, ROWS=2)"
CACHED = [
    ("`interior(OFFSETS=1, ROWS=1, UNROLL=9)`", "interior(OFFSETS=1)"),
    ("`interior(ROWS=2, UNROLL=9)`", "interior(OFFSETS=0)"),
    ("`padded(UNROLL=9)`", "padded"),
    ("`resident(KEEP=8, UNROLL=27)`", "resident"),
    ("`banded`", "banded(HALF=0)"),
    ("`tiles(TILE_X=64, TILE_Y=4)`", "tiles"),
    ("`symmetric(TILE_X=32, TILE_Y=8, UNROLL=5)`", "symmetric(HALF=0, TILE_X=32)"),
    ("`symmetric(TILE_X=64, TILE_Y=4, ROWS=2, OFFSETS=1)`", "symmetric(HALF=0, TILE_X=64)"),
    ("`banded(HALF=1, SLICE=1024)`", "banded(HALF=1)"),
    ("`symmetric(HALF=1)`", "symmetric(HALF=1)"),
]
OURS = [
    ("`padded(LOCAL=128, UNROLL=9, OFFSETS=1)`, 2 launches", "padded"),
    ("`interior(ROWS=2, UNROLL=9)`", TWO_ROWS),
    ("`interior(LOCAL=64, ROWS=2, UNROLL=9, OFFSETS=1)`", "interior(LOCAL=64, OFFSETS=1)"),
    ("`interior(ROWS=1, UNROLL=9)`", "interior(LOCAL=256, ROWS=1)"),
    ("`banded(LOCAL=1024, SLICE=4096)`", "banded(HALF=0)"),
    ("`tiles(TILE_X=128, TILE_Y=8)`", "tiles(HALF=0)"),
    ("`symmetric(TILE_X=64, TILE_Y=8, ROWS=2, UNROLL=5)`, half storage", SYMMETRIC),
    ("`symmetric(TILE_X=64, TILE_Y=4, OFFSETS=1)`", "symmetric(HALF=0, TILE_Y=4)"),
    ("`banded(HALF=1, ROWS=2)`, 16-bit values", HALF),
    ("`tiles(HALF=1, WIDE=2)`", "tiles(HALF=1, LOAD=0)"),
    ("`interior(HALF=1, UNROLL=3)`", "interior(HALF=1)"),
    ("`symmetric(HALF=1)`", "symmetric(HALF=1)"),
]
OVER_BASIC = faster("times as fast as basic", "paper:basic")
OVER_CSR = faster("times as fast as cuSPARSE CSR", "cuSPARSE CSR")
CALLS = ["gpuopt.spmv(A, x)", "M @ x", "cuSPARSE CSR", "CuPy dia_matrix", "SciPy dia_array", "SciPy csr_array"]


def best() -> str:
    """The fastest kernel of full storage and float32 values."""
    kernels = [row for row in BIG.group.rows if row["role"] == "variant" and row["status"] == "ok"]
    full = [row for row in kernels if row["variant"] != "symmetric" and not row["params"].get("HALF")]
    return str(min(full, key=lambda row: float(row["median_ms"]))["configuration"])


def _ours() -> str:
    row = BIG.row(best())
    names = [(f"{text}, best full storage" if BIG.row(name) is row else text, name) for text, name in OURS]
    return ladder(BIG, names, [MS, GFLOPS, GBS, BOUND, OVER_CSR])()


def _beside() -> str:
    columns = [MS, GFLOPS, behind("the best full storage is times as fast", best())]
    return ladder(BIG, CALLS, columns, "whole call or peer")()


def _tried() -> list[tuple[str, str, str]]:
    def at(name: str) -> str:
        return f"{BIG.ms(name)} ms"

    fastest = at(best())
    return [
        (
            "Storing y in bursts of 4: memory switches less often between reading and writing",
            f"{at('resident(KEEP=4)')}; best {fastest}",
            "`resident(KEEP=4)`",
        ),
        ("The same in bursts of 8", f"{at('resident(KEEP=8)')}; best {fastest}", "`resident(KEEP=8)`"),
        ("Rows in slices of a memory page", f"{at('interior(SLICE=4096)')}; best {fastest}", "`interior(SLICE=4096)`"),
        ("Values loaded past the first cache", f"{at('interior(LOAD=1)')}; best {fastest}", "`interior(LOAD=1)`"),
        ("Fewer loads of x: bands", f"{at('banded(HALF=0)')}; best {fastest}", "`banded(HALF=0)`"),
        ("Fewer loads of x: tiles", f"{at('tiles(HALF=0)')}; best {fastest}", "`tiles(HALF=0)`"),
        (
            "16-bit: x from local memory",
            f"{at('tiles(HALF=1, LOAD=0)')}; best 16-bit {at(HALF)}",
            "`tiles(HALF=1, LOAD=0)`",
        ),
        (
            "16-bit: the same past the first cache",
            f"{at('tiles(HALF=1, LOAD=1)')}; best 16-bit {at(HALF)}",
            "`tiles(HALF=1, LOAD=1)`",
        ),
        (
            "16-bit: two rows, 3 entries ahead",
            f"{at('interior(HALF=1)')}; best 16-bit {at(HALF)}",
            "`interior(HALF=1)`",
        ),
        ("16-bit: half storage", f"{at('symmetric(HALF=1)')}; best 16-bit {at(HALF)}", "`symmetric(HALF=1)`"),
    ]


def _gflops(rows: Rows, row: Row) -> Cell:
    return rate(row, "gflop_s")


def _ceiling(text: str, rows: Rows, name: str) -> Line:
    return text, rows.beside(name) * 1e3, float(rows.beside_row(name)["busy_ms"] * 1e3), rows.beside(name, "gb_s").bare


def _step(name: str) -> dict[str, float]:
    """By how many % each size runs faster with a step of the paper than with the first."""
    return {size: 100 * (rows.speedup(f"paper:{name}", "paper:basic").mid - 1) for size, rows in PAPER_SIZES.items()}


def _steps_found() -> list[str]:
    aligned, offsets = _step("aligned"), _step("local_offsets")
    odd, small = "321 x 481", "128 x 128"
    others = max(abs(gain) for size, gain in aligned.items() if size != odd)
    large = max(abs(gain) for size, gain in offsets.items() if size not in (odd, small))
    return [
        f"Aligned storage gains {aligned[odd]:.0f} % at {odd}, where rows are no multiple of 32, and elsewhere"
        f" {others:.1f} % at most.",
        f"Offsets in local memory gain {offsets[small]:.0f} % at {small} and {offsets[odd]:.0f} % at {odd}; in the"
        f" larger sizes they change at most {large:.1f} %.",
        "Four rows a work-item and x in an image lose at every size, the less the larger the matrix.",
    ]


def _found() -> list[str]:
    names = [name for _, name in CACHED]
    fastest = min(names, key=lambda name: SMALL.ms(name).mid)
    return [
        "**The paper's steps bring little here**: offsets in local memory at most"
        f" {max(_step('local_offsets').values()):.0f} %, aligned storage {max(_step('aligned').values()):.0f} %, and"
        " both nothing from 512 x 512 on. The paper put offsets and x into on-chip memory explicitly, which lowered the"
        " traffic from 12 to 8 to 4 bytes an entry. This chip's caches hold offsets and x without that: `basic` runs at"
        f" {PAPER.row('paper:basic')['pct_uncached'] / 100:.1f} times the bound without caches. Four rows a work-item"
        " and images are slower.",
        f"**At 50 MB the products reach {between([SMALL.bound(name).mid for name in names], '.0f')} % of their"
        " bounds.** Launches are no longer what limits them: the smallest kernel follows the next after"
        f" {SMALL.beside('launch').mid * 1e3:.2f} us, and after 11 us where [each has an"
        " event](../decisions/periods.md), as in the rows of before. The fastest product takes"
        f" {SMALL.ms(fastest).mid * 1e3:.2f} us, {SMALL.speedup(fastest, 'cuSPARSE CSR')} times less than cuSPARSE's."
        " What takes the rest was not measured.",
    ]


TABLES = {
    "setup": setup(BIG, SMALL, PAPER),
    "aims": aims(
        Aim(
            "best full storage, of the rate of a copy",
            lambda: BIG.rate(best(), "gb_s") / BIG.beside("copy", "gb_s") * 100,
            least=97,
            unit="%",
        ),
        Aim("best full storage, times as fast as cuSPARSE CSR", lambda: BIG.speedup(best(), "cuSPARSE CSR"), least=2.7),
        Aim("half storage, times as fast as the best full", lambda: BIG.speedup(SYMMETRIC, best()), least=1.3),
        Aim("16-bit values, times as fast as the best full", lambda: BIG.speedup(HALF, best()), least=1.8),
    ),
    "paper": ladder(
        PAPER,
        [*STEPS, "cuSPARSE CSR"],
        [
            MS,
            GFLOPS,
            BOUND,
            of_field("% of bound without caches", "pct_uncached", digits=3),
            OVER_BASIC,
            printed("paper, GFLOP/s"),
        ],
        "1024 x 1024",
    ),
    "step_rates": compared(PAPER_SIZES, [*STEPS, "cuSPARSE CSR"], _gflops, "GFLOP/s [95 % CI]"),
    "steps": paper_steps(PAPER_SIZES, "spmv"),
    "ours": _ours,
    "beside": _beside,
    "cached": ladder(
        SMALL,
        [*CACHED, "M @ x", "cuSPARSE CSR"],
        [time("us queued [95 % CI]", 1e3), of_field("us of kernels", "busy_ms", 1e3), GFLOPS, BOUND],
    ),
    "ceilings": grid(
        ["measured in the same blocks", "us [95 % CI]", "us of the kernel", "GB/s"],
        lambda: [
            *(_ceiling(f"{name} of 1.39 GB", BIG, name) for name in ("read", "copy")),
            *(_ceiling(f"{name} of 50 MB, queued", SMALL, name) for name in ("read", "copy")),
            (*_ceiling("the smallest kernel, queued", SMALL, "launch")[:3], None),
        ],
    ),
    "limits": several(
        [
            (PAPER, [(f"1024 x 1024: `{name.removeprefix('paper:')}`", name) for name in STEPS[:-1]]),
            (
                BIG,
                [
                    ("2048 x 2048: `interior(ROWS=2, UNROLL=9)`", TWO_ROWS),
                    ("2048 x 2048: `tiles(TILE_X=128, TILE_Y=8)`", "tiles(HALF=0)"),
                    ("2048 x 2048: `symmetric(TILE_X=64, TILE_Y=8, ROWS=2, UNROLL=5)`", SYMMETRIC),
                    ("2048 x 2048: `banded(HALF=1, ROWS=2)`", HALF),
                ],
            ),
        ],
        [
            MS,
            BOUND,
            Column("bound by", lambda rows, row: row["bound_by"]),
            Column("runner-up", lambda rows, row: row["next_by"]),
            of_field("runner-up, % of the time", "pct_next", digits=3),
        ],
        "configuration",
    ),
    "steps_found": findings(_steps_found),
    "findings": findings(_found),
    "tried": tried(_tried),
}
