"""The least time that the device needs for a declared amount of work, resource by resource.

A resource is what a ceiling was measured of: a memory, a cache, the units for one kind of arithmetic, launches. Its
time is the declared amount over the ceiling's rate. The longest of these times is the bound.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from gpuopt._core import Device
from gpuopt.lab.device.caches import last_level_cache
from gpuopt.lab.rows.row_fields import CacheState
from gpuopt.lab.rows.schema import sha256
from gpuopt.lab.timing.fields import Clock
from gpuopt.problem import Work

if TYPE_CHECKING:
    from gpuopt.lab.device.profile import Profile


# The ceiling of a profile that declared bytes of each class are divided by. What work-items ask global memory for
# ("requested") is no limit: a subgroup loads one address once, and caches serve what was read before.
_CEILINGS = {"local": "local", "constant": "constant", "image": "image"}

# No ceilings on a CPU: its compiler keeps such data in registers and vectorizes as it likes, and images are read by
# code whose speed is that of the kernel around it (medians of up to 117 % of ``fetch.linear``, 2-core Xeon, 2026-11).
_NOT_ON_CPUS = frozenset(("local", "constant", "image", "fetch", "fetch.linear"))

TENSOR = "mma_"  # how the names of tensor cores' instructions begin; what is counted of them is flops
LAUNCHES = "launches"
_DIGITS = 8  # of the hash of a profile's ceilings
_RATES = ("GB/s", "GFLOP/s", "G ", "G/s")  # how units of rates begin; ns and us are none


@dataclass(frozen=True)
class Launch:
    """What a launch costs, in ms: ``period_ms`` from one to the next where they are queued back to back, at least and,
    in ``usual_ms``, as a rule; and ``busy_ms``, from START to END of one that does next to nothing. Of what is unknown,
    0."""

    period_ms: float = 0.0
    busy_ms: float = 0.0
    usual_ms: float = 0.0

    def floor_ms(self, launches: int, clock: Clock | None) -> float:
        """The least time of so many launches by this clock: a batch has a whole period for each; from the first START
        to the last END, which is an event's time, lie the periods between them."""
        return self.period_ms * (launches if clock == "batch" else max(launches - 1, 0))

    def moving_ms(self, moved: float, streamed: float, stream_ms: float, launches: int, clock: Clock | None) -> float:
        """The least time by this clock to move so many bytes where a stream of ``streamed`` bytes takes ``stream_ms``
        by it: for every launch the least that one takes, for the bytes what the stream took beyond a usual one."""
        least, usual = (self.period_ms, self.usual_ms) if clock == "batch" else (self.busy_ms, self.busy_ms)
        return launches * least + moved / streamed * max(stream_ms - usual, 0.0)


def profile_word(profile: Profile) -> str:
    """What rows say of the profile that their bounds come from: its date, and a short hash of its ceilings, for there
    may be several of one day. Earlier rows have the date alone."""
    ceilings = {name: [float(each.rate), each.unit] for name, each in profile.ceilings.items()}
    return f"{profile.date} {sha256(ceilings)[:_DIGITS]}"


def profiled_launch(profile: Profile | None) -> Launch:
    """The launch of the profile, in which nothing is known of a kernel's own time."""
    period_ms = ((profile.rate("launch") if profile else None) or 0.0) * 1e-3
    return Launch(period_ms, usual_ms=period_ms)


def resources(work: Work, dtype: str, profile: Profile | None, device_type: str | None = None) -> dict[str, float]:
    """Milliseconds that each resource but memory and launches needs for this work at its ceiling; empty without a
    profile.

    Resources are named after their ceilings; work without a ceiling in the profile sets no bound. Where ``special`` has
    flops of tensor cores (``mma_...``), all flops are done there, and none by the dtype's own multiply-adds.
    """
    if profile is None:
        return {}
    moved, special = work.get("bytes") or {}, work.get("special") or {}
    amounts: dict[str, float] = {ceiling: moved.get(kind) or 0.0 for kind, ceiling in _CEILINGS.items()}
    amounts["issue"] = special.get("issue") or 0.0
    tensor = {name: amount for name, amount in special.items() if name.startswith(TENSOR)}
    amounts |= tensor or {dtype: work.get("flops") or 0.0}
    if dtype == "float32":  # the type in which the special functions were measured
        amounts |= {name: amount for name, amount in special.items() if name not in ("issue", *tensor)}
    if device_type == "cpu":
        amounts = {name: amount for name, amount in amounts.items() if name not in _NOT_ON_CPUS}
    rates = {name: known.rate for name, known in profile.ceilings.items() if known.unit.startswith(_RATES)}
    # Instructions of a lane: a multiply-add is one of them, and counts as two flops. Where additions have units of
    # their own more are issued, which was measured in float32.
    beside = rates.pop("issue", 0.0) if dtype == "float32" else 0.0
    rates["issue"] = max(beside, (profile.rate(dtype) or 0.0) / 2)
    return {name: amount / rates[name] * 1e-6 for name, amount in amounts.items() if amount and rates.get(name)}


def bounding_memory(device: Device, footprint_bytes: int, state: CacheState) -> str:
    """Which memory the bandwidth measured at this footprint is of: ``"llc"`` (the last-level cache) or ``"dram"``."""
    size = last_level_cache(device.index).bytes
    return "llc" if state == "hot" and size is not None and footprint_bytes <= size else "dram"
