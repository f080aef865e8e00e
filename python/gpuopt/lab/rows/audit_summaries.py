"""What summaries must say, recomputed from their blocks."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

from gpuopt.lab.rows import audit_rules
from gpuopt.lab.rows.audit_comparisons import PLACE, Block, Comparison, Who, who
from gpuopt.lab.rows.audit_facts import Entry, Ledger, alike
from gpuopt.lab.rows.audit_rows import RowAudit
from gpuopt.lab.rows.audit_rules import COMPARED
from gpuopt.lab.rows.groups import code_of

Visits = Sequence[tuple[Block, Entry]]

_DECLARED = ("flops", "bytes", "special", "counted", "accuracy", "footprint_bytes", "configuration", "baseline")
# What a sitting finds out once: of a sweep that was resumed, it is that of one of the sittings.
_OF_A_SITTING = (
    *("dtype", "vector_width", "device_type", "platform", "profile", "binary_sha256", "launches", "registers"),
    *("spill_bytes", "local_bytes", "private_bytes", "max_abs", "max_rel", "max_ulp", "max_of_tol", "l2_rel", "tol"),
    *("canary_ok", "timer_ns"),
)
_OF_A_LISTING = ("registers", "spill_bytes")  # where the driver told none: read from the listing, once
_OVER_BLOCKS = "over its blocks"


class SummaryAudit:
    """Checks the summaries of one comparison."""

    def __init__(self, ledger: Ledger, rows: RowAudit, comparison: Comparison) -> None:
        self.ledger, self.rows, self.comparison = ledger, rows, comparison
        self.rules = comparison.rules
        self.visits = {entry.line: self._visits(entry) for entry in comparison.summaries}
        self.verdicts = self._verdicts()

    def check(self) -> None:
        for entry in self.comparison.summaries:
            visits = self.visits[entry.line]
            if not self.ledger.fact(entry, "blocks", entry.row["blocks"], 0, "a summary has blocks", bool(visits)):
                continue
            self.declared(entry, visits)
            self.time(entry, visits)
            self.ratio(entry, visits)
            self.flags(entry, visits)
        self.batches()
        self.clocks()

    def _visits(self, entry: Entry) -> Visits:
        """The blocks that a summary was made of. Of a sweep that was resumed, ceilings of a variant's own data have
        those of the last sitting alone."""
        visits, told = self.comparison.visits(entry), entry.row["blocks"] or 0
        if entry.row["role"] == "ceiling" and 0 < told < len(visits):
            self.ledger.findings["summaries of ceilings without the blocks of an earlier sitting"] += 1
            return visits[-told:]
        return visits

    def declared(self, entry: Entry, visits: Visits) -> None:
        """The summary and each of its blocks declare the same work, and are of the same configuration."""
        row = entry.row
        for name in _DECLARED:
            rule = "what the blocks declare"
            differing = next((each.row[name] for _, each in visits if each.row[name] != row[name]), None)
            self.ledger.fact(entry, name, row[name], differing, rule, differing is None)
        for name in _OF_A_SITTING:
            known = [each.row[name] for _, each in visits]
            if name in _OF_A_LISTING and row["instructions_by"] and not any(value is not None for value in known):
                continue
            self.ledger.fact(entry, name, row[name], known[-1], "that of one of its blocks", row[name] in known)
        if row["flops"] is None and row["gflop_s"]:  # ceilings and launches leave out what they declare beside bytes
            declared = row["gflop_s"] * row["median_ms"]
            for _, each in visits:
                if each.row["gflop_s"]:
                    made = each.row["gflop_s"] * each.row["median_ms"] / row["median_ms"]
                    slack = self.rows.slack(row["median_ms"], each.row["median_ms"])
                    holds = alike(row["gflop_s"], made, slack)
                    self.ledger.fact(each, "gflop_s", each.row["gflop_s"], declared, "the work of its summary", holds)
        numbers = [block.number for block, _ in visits]
        wanted = [*range(len(numbers))] if row["role"] != "ceiling" else sorted(set(numbers))
        self.ledger.fact(entry, "block", numbers, wanted, "blocks are numbered from 0, each once", numbers == wanted)
        self.ledger.same(entry, "blocks", len(visits), "the number of its blocks")
        if row["role"] != "ceiling":  # of a sweep that was resumed, their clock may differ from the first one's
            keys = sorted({str(each.row["key"]) for _, each in visits})
            self.ledger.fact(entry, "key", row["key"], keys, "that of its blocks", keys == [row["key"]])

    def batches(self) -> None:
        """The runs of a sample are those of the blocks. Of a sweep that was resumed they may be of its last part, where
        all batches are chosen anew: several differ then."""
        strange = [
            (entry, batches)
            for entry in self.comparison.summaries
            if (batches := {each.row["batch_n"] or 1 for _, each in self.visits[entry.line]})
            and (entry.row["batch_n"] or 1) not in batches
        ]
        resumed = [entry for entry, _ in strange if entry.row["clock"] == "batch"]
        for entry, batches in strange:
            if entry.row["clock"] == "batch" and (len(resumed) > 1 or entry.row["role"] == "overhead"):
                self.ledger.findings["summaries with the batch of a later sitting than their blocks"] += 1
                continue
            stored = entry.row["batch_n"]
            self.ledger.fact(entry, "batch_n", stored, sorted(batches), "that of its blocks", holds=False)
        self.ledger.checked += len(self.comparison.summaries) - len(strange)

    def time(self, entry: Entry, visits: Visits) -> None:
        """The median over blocks of their medians, its interval, the number of samples, and the extremes."""
        row, blocks = entry.row, [each.row for _, each in visits]
        times = [block["median_ms"] for block in blocks]
        found = self.rules.time_ci(times, (row["timer_ns"] or 0.0) * 1e-6, row["batch_n"] or 1)
        slack = self.rows.slack(found.median, min(times))
        made = {
            "median_ms": found.median,
            "ci_lo_ms": found.lo if found.reached else None,
            "ci_hi_ms": found.hi if found.reached else None,
            "n": sum(block["n"] or 0 for block in blocks),
        }
        self.ledger.all_same(entry, made, _OVER_BLOCKS, slack)
        known = [block for block in blocks if block["min_ms"] is not None and block["max_ms"] is not None]
        if known:
            ends = {"min_ms": min(b["min_ms"] for b in known), "max_ms": max(b["max_ms"] for b in known)}
            self.ledger.all_same(entry, ends, _OVER_BLOCKS, slack)
            self.ledger.same(entry, "busy_ms", audit_rules.median([b["busy_ms"] for b in blocks]), _OVER_BLOCKS, slack)
            return
        for name, edge, holds in (
            ("min_ms", min(times), row["min_ms"] is not None and row["min_ms"] <= min(times) * (1 + slack)),
            ("max_ms", max(times), row["max_ms"] is not None and row["max_ms"] >= max(times) * (1 - slack)),
        ):
            self.ledger.fact(entry, name, row[name], edge, "at least as far as its blocks' medians", holds)

    def ratio(self, entry: Entry, visits: Visits) -> None:
        """The ratio over blocks with its interval, and the verdict."""
        row = entry.row
        ratios = self._ratios(visits)
        if ratios:
            found = self.rules.ratio_ci(ratios)
            lo, hi = (found.lo, found.hi) if found.reached else (None, None)
            self.ledger.all_same(entry, {"ratio": found.median, "ratio_lo": lo, "ratio_hi": hi}, _OVER_BLOCKS)
        elif row["role"] in COMPARED:
            rule = "its blocks have no ratio"
            self.ledger.all_same(entry, dict.fromkeys(("ratio", "ratio_lo", "ratio_hi")), rule)
        if row.get("var_within_pct") is not None:
            rest = 100 - row["var_within_pct"]
            self.ledger.same(entry, "var_blocks_pct", rest, "the variance that is not within visits")
        wanted = self.verdicts.get(who(row)) if row["role"] in COMPARED else None
        rule = f"Holm over the {len(self.verdicts)} compared"
        if wanted and row.get("refused"):
            wanted, rule = "AMBIGUOUS", f"verdicts are refused: {row.get('refused')}"
            self.ledger.findings["verdicts that were refused, for the machine was too busy or too noisy"] += 1
        self.ledger.same(entry, "verdict", wanted, rule)

    def _verdicts(self) -> dict[Who, str | None]:
        """The verdict on each row that was compared with the baseline; None where no interval is reached."""
        ratios: dict[Who, list[float]] = {}
        own: list[float] = []
        noise: list[float] = []
        for entry in self.comparison.summaries:
            values, role = self._ratios(self.visits[entry.line]), entry.row["role"]
            is_baseline = role == "variant" and entry.label == entry.row["baseline"]
            if is_baseline:
                own = values
            elif role in COMPARED and values:
                ratios[who(entry.row)] = values
            elif role == self.rules.noise_role:
                noise = values
        band = self.rules.band(noise or own)
        words = self.rules.verdicts({" ".join(each): ratios[each] for each in ratios}, 0.01 if band is None else band)
        return {each: words[" ".join(each)] if self.rules.ratio_ci(ratios[each]).reached else None for each in ratios}

    def _ratios(self, visits: Visits) -> list[float]:
        """The ratios of the visits that have one; where the rules ask for one clock, of those beside which the baseline
        was timed by the visit's."""
        return [
            entry.row["ratio"]
            for block, entry in visits
            if entry.row["ratio"] is not None
            and (
                not self.rules.one_clock
                or any(each.row["clock"] == entry.row["clock"] for each in block.of_role("sentinel"))
            )
        ]

    def flags(self, entry: Entry, visits: Visits) -> None:
        """What most blocks have; `unconverged` where the ratio's interval is too wide; `over_bound`."""
        row = entry.row
        wanted = audit_rules.majority([each.row["flags"] for _, each in visits])
        ratios = self._ratios(visits)
        target = self.rules.targets.get(str(row["protocol"]))
        if row["role"] in COMPARED and ratios:
            found = self.rules.ratio_ci(ratios)
            asked = target if row["role"] != "peer" or target is None else max(target, audit_rules.PEER_TARGET)
            if asked is None:
                self.ledger.unchecked["rows of a protocol that is not known: whether they are unconverged"] += 1
                wanted += ["unconverged"] if "unconverged" in row["flags"] else []
            elif found.reached and found.half_width > asked:
                wanted.append("unconverged")
        if audit_rules.over_bound(row):
            wanted.append("over_bound")
        holds = sorted(row["flags"]) == sorted(wanted)
        self.ledger.fact(entry, "flags", row["flags"], wanted, "those of most blocks, and its own", holds)

    def clocks(self) -> None:
        """Verdicts across clocks: a finding by the first rules, which knew no better."""
        summaries = self.comparison.summaries
        base = next((e for e in summaries if e.row["role"] == "variant" and e.label == e.row["baseline"]), None)
        compared = [entry for entry in summaries if entry.row["role"] in COMPARED]
        if not compared:
            self.ledger.findings["summaries of ceilings that a later sitting did without"] += len(summaries)
            return
        if base is None:
            for entry in compared[:1]:
                rule = "the baseline is among the variants"
                self.ledger.fact(entry, "baseline", entry.row["baseline"], "a summary of that name", rule, holds=False)
            return
        for entry in summaries:
            if entry.row["verdict"] and entry.row["clock"] != base.row["clock"] and not self.rules.one_clock:
                pair = " against ".join(sorted((str(entry.row["clock"]), str(base.row["clock"]))))
                self.ledger.findings[f"verdicts across clocks ({pair})"] += 1


def environments(ledger: Ledger, entries: Sequence[Entry]) -> None:
    """Every row names an environment that the file tells of; intervals over several environments are findings."""
    known = {entry.row["env_hash"] for entry in entries if entry.row["kind"] == "environment"}
    for entry in entries:
        named: Any = entry.row["env_hash"]
        if entry.row["kind"] != "environment":
            rule = "a row of kind environment in this file"
            ledger.fact(entry, "env_hash", named, rule, "environments referenced exist", named in known)


def after_timing(ledger: Ledger, entries: Sequence[Entry]) -> None:
    """What was wrong after timing has no summary that says ok."""
    latest = {entry.row["row_id"]: entry for entry in entries}.values()
    good = {_measured(entry) for entry in latest if entry.is_summary}
    for entry in latest:
        if entry.row["kind"] == "summary" and str(entry.row["reason"] or "").startswith("after timing"):
            rule = "what failed after timing has no good summary"
            status = entry.row["status"]
            ledger.fact(entry, "status", status, "another row that is ok", rule, _measured(entry) not in good)


def _measured(entry: Entry) -> tuple[Hashable, ...]:
    """What was measured, by its name and code."""
    row: Any = entry.row
    at = tuple(str(row.get(name)) for name in PLACE if name != "baseline")
    return (at, row["role"], row["configuration"], code_of(row))
