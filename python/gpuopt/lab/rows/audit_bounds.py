"""Bounds of visits and summaries, from declared bytes, the ceilings of each block, and a profile where one is at hand.

Without the profile, the time of another resource than memory is taken from the row itself, and what it says of memory
is still checked against it.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from gpuopt.lab.rows import audit_rules
from gpuopt.lab.rows.audit_comparisons import Block, Comparison
from gpuopt.lab.rows.audit_facts import Entry, Ledger, alike
from gpuopt.lab.rows.audit_rows import RowAudit
from gpuopt.lab.rows.audit_rules import MEMORIES, Fields, Launch

# Milliseconds that each resource but memory needs for a row's work, by one profile.
Needs = Callable[[Fields], Mapping[str, float]]

LAUNCHES = "launches"
_FROM_BLOCKS = (*MEMORIES, LAUNCHES)  # resources whose times follow from a block itself
_BOUND = ("bound_ms", "bound_by", "pct_bound", "next_by", "pct_next", "uncached_ms", "pct_uncached")
_SUMMARY = (*_BOUND, "pct_lo", "pct_hi")
_TELLING = ("bound_ms", "bound_by", "next_by", "pct_next")  # what tells one profile from another


@dataclass(frozen=True)
class KnownProfile:
    """A profile that bounds may come from: its file, what it is of, what rows call it (``word``; earlier ones by its
    date alone), and what it says of a row's work. ``given``: named by whoever asked, and so the one that rows are held
    against."""

    name: str
    device: str
    driver: str
    date: str
    word: str
    needs: Needs
    launch_ms: float = 0.0
    given: bool = False

    def fits(self, row: Fields) -> bool:
        """Whether the row may have been held against it."""
        of_its_own = row["profile"] in (None, self.date, self.word)
        return (self.device, self.driver) == (row["device"], row["driver"]) and of_its_own


def fastest(streams: Iterable[Fields]) -> Fields | None:
    """The ceiling that moves most bytes a ms."""
    return max(streams, key=lambda row: row["bytes"]["dram"] / row["median_ms"], default=None)


def launch_of(block: Block) -> Launch | None:
    """The launch that a block timed; None without one."""
    row = next((entry.row for entry in block.of_role("overhead")), None)
    return None if row is None else Launch(row["min_ms"] or 0.0, row["busy_ms"] or row["median_ms"], row["median_ms"])


def source(row: Fields) -> str | None:
    """The variant whose data a ceiling reads, None for its own. The first such rows said it in their name alone."""
    of = (row["params"] or {}).get("of") or str(row["configuration"]).partition(" of the data of ")[2]
    return str(of) if of else None


def over_blocks(shares: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Over blocks by either rule: what comes next to the bound is of the blocks that are bound by the same, in
    earlier rows of all blocks."""
    made: dict[str, Any] = {
        name: audit_rules.median([each[name] for each in shares])
        for name in ("bound_ms", "uncached_ms", "pct_uncached")
    }
    made["bound_by"] = audit_rules.commonest([each["bound_by"] for each in shares])
    alike = [each for each in shares if each["bound_by"] == made["bound_by"]]
    second = audit_rules.commonest([each["next_by"] for each in alike])
    share = audit_rules.median([each["pct_next"] for each in alike if each["next_by"] == second])
    earlier = {
        "next_by": audit_rules.commonest([each["next_by"] for each in shares]),
        "pct_next": audit_rules.median([each["pct_next"] for each in shares]),
    }
    return [made | {"next_by": second, "pct_next": share}, made | earlier]


class BoundAudit:
    """Checks the bounds of one comparison's variants."""

    def __init__(
        self, ledger: Ledger, rows: RowAudit, comparison: Comparison, profiles: Sequence[KnownProfile]
    ) -> None:
        self.ledger, self.rows, self.comparison = ledger, rows, comparison
        self.variants = [entry for entry in comparison.summaries if entry.row["role"] == "variant"]
        found = (source(entry.row) for block in comparison.blocks.values() for entry in block.of_role("ceiling"))
        self.sources: list[str | None] = list(dict.fromkeys(found))
        self.streams = {
            (number, of): fastest(entry.row for entry in block.of_role("ceiling") if source(entry.row) == of)
            for number, block in comparison.blocks.items()
            for of in self.sources
        }
        self.launches = {number: launch_of(block) for number, block in comparison.blocks.items()}
        self.quickest_ms = min(
            (
                entry.row["median_ms"]
                for block in comparison.blocks.values()
                for entry in block.of_role("ceiling")
                if entry.row["median_ms"]
            ),
            default=None,
        )
        self.memory = self._memory()
        had_one = any(entry.row["profile"] for entry in self.variants)  # else what rows say is of their own blocks
        self.profiles = [one for one in profiles if had_one and one.fits(self.variants[0].row)]
        self.profile: KnownProfile | None = None
        self.said: dict[str, float] = {}

    def check(self) -> None:
        for entry in self.variants:
            if entry.row["bound_ms"] is None:
                rule = "a variant with bytes from memory has a bound where its blocks have ceilings"
                has_bytes = bool((entry.row["bytes"] or {}).get("dram"))
                self.ledger.fact(entry, "bound_ms", None, "a bound", rule, not (has_bytes and self.sources))
                continue
            self.memory_name(entry)
            self.summary(entry)
            visits = self.comparison.visits(entry)
            if entry.label == entry.row["baseline"]:
                visits = visits + [
                    (block, visit) for block in self.comparison.blocks.values() for visit in block.of_role("sentinel")
                ]
            for block, visit in visits:
                if visit.row["bound_ms"] is not None:
                    self.visit(block, visit)
        if self.profile is None and any(entry.row["next_by"] for entry in self.variants):
            near = ", ".join(profile.name for profile in self.profiles)
            none = "none of that device and sitting is at hand"
            why = f"those at hand ({near}) are of another sitting" if near else none
            count = sum(1 for entry in self.variants if entry.row["next_by"])
            self.ledger.unchecked[f"summaries whose bounds come from a profile as well; {why}"] += count

    # ------------------------------------------------------------ what it is held against

    def _memory(self) -> str:
        """What the rows, summaries and visits, call the memory whose rate their ceilings measure."""
        visits = [visit for block in self.comparison.blocks.values() for visit in block.visits]
        names = [entry.row[name] for entry in [*self.variants, *visits] for name in ("bound_by", "next_by")]
        return audit_rules.commonest([name for name in names if name in MEMORIES]) or "dram"

    def memory_name(self, entry: Entry) -> None:
        """One memory bounds all variants of a comparison, and it is no cache where the caches are cold or too small."""
        for name in ("bound_by", "next_by"):
            if (stored := entry.row[name]) in MEMORIES:
                wanted = "dram" if entry.row["cache_state"] in ("large", "cold") else self.memory
                self.ledger.same(entry, name, wanted, "one memory for all, not the cache where it holds nothing")
                assert stored

    @property
    def told(self) -> list[Entry]:
        """The summaries that say what another resource than the bound's needs: a profile was there."""
        return [entry for entry in self.variants if entry.row["next_by"]]

    def hits(self) -> Counter[str]:
        """How many of them each profile explains, by the profile's name."""
        return Counter(
            {each.name: sum(self._misses(entry, each) == 0 for entry in self.told) for each in self.profiles}
        )

    def hold_against(self, profile: KnownProfile | None) -> None:
        """Takes the profile, or without one what the rows say together."""
        self.profile = profile
        self.said = {} if profile is not None else self._said()

    def _misses(self, entry: Entry, profile: KnownProfile) -> int:
        """How many telling fields do not follow, with the data source that explains the row best."""
        slack = self._slack(entry)
        return min(
            (
                sum(not alike(entry.row[name], made[name], slack) for name in _TELLING)
                for made in self._made(entry, profile, interval=False)
            ),
            default=len(_TELLING),
        )

    def _slack(self, entry: Entry) -> float:
        times = (entry.row["median_ms"], entry.row["bound_ms"], entry.row["uncached_ms"])
        return self.rows.slack(*times, self.quickest_ms)

    # ------------------------------------------------------------ summaries

    def summary(self, entry: Entry) -> None:
        """The medians over blocks of the bound and of the share of it, with the share's interval."""
        shares = [visit.row for _, visit in self.comparison.visits(entry)]
        if shares and all(row["pct_bound"] is not None for row in shares):
            made = [by_rule | self._share(shares) for by_rule in over_blocks(shares)]
            best = min(made, key=lambda each: sum(not alike(entry.row[name], each[name]) for name in _TELLING))
            self.ledger.all_same(entry, best, "over its blocks")
            return
        self._from_ceilings(entry)

    def _from_ceilings(self, entry: Entry) -> None:
        """The same where the blocks leave their bounds out."""
        made = list(self._made(entry, self.profile))
        slack = self._slack(entry)
        if not made:
            rule = "the ceilings that it was held against are not in its blocks"
            self.ledger.fact(entry, "bound_ms", entry.row["bound_ms"], None, rule, holds=False)
            return
        best = min(made, key=lambda each: sum(not alike(entry.row[name], each[name], slack) for name in _SUMMARY))
        vague = self.profile is None and not self._own_word(entry, self._visits(entry)).keys() <= self.said.keys()
        if vague and not all(alike(entry.row[name], best[name], slack) for name in _SUMMARY):
            self.ledger.unchecked["bounds by a resource that one row alone tells of, and no profile at hand"] += 1
            return
        named = "its own fields" if self.profile is None else self.profile.name
        self.ledger.all_same(entry, {n: best[n] for n in _SUMMARY}, f"blocks' ceilings, {named}", slack)

    def _made(self, entry: Entry, profile: KnownProfile | None, interval: bool = True) -> Iterable[dict[str, Any]]:
        """The summary's bound by each source of data that its ceilings may read: its own, else any that all blocks
        have, for rows do not say which variants share their data."""
        visits = self.comparison.visits(entry)
        needed = self._needed(entry, profile)
        for among in self._among(entry):
            shares = [
                self._visit(visit.row, block.number, stream, needed)
                for block, visit in visits
                if (stream := self._stream(block.number, among)) is not None
            ]
            if shares:
                share = self._share(shares) if interval else {}
                yield from (by_rule | share for by_rule in over_blocks(shares))

    def _among(self, entry: Entry) -> list[tuple[str | None, ...]]:
        """The data whose ceilings a variant may be held against: its own, else any, for rows do not say which variants
        share theirs; and, by later rules, data of no variant beside them."""
        own = [entry.label] if entry.label in self.sources else self.sources
        alone: list[tuple[str | None, ...]] = [(of,) for of in own]
        return (
            alone
            if not audit_rules.counts_launches(entry.row)
            else alone + [(of, None) for of in own if of is not None]
        )

    def _stream(self, block: int, among: Sequence[str | None]) -> Fields | None:
        found = (self.streams.get((block, of)) for of in among)
        return fastest(row for row in found if row is not None)

    def _needed(self, entry: Entry, profile: KnownProfile | None) -> Mapping[str, float]:
        """The other resources' times: by the profile, else by what the rows of the comparison say together, and by the
        row itself where no other row says it."""
        if profile is not None:
            return profile.needs(entry.row)
        together = {
            name: amount * self.said[name]
            for name, amount in audit_rules.amounts(entry.row).items()
            if name in self.said
        }
        return self._own_word(entry, self._visits(entry)) | together

    def _visits(self, entry: Entry) -> list[Entry]:
        return [visit for _, visit in self.comparison.visits(entry)]

    def _own_word(self, entry: Entry, visits: Sequence[Entry]) -> dict[str, float]:
        """The times of resources but memory that follow from the bound of a row over these visits."""
        row, said = entry.row, {}
        if row["bound_by"] not in _FROM_BLOCKS:
            said[row["bound_by"]] = row["bound_ms"]
        if row["next_by"] and row["next_by"] not in _FROM_BLOCKS and row["pct_next"]:
            share = audit_rules.median([100 / visit.row["median_ms"] for visit in visits])
            said[row["next_by"]] = row["pct_next"] / (share or 1.0)
        return said

    def _said(self) -> dict[str, float]:
        """Milliseconds a unit of work of each resource that at least two rows agree on: what the profile said that is
        not at hand."""
        found: dict[str, list[float]] = {}
        for entry in self.variants:
            if entry.row["bound_ms"] is None:
                continue
            work = audit_rules.amounts(entry.row)
            for name, time in self._own_word(entry, self._visits(entry)).items():
                if name in work:
                    found.setdefault(name, []).append(time / work[name])
        said = {}
        for name, values in found.items():
            agreed = Counter(f"{value:.7e}" for value in values).most_common(1)[0]
            if agreed[1] > 1:
                said[name] = next(value for value in values if f"{value:.7e}" == agreed[0])
        return said

    def _visit(self, row: Fields, block: int, stream: Fields, needed: Mapping[str, float]) -> dict[str, Any]:
        """The bound of one visit, by the fastest stream and the launch of its block."""
        time = row["median_ms"]
        known_ms = self.profile.launch_ms if self.profile else 0.0
        launch = self.launches.get(block) or Launch(known_ms, usual_ms=known_ms)
        times = {self.memory: audit_rules.memory_ms(row, row["bytes"]["dram"], stream, launch)} | dict(needed)
        if floor := audit_rules.floor_ms(row, launch):
            times[LAUNCHES] = floor
        requested = row["bytes"].get("requested")
        uncached = audit_rules.memory_ms(row, requested, stream, launch) if requested else None
        made = audit_rules.bound(times, time)
        return made | {"uncached_ms": uncached, "pct_uncached": 100 * uncached / time if uncached else None}

    def _share(self, shares: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
        found = self.comparison.rules.share_ci([each["pct_bound"] for each in shares])
        lo, hi = (found.lo, found.hi) if found.reached else (None, None)
        return {"pct_bound": found.median, "pct_lo": lo, "pct_hi": hi}

    # ------------------------------------------------------------ visits

    def visit(self, block: Block, entry: Entry) -> None:
        """The bound that a raw file keeps of each visit."""
        needed = self._own_word(entry, [entry]) if self.profile is None else self.profile.needs(entry.row)
        streams = [self._stream(block.number, among) for among in self._among(entry)]
        made = [self._visit(entry.row, block.number, stream, needed) for stream in streams if stream is not None]
        if not made:
            rule = "the ceilings that it was held against are not in its block"
            self.ledger.fact(entry, "bound_ms", entry.row["bound_ms"], None, rule, holds=False)
            return
        slack = self.rows.slack(entry.row["median_ms"], entry.row["bound_ms"])
        best = min(made, key=lambda each: sum(not alike(entry.row[name], each[name], slack) for name in _BOUND))
        self.ledger.all_same(entry, best, "the block's ceilings", slack)


def choose_profiles(audits: Sequence[BoundAudit]) -> None:
    """Gives each comparison of a file the profile that it is held against: the one that was asked for, else the one
    that explains most of what the file's comparisons of its device and sitting say, if more than half of it."""
    groups: dict[tuple[str, ...], list[BoundAudit]] = {}
    for audit in audits:
        groups.setdefault(tuple(profile.name for profile in audit.profiles), []).append(audit)
    for group in groups.values():
        asked = [profile for profile in group[0].profiles if profile.given]
        hits = sum((audit.hits() for audit in group), Counter[str]()) if not asked else Counter[str]()
        likeliest = max(group[0].profiles, key=lambda profile: hits[profile.name], default=None)
        explains = likeliest is not None and 2 * hits[likeliest.name] > sum(len(audit.told) for audit in group)
        for audit in group:
            audit.hold_against(asked[-1] if asked else likeliest if explains else None)


def over_bounds(ledger: Ledger, entries: Iterable[Entry]) -> None:
    """Findings: medians above their bound, in summaries and in single visits."""
    for entry in entries:
        share = entry.row["pct_bound"]
        if share is not None and share > 100:
            kind = "summaries" if entry.row["kind"] == "summary" else "visits"
            ledger.findings[f"{kind} whose median is above 100 % of their bound"] += 1
