"""Tables of docs/results/device-cpu.md."""

from . import device, device_h200
from .tables import between, findings, grid, setup
from .values import Points, Profile, Value

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


def _copied() -> str:
    rates = {
        name: {
            shown: value
            for shown, dtype in device.TYPES.items()
            if isinstance(value := points.rate("copy(STRUCT=0, WIDTH=1, AHEAD=1)", dtype=dtype), Value)
        }
        for name, points in POINTS.items()
    }
    alike = between([value.mid for value in rates["PoCL"].values()], ".0f")
    least, *_, most = sorted(rates["Intel"].items(), key=lambda item: item[1].mid)
    return (
        f"**By PoCL all types are copied about equally fast**, at {alike} GB/s, which is not so in Figures 1 and 2 of"
        f" Yang 2012. **By Intel's runtime they are not**: from {least[0]} at {least[1]} GB/s to {most[0]} at"
        f" {most[1]}."
    )


def _on_chip() -> str:
    shares = []
    for name, points in POINTS.items():
        local, cached = points.rate("local(STRIDE=1, WIDTH=4)"), points.rate("reread_chunks(WIDTH=16)", bytes=65536)
        if isinstance(local, Value) and isinstance(cached, Value):
            shares.append(f"{local.mid / cached.mid:.2f} ({name})")
    return (
        "**Figure 13 (on-chip memories)**: on a CPU local memory is ordinary memory, so using it adds a copy. It runs"
        f" at {' and '.join(shares)} of the rate of cached global memory. Images are emulated. Reading one address of"
        " constant memory is very fast with Intel's runtime, which keeps the value in registers (inferred)."
    )


def _shaped() -> str:
    def of(points: Points) -> list[tuple[str, Value]]:
        """The shapes with their rates, the fastest first."""
        rates = {f"{x} x {y}": points.rate(f"copy2d(LOCAL_X={x}, LOCAL_Y={y})") for x, y in device.SHAPES}
        found = [(shape, value) for shape, value in rates.items() if isinstance(value, Value)]
        return sorted(found, key=lambda item: -item[1].mid)

    def spread(points: Points) -> str:
        return f"{of(points)[0][1].mid / of(points)[-1][1].mid:.1f}"

    def first(points: Points) -> str:
        (shape, best), *others = of(points)
        reach = sum((value.hi or value.mid) >= (best.lo or best.mid) for _, value in others)
        others_reach = f"the intervals of {reach} others reach" if reach else "no other's interval reaches"
        return f"{shape}, at {best} GB/s; {others_reach} into its own"

    return (
        "**Shapes of work-groups matter more than on the H200, and differently by compiler**: the fastest 2-D copy is"
        f" {spread(POINTS['PoCL'])} (PoCL) and {spread(POINTS['Intel'])} (Intel) times as fast as the slowest, on the"
        f" H200 {spread(device_h200.POINTS)}. By Intel's runtime the fastest is {first(POINTS['Intel'])}. By PoCL it is"
        f" {first(POINTS['PoCL'])}."
    )


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
    "findings": findings(lambda: [_copied(), _on_chip(), _shaped()]),
}
