"""Time against energy in rows of energy.py: ROWS PICTURE [WORKLOAD...]. Times are those of the loops. A problem of
which one configuration alone was measured has nothing to be compared with, and no panel."""

import json
import sys
from collections import Counter

from gpuopt import lab
from gpuopt.lab import Study

rows, path, workloads = sys.argv[1], sys.argv[2], sys.argv[3:]
last = {}
with open(rows, encoding="utf-8") as file:
    for line in file:
        row = json.loads(line)
        if row["kind"] == "energy" and row["status"] == "ok" and (not workloads or row["workload"] in workloads):
            last[row["key"]] = row
summaries = []
for row in last.values():
    times = [1e3 * seconds / runs for seconds, runs in zip(row["loop_s"], row["loop_runs"], strict=True)]
    told = {"median_ms": sum(times) / len(times), "ci_lo_ms": min(times), "ci_hi_ms": max(times)}
    summaries.append({"energy_note": None, "preset": None, "apart_pct": None, **row, "kind": "summary", **told})
panels = Counter((row["problem"], row["dtype"]) for row in summaries)
summaries = [row for row in summaries if panels[row["problem"], row["dtype"]] > 1]
lab.energy_plot(Study(summaries)).savefig(path, dpi=150)
