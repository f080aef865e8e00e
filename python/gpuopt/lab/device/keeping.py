"""Which ceilings of a sitting are kept: not those whose rounds disagree, nor those far below what earlier sittings
found, nor any that was measured on a busy machine. What an earlier sitting found then stands."""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from gpuopt import files, sealed
from gpuopt._core import Device
from gpuopt.host_memory import text_of
from gpuopt.lab.device import profile
from gpuopt.lab.device.profile import Ceiling, Profile
from gpuopt.lab.device.sittings import Sitting, spread
from gpuopt.lab.rows.table import significant

DISAGREE = 0.2  # of a ceiling: the width of the middle half of its rounds
FAR = 0.3  # what a ceiling may lie below the earlier sittings' median, unless their own spread says more
SPREADS = 4.0  # so many standard deviations between sittings are no surprise
BUSY = {"cpu": 0.25, "gpu": 0.5}  # the share of the CPUs' time taken by others beyond which no ceiling is believed
_ROOT = Path("/")  # tests put a made-up /proc here
_LESS_IS_BETTER = ("ns", "us")
_OF_LEVELS = ("cache", "l1")  # names of ceilings that the levels of the memory give


def busy_words(device: Device, seconds: float = 0.5) -> str | None:
    """Why no ceiling that is measured now would be believed, None where the machine is quiet: what others take of its
    CPUs during ``seconds`` in which nothing of ours runs. The load average would remember what we ran before."""
    before = _cpu_times()
    time.sleep(seconds if before else 0.0)
    after = _cpu_times()
    if before is None or after is None or after[1] <= before[1]:
        return None
    share, limit = (after[0] - before[0]) / (after[1] - before[1]), BUSY.get(device.type, BUSY["gpu"])
    if share <= limit:
        return None
    return (
        f"the machine is busy: others take {100 * share:.0f} % of its CPUs' time, where {100 * limit:.0f} % is the most"
    )


def _cpu_times() -> tuple[int, int] | None:
    """The time of all CPUs so far, what was not idle and all, in the kernel's ticks; None where nobody tells it."""
    words = (text_of(_ROOT / "proc/stat") or "").partition("\n")[0].split()
    if len(words) < 9 or words[0] != "cpu":
        return None
    ticks = [int(word) for word in words[1:9]]  # user, nice, system, idle, iowait, irq, softirq, steal
    return sum(ticks) - ticks[3] - ticks[4], sum(ticks)


def keep(made: Profile, earlier: Profile | None, busy: str | None, force: bool = False) -> Profile:
    """What becomes the profile after this sitting: ``made`` with the sittings of the ``earlier`` one.

    Ceilings that are not kept are those of ``earlier``, or missing where it has none; ``refused`` says why, by name.
    ``force`` keeps all.
    """
    before = tuple(earlier.sittings) if earlier is not None else ()
    of_unit = [sitting for sitting in before if sitting.unit == made.unit]
    words = {name: busy or why_not(name, ceiling, of_unit) for name, ceiling in made.ceilings.items()}
    doubts = {} if force else {name: reason for name, reason in words.items() if reason}
    curve = [name for name in made.ceilings if name.startswith(_OF_LEVELS)]
    of_levels = earlier is not None and bool(earlier.levels) and any(name in doubts for name in curve)
    if of_levels:  # which are those of one curve
        doubts = dict.fromkeys(curve, "another level is not kept") | doubts
    good = {name: ceiling for name, ceiling in made.ceilings.items() if name not in doubts}
    held = earlier.ceilings if earlier is not None else {}
    stands = {name: held[name] for name in doubts if name in held}
    kept = replace(made, ceilings={name: (good | stands)[name] for name in made.ceilings if name in good | stands})
    if earlier is not None and not good:
        kept = earlier
    elif earlier is not None and of_levels:
        kept = replace(kept, levels=earlier.levels)
    told = {name: _told(made.ceilings[name], reason, stands.get(name), earlier) for name, reason in doubts.items()}
    if good:
        sitting = replace(made.sitting(), rates={name: ceiling.rate for name, ceiling in good.items()})
        kept = replace(kept, sittings=(sitting,)).after(earlier)
    return replace(kept, refused=told)


def keep_in_cache(made: Profile, device: Device, force: bool = False) -> Profile:
    """What :func:`keep` gives, kept as the device's profile unless nothing of ``made`` is believed; other processes
    that keep one meanwhile wait. Raises WriteError, which has what should have been kept."""
    path = profile.path_of(device)

    def kept() -> Profile:
        found = keep(made, profile.stored(device), None, force)
        if set(made.ceilings) - set(found.refused):
            profile.save(found, path)
        return found

    with files.holding(made):
        sealed.made(path.parent)
        return sealed.locked(path.parent, kept)


def why_not(name: str, ceiling: Ceiling, earlier: Sequence[Sitting]) -> str | None:
    """Why a ceiling is not believed, None where it is: its rounds disagree, or it is far worse than in the ``earlier``
    sittings of this unit."""
    if ceiling.apart is not None and ceiling.apart > DISAGREE:
        return f"its rounds disagree: the middle half of them lies {100 * ceiling.apart:.0f} % apart"
    rates = [sitting.rates[name] for sitting in earlier if name in sitting.rates]
    if not rates:
        return None
    usual, found = float(np.median(rates)), spread(earlier, name)
    worse = math.log(usual / ceiling.rate) * (-1.0 if ceiling.unit in _LESS_IS_BETTER else 1.0)
    if worse <= max(-math.log(1 - FAR), SPREADS * (found.sd if found else 0.0)):
        return None
    return f"{len(rates)} earlier sittings found {significant(usual)} {ceiling.unit}"


def _told(ceiling: Ceiling, reason: str, stands: Ceiling | None, earlier: Profile | None) -> str:
    now = f"{significant(ceiling.rate)} {ceiling.unit} in this sitting, but {reason}; "
    if stands is None or earlier is None:
        return now + "there is no earlier value"
    return now + f"{significant(stands.rate)} {stands.unit} stands"
