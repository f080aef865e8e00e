"""The least time that the device needs for a declared amount of work, resource by resource.

A resource is what the profile measured a ceiling of: a memory, a cache, the units for one kind of arithmetic. Its time
is the declared amount over the ceiling's rate. The longest of these times is the bound.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from gpuopt._core import Device
from gpuopt.lab.device.caches import last_level_cache
from gpuopt.lab.rows.schema import CacheState
from gpuopt.problem import Work

if TYPE_CHECKING:
    from gpuopt.lab.device.profile import Profile


# The ceiling of a profile that declared bytes of each class are divided by.
_CEILINGS = {"requested": "l1", "local": "local", "constant": "constant", "image": "image"}

TENSOR = "mma_"  # how the names of tensor cores' instructions begin; what is counted of them is flops
_RATES = ("GB/s", "GFLOP/s", "G ", "G/s")  # how units of rates begin; ns and us are none


def resources(work: Work, dtype: str, profile: Profile | None, device_type: str | None = None) -> dict[str, float]:
    """Milliseconds that each resource but memory needs for this work at its ceiling; empty without a profile.

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
    if device_type == "cpu":  # a CPU's compiler keeps such data in registers, and vectorizes as it likes
        amounts = {name: amount for name, amount in amounts.items() if name not in ("local", "constant")}
    rates = {name: known.rate for name, known in profile.ceilings.items() if known.unit.startswith(_RATES)}
    # Instructions of a lane: a multiply-add is one of them, and counts as two flops.
    rates["issue"] = (profile.rate(dtype) or 0.0) / 2
    return {name: amount / rates[name] * 1e-6 for name, amount in amounts.items() if amount and rates.get(name)}


def bounding_memory(device: Device, footprint_bytes: int, state: CacheState) -> str:
    """Which memory the bandwidth measured at this footprint is of: ``"llc"`` (the last-level cache) or ``"dram"``."""
    size = last_level_cache(device.index).bytes
    return "llc" if state == "hot" and size is not None and footprint_bytes <= size else "dram"
