"""Tables of docs/results/gemm-cpu.md."""

from .tables import Aim, Cell, aims, compared, grid, ms, setup
from .values import Row, Rows, bound, rate

RUNTIMES = {"PoCL": "pocl", "Intel": "intel"}
PLACES = {
    f"{name}, {n}": Rows(f"results/cpu-2core/{key}-gemm/rows.jsonl", f"gemm_{n}x")
    for n in (1024, 2048)
    for name, key in RUNTIMES.items()
}
STUDIES = [Rows(f"results/cpu-2core/{key}-gemm/rows.jsonl", "gemm_1024x") for key in RUNTIMES.values()]
TMV = {name: Rows(f"results/cpu-2core/{key}-tmv/rows.jsonl") for name, key in RUNTIMES.items()}

NAMES = [
    ("`packed`", "packed"),
    ("NumPy (OpenBLAS)", "NumPy"),
    ("`gpuopt.gemm(A, B)`, NumPy in and out", "gpuopt.gemm(A, B)"),
]
TRANSPOSED = ["row_blocks", "row_parts", "NumPy", "gpuopt.tmv(A, v)"]


def _gflops(rows: Rows, row: Row) -> Cell:
    return rate(row, "gflop_s")


def _ms(rows: Rows, row: Row) -> Cell:
    return ms(row)


def _noise() -> list[tuple[str, ...]]:
    places = {**PLACES, **{f"{name}, tmv": rows for name, rows in TMV.items()}}
    return [(place, f"{100 * rows.group.band:.0f}") for place, rows in places.items()]


TABLES = {
    "setup": setup(*STUDIES, *TMV.values()),
    "noise": grid(["place", "noise: the baseline against itself, ± %"], _noise),
    "aims": aims(
        *(
            Aim(
                f"{place}: `packed`, times as fast as NumPy",
                lambda rows=rows: rows.speedup("packed", "NumPy"),
                least=0.9,
            )
            for place, rows in PLACES.items()
        )
    ),
    "times": compared({f"{place}, ms": rows for place, rows in PLACES.items()}, NAMES, _ms, "ms [95 % CI]"),
    "rates": compared(
        {f"{place}, GFLOP/s": rows for place, rows in PLACES.items()}, NAMES, _gflops, "GFLOP/s [95 % CI]"
    ),
    "bounds": compared(
        {f"{place}, %": rows for place, rows in PLACES.items()}, NAMES[:1], lambda rows, row: bound(row), "of bound"
    ),
    "tmv": compared(
        {f"{name}, ms": rows for name, rows in TMV.items()}, TRANSPOSED, _ms, "transposed matrix by vector, 4096"
    ),
    "tmv_bounds": compared(
        {f"{name}, %": rows for name, rows in TMV.items()}, ["row_blocks"], lambda rows, row: bound(row), "of bound"
    ),
}
