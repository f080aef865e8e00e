"""The table of one group of a study's rows: its header, columns, sections and footers."""

from __future__ import annotations

from dataclasses import replace

from gpuopt import labels
from gpuopt.lab.rows import refusals
from gpuopt.lab.rows.groups import (
    PAPER,
    SECTIONS,
    Group,
    counted_unit,
    flags_of,
    is_baseline,
    seconds_of,
    section_title,
    share_of_bound,
    uncached_gflop_s,
)
from gpuopt.lab.rows.pairs import by_other_clock, compared_rows, elsewhere, verdict_of
from gpuopt.lab.rows.paper_figures import paper_figure
from gpuopt.lab.rows.schema import Row, levels
from gpuopt.lab.rows.short_names import has_levels, in_short, legend, named_in, short_names
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import (
    ABSENT,
    TERA,
    Column,
    Forms,
    Line,
    Sheet,
    joined,
    shortened,
    significant,
    spread,
)
from gpuopt.lab.show import energies, header
from gpuopt.lab.timing.fields import Flag

BASELINE_WIDTH = 16  # a longer name does not head a column
NAME_WIDTH, NARROW_NAME = 24, 18  # of a name where the columns have to be saved
LONG_NAME, MOST_NAME = (
    40,
    10_000,
)  # of a name where there is room: of somebody's own kernel, which has many alike; of any
SHORT_LAUNCHES = 50  # a plan that takes less time than so many launches is told the launches' share of it
LEAST_SHARE = 0.1  # %, below which there is nothing to tell

FLAG_MEANINGS: dict[Flag, str] = {
    "unconverged": "the budget ended before the interval was as narrow as the protocol asks",
    "cut_short": "its first samples all took over 4 times the best time so far, so that it was given no more",
    "drift": "the device's speed changed by more than 5 %, within a visit or from sentinel to sentinel",
    "launch_inside": "the host launched more slowly than the device computed, and its times hold that",
    "timer_suspect": "event times and wall time disagree by more than 5 %",
    "throttled": "the device held its clocks down during a visit, and again when the visit was repeated",
    "autocorrelated": "neighbouring samples of a visit depend on each other",
    "bimodal": "the samples of a visit fall into two groups",
    "over_bound": "faster than its bound: the declared work or the ceiling is wrong",
    "suspicious": "twice the trips did not take twice the time, so that the rate depends on the number of trips",
    "optimised_away": "some samples took no time at all: the compiler removed the work, or the clock stood still",
}
# These are of all blocks together; a summary's other flags are those of most blocks.
SUMMARY_FLAGS: tuple[Flag, ...] = ("unconverged", "over_bound")

NO_PROFILE = "-, for it needs a profile of this device: `gpuopt profile` measures one"
MOST_ROWS, MOST_OF_SECTION = 40, 8  # of a longer table, so many rows of a section that is not the paper's

# One character a level, widest layout first: which form of the cell is shown, `-` for none.
COLUMNS = (
    Column("name", "variant", ("",), "0000000111212", right=False, folds=(MOST_NAME, NAME_WIDTH, NARROW_NAME)),
    Column("time", "time", ("ms [95 % CI]", "ms ± CI", "ms"), "0001111112222"),
    Column("flops", "rate", ("GFLOP/s",), "0000000000000"),
    Column("counted", "rate", ("G/s",), "0000000000000"),
    Column("error", "error", ("Frobenius (worst)", "Frobenius"), "0011111111---"),
    Column("bytes", "traffic", ("GB/s",), "00-----------"),
    Column("bound", "of bound", ("% [CI]", "% ± CI", "%"), "0111112222222"),
    Column("by", "bound by", ("then, % of it", ""), "00011--------", right=False),
    Column("uncached", "no cache", ("GFLOP/s (%)",), "0000---------"),
    Column("paper", "the paper", ("GFLOP/s of bound", "GFLOP/s (bound)", "GFLOP/s"), "0000012------"),
    Column("net", "energy", ("net J",), "00000000000--"),
    Column("per_joule", "per joule", ("GFLOP/J",), "000000000000-"),
    Column("speedup", "speed-up", ("speed-up [95 % CI]", "speed-up ± CI", "speed-up"), "0001111111122"),
)

VERDICT_SIGNS = {
    "SAME": ("=", "no difference shown, and none of 5 % or more"),
    "AMBIGUOUS": ("?", "not certified by this run"),
}
REFUSED = "no verdict, for the reason above"  # in the table's second line


def sheet(study: StudyRows, group: Group, whole: bool = False) -> Sheet:
    """The table of `group`, one of the study's groups; of many rows the fastest, unless ``whole``."""
    against = dict.fromkeys(group.label(row) for row in group.rows if is_baseline(row, row))
    quoted = {figure.device for figure in map(paper_figure, group.rows) if figure is not None}
    paper = f"paper, {quoted.pop()}" if len(quoted) == 1 else "the paper"  # of several, a footer tells
    over = joined(list(against))
    named = over if 0 < len(over) <= BASELINE_WIDTH else "its baseline" if len(against) > 1 else "baseline"
    titles = {"speedup": f"vs {named}", "paper": paper}
    gains = any(figure.gain for figure in map(paper_figure, group.rows) if figure is not None)
    workload = str(group.first["workload"])
    names, legends = _names(group)
    sections = [
        (section_title(name, workload), [_line(group, row, names[id(row)], gains) for row in shown(group, name, whole)])
        for name in SECTIONS
    ]
    cells = [cell for _, lines in sections for line in lines for cell in line.cells.items()]
    filled = {key for key, forms in cells if forms != ABSENT}
    filled |= {"bound"} if any(row["pct_bound"] for row in group.rows) else set()
    units = {"counted": (f"G {unit}/s",)} if (unit := counted_unit(group.rows)) else {}
    if _flop_unit(group)[0] != 1:
        units["flops"] = (_flop_unit(group)[1],)
    units |= {"net": (energies.joule_unit(group)[1],), "per_joule": (energies.work_unit(group)[1],)}
    if gains:
        units["paper"] = ("speed-up",)
    columns = [
        replace(c, title=titles.get(c.key, c.title), units=units.get(c.key, c.units))
        for c in COLUMNS
        if c.key in filled
    ]
    top = [header.title(group), *header.conditions(study, group)]
    return Sheet(columns, top, sections, _footers(group, whole), legends)


def shown(group: Group, name: str, whole: bool = False) -> list[Row]:
    """The rows of a section; of a long one the fastest alone, unless the whole table is asked for."""
    rows = group.section(name)
    if whole or name == PAPER or len(group.rows) <= MOST_ROWS or len(rows) <= MOST_OF_SECTION:
        return rows
    return sorted(rows, key=seconds_of)[:MOST_OF_SECTION]


def _footers(group: Group, whole: bool) -> list[tuple[str, str]]:
    """What the table's signs mean and which rows it lacks, a line each."""
    hidden = sum(len(group.section(name)) - len(shown(group, name, whole)) for name in SECTIONS)
    out = [("", f"{hidden} slower or failed rows are left out here")] if hidden else []
    words = {str(verdict_of(group, row)) for row in compared_rows(group)}
    other = any(by_other_clock(group, row) for row in compared_rows(group))
    open_rows = [row for row in compared_rows(group) if verdict_of(group, row) == "AMBIGUOUS"]
    whys = {REFUSED if row["refused"] else VERDICT_SIGNS["AMBIGUOUS"][1] for row in open_rows}
    meanings = {word: text for word, (_, text) in VERDICT_SIGNS.items()} | {"AMBIGUOUS": " or ".join(sorted(whys))}
    signs = [f"{sign} {meanings[word]}" for word, (sign, _) in VERDICT_SIGNS.items() if word in words]
    signs += ["~ by another clock than the baseline, no verdict"] if other else []
    signs += [f"- {why}" for why in dict.fromkeys(elsewhere(group, row) for row in group.rows) if why]
    told = any(flags_of(row) or row["energy_note"] for row in group.rows)
    signs += ["* remarks in --explain"] if told else []
    out += [("", "; ".join(signs))] if signs else []
    remark = refusals.bounds_remark(refusals.Conditions.of([*group.rows, *group.blocks]))
    out += [("of bound", remark)] if remark and any(row["profile"] for row in group.rows) else []
    if not any(row["profile"] for row in group.rows) and any(row["pct_bound"] for row in group.rows):
        out.append(("of bound", NO_PROFILE))
    return out


def launch_shares(group: Group) -> list[tuple[str, str]]:
    """What part of each short plan's time no kernel runs. It is no number of launches times what a launch takes where
    nothing runs: one kernel hides much of the next one's launch."""
    launch_ms = group.launch_ms
    if not launch_ms:
        return []
    shares = []
    for row in group.rows:
        count, time_ms, busy_ms = row["launches"], row["median_ms"], row["busy_ms"]
        if row["status"] != "ok" or not count or not time_ms or not busy_ms or time_ms >= SHORT_LAUNCHES * launch_ms:
            continue
        if (share := 100 * (1 - busy_ms / time_ms)) >= LEAST_SHARE:  # kernels of two queues may run at once
            several = f" ({count} launches)" if count > 1 else ""
            shares.append(f"{group.label(row)} {share:.2g} %{several}")
    return [("launches' share of the time", joined(shares))] if shares else []


def _line(group: Group, row: Row, name: Forms, gains: bool) -> Line:
    cells: dict[str, Forms] = {"name": name}
    figure = paper_figure(row)
    if figure is not None:
        cells["paper"] = figure.forms(gains)
    if row["status"] != "ok":
        cells["time"] = (str(row["status"]),)
        return Line(cells)
    cells["time"] = spread(row["median_ms"], row["ci_lo_ms"], row["ci_hi_ms"], digits=4)
    cells["flops"] = (significant(row["gflop_s"] / _flop_unit(group)[0]) if row["gflop_s"] else "-",)
    cells["error"] = _error(row)
    if row["counted"]:
        cells["counted"] = (significant(row["gop_s"]),)
    cells["bytes"] = (significant(row["gb_s"]),)
    share = share_of_bound(row)
    cells["bound"] = spread(share, row["pct_lo"], row["pct_hi"])
    cells["by"] = _bound_by(row)
    cells["uncached"] = _uncached(row)
    cells["net"], cells["per_joule"] = energies.cells(group, row)
    cells["speedup"] = _speedup(group, row)
    return Line(cells, None if share is None else share / 100)


def _names(group: Group) -> tuple[dict[int, Forms], Forms]:
    """The forms of each row's name, by the row's ``id``, and what short names in them stand for. Where a name with
    levels is too long, parameters have short names in the whole table; what is still too long is folded there, between
    levels or words. A word that is too long loses its middle, but for as much of its end as tells it from others."""
    every = {id(row): group.label(row) for row in group.rows}
    starred = {id(row): " *" if flags_of(row) else "" for row in group.rows}
    brought = labels.of(group.first["workload"]).brought
    short = short_names(named_in(every.values()))
    forms: dict[int, list[str]] = {key: [] for key in every}
    legends = []
    for width in (LONG_NAME if brought else MOST_NAME, NAME_WIDTH, NARROW_NAME):
        shorten = any(has_levels(name) and len(name + starred[key]) > width for key, name in every.items())
        names = {key: in_short(name, short) if shorten else name for key, name in every.items()}
        for key, name in names.items():
            fits = has_levels(name) or max(map(len, name.split())) <= width - 4
            cut = name if fits else _cut(name, [*names.values()], width - len(starred[key]))
            forms[key].append(cut + starred[key])
        legends.append("; ".join(filter(None, [legend(short) if shorten else "", unsaid(group) if brought else ""])))
    return {key: tuple(each) for key, each in forms.items()}, tuple(legends)


def unsaid(group: Group) -> str:
    """The levels that names do not tell: `where a name does not say it, use_local=0`, `everywhere tile_size_x=2`."""
    ours = [row for row in group.rows if row["role"] not in ("call", "peer")]
    named = named_in(map(group.label, ours))
    left: dict[str, list[Row]] = {name: [row for row in ours if f"{name}=" not in group.label(row)] for name in named}
    plain = [f"{name}={levels(rows[0])[name]}" for name, rows in left.items() if rows and name in levels(rows[0])]
    unnamed = {name: level for name, level in (levels(ours[0]) if ours else {}).items() if name not in named}
    differing = [name for name in unnamed if len({levels(row).get(name) for row in ours}) > 1]
    same = [f"{name}={level}" for name, level in unnamed.items() if name not in differing]
    told = [f"where a name does not say it, {', '.join(plain)}"] if plain else []
    told += [f"everywhere {', '.join(same)}"] if same else []
    told += [f"{', '.join(differing)} differs, see --explain"] if differing else []
    return "; ".join(told)


def _cut(label: str, every: list[str], width: int) -> str:
    """The name in so many characters, with as much of its end as tells it from others."""
    if len(label) <= width:
        return label
    for end in (0, width // 3, width // 2, 2 * width // 3):
        cut = _squeezed(label, width, end)
        if [_squeezed(name, width, end) for name in every].count(cut) == 1:
            return cut
    return shortened(label, width)


def _squeezed(text: str, width: int, end: int) -> str:
    """The text in ``width`` characters, the last ``end`` of them its own."""
    return text if len(text) <= width else f"{text[: width - end - 1]}…{text[len(text) - end :]}"


def _flop_unit(group: Group) -> tuple[float, str]:
    """What the rates of the group are divided by, and the unit they are then in."""
    fastest = max((float(row["gflop_s"]) for row in group.rows if row["gflop_s"]), default=0.0)
    return (1e3, "TFLOP/s") if fastest >= TERA else (1.0, "GFLOP/s")


def _error(row: Row) -> Forms:
    """`1.6e-06 (31 %)`."""
    if not labels.of(row["workload"]).shows_error or row["l2_rel"] is None:
        return ABSENT
    error = f"{row['l2_rel']:.1e}"
    worst = row["max_of_tol"]
    return (error,) if worst is None else (f"{error} ({significant(100 * worst, 2)} %)", error)


def _bound_by(row: Row) -> Forms:
    """`dram, then l1 43 %`, `dram`."""
    first, second = row["bound_by"], row["next_by"]
    if not first or not second:
        return (str(first or "-"),)
    return (f"{first}, then {second} {significant(row['pct_next'], 2)} %", str(first))


def _uncached(row: Row) -> Forms:
    """`9.8 (224 %)`."""
    rate, percent = uncached_gflop_s(row), row["pct_uncached"]
    return ABSENT if rate is None or percent is None else (f"{significant(rate)} ({percent:.0f} %)",)


def _speedup(group: Group, row: Row) -> Forms:
    if is_baseline(row, row):
        return ("baseline",)
    if not row["ratio"] or elsewhere(group, row):
        return ABSENT
    lo, hi = row["ratio_lo"], row["ratio_hi"]
    forms = spread(1 / row["ratio"], 1 / hi if hi else None, 1 / lo if lo else None, "x")
    sign = "~" if by_other_clock(group, row) else VERDICT_SIGNS.get(str(verdict_of(group, row)), ("",))[0]
    return tuple(f"{form} {sign}" for form in forms) if sign else forms
