"""How long each resource of the device needs for a declared amount of work."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from gpuopt._core import Device
from gpuopt.lab.device.caches import last_level_cache

if TYPE_CHECKING:
    from gpuopt.lab.device.profile import Profile


# What a class of a variant's declared work is held against: the ceiling of a profile.
_CEILINGS = {"requested": "l1", "local": "local", "constant": "constant", "image": "image"}


TENSOR = "mma_"  # how the names of tensor cores' instructions begin; what is counted of them is flops
_RATES = ("GB/s", "GFLOP/s", "G ", "G/s")  # how units of rates begin; ns and us are none


def resources(
    work: Mapping[str, Any], dtype: str, profile: Profile | None, device_type: str | None = None
) -> dict[str, float]:
    """Milliseconds that each resource beside memory needs for this work at its ceiling; empty without a profile.

    Resources are named after their ceilings. What the profile has no ceiling for sets no bound. Where ``special`` has
    flops of tensor cores (``mma_...``), all flops are theirs: the dtype's own multiply-adds are another unit's.
    """
    if profile is None:
        return {}
    amounts = {name: (work.get("bytes") or {}).get(kind) for kind, name in _CEILINGS.items()}
    special = dict(work.get("special") or {})
    amounts["issue"] = special.pop("issue", None)
    tensor = {name: special.pop(name) for name in list(special) if name.startswith(TENSOR)}
    amounts |= tensor or {dtype: work.get("flops")}
    if dtype == "float32":  # what special functions were measured in
        amounts |= special
    if device_type == "cpu":  # a compiler there keeps such data in registers, and vectorizes as it likes
        amounts = {name: amount for name, amount in amounts.items() if name not in ("local", "constant")}
    known = {name: profile.ceilings.get(name) for name in amounts}
    rates: dict[str, float | None] = {
        name: found.rate if found and found.unit.startswith(_RATES) else None for name, found in known.items()
    }
    multiply_adds = profile.rate(dtype)
    rates["issue"] = multiply_adds / 2 if multiply_adds else None  # a lane's instructions: a multiply-add counts as two
    return {name: amount / rates[name] * 1e-6 for name, amount in amounts.items() if amount and rates[name]}


def bounding_memory(device: Device, footprint_bytes: int, state: str) -> str:
    """What the ceilings measured at this footprint are ceilings of: ``"llc"`` (the last-level cache) or ``"dram"``."""
    size = last_level_cache(device.index).bytes
    return "llc" if state == "hot" and size is not None and footprint_bytes <= size else "dram"
