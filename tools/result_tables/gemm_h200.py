"""Tables of docs/results/gemm-h200.md."""

from typing import Any

from .tables import (
    BOUND,
    BOUND_BY,
    MS,
    TFLOPS,
    Aim,
    Cell,
    Line,
    Named,
    aims,
    behind,
    between,
    compared,
    error,
    faster,
    findings,
    grid,
    ladder,
    ms,
    of_field,
    paper_gain,
    paper_steps,
    setup,
)
from .values import Lines, Profile, Row, Rows, Value, rate, significant

BIG = Rows("results/h200/gemm-8192/rows.jsonl")
AGAIN = Rows("results/h200/gemm-8192-again/rows.jsonl")
SIZES = {n: Rows("results/h200/gemm-sizes/rows.jsonl", f"gemm_{n}x") for n in (1024, 2048, 4096)}
ALL_SIZES = {**SIZES, 8192: BIG}
CONSTANT = Rows("results/h200/gemm-constant/rows.jsonl")
TMV = Rows("results/h200/tmv/rows.jsonl")
PAPER_SIZES = {
    n: Rows("results/h200/papers/gemm-sizes/rows.jsonl", f"gemm_{n}x") for n in (512, 1024, 2048, 3072, 4096)
}
PAPER_WIDE = Rows("results/h200/papers/gemm-wide/rows.jsonl")
PAPER_WIDER = {
    width: Rows("results/h200/papers/gemm-wide-large/rows.jsonl", f"gemm_1024x{width}x1024")
    for width in (16384, 65536, 131072)
}
PAPER_TMV = {n: Rows("results/h200/papers/tmv-sizes/rows.jsonl", f"tmv_{n}x") for n in (1024, 2048, 3072, 4096)}
CLBLAST = Lines("results/h200/clblast-sgemm.jsonl")
ACCURACY = Lines("results/h200/gemm-accuracy.jsonl")
PROFILE = Profile("results/h200/profile-tensor-cores.json")

SIMT = "register_tile(TILE_M=128, TILE_N=256)"
FAST = "tensor(TYPE=0, PRODUCTS=3, PROMOTE=1)"
SGEMM = "PyTorch"
TILES: list[Named] = [
    ("`register_tile`, 128 x 256 tiles, 8 x 16 sums", "register_tile(TILE_M=128, TILE_N=256)"),
    ("`register_tile`, 128 x 128 tiles, 8 x 16 sums", "register_tile(TILE_M=128, TILE_N=128, WORK_N=16)"),
    ("`register_tile`, 128 x 128 tiles, 8 x 8 sums", "register_tile(TILE_M=128, TILE_N=128, WORK_N=8)"),
    ("`register_tile`, 64 x 128 tiles, 8 x 8 sums", "register_tile(TILE_M=64, TILE_N=128)"),
    ("`register_tile`, 64 x 64 tiles, 4 x 8 sums", "register_tile(TILE_M=64, TILE_N=64)"),
]
PRECISIONS = [
    ('`tensor` fp16x3 (`precision="fast_fp32"`)', FAST),
    ("`tensor` bf16x6, the whole exponent range", "tensor(TYPE=1, PRODUCTS=6)"),
    ("`tensor` bf16x9", "tensor(TYPE=1, PRODUCTS=9)"),
    ("`tensor` tf32x3", "tensor(TYPE=2, PRODUCTS=3)"),
    ("`tensor` fp16x3, sums left in the unit", "tensor(TYPE=0, PRODUCTS=3, PROMOTE=0)"),
    ("`tensor` tf32, one product", "tensor(TYPE=2, PRODUCTS=1)"),
    ("`tensor` fp16, one product", "tensor(TYPE=0, PRODUCTS=1)"),
]
PEERS: list[Named] = [
    ("PyTorch (cuBLAS SGEMM)", "PyTorch"),
    "CuPy",
    "PyTorch TF32",
    ("the fp16x3 split by PyTorch's fp16, 3 products", "PyTorch 3 x fp16"),
    ("the bf16x6 split by PyTorch's bf16, 6 products", "PyTorch 6 x bf16"),
    "gpuopt.gemm(A, B)",
    "gpuopt.gemm(A, B, precision='fast_fp32')",
]
STEPS = ["naive", "variable_reduction", "unroll4", "unroll8", "unroll16", "vector_type", "multiple_output"]
BLOCKS = ["block_16x16", "block_32x8", "block_32x16", "block_32x32"]
CONSTANTS = ["constant", "constant_two_queues"]
TMV_STEPS = ["naive", "f2", "tlp", "tlp_f2", "tlp_hd5870", "tlp_f2_hd5870"]
OVER_SGEMM = faster("times as fast as SGEMM [95 % CI]", SGEMM)
ERROR = error("error (Frobenius)", "l2_rel")


def _best_tile(rows: Rows) -> str:
    """The fastest `register_tile` of one size."""
    tiles = [row for row in rows.group.rows if row["variant"] == "register_tile" and row["status"] == "ok"]
    return str(min(tiles, key=lambda row: float(row["median_ms"]))["configuration"])


def _tflops(rows: Rows, name: str) -> Value:
    return rows.rate(name, "gflop_s") * 1e-3


def _sizes() -> list[Line]:
    return [
        ("`register_tile`, the best of those tried", *(_tflops(rows, _best_tile(rows)) for rows in ALL_SIZES.values())),
        ("`tensor` fp16x3", *(_tflops(rows, FAST) for rows in ALL_SIZES.values())),
        ("PyTorch (cuBLAS SGEMM)", *(_tflops(rows, SGEMM) for rows in ALL_SIZES.values())),
        ("CuPy", *(_tflops(rows, "CuPy") for rows in ALL_SIZES.values())),
        ("CLBlast 1.5.3 as installed", *(CLBLAST.value("tflop_s", peer="CLBlast", n=n) for n in ALL_SIZES)),
        ("PyTorch beside CLBlast", *(_beside_clblast(n) for n in ALL_SIZES)),
    ]


def _beside_clblast(n: int) -> Value:
    return CLBLAST.value("tflop_s", peer="PyTorch 2.11.0+cu130 (cuBLAS)", n=n)


def _over_clblast(n: int) -> Value:
    rows = ALL_SIZES[n]
    return _tflops(rows, _best_tile(rows)) / CLBLAST.value("tflop_s", peer="CLBlast", n=n)


# ---------------------------------------------------------------- accuracy

DISTRIBUTIONS = ("uniform", "normal", "positive", "scaled", "special", "spread15", "spread100")
ERRORS_OF = ("fp16x3", "bf16x6", "bf16x9", "tf32x3", "fp32", "vendor: 3 fp16", "vendor: 6 bf16")
LENGTHS = tuple(2**power for power in range(6, 16))


def _over_sgemm(precision: str, distribution: str, k: int) -> float | None:
    """The Frobenius error over SGEMM's of the same product; None where it is refused."""
    own, sgemm = (_line(each, distribution, k) for each in (precision, "vendor: SGEMM"))
    if own["status"] != "ok" or sgemm["status"] != "ok" or not own["frobenius"] or not sgemm["frobenius"]:
        return None
    return float(own["frobenius"] / sgemm["frobenius"])


def _line(precision: str, distribution: str, k: int) -> dict[str, Any]:
    return ACCURACY.line(precision=precision, distribution=distribution, K=k)


def _why(precision: str, distribution: str) -> str:
    """Why there is no error: the precision refuses the values, or the results are all special ones."""
    statuses = {_line(precision, distribution, k)["status"] for k in LENGTHS}
    return "refused" if statuses == {"refused"} else "no finite error"


def _accuracy() -> list[Line]:
    def worst(precision: str, distribution: str) -> str:
        found = [_over_sgemm(precision, distribution, k) for k in LENGTHS]
        known = [ratio for ratio in found if ratio is not None]
        return significant(max(known), 3) if known else _why(precision, distribution)

    return [(precision, *(worst(precision, each) for each in DISTRIBUTIONS)) for precision in ERRORS_OF]


def _by_length() -> list[Line]:
    lines = []
    for shown, precision, distribution in (
        ("fp16x3, uniform", "fp16x3", "uniform"),
        ("bf16x6, uniform", "bf16x6", "uniform"),
        ("bf16x6, exponents of +-100", "bf16x6", "spread100"),
        ("fp32, uniform", "fp32", "uniform"),
        ("vendor's 3 fp16, uniform", "vendor: 3 fp16", "uniform"),
        ("vendor's 6 bf16, uniform", "vendor: 6 bf16", "uniform"),
    ):
        ratios = [_over_sgemm(precision, distribution, k) for k in LENGTHS]
        lines.append((shown, *("refused" if ratio is None else significant(ratio, 3) for ratio in ratios)))
    return lines


def _gains(names: list[str], over: str, form: str = "") -> list[Line]:
    """What each step of the papers brings over the step ``over``, by size; ``form`` ends the presets' names."""
    first = f"paper:{over}{form}"
    return [
        (
            f"`{name}{form}`",
            *(rows.speedup(f"paper:{name}{form}", first) for rows in PAPER_SIZES.values()),
            paper_gain("gemm", f"paper:{name}"),
        )
        for name in names
    ]


def _wider() -> list[Line]:
    """Times by the width of B, and two queues over one; cuBLAS is by another clock, so there is no ratio to it."""
    one, two, ours = "paper:constant", "paper:constant_two_queues", "constant(HEIGHT=8)"
    return [
        (
            f"1024 x {width} x 1024",
            *(rows.ms(name) for name in (one, two, ours, "PyTorch")),
            rows.speedup(two, one),
            rows.speedup(ours, two),
        )
        for width, rows in {4096: PAPER_WIDE, **PAPER_WIDER}.items()
    ]


def _tmv_found() -> list[str]:
    def gains(name: str) -> list[float]:
        return [rows.speedup(f"paper:{name}", "paper:naive").mid for rows in PAPER_TMV.values()]

    small = PAPER_TMV[1024]
    fastest = min(small.ms(f"paper:{name}").mid for name in TMV_STEPS)
    return [
        f"Sharing columns gains {between(gains('tlp'), '.1f')} times. `float2` loses at every size, alone and beside"
        " shared columns.",
        f"The shape for the HD 5870 (64 x 4) loses to 32 x 8; with both steps that shape gains"
        f" {between(gains('tlp_f2_hd5870'))} times (the paper: 2.5 to 3.8).",
        "From 2048 on PyTorch is faster than every step.",
        f"Without events of each command the fastest step at 1024 takes {fastest * 1e3:.2f} us,"
        f" {fastest / small.beside('launch').mid:.1f} times as long as the smallest kernel; 13 us were published here"
        " before.",
    ]


def _rate_of(rows: Rows, row: Row) -> Cell:
    return rate(row, "gflop_s") * 1e-3


def _by_size(places: dict[int, Rows]) -> dict[str, Rows]:
    return {str(n): rows for n, rows in places.items()}


TABLES = {
    "setup": setup(BIG, AGAIN, SIZES[1024], CONSTANT, TMV, PAPER_SIZES[512], PAPER_WIDE, PAPER_TMV[1024], PROFILE),
    "aims": aims(
        Aim("8192: `register_tile`, times as fast as SGEMM", lambda: BIG.speedup(SIMT, SGEMM), least=1),
        *(
            Aim(f"{n}: `register_tile`, times as fast as CLBlast", lambda n=n: _over_clblast(n), least=1)
            for n in ALL_SIZES
        ),
        Aim("8192: fp16x3, times as fast as SGEMM", lambda: BIG.speedup(FAST, SGEMM), least=2),
        Aim("8192: bf16x6, times as fast as SGEMM", lambda: BIG.speedup(PRECISIONS[1][1], SGEMM), least=1.3),
        Aim(
            "`constant`, of what constant memory delivers",
            lambda: CONSTANT.bound("constant(HEIGHT=8)"),
            least=90,
            unit="%",
        ),
        Aim("`tmv`, of a read of A", lambda: TMV.bound("row_parts"), least=90, unit="%"),
    ),
    "rates": ladder(
        BIG,
        [TILES[0], TILES[1], TILES[3], *PRECISIONS, *PEERS],
        [MS, TFLOPS, BOUND, BOUND_BY, ERROR, OVER_SGEMM],
        "8192",
    ),
    "sizes": grid(["TFLOP/s [95 % CI]", *map(str, ALL_SIZES)], _sizes),
    "again": ladder(
        AGAIN,
        [TILES[0], ("`register_tile`, 128 x 128 tiles", "register_tile(TILE_N=128)"), PEERS[0]],
        [MS, TFLOPS],
        "8192, again",
    ),
    "accuracy": grid(["largest error over SGEMM's", *DISTRIBUTIONS], _accuracy),
    "lengths": grid(["error over SGEMM's, K =", *map(str, LENGTHS)], _by_length),
    "step_rates": compared(
        _by_size(PAPER_SIZES),
        [
            *(f"paper:{name}" for name in STEPS),
            *(f"paper:{name}_image" for name in STEPS),
            *(f"paper:{name}" for name in (*BLOCKS, *CONSTANTS)),
            *PEERS[:2],
        ],
        _rate_of,
        "TFLOP/s [95 % CI]",
    ),
    "steps": grid(
        ["buffers, times as fast as `naive` [95 % CI]", *map(str, PAPER_SIZES), "paper"],
        lambda: _gains(STEPS[1:], "naive"),
    ),
    "steps_images": grid(
        ["textures, times as fast as `naive_image` [95 % CI]", *map(str, PAPER_SIZES), "paper"],
        lambda: _gains(STEPS[1:], "naive", "_image"),
    ),
    "blocks": grid(
        ["times as fast as 16 x 16 [95 % CI]", *map(str, PAPER_SIZES), "paper"],
        lambda: _gains(BLOCKS[1:], "block_16x16"),
    ),
    "constant_wide": ladder(
        PAPER_WIDE,
        [
            ("`constant`, one queue", "paper:constant"),
            ("`constant_two_queues`", "paper:constant_two_queues"),
            ("ours: `constant(HEIGHT=8, DEPTH=64, LOCAL=64, UNROLL=8)`", "constant(HEIGHT=8)"),
            *PEERS[:2],
        ],
        [MS, TFLOPS, BOUND, BOUND_BY],
        "1024 x 4096 x 1024",
    ),
    "constant_wider": grid(
        [
            *("", "one queue, ms", "two queues, ms", "ours, ms", "cuBLAS, ms by the host's clock"),
            *("two queues over one", "ours over two queues"),
        ],
        _wider,
    ),
    "constant": ladder(
        CONSTANT,
        [
            ("`constant(HEIGHT=8, DEPTH=64, LOCAL=64, UNROLL=8)`", "constant(HEIGHT=8)"),
            *PEERS[:2],
        ],
        [MS, TFLOPS, BOUND, BOUND_BY],
        "1024 x 131072 x 1024",
    ),
    "tmv": ladder(
        TMV,
        [
            "row_parts",
            "row_blocks",
            "PyTorch A.T @ v",
            "CuPy",
            "gpuopt.tmv(A, v)",
        ],
        [MS, of_field("GB/s", "gb_s"), BOUND, behind("`row_parts` is times as fast", "row_parts")],
        "transposed matrix by vector, 16384",
    ),
    "tmv_times": compared(
        _by_size(PAPER_TMV),
        [*(f"paper:{name}" for name in TMV_STEPS), "PyTorch A.T @ v", "CuPy"],
        lambda rows, row: ms(row) * 1e3,
        "us [95 % CI]",
    ),
    "tmv_steps": paper_steps(_by_size(PAPER_TMV), "tmv"),
    "tmv_found": findings(_tmv_found),
}
