"""What GEM's optimizations gain alone and together, and whether the gains of pairs multiply."""

from collections.abc import Sequence
from itertools import combinations
from math import prod

from .tables import Line, Table, grid, markdown
from .values import Row, Rows, Value, significant

BASIC = "paper:basic"
# The optimizations by the paper's short names, and the presets that are one each: a row says which levels it changes.
SINGLES = {
    "MT": "paper:max_threads",
    "KS": "paper:kernel_splitting",
    "RA": "paper:register_accumulator",
    "LM": "paper:local_memory",
    "RP": "paper:register_preloading",
    "IM": "paper:image_memory",
    "LU2": "paper:unroll2",
    "LU4": "paper:unroll4",
    "VASM2": "paper:vasm2",
    "VASM4": "paper:vasm4",
    "VAVM2": "paper:vavm2",
    "VAVM4": "paper:vavm4",
    "atoms in LM": "paper:local_memory_atoms",
}
PRESETS = [
    ("max threads (MT)", "paper:max_threads"),
    ("kernel splitting (KS)", "paper:kernel_splitting"),
    ("register accumulator (RA)", "paper:register_accumulator"),
    ("register preloading (RP)", "paper:register_preloading"),
    ("local memory (LM)", "paper:local_memory"),
    ("local memory, of atoms", "paper:local_memory_atoms"),
    ("image memory (IM)", "paper:image_memory"),
    ("loop unrolled 2 times", "paper:unroll2"),
    ("loop unrolled 4 times", "paper:unroll4"),
    ("`float2` loads (VASM2)", "paper:vasm2"),
    ("`float4` loads (VASM4)", "paper:vasm4"),
    ("`float2` loads and arithmetic (VAVM2)", "paper:vavm2"),
    ("`float4` loads and arithmetic (VAVM4)", "paper:vavm4"),
    ("MT + KS", "paper:mt_ks"),
    ("KS + RP", "paper:ks_rp"),
    ("KS + RP + VASM2", "paper:ks_rp_vasm2"),
    ("KS + LM", "paper:ks_lm"),
    ("KS + LM of atoms", "paper:ks_lm_atoms"),
    ("KS + VASM2", "paper:ks_vasm2"),
    ("KS + VASM4", "paper:ks_vasm4"),
    ("KS + VAVM2", "paper:ks_vavm2"),
    ("KS + VAVM4", "paper:ks_vavm4"),
    ("KS + RP + IM", "paper:ks_rp_im"),
    ("AMD-style set", "paper:amd_best"),
    ("NVIDIA-style set", "paper:nvidia_style"),
]


def presets(rows: Rows) -> list[tuple[str, str]]:
    """The presets that were measured, with what a table calls them."""
    measured = {row["preset"]: row for row in rows.group.rows if row["preset"]}
    found = [(text, preset) for text, preset in PRESETS if preset in measured]
    amd = "paper:amd_best"
    return [(f"{text}: {_set(rows, measured[preset])}" if preset == amd else text, preset) for text, preset in found]


def _singles(rows: Rows) -> dict[str, dict[str, int]]:
    """The levels of the kernel `pairs` that each optimization changes, of those that were measured alone."""
    measured = {row["preset"]: row["params"] for row in rows.group.rows if row["preset"]}
    basic = measured[BASIC]
    found = {
        name: {key: level for key, level in measured[preset].items() if level != basic[key]}
        for name, preset in SINGLES.items()
        if preset in measured
    }
    if "IM" in found:
        found["IM of scalars"] = {"ATOMS": found["IM"]["ATOMS"]}
    return found


def _kernels(rows: Rows) -> list[Row]:
    return [row for row in rows.group.rows if row["variant"] == "pairs" and row["status"] == "ok"]


def _with(rows: Rows, names: Sequence[str]) -> Row | None:
    """The good row that differs from the basic kernel by these optimizations alone."""
    basic, singles = rows.row(BASIC)["params"], _singles(rows)
    changes = [singles[name] for name in names]
    levels = {key: level for change in changes for key, level in change.items()}
    if len(levels) < sum(map(len, changes)) or (len(names) > 1 and levels in singles.values()):
        return None  # two of them change the same level, or are one optimization under another name
    return next((row for row in _kernels(rows) if row["params"] == {**basic, **levels}), None)


def gain(rows: Rows, row: Row) -> Value:
    return rows.speedup(str(row["configuration"]), BASIC)


def _stacks(rows: Rows, size: int = 2) -> list[tuple[str, float, float]]:
    """(names, gain together, product of the gains alone) of each set that was measured, as were its parts."""
    found = []
    for names in combinations(_singles(rows), size):
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
    basic, singles = rows.row(BASIC)["params"], _singles(rows)
    changed = {key: level for key, level in row["params"].items() if level != basic[key]}
    names = []
    for name, levels in sorted(singles.items(), key=lambda item: (-len(item[1]), "MATH" not in item[1])):
        if levels.items() <= changed.items():
            names.append(name)
            changed = {key: level for key, level in changed.items() if key not in levels}
    order = list(singles)
    rest = [f"{key}={level}" for key, level in changed.items()]
    return " + ".join([*sorted(names, key=order.index), *rest])


def counts(rows: Rows) -> tuple[int, int]:
    """How many cells ran, and how many are forbidden by a rule."""
    cells = [row for row in rows.group.rows if row["variant"] == "pairs"]
    return len(_kernels(rows)), len(cells) - len(_kernels(rows))
