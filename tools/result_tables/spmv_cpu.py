"""Tables of docs/results/spmv-cpu.md."""

from .tables import Aim, Cell, aims, compared, grid, ms, ratios, setup
from .values import DATA, Row, Rows, Value, bound

PLACES = {
    f"{runtime}, {size}": Rows(f"results/cpu-2core/{folder}-{grid_size}/rows.jsonl")
    for size, grid_size in (("50 MB", "321x481"), ("690 MB", "1921x1081"))
    for runtime, folder in (("Intel", "intel"), ("PoCL", "pocl"))
}
INTEL, POCL = PLACES["Intel, 690 MB"], PLACES["PoCL, 690 MB"]

SLICES_32, SLICES_64 = "sliced(SLICE=32, HALF=0)", "sliced(SLICE=64, HALF=0)"
SYMMETRIC, HALF = "symmetric_sliced(HALF=0)", "sliced(HALF=1)"
NAMES = [
    ("`row_blocks(BLOCK=64, ITEMS=64)`", "row_blocks"),
    ("`sliced(SLICE=32, ITEMS=64)`", SLICES_32),
    ("`sliced(SLICE=64, ITEMS=64)`", SLICES_64),
    ("`symmetric_sliced(SLICE=1024, ITEMS=16)`", SYMMETRIC),
    ("`sliced(HALF=1)`", HALF),
    ("`symmetric_sliced(HALF=1)`", "symmetric_sliced(HALF=1)"),
    ("`M @ x`, wall time", "M @ x"),
    ("`gpuopt.spmv(A, x)`, wall time", "gpuopt.spmv(A, x)"),
    ("SciPy `dia_array`, wall time", "SciPy dia_array"),
    ("SciPy `csr_array`, wall time", "SciPy csr_array"),
]


def _rate(rows: Rows, row: Row) -> Cell:
    return float(row["gflop_s"])


def _bound(rows: Rows, row: Row) -> Cell:
    return bound(row)


def _read(rows: Rows, name: str) -> Value:
    """The fastest read of a configuration's own data, in GB/s."""
    data = f"{DATA}{rows.row(name)['configuration']}"
    found = [
        row for row in rows.group.ceilings if row["kind"] == "summary" and str(row["configuration"]).endswith(data)
    ]
    return Value(max(row["gb_s"] for row in found))


TABLES = {
    "setup": setup(*PLACES.values()),
    "aims": aims(
        *(
            Aim(
                f"{place}: `M @ x`, times as fast as SciPy's `dia_array`",
                lambda rows=rows: rows.speedup("M @ x", "SciPy dia_array"),
                least=5,
            )
            for place, rows in PLACES.items()
        ),
        *(
            Aim(
                f"{place}: best full storage, of the read of its own data",
                lambda rows=rows: rows.bound(SLICES_32),
                least=90,
                unit="%",
            )
            for place, rows in PLACES.items()
        ),
    ),
    "noise": grid(
        ["", *PLACES],
        lambda: [
            ("noise: the baseline against itself, ± %", *(f"{100 * rows.group.band:.0f}" for rows in PLACES.values())),
            (
                "rows flagged `drift`",
                *(
                    f"{sum('drift' in (row.get('flags') or ()) for row in rows.group.rows)} of {len(rows.group.rows)}"
                    for rows in PLACES.values()
                ),
            ),
        ],
    ),
    "times": compared({f"{place}, ms": rows for place, rows in PLACES.items()}, NAMES, lambda rows, row: ms(row)),
    "rates": compared({f"{place}, GFLOP/s": rows for place, rows in PLACES.items()}, NAMES, _rate),
    "bounds": compared(
        {f"{place}, %": rows for place, rows in PLACES.items()}, NAMES[:6], _bound, "share of the bound"
    ),
    "reads": grid(
        ["fastest read, GB/s", *PLACES],
        lambda: [
            ("a buffer of its own", *(rows.beside("read_chunks", "gb_s").bare for rows in PLACES.values())),
            ("the data of `aligned`", *(_read(rows, "paper:aligned") for rows in PLACES.values())),
            ("the data of `sliced(SLICE=32)`", *(_read(rows, SLICES_32) for rows in PLACES.values())),
            ("the data of `sliced(SLICE=64)`", *(_read(rows, SLICES_64) for rows in PLACES.values())),
        ],
    ),
    "ratios": ratios(
        PLACES,
        [
            ("half of the matrix over slices of 64", SYMMETRIC, SLICES_64),
            ("16-bit slices over fp32 slices of 64", HALF, SLICES_64),
            ("`gpuopt.spmv(A, x)` over SciPy `dia_array`", "gpuopt.spmv(A, x)", "SciPy dia_array"),
        ],
    ),
    "rejected": ratios(
        PLACES,
        [
            ("slices of 32 rows over slices of 64", SLICES_32, SLICES_64),
            ("`row_blocks`, the paper's pitched layout, over slices of 64", "row_blocks", SLICES_64),
        ],
    ),
    "overhead": grid(
        ["ms", *PLACES],
        lambda: [
            (
                "`M @ x` less its kernel",
                *((rows.ms("M @ x").mid - rows.ms(SYMMETRIC).mid) for rows in PLACES.values()),
            )
        ],
    ),
}
