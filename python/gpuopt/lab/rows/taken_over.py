"""What of a study an earlier run measured: rows older than the run, which a results file gave it."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta, timezone
from itertools import pairwise

from gpuopt.lab.rows.groups import identity, where
from gpuopt.lab.rows.schema import Row

GAP = timedelta(hours=1)  # no block and no ceiling takes that long


@dataclass(frozen=True)
class TakenOver:
    """``count`` of ``total`` blocks (or points) are an earlier run's, of the days ``dates``."""

    count: int
    total: int
    what: str
    dates: str

    def __str__(self) -> str:
        return f"{self.count} of {self.total} {self.what} from {self.dates}"


def taken_over(rows: Iterable[Row], began_utc: str | None) -> TakenOver | None:
    """What of these rows was measured before the run that began then; None where nothing was, and of a study that was
    loaded from a file and belongs to no run. Blocks are told apart by their numbers and what a comparison has in
    common, points by their configurations."""
    if began_utc is None:
        return None
    measured = [row for row in rows if row["kind"] in ("block", "point") and row["time_utc"]]
    what = "blocks" if any(row["kind"] == "block" for row in measured) else "points"
    times: dict[object, str] = {}
    for row in measured:
        if what == "points":
            times[identity(row)] = str(row["time_utc"])
        elif row["kind"] == "block" and row["role"] not in ("ceiling", "overhead"):
            place = (where(row), row["block"])
            times[place] = min(str(row["time_utc"]), times.get(place, "9"))
    old = [time for time in times.values() if time < began_utc]
    return TakenOver(len(old), len(times), what, date_words(old)) if old else None


def sittings_of(rows: Iterable[Row]) -> int:
    """In how many sittings the rows' blocks were measured, at least 1: each environment has its own, and a gap of more
    than GAP between two of its blocks begins another. Blocks whose time is no time do not count."""
    times: dict[object, list[datetime]] = {}
    for row in rows:
        if row["kind"] == "block" and (time := _time(row["time_utc"])) is not None:
            times.setdefault(row["env_hash"], []).append(time)
    gaps = (later - earlier for found in times.values() for earlier, later in pairwise(sorted(found)))
    return max(1, len(times) + sum(gap > GAP for gap in gaps))


def _time(text: object) -> datetime | None:
    try:
        time = datetime.fromisoformat(str(text).replace("Z", "+00:00"))
        return time if time.tzinfo else time.replace(tzinfo=timezone.utc)
    except ValueError:
        return None


def date_words(times: Sequence[str]) -> str:
    """`2026-11-21 08:00 UTC`, `2026-11-21 08:00 to 08:04 UTC`, `2026-11-20 to 2026-11-22`, of rows' times."""
    first, last = min(times), max(times)
    if first[:10] != last[:10]:
        return f"{first[:10]} to {last[:10]}"
    if len(first) < 16 or "T" not in first:
        return first[:10]
    until = "" if first[11:16] == last[11:16] else f" to {last[11:16]}"
    return f"{first[:10]} {first[11:16]}{until} UTC"
