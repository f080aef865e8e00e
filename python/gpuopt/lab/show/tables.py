"""The table of one group of a study's rows: its header, columns, sections and footers."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from gpuopt import configuration as tables
from gpuopt import labels, papers
from gpuopt.lab.rows.groups import (
    CALLS,
    ROUNDED,
    SECTIONS,
    Group,
    counted_unit,
    identity,
    is_baseline,
    section_title,
    uncached_gflop_s,
    where,
)
from gpuopt.lab.rows.paper_figures import paper_figure
from gpuopt.lab.rows.schema import Row, levels
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import (
    ABSENT,
    TERA,
    Column,
    Forms,
    Line,
    Sheet,
    byte_count,
    joined,
    quantity,
    shortened,
    significant,
    spread,
)
from gpuopt.lab.timing.fields import Flag

NAME_WIDTH = 24  # of a name where the columns have to be saved
SHORT_LAUNCHES = 50  # a plan that takes less time than so many launches is told the launches' share of it

FLAG_MEANINGS: dict[Flag, str] = {
    "unconverged": "the budget ended before the interval was as narrow as the protocol asks",
    "cut_short": "its first samples all took over 4 times the best time so far, so that it was given no more",
    "drift": "the device's speed changed by more than 5 %, within a visit or from sentinel to sentinel",
    "timer_suspect": "event times and wall time disagree by more than 5 %",
    "throttled": "the device held its clocks down at the end of a visit",
    "autocorrelated": "neighbouring samples of a visit depend on each other",
    "bimodal": "the samples of a visit fall into two groups",
    "over_bound": "faster than its bound: the declared work or the ceiling is wrong",
    "suspicious": "a run of twice the trips did not take twice the time: a folded loop, or clocks that drift",
    "optimised_away": "some samples took no time at all: the compiler removed the work, or the clock stood still",
}
# These are of all blocks together; a summary's other flags are those of most blocks.
SUMMARY_FLAGS: tuple[Flag, ...] = ("unconverged", "over_bound")

CALLS_MEANING = "NumPy in and out, transfers included, by the host's clock"

ERROR_MEANING = (
    "the Frobenius norm of the error over that of the result in fp64, and the largest element's error as a part of "
    "what is allowed there"
)

UNCACHED_MEANING = (
    "the bound if each byte that the inner loop asks for came from memory, as the paper counts, and the share of it "
    "reached; a model, no limit: above 100 % the caches serve the rest"
)

# One character a level, widest layout first: which form of the cell is shown, `-` for none.
COLUMNS = (
    Column("name", "variant", ("",), "0112222222222", right=False),
    Column("time", "time", ("ms [95 % CI]", "ms ± CI", "ms"), "0000011111122"),
    Column("flops", "rate", ("GFLOP/s",), "0000000000000"),
    Column("counted", "rate", ("G/s",), "0000000000000"),
    Column("error", "error", ("Frobenius (worst)", "Frobenius"), "0001111111111"),
    Column("bytes", "traffic", ("GB/s",), "000000-------"),
    Column("bound", "of bound", ("% [CI]", "% ± CI", "%"), "0001111122222"),
    Column("by", "bound by", ("then, % of it", ""), "001----------", right=False),
    Column("uncached", "no cache", ("GFLOP/s (%)",), "000000000----"),
    Column("paper", "the paper", ("GFLOP/s of bound", "GFLOP/s (bound)", "GFLOP/s"), "0000000111---"),
    Column("speedup", "speed-up", ("speed-up [95 % CI]", "speed-up ± CI", "speed-up"), "0000111122112"),
    Column("status", "status", ("",), "0000000000000", right=False),
)

VERDICT_SIGNS = {
    "SAME": ("=", "the same as the baseline within this run's noise"),
    "AMBIGUOUS": ("?", "ambiguous: the interval, or the number of blocks for so many comparisons, does not decide"),
}


def sheet(study: StudyRows, group: Group) -> Sheet:
    """The table of `group`, one of the study's groups."""
    against = dict.fromkeys(group.label(row) for row in group.rows if is_baseline(row, row))
    quoted = {figure.device for figure in map(paper_figure, group.rows) if figure is not None}
    paper = f"paper, {quoted.pop()}" if len(quoted) == 1 else "the paper"  # of several, a footer tells
    titles = {"speedup": f"vs {joined(list(against)) or 'baseline'}", "paper": paper}
    gains = any(figure.gain for figure in map(paper_figure, group.rows) if figure is not None)
    workload = str(group.first["workload"])
    sections = [
        (section_title(name, workload), [_line(group, row, gains) for row in group.section(name)]) for name in SECTIONS
    ]
    cells = [cell for _, lines in sections for line in lines for cell in line.cells.items()]
    filled = {key for key, forms in cells if forms != ABSENT}
    units = {"counted": (f"G {unit}/s",)} if (unit := counted_unit(group.rows)) else {}
    if _flop_unit(group)[0] != 1:
        units["flops"] = (_flop_unit(group)[1],)
    if gains:
        units["paper"] = ("speed-up",)
    columns = [
        replace(c, title=titles.get(c.key, c.title), units=units.get(c.key, c.units))
        for c in COLUMNS
        if c.key in filled
    ]
    return Sheet(columns, _header(study, group), sections, _footers(study, group))


def cache_words(group: Group) -> str:
    """Where the data of repeated runs are found, in words, with the rows' own word for it."""
    state = group.cache_state
    if state != "hot":
        meaning = {"large": "from memory", "cold": "from memory, caches flushed before every sample"}
        return f"{meaning[state]} ({state})" if state in meaning else state
    in_cache = not any(row["bound_by"] == "dram" for row in group.rows)
    return "cache-resident (hot)" if in_cache else "from memory and caches, which hold a part (hot)"


def _header(study: StudyRows, group: Group) -> list[str]:
    row, info = group.first, study.problem_info
    sizes = group.sizes or " ".join(f"{name}={size}" for name, size in (info.get("sizes") or {}).items())
    work = row["flops"] or next((r["flops"] for r in group.rows if r["flops"]), None)
    counted = info.get("flops_counted")
    footprint = row["footprint_bytes"] or info.get("footprint_bytes")
    date = max((str(r["time_utc"])[:10] for r in group.rows if r["time_utc"]), default="")
    facts = [
        cache_words(group),
        f"protocol {row['protocol']}" if row["protocol"] else "",
        _clocks(group),
        (quantity(work, "flop") + " a run" + (f" ({counted})" if counted else "")) if work else "",
        f"{byte_count(footprint)} of data" if footprint else "",
        f"gpuopt {row['gpuopt_version']}" if row["gpuopt_version"] else "",
        date,
    ]
    measured = joined([f"{name} {significant(rate)} GB/s" for name, rate in group.ceiling_rates().items()])
    launch = f"one launch, queued back to back: {significant(1e3 * group.launch_ms)} us" if group.launch_ms else ""
    ceilings = f"ceilings measured in this run: {measured}" if measured else ""
    return [
        _dotted([row["workload"], group.problem, group.dtype, sizes]),
        _dotted([group.device, f"driver {row['driver']}" if row["driver"] else "", row["platform"]]),
        _dotted(facts),
        *filter(None, [_dotted([ceilings, launch])]),
    ]


def _footers(study: StudyRows, group: Group) -> list[tuple[str, str]]:
    out = [
        (f"{group.label(row)}: {row['status']}", str(row["reason"] or "no reason was recorded"))
        for row in group.rows
        if row["status"] != "ok"
    ]
    shown = {identity(row) for row in group.rows}
    hidden: dict[tuple[str, str], int] = {}
    for row in study.failures():
        if where(row) == where(group.first) and identity(row) not in shown:
            key = (str(row["variant"]), str(row["status"]))
            hidden[key] = hidden.get(key, 0) + 1
    if hidden:
        counts = joined([f"{variant} {count} {status}" for (variant, status), count in hidden.items()])
        out.append(("other configurations that failed in the search", f"{counts} (study.failures() says why)"))
    for flag in dict.fromkeys(flag for row in group.rows for flag in row["flags"]):
        flagged = [row for row in group.rows if flag in row["flags"]]
        names = [group.label(row) for row in flagged]
        run = sum(row["status"] == "ok" for row in group.rows)
        told = "every row" if len(names) == run > 2 else joined(names)
        meaning = FLAG_MEANINGS.get(flag, "no meaning is on record")
        of_blocks = flag not in SUMMARY_FLAGS and all(row["kind"] == "summary" for row in flagged)
        out.append((f"* {flag}", f"{told} ({'in most blocks, ' if of_blocks else ''}{meaning})"))
    verdicts = {row["verdict"] for row in group.rows if not is_baseline(row, row)}
    signs = [f"{sign} {text}" for word, (sign, text) in VERDICT_SIGNS.items() if word in verdicts]
    out += [("", "; ".join(signs))] if signs else []
    words = labels.of(group.first["workload"])
    meanings = {ROUNDED: (words.other_accuracy, words.other_accuracy_meaning), CALLS: (CALLS, CALLS_MEANING)}
    out += [meanings[name] for name in SECTIONS if name in meanings and group.section(name)]
    if any(_error(row) != ABSENT for row in group.rows):
        out.append(("error", ERROR_MEANING))
    if any(row["uncached_ms"] for row in group.rows):
        out.append(("no cache", UNCACHED_MEANING))
    out += _papers_devices(group)
    out += _launch_shares(group)
    configured = [row for row in group.rows if row["params"] and row["status"] == "ok"]
    out += [("configurations", joined([_configured(group, row) for row in configured]))] if configured else []
    waiting = [group.label(row) for row in study.unconfirmed if row in group.rows]
    if waiting:
        out.append(("not compared to the end", f"{joined(waiting)} (a search or fewer than 6 blocks each)"))
    return out


def _configured(group: Group, row: Row) -> str:
    """The row's configuration; of one of many presets of a variant, its name and what is not at its standard level."""
    label = group.label(row)
    if label in (row["variant"], row["configuration"]):
        return str(row["configuration"])
    altered = tables.altered(str(row["workload"]), str(row["variant"]), levels(row))
    told = ", ".join(f"{name}={level}" for name, level in altered.items())
    return f"{label} {row['variant']}{f'({told})' if told else ''}"


def _clocks(group: Group) -> str:
    """`event clock`, or the clocks that the rows mix."""
    clocks = list(dict.fromkeys(str(row["clock"]) for row in group.rows if row["clock"]))
    return f"clocks {joined(clocks)}" if len(clocks) > 1 else "".join(f"{clock} clock" for clock in clocks)


def _papers_devices(group: Group) -> list[tuple[str, str]]:
    """Which rows' figures are of which of the paper's devices, where it is not one device alone; and over what each
    paper's speed-ups are, where it is not one paper alone."""
    rows: dict[str, list[str]] = {}
    for row in group.rows:
        if (figure := paper_figure(row)) is not None:
            rows.setdefault(figure.device, []).append(group.label(row))
    told = [f"{device}: {joined(names)}" for device, names in rows.items()]
    out = [("the paper's figures", "; ".join(told))] if len(told) > 1 else []
    bases = {}
    for row in group.rows:
        figure = paper_figure(row)
        paper = papers.paper_of(str(row["workload"]), str(row["preset"])) if figure and figure.gain else None
        if paper is not None:
            bases[paper.key] = f"over {paper.steps[0].preset.split(':')[-1]} ({paper.citation})"
    return [*out, ("the papers' speed-ups", "; ".join(bases.values()))] if len(bases) > 1 else out


def _launch_shares(group: Group) -> list[tuple[str, str]]:
    """What part of each short plan's time its launches are."""
    launch_ms = group.launch_ms
    if not launch_ms:
        return []
    shares = []
    for row in group.rows:
        count, time_ms = row["launches"], row["median_ms"]
        if row["status"] == "ok" and count and time_ms and time_ms < SHORT_LAUNCHES * launch_ms:
            several = f" ({count} launches)" if count > 1 else ""
            shares.append(f"{group.label(row)} {100 * count * launch_ms / time_ms:.2g} %{several}")
    return [("launches' share of the time", joined(shares))] if shares else []


def _line(group: Group, row: Row, gains: bool) -> Line:
    label = group.label(row)
    name: Forms = (str(row["configuration"] or label), label, shortened(label, NAME_WIDTH))
    flags = " *" if row["flags"] else ""
    cells: dict[str, Forms] = {"name": name, "status": (f"{row['status']}{flags}",)}
    figure = paper_figure(row)
    if figure is not None:
        cells["paper"] = figure.forms(gains)
    if row["status"] != "ok":
        return Line(cells)
    cells["time"] = spread(row["median_ms"], row["ci_lo_ms"], row["ci_hi_ms"], digits=4)
    cells["flops"] = (significant(row["gflop_s"] / _flop_unit(group)[0]) if row["gflop_s"] else "-",)
    cells["error"] = _error(row)
    if row["counted"]:
        cells["counted"] = (significant(row["gop_s"]),)
    cells["bytes"] = (significant(row["gb_s"]),)
    cells["bound"] = spread(row["pct_bound"], row["pct_lo"], row["pct_hi"])
    cells["by"] = _bound_by(row)
    cells["uncached"] = _uncached(row)
    cells["speedup"] = _speedup(row)
    share = row["pct_bound"]
    return Line(cells, None if share is None else share / 100)


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
    rate = uncached_gflop_s(row)
    return ABSENT if rate is None else (f"{significant(rate)} ({row['pct_uncached']:.0f} %)",)


def _speedup(row: Row) -> Forms:
    if is_baseline(row, row):
        return ("baseline",)
    if not row["ratio"]:
        return ABSENT
    lo, hi = row["ratio_lo"], row["ratio_hi"]
    forms = spread(1 / row["ratio"], 1 / hi if hi else None, 1 / lo if lo else None, "x")
    sign = VERDICT_SIGNS.get(str(row["verdict"]))
    return tuple(f"{form} {sign[0]}" for form in forms) if sign else forms


def _dotted(parts: Iterable[object]) -> str:
    return " · ".join(str(part) for part in parts if part)
