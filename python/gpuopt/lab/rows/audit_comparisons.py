"""The comparisons in a file: which blocks stand behind which summaries, and what each block must say by itself."""

from __future__ import annotations

import datetime
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass, field

from gpuopt.lab.rows import audit_rules
from gpuopt.lab.rows.audit_facts import Entry, Ledger
from gpuopt.lab.rows.audit_rows import RowAudit
from gpuopt.lab.rows.audit_rules import COMPARED, Fields, Rules
from gpuopt.lab.timing import statistics

# Rows of one comparison agree in these; ceilings and launches have a dtype and sizes of their own.
PLACE = (
    *("device", "driver", "problem", "data", "footprint_bytes", "cache_state", "protocol", "seed", "unit"),
    "baseline",
)

Who = tuple[str, str]  # role and configuration
PAUSE_S = 5.0  # summaries of one sweep are written one after the other; after a longer pause others begin


def who(row: Fields) -> Who:
    return str(row["role"]), str(row["configuration"])


@dataclass
class Block:
    """One pass over the candidates, in the order of the file."""

    number: int
    visits: list[Entry] = field(default_factory=list)

    def of_role(self, role: str) -> list[Entry]:
        return [entry for entry in self.visits if entry.row["role"] == role]

    def sentinel_at(self, order: int) -> Entry | None:
        return next((entry for entry in self.of_role("sentinel") if entry.row["order"] == order), None)


class Comparison:
    """The summaries that were written together, and the blocks that they stand on, by number. ``rules`` are of the
    generation that any of the rows names."""

    def __init__(self, summaries: list[Entry], blocks: Mapping[int, Block]) -> None:
        self.summaries, self.blocks = summaries, blocks
        self._visits: dict[Who, list[tuple[Block, Entry]]] = {}
        generations = {rules_of(summary.row).name for summary in summaries}
        for _, block in sorted(blocks.items()):
            for entry in block.visits:
                self._visits.setdefault(who(entry.row), []).append((block, entry))
                generations.add(rules_of(entry.row).name)
        self.rules = audit_rules.RULES[max(generations - {"first"}, default="first")]

    def visits(self, summary: Entry) -> list[tuple[Block, Entry]]:
        """The summary's visits with their blocks, by the blocks' numbers."""
        return self._visits.get(who(summary.row), [])


def rules_of(row: Fields) -> Rules:
    """The rules of the row's generation; those of the first where it names one that is not known."""
    return audit_rules.RULES[audit_rules.generation(row) or "first"]


def rules_alone(row: Fields) -> Rules:
    """The rules of a row that no summary tells of."""
    return audit_rules.RULES[audit_rules.generation_alone(row)]


def of_rounds(entry: Entry) -> bool:
    """Whether a row is a visit of a survey in rounds: it is held against no baseline, and a point tells of it."""
    return entry.row["role"] == "variant" and entry.row["baseline"] is None and entry.row["ratio"] is None


def place(row: Fields) -> Hashable:
    return tuple(str(row.get(name)) for name in PLACE)


@dataclass
class Collected:
    """All comparisons of a file; all blocks, replaced ones included; and visits that no summary tells of."""

    comparisons: list[Comparison]
    blocks: list[Block]
    unsummarised: int


def collect(entries: Iterable[Entry], compact: bool) -> Collected:
    """Reads the rows in the order of the file. It has what was replaced, and its summaries stand behind the blocks that
    they tell of; a compact file of before 2026-11-28 has the last of each row, in the order of the first."""
    entries = list(entries)
    compact = compact and len({entry.row["row_id"] for entry in entries}) == len(entries)
    blocks: dict[Hashable, dict[int, Block]] = {}
    every: list[Block] = []
    bursts: list[tuple[Hashable, list[Entry], dict[int, Block]]] = []
    written: dict[Hashable, list[Entry]] = {}
    last: Hashable = None
    for entry in entries:
        row, here = entry.row, place(entry.row)
        if row["kind"] == "block" and row["block"] is not None:
            known = blocks.setdefault(here, {})
            starts = row["role"] == "sentinel" and row["order"] == 0
            if row["block"] not in known or starts:
                known[row["block"]] = Block(row["block"])
                every.append(known[row["block"]])
            _keep(known[row["block"]], entry)
        elif entry.is_summary and compact:
            written.setdefault(here, []).append(entry)
        elif entry.is_summary:
            if last != here:
                bursts.append((here, [], dict(blocks.get(here, {}))))
            bursts[-1][1].append(entry)
        last = here if entry.is_summary else None
    bursts += [
        (here, burst, blocks.get(here, {})) for here, summaries in written.items() for burst in _by_time(summaries)
    ]
    found = [Comparison(summaries, _told(summaries, known)) for _, summaries, known in bursts]
    return Collected(found, every, _unsummarised(found, every))


def _keep(block: Block, entry: Entry) -> None:
    """A row that replaces another takes its place."""
    for number, there in enumerate(block.visits):
        if there.row["row_id"] == entry.row["row_id"]:
            block.visits[number] = entry
            return
    block.visits.append(entry)


def _by_time(summaries: list[Entry]) -> list[list[Entry]]:
    """The summaries of a compact file by the sweep that wrote them: an earlier one's may stand beside later ones."""
    if any(entry.row.get("method") for entry in summaries):  # these say when their last block was
        return [summaries]
    timed = sorted(summaries, key=lambda entry: str(entry.row["time_utc"]))
    bursts: list[list[Entry]] = []
    last: float | None = None
    for entry in timed:
        now = _seconds(entry.row["time_utc"])
        if not bursts or (now is not None and last is not None and now - last > PAUSE_S):
            bursts.append([])
        bursts[-1].append(entry)
        last = now
    return [sorted(burst, key=lambda entry: entry.line) for burst in bursts]


def _seconds(time_utc: str | None) -> float | None:
    try:
        return datetime.datetime.fromisoformat(str(time_utc).replace("Z", "+00:00")).timestamp()
    except ValueError:
        return None


def _told(summaries: list[Entry], known: Mapping[int, Block]) -> dict[int, Block]:
    """The blocks that these summaries were made of: an earlier sweep into the same file may have taken more."""
    most = max((summary.row["blocks"] or 0 for summary in summaries), default=0)
    return {number: block for number, block in known.items() if number < most} or dict(known)


def _unsummarised(comparisons: list[Comparison], blocks: list[Block]) -> int:
    told = {
        (id(block), who(summary.row))
        for comparison in comparisons
        for summary in comparison.summaries
        for block in comparison.blocks.values()
    }
    return sum(
        1
        for block in blocks
        for entry in block.visits
        if entry.row["role"] != "sentinel" and not of_rounds(entry) and (id(block), who(entry.row)) not in told
    )


class BlockAudit:
    """Checks what follows within a block: the sentinels' places, ratios to them, drift."""

    def __init__(self, ledger: Ledger, rows: RowAudit, rules: Rules) -> None:
        self.ledger, self.rows, self.rules = ledger, rows, rules

    def check(self, block: Block) -> None:
        if all(map(of_rounds, block.visits)):
            return
        self.places(block)
        sentinels = block.of_role("sentinel")
        if not sentinels:
            return
        rule = "the sentinels are visits of one configuration, the baseline"
        for entry in sentinels:
            of_clock = next(each for each in sentinels if each.row["clock"] == entry.row["clock"])
            self.ledger.same(entry, "key", of_clock.row["key"], rule)
            self.ledger.same(entry, "configuration", entry.row["baseline"], rule)
        drifts: dict[str, bool | None] = {}
        for entry in block.visits:
            self.ratio(block, entry)
            clock = str(entry.row["clock"])
            if clock not in drifts:
                beside = [each.row for each in sentinels if not self.rules.one_clock or each.row["clock"] == clock]
                drifts[clock] = self.rules.drifts(beside)
            self.drift(entry, drifts[clock])

    def places(self, block: Block) -> None:
        """Every visit has a place of its own, and the baseline is visited first, last, and after every eighth."""
        orders = [entry.row["order"] for entry in block.visits]
        if any(order is None for order in orders):
            self.ledger.unchecked["blocks whose visits have no order"] += 1
            return
        first = block.visits[0]
        whole = sorted(orders) == [*range(len(orders))]  # a damaged order may be any number
        rule = "each visit of a block has its own place, none is missing"
        self.ledger.fact(first, "order", sorted(orders), f"0 to {len(orders) - 1}", rule, whole)
        if whole:
            places = sorted(entry.row["order"] for entry in block.of_role("sentinel"))
            together = len({entry.row["clock"] for entry in block.of_role("sentinel")}) if self.rules.one_clock else 1
            wanted = audit_rules.sentinel_places(len(orders), max(together, 1))
            rule = "the baseline is visited first, last and after every eighth of the others"
            self.ledger.fact(first, "order", places, wanted, rule, places == wanted)

    def ratio(self, block: Block, entry: Entry) -> None:
        """The visit's time over the baseline's beside it, of the same clock where the rules ask for one."""
        row = entry.row
        beside = self.beside(block, entry)
        if row["ratio"] is None:
            needed = row["role"] in COMPARED and beside is not None
            rule = "what is compared has a ratio in each block"
            self.ledger.fact(entry, "ratio", None, "a ratio", rule, not needed)
            return
        if beside is None:
            rule = "no sentinel of this block stands beside the visit"
            self.ledger.fact(entry, "ratio", row["ratio"], None, rule, holds=False)
            return
        before, after = beside
        made = row["median_ms"] / self.rules.baseline_ms(row, before.row, after.row)
        slack = self.rows.slack(row["median_ms"], before.row["median_ms"])
        self.ledger.same(
            entry, "ratio", made, f"to the sentinels at {before.row['order']} and {after.row['order']}", slack
        )

    def beside(self, block: Block, entry: Entry) -> tuple[Entry, Entry] | None:
        """The sentinels just before and after a visit; itself, of a sentinel."""
        sentinels = block.of_role("sentinel")
        if self.rules.one_clock:
            sentinels = [each for each in sentinels if each.row["clock"] == entry.row["clock"]]
        if entry.row["order"] is None:
            return None
        at = {each.row["order"]: each for each in sentinels}
        found = audit_rules.sentinels_beside(entry.row["order"], [*at])
        return None if found is None else (at[found[0]], at[found[1]])

    def drift(self, entry: Entry, drifts: bool | None) -> None:
        """Whether the visit has the flag of its block's sentinels; of its own samples it may have it, too."""
        flags = entry.row["flags"]
        if drifts is None:
            self.ledger.unchecked["visits of blocks whose sentinels' samples were left out: whether they drift"] += 1
        elif drifts:
            rule = "the block's sentinels lie apart"
            self.ledger.fact(entry, "flags", flags, [*flags, "drift"], rule, "drift" in flags)
        elif "drift" in flags and entry.row["samples_ms"]:
            row = entry.row
            made = statistics.summarise(row["samples_ms"], batch_n=row["batch_n"] or 1, timer_ns=row["timer_ns"])
            rule = "neither the samples nor the sentinels drift"
            wanted = [flag for flag in flags if flag != "drift"]
            self.ledger.fact(entry, "flags", flags, wanted, rule, "drift" in self.rules.quality_flags(made))
