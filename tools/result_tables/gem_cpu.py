"""Tables of docs/results/gem-cpu.md."""

from .tables import Aim, Cell, aims, between, compared, findings, setup
from .values import Row, Rows, Value, bound, ms, rate

RUNTIMES = {"PoCL": "pocl", "Intel": "intel"}
BIG = {name: Rows(f"results/cpu-2core/{key}-gem-25000/rows.jsonl") for name, key in RUNTIMES.items()}

LEAST = {"PoCL": 0.9, "Intel": 1.6}
CALL = "gpuopt.gem(molecule, surface)"
NAMES = [
    ("`wide(RSQRT=3)`, 24 bits", "wide(ROWS=4, RSQRT=3)"),
    ("`wide(RSQRT=5)`, 24 bits", "wide(ROWS=4, RSQRT=5)"),
    ("`wide(ROWS=8, RSQRT=5)`, 24 bits", "wide(ROWS=8)"),
    ("`wide(RSQRT=1)`, the runtime's native root", "wide(RSQRT=1)"),
    ("`tiled`", "tiled"),
    ("`gpuopt.gem`, NumPy in and out", CALL),
    ("C++ loop", "C++ loop"),
]


def fastest(rows: Rows) -> str:
    """The fastest kernel of full precision."""
    kernels = [row for row in rows.group.rows if row["role"] == "variant" and row["status"] == "ok"]
    full = [row for row in kernels if not row.get("accuracy")]
    return str(min(full, key=lambda row: row["median_ms"])["configuration"])


def best(rows: Rows) -> Value:
    """How many times as fast as the C++ loop that kernel is."""
    return rows.speedup(fastest(rows), "C++ loop")


def _found() -> list[str]:
    gains = [f"{best(rows).mid:.2f} ({name})" for name, rows in BIG.items()]
    longer = [100 * (rows.speedup(fastest(rows), CALL).mid - 1) for rows in BIG.values()]
    return [
        f"**The best kernel of full precision is {' and '.join(gains)} times as fast as the C++ loop**, by the host's"
        " clock, each with"
        " another reciprocal root: the processor's own estimate with PoCL, the runtime's `native_rsqrt` with Intel's,"
        " both refined by a Newton step.",
        f"**A plain call takes {between(longer, '.0f')} % longer than that kernel**, with arrays of NumPy in and out.",
    ]


def _pairs(rows: Rows, row: Row) -> Cell:
    return rate(row, "gop_s")


def _bound(rows: Rows, row: Row) -> Cell:
    return f"{bound(row)}, {row['bound_by']}"


TABLES = {
    "setup": setup(*BIG.values()),
    "aims": aims(
        *(
            Aim(
                f"{name}: best kernel of full precision, times as fast as the C++ loop",
                lambda rows=rows: best(rows),
                least=LEAST[name],
            )
            for name, rows in BIG.items()
        )
    ),
    "times": compared({f"{name}, ms [95 % CI]": rows for name, rows in BIG.items()}, NAMES, lambda rows, row: ms(row)),
    "rates": compared({f"{name}, G pair/s": rows for name, rows in BIG.items()}, NAMES, _pairs),
    "bounds": compared({f"{name}, % of bound, by": rows for name, rows in BIG.items()}, NAMES[:5], _bound),
    "findings": findings(_found),
}
