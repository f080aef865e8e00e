#!/usr/bin/env python3
"""Holds bugs of the casebook against themselves N times, as a quick casebook does: how many verdicts are false.

    tools/casebook_false_verdicts.py 200 --device gpu

Each comparison has a bug and three versions of the same text; each of the three is a try. Tries without a verdict, for
the machine was busy, are counted and are no false verdicts.
"""

from __future__ import annotations

import argparse
import itertools
import time
from collections import Counter
from collections.abc import Iterator

from gpuopt import lab
from gpuopt.selection import select
from gpuopt.workloads.casebook import kmer, row_sum, vec_mul
from gpuopt.workloads.casebook.entry import Entry, Version, own
from gpuopt.workloads.casebook.index import chosen
from gpuopt.workloads.casebook.running import casebook

COPIES = 3
BUGS = {
    "A2": ("row_sum/row_per_item", row_sum.TASK, "X s rows columns", lab.launch(items="rows", local=256)),
    "A6": ("vec_mul/row_per_item", vec_mul.TASK, "A v y rows columns", lab.launch(items="rows", local=256)),
    "E1": ("kmer/local_window", kmer.TASK, "reads bits found space K N L M", kmer.READS),
}


def beside_itself(id: str) -> Entry:
    """The entry with nothing but its bug, several times under other names."""
    (entry,) = chosen(id)
    path, task, arguments, launch = BUGS[id]
    function = path.replace("/", "_")

    def again(number: int) -> Version:
        stages = [lab.stage(function, arguments, launch)]
        return own("fix", path, "the same text", name=f"{function}_again_{number}", stages=stages, **task)

    fields = {name: getattr(entry, name) for name in Entry.__dataclass_fields__}
    return Entry(**fields | {"versions": [entry.bug, *map(again, range(COPIES))]})


def words(entries: list[Entry], tries: int, seconds: float, device: str | None) -> Iterator[str | None]:
    """The verdict of each try: FAST, SLOW, SAME, AMBIGUOUS, None where it was refused."""
    until = time.monotonic() + seconds
    for entry, _ in zip(itertools.cycle(entries), range(-(-tries // COPIES)), strict=False):
        if time.monotonic() > until:
            return
        for finding in casebook(entry, device=device, quick=True).findings:
            assert finding.ratio is not None, finding.reason
            yield None if finding.reason else finding.ratio.verdict


def main() -> int:
    given = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    given.add_argument("tries", metavar="N", type=int)
    given.add_argument("--device", help="an index, a type or part of a name; see `gpuopt devices`")
    given.add_argument("--seconds", type=float, default=3600, help="after which no comparison is begun")
    options = given.parse_args()
    found = Counter(words([beside_itself(id) for id in BUGS], options.tries, options.seconds, options.device))
    false, count = found["FAST"] + found["SLOW"], found.total()
    print(
        f"{select(options.device).name}: {false} false verdicts in {count} tries "
        f"({100 * false / max(count, 1):.1f} %): "
        f"{found['SAME']} no effect, {found['AMBIGUOUS']} undecided, {found[None]} refused"
    )
    return 0 if false <= 0.05 * count else 1


if __name__ == "__main__":
    raise SystemExit(main())
