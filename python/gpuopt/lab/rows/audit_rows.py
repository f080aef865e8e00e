"""What follows within one row: hashes, what samples say, the order of quantiles, rates, a point's own fields."""

from __future__ import annotations

from typing import Any

from gpuopt.lab.rows import audit_rules, energies
from gpuopt.lab.rows.audit_facts import Entry, Ledger, alike
from gpuopt.lab.rows.audit_rules import ROUNDED_MS, Fields, Rules
from gpuopt.lab.rows.environments import identity as facts_apart
from gpuopt.lab.rows.schema import KEY_FIELDS, WORDS, comparison_key, identify, resume_key, sha256
from gpuopt.lab.timing import statistics

_MEASURED = ("block", "search", "point")
_OF_SAMPLES = (
    *("n", "min_ms", "q1_ms", "median_ms", "q3_ms", "p95_ms", "max_ms", "mad_ms", "ci_lo_ms", "ci_hi_ms"),
    *("autocorr1", "drift_pct_s", "bimodal"),
)
_FROM_SAMPLES = ("autocorrelated", "bimodal")  # flags that nothing else earns


class RowAudit:
    """Checks rows one by one. ``rounded`` says that times of this file were rounded after they were measured."""

    def __init__(self, ledger: Ledger, rounded: bool) -> None:
        self.ledger, self.rounded = ledger, rounded
        self._hashes: dict[str, tuple[str, str]] = {}

    def slack(self, *times_ms: float | None) -> float:
        """The relative error that rounding left in what follows from these times."""
        known = [time for time in times_ms if time]
        return sum(ROUNDED_MS / time for time in known) if self.rounded else 0.0

    def check(self, entry: Entry, rules: Rules) -> None:
        """All that follows within the row."""
        row = entry.row
        self.words(entry)
        self.identity(entry)
        if row["kind"] == "environment":
            facts: Any = {k: v for k, v in (row["environment"] or {}).items() if k not in ("env_hash", "state")}
            made = sha256(facts_apart(facts) if "unit" in facts else facts)  # the latter before units were told
            self.ledger.same(entry, "env_hash", made, "the SHA-256 of what tells environments apart")
            return
        if row["status"] != "ok":
            told = bool(str(row["reason"] or "").strip())
            self.ledger.fact(entry, "reason", row["reason"], "a reason", "what is not ok says why", told)
            return
        if row["kind"] in _MEASURED and row["samples_ms"]:
            self.samples(entry, rules)
        elif row["kind"] in _MEASURED:
            self.quantiles(entry)
        self.rates(entry)
        self.throttling(entry)
        if row["kind"] == "point":
            self.point(entry)
        if row["kind"] == "energy":
            self.energy(entry)

    def words(self, entry: Entry) -> None:
        """Fields of words hold known ones."""
        for name, known in WORDS.items():
            value = entry.row.get(name)
            said = value if name == "flags" else [value]
            unknown = [word for word in said or [] if word is not None and word not in known]
            self.ledger.fact(entry, name, unknown, known, "a word that rows may hold", not unknown)

    def identity(self, entry: Entry) -> None:
        """The hashes of the fields that tell rows apart. What a compact file left out was made by the reader."""
        row = entry.row
        if not entry.whole:
            return
        environment = row["kind"] == "environment"
        key, comparison = self._hashed(row)
        self.ledger.same(entry, "key", row["env_hash"] if environment else key, "the SHA-256 of the key fields")
        self.ledger.same(entry, "comparison_key", comparison, "the SHA-256 of the key fields but source and driver")
        named: Any = {**row, "row_id": None}
        self.ledger.same(entry, "row_id", identify(named)["row_id"], "the key with the block or the kind")

    def _hashed(self, row: Fields) -> tuple[str, str]:
        """Resume key and comparison key; most rows of a file share their key fields."""
        text = repr([row[name] for name in KEY_FIELDS])
        if text not in self._hashes:
            fields = {name: row[name] for name in KEY_FIELDS}
            self._hashes[text] = resume_key(fields), comparison_key(fields)
        return self._hashes[text]

    def samples(self, entry: Entry, rules: Rules) -> None:
        """Quantiles, interval and quality of the samples that were kept, and the flags that they earn."""
        row = entry.row
        # A point's samples are the medians of rounds, which stand apart; those of a visit follow one another.
        begun, batch = row["at_s"] if row["kind"] == "point" else None, row["batch_n"] or 1
        made = statistics.summarise(row["samples_ms"], batch_n=batch, timer_ns=row["timer_ns"], at_s=begun)
        found: Fields = {**made}
        rule = "of the samples"
        self.ledger.all_same(entry, {name: found[name] for name in _OF_SAMPLES}, rule, self.slack(row["median_ms"]))
        earned = rules.quality_flags(made)
        flags = row["flags"]
        for flag in (*_FROM_SAMPLES, "drift"):
            # A block's own `drift` may also be that of its sentinels, which the block's audit knows.
            if flag != "drift" or flag in earned or row["kind"] != "block":
                self._flag(entry, flag, flag in flags, flag in earned, "earned by the samples")

    def _flag(self, entry: Entry, flag: str, stored: bool, earned: bool, rule: str) -> None:
        flags = entry.row["flags"]
        wanted = [*flags, flag] if earned else [other for other in flags if other != flag]
        self.ledger.fact(entry, "flags", flags, wanted, rule, stored == earned)

    def quantiles(self, entry: Entry) -> None:
        """Least, quartiles, median and greatest in order, the interval around the median."""
        row = entry.row
        ladder = [row[name] for name in ("min_ms", "q1_ms", "median_ms", "q3_ms", "max_ms")]
        around = [row[name] for name in ("ci_lo_ms", "median_ms", "ci_hi_ms")]
        for name, values in (("median_ms", ladder), ("ci_lo_ms", around)):
            if sum(value is not None for value in values) > 1:
                holds = audit_rules.in_order(values)
                self.ledger.fact(entry, name, values, "in ascending order", "of any samples", holds)
        if row["min_ms"] is None or row["ci_lo_ms"] is None:
            return
        floor = (row["timer_ns"] or 0.0) * 1e-6 / (2 * max(row["batch_n"] or 1, 1))
        least, most = min(row["min_ms"], row["median_ms"] - floor), max(row["max_ms"], row["median_ms"] + floor)
        slack = self.slack(least)
        if (row["n"] or 0) < statistics.MIN_BLOCKS:
            wide = {"ci_lo_ms": least, "ci_hi_ms": most}
            self.ledger.all_same(entry, wide, "too few samples for an interval: the least and the greatest", slack)
            return
        for name, inside in (("ci_lo_ms", row["ci_lo_ms"] >= least), ("ci_hi_ms", row["ci_hi_ms"] <= most)):
            edge = least if name == "ci_lo_ms" else most
            holds = inside or alike(row[name], edge, slack)
            self.ledger.fact(entry, name, row[name], edge, "no interval of a median is wider than its samples", holds)

    def rates(self, entry: Entry) -> None:
        """Rates are the declared work over the median time. Short blocks of compact files leave them out."""
        row = entry.row
        if not row["median_ms"]:
            return
        made = audit_rules.rates(row, row["median_ms"])
        if row["role"] in ("ceiling", "overhead"):  # their rows leave out what they declare beside bytes
            made = {"gb_s": made["gb_s"]}
        if row["kind"] == "block" and all(row[name] is None for name in made):
            return
        self.ledger.all_same(entry, made, "declared work over the median", self.slack(row["median_ms"]))

    def throttling(self, entry: Entry) -> None:
        """The flag of a device that held its clocks down."""
        row = entry.row
        if row["kind"] in ("block", "point") and row["throttle"] is not None:
            earned = row["throttle"] != "none"
            self._flag(entry, "throttled", "throttled" in row["flags"], earned, f"throttle: {row['throttle']}")

    def point(self, entry: Entry) -> None:
        """A survey's own fields: the latency of a load; doubt where twice the work takes another time than twice."""
        row = entry.row
        loads = (row["special"] or {}).get("load")
        made: dict[str, Any] = {"latency_ns": row["median_ms"] * 1e6 / loads if loads else None}
        self.ledger.all_same(entry, made, "the median over the loads", self.slack(row["median_ms"]))
        if "suspicious" in row["flags"]:
            doubled = row["doubled"]
            far = doubled is not None and abs(doubled / 2 - 1) > audit_rules.DOUBLE_BAND
            self.ledger.fact(entry, "flags", row["flags"], "not suspicious", "twice the work in another time", far)

    def energy(self, entry: Entry) -> None:
        """What follows from the loops and the idle power, and that what is doubtful about them is told."""
        row = entry.row
        lists = [row[name] for name in ("loop_j", "loop_s", "loop_runs")]
        whole = all(lists) and row["idles_w"] and len({len(each) for each in lists}) == 1 and min(map(min, lists)) > 0
        if not self.ledger.fact(entry, "loop_j", lists, "loops", "joules, seconds and runs of each loop", bool(whole)):
            return
        made = energies.of_loops(row)
        self.ledger.all_same(entry, made, "of the loops, the idle power and the declared work")
        untold = [doubt for doubt in energies.doubts({**row, **made}) if doubt not in str(row["energy_note"])]
        self.ledger.fact(
            entry, "energy_note", row["energy_note"], untold, "what the numbers say against it", not untold
        )
