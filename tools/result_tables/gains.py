"""What GEM's optimizations gain alone and together, whether gains of pairs multiply, and what finds the best set."""

from __future__ import annotations

import math
from functools import cache

from gpuopt.lab.report import Study
from gpuopt.workloads.gem.gains import Stack
from gpuopt.workloads.gem.gains import stacking as stacks_of
from gpuopt.workloads.gem.optimizations import levels_of, names_of
from gpuopt.workloads.gem.stacking import Found, Replay
from gpuopt.workloads.gem.stacking import replay as replay_of

from .tables import Line, Table, grid, markdown
from .values import Row, Rows, Value, rate, significant

BASIC = "paper:basic"
AMD = "paper:amd_best"
SETS = {AMD: "AMD-style set", "paper:nvidia_style": "NVIDIA-style set"}
PRESETS = [
    ("max threads (MT)", "paper:max_threads"),
    ("kernel splitting (KS)", "paper:kernel_splitting"),
    ("register accumulator (RA)", "paper:register_accumulator"),
    ("register preloading (RP)", "paper:register_preloading"),
    ("vertex in local memory (LM)", "paper:local_memory"),
    ("atoms in local memory", "paper:local_memory_atoms"),
    ("image memory (IM)", "paper:image_memory"),
    ("loop unrolled 2 times (LU2)", "paper:unroll2"),
    ("loop unrolled 4 times (LU4)", "paper:unroll4"),
    ("`float2` loads (VASM2)", "paper:vasm2"),
    ("`float4` loads (VASM4)", "paper:vasm4"),
    ("`float2` loads and arithmetic (VAVM2)", "paper:vavm2"),
    ("`float4` loads and arithmetic (VAVM4)", "paper:vavm4"),
]
TOGETHER = ("mt_ks", "ks_rp", "ks_rp_vasm2", "ks_lm", "ks_lm_atoms", "ks_vasm2", "ks_vasm4", "ks_vavm2", "ks_vavm4")
NEAR = 0.05  # pairs as near as this to their product are counted as such


def presets(rows: Rows) -> list[tuple[str, str]]:
    """The presets, with what a table calls them."""
    sets = [f"paper:{name}" for name in (*TOGETHER, "ks_rp_im")]
    styles = [(f"{text}: {_set(rows, rows.row(preset))}", preset) for preset, text in SETS.items()]
    return [*PRESETS, *((_set(rows, rows.row(preset)), preset) for preset in sets), *styles]


def _kernels(rows: Rows) -> list[Row]:
    return [row for row in rows.group.rows if row["variant"] == "pairs" and row["status"] == "ok"]


def _set(rows: Rows, row: Row) -> str:
    basic = rows.row(BASIC)["params"]
    return " + ".join(names_of({name: level for name, level in row["params"].items() if level != basic[name]}))


def gain(rows: Rows, row: Row) -> Value:
    return rows.speedup(str(row["configuration"]), BASIC)


# ---------------------------------------------------------------- whether gains multiply


def _stacks(rows: Rows) -> tuple[Stack, ...]:
    return _stacks_in(rows.study)


@cache
def _stacks_in(study: Study) -> tuple[Stack, ...]:
    return tuple(stacks_of(study))


def _share(stack: Stack) -> Value:
    """What two optimizations gain together, as a part of the product of their gains."""
    return Value(stack.share.mid, stack.share.lo, stack.share.hi).inverse


def stacking(rows: Rows, count: int) -> Table:
    """The pairs that are farthest from the product of their gains."""

    def made() -> list[Line]:
        farthest = sorted(_stacks(rows), key=lambda stack: -abs(math.log(stack.share.mid)))[:count]
        ordered = sorted(farthest, key=lambda stack: -stack.share.mid)
        return [(each.names, each.gain, each.product, (_share(each) * 100).text(3)) for each in ordered]

    return grid(["pair", "together", "product of the two", "share, % [95 % CI]"], made)


def counts(rows: Rows) -> Table:
    """How many combinations ran, and how many pairs keep what the product of their gains promises."""

    def made() -> list[Line]:
        forbidden = sum(row["variant"] == "pairs" and row["status"] != "ok" for row in rows.group.rows)
        shares = [_share(stack).mid for stack in _stacks(rows)]
        less, more = sum(share < 1 - NEAR for share in shares), sum(share > 1 + NEAR for share in shares)
        lines = {
            "combinations of the design that ran": _replay(rows).cells,
            "combinations that a rule forbids": forbidden,
            "pairs that were measured together and each alone": len(shares),
            f"of these within {100 * NEAR:.0f} % of their product": len(shares) - less - more,
            "of these that gain less": less,
            "of these that gain more": more,
        }
        return [(text, f"{number}") for text, number in lines.items()]

    return grid(["factorial", "count"], made)


# ---------------------------------------------------------------- the best set, and what finds it


def _replay(rows: Rows) -> Replay:
    return _replay_in(rows.study)


@cache
def _replay_in(study: Study) -> Replay:
    return replay_of(study)


def best_cells(rows: Rows, count: int) -> Table:
    """The fastest sets of the factorial, over the basic kernel."""

    def made() -> str:
        ranked = sorted(_kernels(rows), key=lambda row: float(row["median_ms"]))[:count]
        lines = [(_set(rows, row), rate(row, "gop_s").bare, gain(rows, row)) for row in ranked]
        return markdown(["set", "G pair/s", "times as fast as `basic` [95 % CI]"], lines)

    return made


def _row_of(rows: Rows, found: Found) -> Row:
    wanted = dict(rows.row(BASIC)["params"])
    for name in found.names:
        wanted |= levels_of(name)
    return next(row for row in _kernels(rows) if row["params"] == wanted)


def ways(rows: Rows) -> Table:
    """Where hill climbing and the paper's elimination end, beside the best of all and the paper's own end."""

    def line(way: str, row: Row, product: float | None) -> Line:
        best = str(_row_of(rows, _replay(rows).best)["configuration"])
        of_best = "100" if row["configuration"] == best else rows.speedup(str(row["configuration"]), best) * 100
        product_of = None if product is None else significant(product, 3)
        return way, _set(rows, row), gain(rows, row), product_of, of_best

    def made() -> str:
        told = _replay(rows)
        climbing = told.climbing
        best, median, worst = climbing.ends[0], climbing.median, climbing.ends[-1]

        def part(orders: int) -> str:
            share = 100 * orders / climbing.orders
            return f"{share:.0f} %" if share >= 1 else f"{share:.1g} %"

        found = [
            (f"all {told.cells} combinations", told.best),
            (f"hill climbing, best end ({part(best.orders)} of {climbing.orders} orders)", best.found),
            ("hill climbing, median order", median.found),
            (f"hill climbing, worst end ({part(worst.orders)} of the orders)", worst.found),
            (
                f"elimination beside kernel splitting ({told.beside_splitting.looked_at} looked at)",
                told.beside_splitting.end,
            ),
            (f"elimination by gains alone ({told.by_gains_alone.looked_at} looked at)", told.by_gains_alone.end),
        ]
        lines = [line(way, _row_of(rows, each), each.product) for way, each in found]
        lines.append(line("the set that the paper ends with", rows.row(AMD), None))
        head = ["way", "ends at", "times as fast as `basic` [95 % CI]", "product of gains alone", "% of the fastest"]
        return markdown(head, lines, words=True)

    return made
