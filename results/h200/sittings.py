"""How often intervals between sittings hold the ceilings of a sitting that they were made without."""

import itertools
import json
from pathlib import Path

from gpuopt.lab.timing.sittings import between_sittings, spread_of

HERE = Path(__file__).parent
FILES = (
    *("profile-2026-11-21", "profile-again-2026-11-21", "profile-tensor-cores", "profile-again", "profile-third"),
    *("profile-fourth", "profile-fifth"),
)
sittings = [json.loads((HERE / f"{name}.json").read_text())["ceilings"] for name in FILES]
units = [json.loads((HERE / f"{name}.json").read_text()).get("unit") for name in FILES]
# A launch's time changed with the program between the days: an event for each command, then for a batch's ends alone.
names = [name for name in sittings[0] if name != "launch" and all(name in each for each in sittings)]
held = own = pairs = 0
outside: list[str] = []
for name, left_out in itertools.product(names, range(len(sittings))):
    others = [each[name] for place, each in enumerate(sittings) if place != left_out]
    spread = spread_of([[one["rate"] for one in others]])
    assert spread is not None
    wanted = sittings[left_out][name]["rate"]
    for one in others:
        lo, hi = min(one.get("lo") or one["rate"], one["rate"]), max(one.get("hi") or one["rate"], one["rate"])
        low, high = between_sittings(one["rate"], lo, hi, spread.sd, spread.sittings)
        pairs, held, own = pairs + 1, held + (low <= wanted <= high), own + (lo <= wanted <= hi)
        if not low <= wanted <= high:
            outside.append(f"{name}: {FILES[left_out]} is {wanted / one['rate']:.3f} of another")
named = [unit for unit in units if unit]
print(f"{len(FILES)} sittings, {len(names)} ceilings, {len(set(named))} units named in {len(named)} of them")
print(f"intervals between sittings, made of the others: {held} of {pairs} hold it ({100 * held / pairs:.1f} %)")
print(f"intervals within a sitting: {own} of {pairs} ({100 * own / pairs:.1f} %)")
print("\n".join(dict.fromkeys(outside)))
