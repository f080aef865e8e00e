"""Tables of docs/results/device-cpu.md."""

from . import device
from .tables import grid, setup
from .values import Points, Profile

RUNTIMES = {"PoCL": "pocl", "Intel": "intel"}
PROFILES = {
    name: (Profile(f"results/cpu-2core/{key}-profile.json"), Profile(f"results/cpu-2core/{key}-profile-again.json"))
    for name, key in RUNTIMES.items()
}
POINTS = {name: Points(f"results/cpu-2core/{key}-microbench/rows.jsonl") for name, key in RUNTIMES.items()}
AGAIN = {name: Points(again.path) for name, (_, again) in PROFILES.items()}

CEILINGS: list[tuple[str, str, float]] = [
    ("read, GB/s", "dram.read", 1),
    ("copy, GB/s", "dram.copy", 1),
    ("write, GB/s", "dram.write", 1),
    ("triad, GB/s", "dram.triad", 1),
    ("caches, best working set, GB/s", "l1", 1),
    ("first plateau, GB/s", "cache1", 1),
    ("second plateau, GB/s", "cache2", 1),
    ("local memory, GB/s", "local", 1),
    ("constant memory, GB/s", "constant", 1),
    ("1-D image, GB/s", "image", 1),
    ("fetches, nearest, G/s", "fetch", 1),
    ("fetches, 2-D linear, G/s", "fetch.linear", 1),
    ("fp32, GFLOP/s", "float32", 1),
    ("fp64, GFLOP/s", "float64", 1),
    ("`native_rsqrt`, G/s", "native_rsqrt", 1),
    ("`rsqrt`, G/s", "rsqrt", 1),
    ("divide, G/s", "divide", 1),
    ("integer multiply-add, G/s", "mad", 1),
    ("shift and xor, G/s", "shift_xor", 1),
    ("dependent load, 16 KiB, ns", "latency.16KiB", 1),
    ("dependent load, 8 MiB, ns", "latency.8MiB", 1),
    ("dependent load, 512 MiB, ns", "latency.512MiB", 1),
    ("launch, queued, us", "launch", 1),
    ("upload, GB/s", "upload", 1),
    ("download, GB/s", "download", 1),
]
SIZES = [16384, 65536, 262144, 1048576, 8388608, 16777216, 67108864, 536870912]


def _flagged() -> list[tuple[str, str]]:
    found = []
    for name, pair in PROFILES.items():
        for which, profile in zip(("first", "second"), pair, strict=True):
            rows = profile.held["rows"]
            found.append(
                (f"{name}, {which}", f"{sum('drift' in (row.get('flags') or ()) for row in rows)} of {len(rows)}")
            )
    return found


TABLES = {
    "setup": setup(*(profile for pair in PROFILES.values() for profile in pair), *POINTS.values()),
    "aims": device.agreement(PROFILES),
    "ceilings": device.ceilings(PROFILES, CEILINGS),
    "levels": device.levels(
        {
            f"{name}, {which}": pair[which == "second"]
            for name, pair in PROFILES.items()
            for which in ("first", "second")
        }
    ),
    "flagged": grid(["profile", "points flagged `drift`"], _flagged),
    "types": device.types(POINTS, packed=False),
    "memories": device.rates(
        POINTS,
        [
            *device.MEMORIES,
            ("cached global memory, 64 KiB, GB/s", "reread_chunks(WIDTH=16)", "gb_s", {"bytes": 65536}),
        ],
        "16 KiB read again and again",
    ),
    "working_sets": device.working_sets(AGAIN, "reread_chunks", SIZES),
    "shapes": device.shapes(POINTS, products=False),
    "patterns": device.rates(POINTS, device.ALIGNMENTS, "128 MiB of floats, GB/s"),
}
