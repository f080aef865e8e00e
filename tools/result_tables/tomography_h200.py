"""Tables of docs/results/tomography-h200.md."""

from .tables import (
    BOUND,
    BOUND_BY,
    MS,
    UPDATES,
    Aim,
    Column,
    Line,
    Undated,
    aims,
    between,
    faster,
    findings,
    grid,
    ladder,
    paper_gain,
    printed,
    setup,
    several,
)
from .values import Lines, Profile, Rows, Value, small

CUBE512 = Rows("results/h200/tomography-cube512/rows.jsonl")
ADJOINT = Rows("results/h200/tomography-cube512-adjoint/rows.jsonl")
CUBE1024 = Rows("results/h200/tomography-cube1024/rows.jsonl")
ASTRA1024 = Rows("results/h200/tomography-cube1024-astra/rows.jsonl")  # of an earlier run, where ASTRA was installed
OURS = {case: Rows("results/h200/tomography-paper/rows.jsonl", case) for case in ("I1", "I2")}
PAPER = {
    "I1": Rows("results/h200/papers/tomography-paper/rows.jsonl", "I1"),
    "I2": Rows("results/h200/papers/tomography-i2/rows.jsonl", "I2"),
    "I1_64views": Rows("results/h200/papers/tomography-64/rows.jsonl", "I1"),
    "I2_64views": Rows("results/h200/papers/tomography-64/rows.jsonl", "I2"),
}
CASES = {"I1": "I1", "I2": "I2", "I1_64views": "I1, 64 views", "I2_64views": "I2, 64 views"}
PROJECTORS = Lines("results/h200/tomography-projectors.jsonl")
ALGORITHMS = Lines("results/h200/tomography-algorithms.jsonl")
PROFILE = Profile("results/h200/profile-tensor-cores.json")

STEPS = [f"paper:{name}" for name in ("naive", "intrinsics", "alu", "vector_input", "vector_output")]
IMAGE_STEPS = [f"{name}_image" for name in STEPS]
# The paper's numbers are of textures; its figures stand with the presets on buffers.
PRINTED = Column(
    "paper, HD 3870", lambda rows, row: paper_gain("tomography", str(row["preset"]).removesuffix("_image"))
)
JOSEPH = "joseph(LOCAL_U=8, LOCAL_V=32, RAYS=1, UNROLL=4)"
IMAGES = "joseph_image(LOCAL_U=16, LOCAL_V=4, RAYS=1, UNROLL=2)"
GATHER = "joseph_gather(ACROSS=8, ALONG=1, LOCAL_A=2, LOCAL_Z=64, ROWS=3, VIEWS=64)"
ASTRA = "ASTRA 2.5.0 FP3D"
EXACT, FAST = (f"OS-SART iteration, {pair}, 31 views in 4 blocks" for pair in ("exact", "fast"))


def _ms(what: str, case: str = "cube512") -> Value:
    return PROJECTORS.value("ms", what=what, case=case)


def _rate(what: str, case: str = "cube512") -> Value:
    """G samples/s, with the interval of its time."""
    time = _ms(what, case)
    return time.inverse * (PROJECTORS.line(what=what, case=case)["gsamples_s"] * time.mid)


def _of_forward(case: str = "cube512") -> Value:
    return _rate(GATHER, case) / _rate(JOSEPH, case) * 100


def _of_fetches() -> Value:
    return _rate(JOSEPH) / PROFILE.ceiling("fetch.linear") * 100


def _over_parts(what: str) -> Value:
    """The iteration's time over the sum of its parts, with the interval of its time."""
    time = _ms(what)
    return time * (PROJECTORS.line(what=what, case="cube512")["over_sum_of_parts"] / time.mid)


def _projectors() -> list[Line]:
    lines: list[Line] = []
    for text, what, cases in (
        ("Joseph forward, exact weights, a buffer (`joseph`)", JOSEPH, 2),
        ("Joseph forward by texture units (`joseph_image`)", IMAGES, 1),
        ("exact adjoint, no atomics (`joseph_gather`)", GATHER, 2),
        ("ASTRA 2.5 forward", ASTRA, 2),
    ):
        places = ("cube512", "cube1024")[:cases]
        found = [value for case in places for value in (_ms(what, case), _rate(what, case))]
        lines.append((text, *found, *[None] * (4 - len(found))))
    lines.append(("the adjoint of the forward, %", None, _of_forward(), None, _of_forward("cube1024")))
    return lines


def _errors() -> list[Line]:
    def of(field: str, what: str) -> str:
        return small(PROJECTORS.line(what=what, case="cube512")[field])

    return [
        ("Joseph forward, against fp64", of("error_l2", JOSEPH)),
        ("Joseph forward by texture units, against fp64", of("error_l2", IMAGES)),
        ("ASTRA forward, against fp64", of("error_l2", ASTRA)),
        ("exact adjoint, against the transpose", of("transposed_error", GATHER)),
        ("exact pair: relative difference of the scalar products", of("adjoint_error", "adjoint error, exact")),
        ("fast pair (texture units), of the scalar products", of("adjoint_error", "adjoint error, fast")),
    ]


def _iterations() -> list[Line]:
    lines: list[Line] = []
    for pair, what in (("exact", EXACT), ("fast", FAST)):
        parts = PROJECTORS.line(what=what, case="cube512")["parts_ms"]
        lines.append((pair, _ms(what), *(float(parts[part]) for part in ("forward", "back", "residual", "update"))))
    return lines


def _algorithms() -> list[Line]:
    return [
        (line["algorithm"], str(line.get("iterations", "")), float(line["seconds"]), f"{100 * line['error']:.1f}")
        for line in ALGORITHMS.all()
    ]


def _found() -> list[str]:
    def gains(*names: str) -> list[float]:
        """By how many % each case runs faster, from buffers and from textures."""
        return [
            100 * (rows.speedup(f"paper:{name}{form}", f"paper:naive{form}").mid - 1)
            for rows in PAPER.values()
            for form in ("", "_image")
            for name in names
        ]

    lost = between([-gain for gain in gains("vector_output")], ".0f")
    naive, image, buffer = PAPER["I1"].ms("paper:naive").mid, *(OURS["I1"].ms(name).mid for name in ("image", "buffer"))
    return [
        "**Back projection runs near the fetch rate.** The nearer neighbouring voxels' pixels lie, the nearer: 1024^3"
        " has a larger share of the bound than 512^3.",
        "**The exact adjoint needs no atomics**: a work-item gathers by cells between four voxels, and a work-group"
        " computes once where a column of rays crosses each plane. With 1024^3 voxels a cell has a fourth of the rays,"
        " but a column costs as much (inferred), so the rate is lower.",
        f"**The paper's arithmetic brings {between(gains('intrinsics', 'alu'), '.0f')} % here** (the paper: 30 to 45"
        f" %). Vector inputs, which halved the speed in the paper, gain {between(gains('vector_input'), '.0f')} %;"
        f" vector outputs lose {lost} %, more than in the paper.",
        f"**Our `buffer` is slower than the paper's `naive` at I1**: it takes {buffer:.2f} ms, {buffer / naive:.1f}"
        " times as long. Its weights are exact, and a volume this small fills the chip badly (inferred). `image` is"
        f" {naive / image:.1f} times as fast as `naive`. Both are quotients of separate runs.",
    ]


TABLES = {
    "setup": setup(
        *(CUBE512, ADJOINT, CUBE1024, ASTRA1024, OURS["I1"], *(PAPER[case] for case in ("I1", "I2", "I1_64views"))),
        *(Undated(lines, "2026-11-21") for lines in (PROJECTORS, ALGORITHMS)),
        PROFILE,
    ),
    "aims": aims(
        Aim("back projection 512^3, of the fetch rate", lambda: CUBE512.bound("image"), least=90, unit="%"),
        Aim("back projection 1024^3, of the fetch rate", lambda: CUBE1024.bound("image"), least=85, unit="%"),
        Aim("forward 512^3, of the fetch rate", _of_fetches, least=70, unit="%"),
        Aim("exact adjoint 512^3, of the forward's rate", _of_forward, least=50, unit="%"),
        Aim("OS-SART iteration, exact, over the sum of its parts", lambda: _over_parts(EXACT), most=1.1),
        Aim("OS-SART iteration, fast, over the sum of its parts", lambda: _over_parts(FAST), most=1.1),
    ),
    "back": several(
        [
            (
                CUBE512,
                [
                    ("512^3, FDK's weight: `image`", "image"),
                    ("512^3: `buffer`", "buffer"),
                    ("512^3: ASTRA 2.5", "ASTRA"),
                ],
            ),
            (ADJOINT, [("512^3, adjoint's weight: `image`", "image"), ("512^3, adjoint's weight: `buffer`", "buffer")]),
            (CUBE1024, [("1024^3, FDK's weight: `image`", "image")]),
            (ASTRA1024, [("1024^3: ASTRA 2.5", "ASTRA")]),
        ],
        [MS, UPDATES, BOUND, BOUND_BY],
        "496 views of 960 x 1248",
    ),
    "astra": grid(
        ["`image` over ASTRA", "times as fast [95 % CI]"],
        lambda: [(size, rows.speedup("image", "ASTRA")) for size, rows in (("512^3", CUBE512), ("1024^3", ASTRA1024))],
    ),
    "projectors": grid(
        ["62 of the 496 views", "512^3, ms", "512^3, G samples/s", "1024^3, ms", "1024^3, G samples/s"], _projectors
    ),
    "errors": grid(["error at 512^3", ""], _errors),
    "iterations": grid(
        ["OS-SART, 31 views in 4 blocks, ms", "iteration [95 % CI]", "forward", "back", "residual", "update"],
        _iterations,
    ),
    "algorithms": grid(["algorithm", "iterations", "s", "error, % of the phantom"], _algorithms),
    **{
        f"ladder_{case}": ladder(
            rows,
            STEPS,
            [MS, UPDATES, faster("times as fast as `naive` [95 % CI]", "paper:naive"), printed("paper, HD 3870")],
            f"{CASES[case]}, buffers",
        )
        for case, rows in PAPER.items()
    },
    **{
        f"ladder_{case}_image": ladder(
            PAPER[case],
            IMAGE_STEPS,
            [MS, UPDATES, faster("times as fast as `naive_image` [95 % CI]", "paper:naive_image"), PRINTED],
            f"{CASES[case]}, textures",
        )
        for case in PAPER
    },
    "ours": several(
        [(rows, [(f"{case}: `image`", "image"), (f"{case}: `buffer`", "buffer")]) for case, rows in OURS.items()],
        [MS, UPDATES],
        "ours",
    ),
    "findings": findings(_found),
}
