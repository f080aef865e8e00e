"""Tables of docs/results/device-h200.md."""

from . import device
from .tables import grid, setup
from .values import Points, Profile, significant

FIRST = Profile("results/h200/profile.json")
AGAIN = Profile("results/h200/profile-again.json")
PROFILED = Points(FIRST.path)
POINTS = Points("results/h200/papers/microbench/rows.jsonl")
HERE = {"": POINTS}

TERA = 1e-3
CEILINGS = [
    ("copy, GB/s", "dram.copy", 1),
    ("read, GB/s", "dram.read", 1),
    ("write, GB/s", "dram.write", 1),
    ("triad, GB/s", "dram.triad", 1),
    ("first cache, 16 KiB, TB/s", "l1", TERA),
    ("second cache, plateau, TB/s", "cache2", TERA),
    ("local memory, TB/s", "local", TERA),
    ("constant memory, one address, TB/s", "constant", TERA),
    ("1-D image of RGBA, TB/s", "image", TERA),
    ("fetches, nearest, G/s", "fetch", 1),
    ("fetches, 2-D linear, one channel, G/s", "fetch.linear", 1),
    ("fp32 multiply-add, TFLOP/s", "float32", TERA),
    ("fp64 multiply-add, TFLOP/s", "float64", TERA),
    ("rsqrt, T/s", "rsqrt", TERA),
    ("divide, T/s", "divide", TERA),
    ("integer multiply-add, T/s", "mad", TERA),
    ("shift and xor, T/s", "shift_xor", TERA),
    ("dependent load, 16 KiB, ns", "latency.16KiB", 1),
    ("dependent load, 8 MiB, ns", "latency.8MiB", 1),
    ("dependent load, 1 GiB, ns", "latency.1024MiB", 1),
    ("launch, queued, us", "launch", 1),
    ("upload, pinned, GB/s", "upload", 1),
    ("download, pinned, GB/s", "download", 1),
]
SIZES = [16384, 262144, 1048576, 2097152, 5931008, 16777216, 47452160, 134217728, 1073741824]


# What cudaMemcpy and clpeak measured between the two profiles: results/h200/peers.txt.
PEERS = [
    ("copy, GB/s", "dram.copy", 4264, "cudaMemcpy, device to device, 1 GiB"),
    ("read, GB/s", "dram.read", 4383, "clpeak, best width (float16)"),
    ("fp32 multiply-add, GFLOP/s", "float32", 64505, "clpeak, best width (float)"),
]


TABLES = {
    "setup": setup(FIRST, AGAIN, POINTS),
    "aims": device.agreement({"": (FIRST, AGAIN)}),
    "ceilings": device.ceilings({"": (FIRST, AGAIN)}, CEILINGS),
    "levels": device.levels({"first": FIRST, "second": AGAIN}),
    "peers": grid(
        ["", "gpuopt", "peer", "the peer", "gpuopt over the peer, %"],
        lambda: [
            (text, FIRST.ceiling(name), f"{peer}", by, significant(100 * FIRST.ceiling(name).mid / peer))
            for text, name, peer, by in PEERS
        ],
    ),
    "types": device.types(HERE),
    "widths": grid(
        ["copy of", "GB/s"],
        lambda: [
            (f"`{name}`", PROFILED.rate(f"copy(STRUCT=0, WIDTH={width}, AHEAD=1)", dtype="float32"))
            for name, width in (("float", 1), ("float2", 2), ("float4", 4), ("float16", 16))
        ],
    ),
    "memories": device.rates(HERE, device.MEMORIES, "16 KiB read again and again"),
    "working_sets": device.working_sets({"": PROFILED}, "reread", SIZES),
    "shapes": device.shapes(HERE),
    "patterns": device.rates(HERE, device.PATTERNS, "256 MiB of floats, GB/s"),
}
