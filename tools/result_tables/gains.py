"""What GEM's optimizations gain alone and together, and whether the gains of pairs multiply."""

from collections.abc import Sequence
from itertools import combinations
from math import prod

from .tables import Line, Table, grid, markdown
from .values import Row, Rows, Value, significant

BASIC = "paper:basic"
# The levels of the kernel `pairs` that each optimization changes, by the paper's short name.
SINGLES = {
    "MT": {"LOCAL": 256},
    "KS": {"SPECIALIZED": 1},
    "RA": {"REGISTER_SUM": 1},
    "LM": {"VERTEX": 1},
    "RP": {"VERTEX": 2},
    "IM": {"ATOMS": 2, "VECTOR": 4},
    "LU2": {"UNROLL": 2},
    "LU4": {"UNROLL": 4},
    "VASM4": {"VECTOR": 4},
    "VAVM2": {"MATH": 1, "VECTOR": 2},
    "VAVM4": {"MATH": 1, "VECTOR": 4},
    "IM of scalars": {"ATOMS": 2},
}
PRESETS = [
    ("max threads (MT)", "paper:max_threads"),
    ("kernel splitting (KS)", "paper:kernel_splitting"),
    ("register accumulator (RA)", "paper:register_accumulator"),
    ("register preloading (RP)", "paper:register_preloading"),
    ("local memory (LM)", "paper:local_memory"),
    ("image memory (IM)", "paper:image_memory"),
    ("loop unrolled 2 times", "paper:unroll2"),
    ("loop unrolled 4 times", "paper:unroll4"),
    ("`float2` loads (VASM2)", "paper:vasm2"),
    ("`float4` loads (VASM4)", "paper:vasm4"),
    ("`float2` loads and arithmetic (VAVM2)", "paper:vavm2"),
    ("`float4` loads and arithmetic (VAVM4)", "paper:vavm4"),
    ("MT + KS", "paper:mt_ks"),
    ("KS + RP", "paper:ks_rp"),
    ("KS + LM", "paper:ks_lm"),
    ("KS + VAVM4", "paper:ks_vavm4"),
    ("KS + RP + IM", "paper:ks_rp_im"),
    ("AMD-style set: MT + KS + RA + RP + IM", "paper:amd_best"),
    ("NVIDIA-style set", "paper:nvidia_style"),
]


def _kernels(rows: Rows) -> list[Row]:
    return [row for row in rows.group.rows if row["variant"] == "pairs" and row["status"] == "ok"]


def _with(rows: Rows, names: Sequence[str]) -> Row | None:
    """The good row that differs from the basic kernel by these optimizations alone."""
    basic = rows.row(BASIC)["params"]
    changes = [SINGLES[name] for name in names]
    levels = {key: level for change in changes for key, level in change.items()}
    if len(levels) < sum(map(len, changes)) or (len(names) > 1 and levels in SINGLES.values()):
        return None  # two of them change the same level, or are one optimization under another name
    return next((row for row in _kernels(rows) if row["params"] == {**basic, **levels}), None)


def gain(rows: Rows, row: Row) -> Value:
    return rows.speedup(str(row["configuration"]), BASIC)


def _stacks(rows: Rows, size: int = 2) -> list[tuple[str, float, float]]:
    """(names, gain together, product of the gains alone) of each set that was measured, as were its parts."""
    found = []
    for names in combinations(SINGLES, size):
        together, alone = _with(rows, names), [_with(rows, [name]) for name in names]
        if together is not None and (parts := [row for row in alone if row is not None]) and len(parts) == size:
            found.append((" + ".join(names), gain(rows, together).mid, prod(gain(rows, row).mid for row in parts)))
    return found


def stacking(rows: Rows) -> Table:
    def made() -> list[Line]:
        ordered = sorted(_stacks(rows), key=lambda stack: stack[1] / stack[2])
        return [(names, one, all_, significant(100 * one / all_, 3)) for names, one, all_ in ordered]

    return grid(["pair", "together", "product of the two", "share, %"], made)


def best_cells(places: dict[str, Rows], count: int) -> Table:
    """The fastest sets of the factorial, over the basic kernel."""

    def made() -> list[Line]:
        lines: list[Line] = []
        for place, rows in places.items():
            ranked = sorted(_kernels(rows), key=lambda row: float(row["median_ms"]))[:count]
            lines += [(place, _set(rows, row), gain(rows, row)) for row in ranked]
        return lines

    return lambda: markdown(["device", "set", "times as fast as `basic` [95 % CI]"], made(), words=True)


def _set(rows: Rows, row: Row) -> str:
    basic = rows.row(BASIC)["params"]
    changed = {key: level for key, level in row["params"].items() if level != basic[key]}
    names = []
    for name, levels in sorted(SINGLES.items(), key=lambda item: (-len(item[1]), "MATH" not in item[1])):
        if levels.items() <= changed.items():
            names.append(name)
            changed = {key: level for key, level in changed.items() if key not in levels}
    order = list(SINGLES)
    rest = [f"{key}={level}" for key, level in changed.items()]
    return " + ".join([*sorted(names, key=order.index), *rest])


def counts(rows: Rows) -> tuple[int, int]:
    """How many cells ran, and how many are forbidden by a rule."""
    cells = [row for row in rows.group.rows if row["variant"] == "pairs"]
    return len(_kernels(rows)), len(cells) - len(_kernels(rows))
