"""What changed between two sittings of the same studies: two days, drivers or commits.

Times of two sittings share no blocks, so a ratio is of medians, and its interval holds what changes between sittings
too: what the row's own interval between sittings says, where the device's profile told one, and else a spread that is
assumed. Verdicts are adjusted by Holm over all that are compared, but for what a sitting gives no verdicts on: its
machine was too busy or too noisy."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Collection, Sequence
from dataclasses import dataclass, replace

from gpuopt._core import ParameterError
from gpuopt.checked import checked
from gpuopt.lab.rows.groups import Group, last_of
from gpuopt.lab.rows.schema import KEY_FIELDS, Row, comparison_key, time_ms
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.rows.table import printable, significant

ASSUMED = (
    0.03  # the spread of medians between sittings where none is known: three ceilings in four of an H200 stay within
)
WIDE = 1.959964  # of a normal distribution, 95 %
ROLES = ("variant", "call", "peer")
IDENTITY = ("device", "workload", "problem", "variant", "params", "sizes", "dtype", "data", "cache_state", "protocol")


@checked
@dataclass(frozen=True)
class Change:
    """How a time changed: ``ratio`` is the new one divided by the old one, with its 95 % interval; ``word`` is
    "faster", "slower" or "not told"; ``refused`` says why a sitting gives no verdict there. Raises ParameterError for
    times and ratios that are not above 0."""

    problem: str
    name: str
    old_ms: float
    new_ms: float
    ratio: float
    lo: float
    hi: float
    p: float
    word: str = "not told"
    refused: str = ""

    def __post_init__(self) -> None:
        for name in ("old_ms", "new_ms", "ratio", "lo", "hi"):
            if not 0 < (value := getattr(self, name)) < math.inf:
                raise ParameterError(f"{name}: it is {value}; give a number above 0")


@checked
@dataclass(frozen=True)
class Changes:
    """All that both have; ``gone`` and ``added`` is what one of them has alone, ``failed`` what ran and does not any
    more; ``repeated`` is what a study has more than once, of which the last counts. ``assumed`` says whether the spread
    between sittings had to be assumed somewhere. ``notes`` are for the reader, as where the two are of different units
    of a device. Times are in ms.

    Examples
    --------
    >>> from gpuopt.lab.show.changes import Change
    >>> change = Change("tmv 4096", "naive", 2.0, 3.0, ratio=1.5, lo=1.4, hi=1.6, p=1e-6, word="slower")
    >>> found = lab.Changes((change,), gone=(), added=(), failed=(), assumed=False)
    >>> found.ok, [one.name for one in found.slower]
    (False, ['naive'])
    """

    changes: tuple[Change, ...]
    gone: tuple[str, ...]
    added: tuple[str, ...]
    failed: tuple[str, ...]
    assumed: bool
    repeated: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def slower(self) -> list[Change]:
        """Those that are certified to be slower."""
        return [one for one in self.changes if one.word == "slower"]

    @property
    def ok(self) -> bool:
        """Whether nothing became slower or failed."""
        return not self.slower and not self.failed

    def __str__(self) -> str:
        shown = sorted(self.changes, key=lambda one: (one.word == "not told", -abs(math.log(one.ratio))))
        wide = max([len(one.name) for one in shown], default=8)
        lines = [
            f"{one.name:{wide}}  {significant(one.old_ms, 4):>9} -> {significant(one.new_ms, 4):>9} ms  "
            f"{significant(one.ratio, 4)}x [{significant(one.lo, 4)}, {significant(one.hi, 4)}]  {one.word}"
            for one in shown
        ]
        words = {word: sum(one.word == word for one in self.changes) for word in ("slower", "faster", "not told")}
        lines += ["", f"{len(self.changes)} compared: " + ", ".join(f"{count} {word}" for word, count in words.items())]
        whys = Counter(one.refused for one in self.changes if one.refused)
        lines += [f"NO VERDICTS on {count} of them: {why}" for why, count in whys.items()]
        both = [name for name in self.gone if name in self.added]
        gone, added = ([name for name in names if name not in both] for names in (self.gone, self.added))
        ways = "by another clock or protocol, in another cache state, or by another version of a peer"
        otherwise = (f"measured otherwise ({ways})", both)
        repeated = ("measured more than once in one study, of which the last counts", self.repeated)
        told = (("failed now", self.failed), ("only before", gone), ("only now", added), otherwise, repeated)
        for what, names in told:
            lines += [f"{what}: {', '.join(names)}"] if names else []
        if self.assumed:
            lines.append(
                f"How far sittings lie apart is not known; {100 * ASSUMED:.0f} % is assumed (`gpuopt profile`, twice)"
            )
        return "\n".join(printable(line) for line in [*lines, *self.notes])


@checked
def compare(old: StudyRows, new: StudyRows) -> Changes:
    """What became faster or slower from one study to another of the same problems, on the same device.

    Compared is what has the same configuration, problem, dtype, sizes, clock, protocol and cache state, of peers the
    same version; drivers, sources and versions of gpuopt may differ. So may the unit, one of several equal devices,
    which the result then names. Nothing is told where one of the two gives no verdicts, because its machine was too
    busy or too noisy. Of what a study has more than once the last counts, of joined studies the last that was measured,
    and the result names it: keep several sittings in studies of their own. Points of microbenchmarks and searches are
    not compared. Raises ParameterError where the two have nothing in common.

    Examples
    --------
    >>> row = {"kind": "summary", "role": "variant", "status": "ok", "variant": "naive", "problem": "tmv 4096"}
    >>> old, new = (lab.Study([row | {"median_ms": time}]) for time in (2.0, 3.0))
    >>> [(one.name, one.word) for one in lab.compare(old, new).changes]
    [('naive · tmv 4096', 'slower')]
    """
    before, after, now = _timed(old), _timed(new), _failing(new)
    common = [key for key in before if key in after]
    lost = [key for key in before if key not in after]
    failed = [key for key in lost if _identity(before[key][1]) in now]
    if not common and not failed:
        raise _unlike(before, after)
    made = [_change(*before[key], *after[key]) for key in common]
    names = {key: _named(*before[key]) for key in before} | {key: _named(*after[key]) for key in after}
    return Changes(
        tuple(_judged(made)),
        tuple(names[key] for key in lost if key not in failed),
        tuple(names[key] for key in after if key not in before),
        tuple(names[key] for key in failed),
        any(_between(before[key][1]) is None and _between(after[key][1]) is None for key in common),
        tuple(names[key] for key in dict.fromkeys([*_repeated(old), *_repeated(new)]) if key in names),
        tuple(dict.fromkeys(filter(None, (_other_unit(before[key][1], after[key][1]) for key in common)))),
    )


def _other_unit(old: Row, new: Row) -> str:
    """What to say where a time is of another physical device than the time before; earlier rows tell no unit."""
    if not old["unit"] or not new["unit"] or old["unit"] == new["unit"]:
        return ""
    units = f"before unit {old['unit']}, now unit {new['unit']}"
    return f"Two devices of the name {new['device']} ({units}): equal devices differ"


def _unlike(before: Collection[str], after: Collection[str]) -> ParameterError:
    """What to raise where nothing is compared, of the keys that are on either side."""
    for name, keys in (("old", before), ("new", after)):
        if not keys:
            return ParameterError(
                f"{name}: it has no summaries of variants, calls or peers that ran; give a study that has, for points "
                "and searches are not compared"
            )
    return ParameterError("new: it has nothing in common with the old study; compare studies of the same problems")


def _timed(study: StudyRows) -> dict[str, tuple[Group, Row]]:
    """The rows that are compared, the last of each key, of all that did not fail since. Of several groups, as of two
    drivers, any may have the last row."""
    failing, place = _failing(study), {id(row): place for place, row in enumerate(study.rows)}
    found: dict[str, tuple[Group, Row]] = {}
    for group in study.groups():
        for row in group.rows:
            if _is_compared(row) and _identity(row) not in failing:
                before = found.get(key := _key(row))
                if before is None or place[id(row)] > place[id(before[1])]:
                    found[key] = group, row
    return found


def _repeated(study: StudyRows) -> list[str]:
    """The keys that several rows have."""
    counts = Counter(_key(row) for row in study.rows if _is_compared(row))
    return [key for key, count in counts.items() if count > 1]


def _failing(study: StudyRows) -> set[str]:
    """Who did not build, run or compute right, where that is the last that is known. Such a row may be of the search
    alone, and have no clock, options or work-group."""
    last = {_identity(row): row["status"] for row in last_of(study.rows).values() if row["role"] in ROLES}
    return {identity for identity, status in last.items() if status != "ok"}


def _identity(row: Row) -> str:
    """What was asked for: a role and a configuration on a problem."""
    return f"{row['role']} {comparison_key(dict.fromkeys(KEY_FIELDS) | {name: row.get(name) for name in IDENTITY})}"


def _is_compared(row: Row) -> bool:
    return row["kind"] == "summary" and row["status"] == "ok" and row["role"] in ROLES and bool(row["median_ms"])


def _key(row: Row) -> str:
    """Rows that no store has seen have no key yet. Options of a whole call are the version of gpuopt alone."""
    own = row["comparison_key"] if row["role"] != "call" else None
    fields = {name: row.get(name) for name in KEY_FIELDS} | ({"options": None} if row["role"] == "call" else {})
    return f"{row['role']} {own or comparison_key(fields)}"


def _named(group: Group, row: Row) -> str:
    return f"{group.label(row)} · {group.problem}"


def _change(old_group: Group, old: Row, new_group: Group, new: Row) -> Change:
    a, b = time_ms(old), time_ms(new)
    spreads = [one for one in (_between(old), _between(new)) if one is not None]
    apart = max(spreads) if spreads else math.sqrt(2) * ASSUMED
    error = math.sqrt(_within(old) ** 2 + _within(new) ** 2 + apart**2)
    mid = math.log(b / a)
    p = math.erfc(abs(mid) / error / math.sqrt(2))
    ratio, lo, hi = (math.exp(mid + way * WIDE * error) for way in (0, -1, 1))
    sides = {"before": old["refused"], "now": new["refused"]}
    refused = "; ".join(f"{side}, {why}" for side, why in sides.items() if why)
    return Change(new_group.problem, _named(new_group, new), a, b, ratio, lo, hi, p, refused=refused)


def _within(row: Row) -> float:
    """The standard error of the logarithm of a median, by its own interval."""
    lo, hi, mid = row["ci_lo_ms"], row["ci_hi_ms"], time_ms(row)
    if not lo or not hi:
        return ASSUMED
    return max(math.log(hi / mid), math.log(mid / lo)) / WIDE


def _between(row: Row) -> float | None:
    """What its interval between sittings adds to its own, as a standard deviation; None where it has none."""
    lo, hi, mid = row["sit_lo_ms"], row["sit_hi_ms"], time_ms(row)
    if not lo or not hi:
        return None
    whole = max(math.log(hi / mid), math.log(mid / lo)) / WIDE
    return math.sqrt(max(0.0, whole**2 - _within(row) ** 2))


def _judged(changes: Sequence[Change], alpha: float = 0.05) -> list[Change]:
    """Holm's verdicts, in the order given; of what has verdicts."""
    words, open_ = dict[int, str](), True
    judged = sorted((at for at, one in enumerate(changes) if not one.refused), key=lambda at: changes[at].p)
    for place, at in enumerate(judged):
        open_ = open_ and changes[at].p <= alpha / (len(judged) - place)
        words[at] = ("slower" if changes[at].ratio > 1 else "faster") if open_ else "not told"
    return [replace(one, word=words.get(at, one.word)) for at, one in enumerate(changes)]
