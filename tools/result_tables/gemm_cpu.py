"""Tables of docs/results/gemm-cpu.md."""

from .tables import Aim, Cell, aims, between, compared, findings, grid, ms, setup
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


def _found() -> list[str]:
    def over_numpy(name: str) -> str:
        return between([rows.speedup(name, "NumPy").mid for rows in PLACES.values()])

    longer = [f"{rows.speedup('row_blocks', 'gpuopt.tmv(A, v)')} ({name})" for name, rows in TMV.items()]
    return [
        "**Products reach NumPy's rate, plain calls too**: at 1024 and 2048, by both runtimes, kernels are"
        f" {over_numpy('packed')} times as fast and plain calls {over_numpy('gpuopt.gemm(A, B)')} times.",
        f"**A plain call of `gpuopt.tmv` takes {' and '.join(longer)} times as long as its kernel**, by the host's"
        " clock: it reads NumPy's matrix in place, wherever it begins.",
    ]


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
    "findings": findings(_found),
}
