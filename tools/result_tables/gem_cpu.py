"""Tables of docs/results/gem-cpu.md."""

from .tables import Aim, Cell, aims, compared, setup
from .values import Row, Rows, bound, ms, rate

RUNTIMES = {"PoCL": "pocl", "Intel": "intel"}
BIG = {name: Rows(f"results/cpu-2core/{key}-gem-25000/rows.jsonl") for name, key in RUNTIMES.items()}

# The fastest kernel of full precision: by the processor's own estimate and a Newton step, by either road.
BEST = {"PoCL": "wide(ROWS=4, RSQRT=3)", "Intel": "wide(ROWS=8, RSQRT=5)"}
LEAST = {"PoCL": 0.9, "Intel": 1.6}
NAMES = [
    ("`wide(RSQRT=3)`, 24 bits", "wide(ROWS=4, RSQRT=3)"),
    ("`wide(RSQRT=5)`, 24 bits", "wide(ROWS=4, RSQRT=5)"),
    ("`wide(ROWS=8, RSQRT=5)`, 24 bits", "wide(ROWS=8)"),
    ("`wide(RSQRT=1)`, the runtime's native root", "wide(RSQRT=1)"),
    ("`tiled`", "tiled"),
    ("`gpuopt.gem`, NumPy in and out", "gpuopt.gem(molecule, surface)"),
    ("C++ loop", "C++ loop"),
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
                lambda rows=rows, name=name: rows.speedup(BEST[name], "C++ loop"),
                least=LEAST[name],
            )
            for name, rows in BIG.items()
        )
    ),
    "times": compared({f"{name}, ms [95 % CI]": rows for name, rows in BIG.items()}, NAMES, lambda rows, row: ms(row)),
    "rates": compared({f"{name}, G pair/s": rows for name, rows in BIG.items()}, NAMES, _pairs),
    "bounds": compared({f"{name}, % of bound, by": rows for name, rows in BIG.items()}, NAMES[:5], _bound),
}
