"""The bound of each visit of a block, from the ceilings and the launch that the same block timed."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from gpuopt.lab.device import bounds
from gpuopt.lab.device.bounds import Launch
from gpuopt.lab.rows.schema import Row, number_of
from gpuopt.lab.run.candidates import Candidate
from gpuopt.lab.timing import statistics
from gpuopt.lab.timing.samplers import VisitSamples

if TYPE_CHECKING:
    from gpuopt.lab.device.profile import Profile


class Visit(Protocol):
    """The samples that a block took of a candidate."""

    candidate: Candidate
    taken: VisitSamples

    @property
    def median_ms(self) -> float: ...


class Limits:
    """What a block says of the device. ``memory`` names the memory whose bandwidth its ceilings are of; the ceilings of
    other resources are the profile's."""

    def __init__(self, visits: Sequence[Visit], memory: str, profile: Profile | None) -> None:
        self.memory, self.profile = memory, profile
        self.streams = [visit for visit in visits if visit.candidate.role == "ceiling"]
        self.launch = next(
            (
                # The fastest, not the usual one: a kernel as short as a launch must not stand above its bound by noise.
                Launch(min(visit.taken.samples), visit.taken.busy_ms or visit.median_ms, visit.median_ms)
                for visit in visits
                if visit.candidate.role == "overhead"
            ),
            bounds.profiled_launch(profile),
        )

    def fields(self, visit: Visit) -> Row:
        """The bound of a visit, of the resource that takes longest for this work, and the visit's share of it; the
        share of the second longest; and the bound without caches. None of them where no ceiling was measured."""
        candidate = visit.candidate
        stream = self._stream_for(candidate)
        if stream is None:
            return {}
        known = candidate.fields.get("in_turn")
        launches = 1 if known is None else known

        def moving_ms(moved: float) -> float:
            streamed = stream.candidate.bytes["dram"]
            return self.launch.moving_ms(moved, streamed, stream.median_ms, launches, candidate.sampler.clock)

        needed = {self.memory: moving_ms(candidate.bytes["dram"])}
        kind = candidate.fields.get("device_type")
        needed |= bounds.resources(candidate.work, str(candidate.fields.get("dtype")), self.profile, kind)
        if floor := self.launch.floor_ms(launches, candidate.sampler.clock):
            needed[bounds.LAUNCHES] = floor
        (first, bound_ms), *others = sorted(needed.items(), key=lambda item: (-item[1], item[0] != bounds.LAUNCHES))
        row: Row = {"bound_ms": bound_ms, "bound_by": first, "pct_bound": 100 * bound_ms / visit.median_ms}
        if others:
            row |= {"next_by": others[0][0], "pct_next": 100 * others[0][1] / visit.median_ms}
        if requested := candidate.bytes.get("requested"):
            uncached_ms = moving_ms(requested)
            row |= {"uncached_ms": uncached_ms, "pct_uncached": 100 * uncached_ms / visit.median_ms}
        return row

    def _stream_for(self, candidate: Candidate) -> Visit | None:
        """The fastest read of the candidate's own data; where these were not read, or hold much that the candidate
        does not need, the fastest of as much data too."""
        own = [visit for visit in self.streams if visit.candidate.reads_what(candidate)]
        any_data = [visit for visit in self.streams if visit.candidate.source is None]
        source = candidate.source
        padded = source is not None and source.nbytes > candidate.bytes["dram"]
        counted = [*own, *any_data] if padded or not own else own
        return max(counted, key=lambda visit: visit.candidate.bytes["dram"] / visit.median_ms, default=None)


def over_blocks(blocks: list[Row]) -> Row:
    """The medians of the bound and of the share of it over these blocks, and the share's interval where the blocks are
    enough for one; what comes next to the bound is of the blocks that are bound by the same. No fields where there are
    no blocks."""
    if not blocks:
        return {}
    share = statistics.ratio_ci([number_of(row, "pct_bound") for row in blocks])
    bound_by = _commonest(row["bound_by"] for row in blocks)
    next_by = _commonest(row["next_by"] for row in blocks if row["bound_by"] == bound_by)
    alike = [row for row in blocks if (row["bound_by"], row["next_by"]) == (bound_by, next_by)]
    modelled = [row for row in blocks if row["uncached_ms"]]  # blocks of earlier versions have no such count
    return {
        "bound_ms": _median(row["bound_ms"] for row in blocks),
        "bound_by": bound_by,
        "next_by": next_by,
        "pct_next": _median(row["pct_next"] for row in alike),
        "pct_bound": share.median,
        "pct_lo": share.lo if share.reached else None,
        "pct_hi": share.hi if share.reached else None,
        "uncached_ms": _median(row["uncached_ms"] for row in modelled),
        "pct_uncached": _median(row["pct_uncached"] for row in modelled),
    }


def _median(values: Iterable[float | None]) -> float | None:
    """The median of the values that are not None."""
    known = [value for value in values if value is not None]
    return float(np.median(known)) if known else None


def _commonest(words: Iterable[str | None]) -> str | None:
    known = [word for word in words if word]
    return max(dict.fromkeys(known), key=known.count, default=None)
