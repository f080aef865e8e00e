"""Tables of docs/results/gem-h200.md."""

from gpuopt.papers import claims

from . import gains
from .tables import (
    BOUND,
    BOUND_BY,
    MS,
    PAIRS,
    Aim,
    Cell,
    Column,
    Line,
    aims,
    faster,
    grid,
    ladder,
    of_field,
    printed,
    setup,
    several,
    tried,
)
from .values import Row, Rows, Value, small

FORMS = {
    "K0": "no salt, at the surface",
    "K1": "salt, at the surface",
    "K2": "salt, 3 A outside",
    "K3": "no salt, 0.5 A inside",
    "K3-salt": "salt, 0.5 A inside",
}
CAPSID = {form: Rows(f"results/h200/gem-capsid/{form}.jsonl") for form in FORMS}
K0 = CAPSID["K0"]
GLOBULE = Rows("results/h200/gem-globule/rows.jsonl")
STEPS = Rows("results/h200/papers/gem-steps/rows.jsonl")
FACTORIAL = Rows("results/h200/papers/gem-factorial/rows.jsonl")

BEST = "tiled(DISTANCE=2, RSQRT=2, STAGED=1, UNROLL=4, VERTICES=2)"
WIDER = "tiled(DISTANCE=2, RSQRT=2, STAGED=1, UNROLL=8, VERTICES=8)"
PLAIN = "tiled(DISTANCE=0, VERTICES=4)"
CALL = "gpuopt.gem(molecule, surface)"
# The tolerance of these rows is this part of the largest sum of magnitudes (problems of GEM, fp32).
TOLERANCE = 1e-6
BEST_OF = {
    "K0": BEST,
    "K1": "tiled(DISTANCE=1, VERTICES=4)",
    "K2": "tiled(DISTANCE=1, VERTICES=4)",
    "K3": "tiled(DISTANCE=2, VERTICES=2)",
    "K3-salt": PLAIN,
}


def _error(rows: Rows, row: Row) -> Cell:
    return small(TOLERANCE * row["max_abs"] / row["tol"])


def _rates() -> list[Line]:
    """The rates behind the bounds: what a row declares of a resource over the time that its bound gives it."""
    lines: list[Line] = []
    for form, rows in CAPSID.items():
        bounded = [row for row in rows.group.rows if row["bound_by"] in ("native_rsqrt", "issue")]
        rates = {row["bound_by"]: row["special"][row["bound_by"]] / row["bound_ms"] * 1e-6 for row in bounded}
        roots, issued = rates.get("native_rsqrt"), rates.get("issue")
        lines.append((form, str(bounded[0]["profile"])[:10], roots, None if issued is None else 2e-3 * issued))
    return lines


def _configurations(form: str) -> list[tuple[str, str]]:
    levels = ["DISTANCE=2, VERTICES=2", "DISTANCE=1, VERTICES=4", "DISTANCE=0, VERTICES=4"]
    names = [f"tiled({each})" for each in levels]
    if form == "K0":
        names = [BEST, WIDER, "tiled(DISTANCE=1, VERTICES=2)", PLAIN, CALL]
    if form.startswith("K3"):
        del names[1]
    return [(f"{form}: `{name.replace('RSQRT=2, STAGED=1, ', '')}`", name) for name in names]


def _tried() -> list[tuple[str, str, str]]:
    def at(name: str) -> str:
        return f"{K0.rate(name, 'gop_s')} G pair/s"

    best, wider, rows = at(BEST), at(WIDER), "`K0.jsonl`"
    fewer = f"{at('tiled(RSQRT=4)')}; without {wider}"
    unstaged = f"{at('tiled(STAGED=0)')}; staged {best}"
    careful = f"{at('tiled(RSQRT=1)')}; without {best}"
    return [
        ("The root unit is the limit: 1 of 32 roots in multiply-adds (RSQRT=4)", fewer, rows),
        ("Loads from local memory are the limit: a quarter of them (VERTICES=8)", f"{wider}; before {best}", rows),
        ("Memory behind the caches is the limit: atoms not staged (STAGED=0)", unstaged, rows),
        ("The plain `rsqrt`, which takes care of denormals (RSQRT=1)", careful, rows),
    ]


def _printed(claim: str) -> str:
    """The number that the paper prints for a claim."""
    [text] = [each.printed_text for each in claims.load("daga2011").claims if each.id == claim]
    return text


def _styles() -> list[Line]:
    amd, nvidia = gains.AMD, "paper:nvidia_style"

    def call(variant: str) -> str:
        return f"gpuopt.gem(molecule, surface, variant={variant!r})"

    pairs = [
        (f"AMD-style set over the NVIDIA-style one (the paper: {_printed('fig8-amd-over-nvidia-style')})", amd, nvidia),
        ("the same, whole calls", call(amd), call(nvidia)),
        ("AMD-style set over `basic`, whole calls", call(amd), call(gains.BASIC)),
        ("a plain call over that of `basic`", CALL, call(gains.BASIC)),
        ("KS + VAVM4 over the AMD-style set", "paper:ks_vavm4", amd),
    ]
    return [(text, STEPS.speedup(name, over)) for text, name, over in pairs]


def _peers() -> list[Line]:
    tiles, rows = "tiled(DISTANCE=2, VERTICES=2)", "PyTorch rows"
    return [("`tiled(DISTANCE=2, VERTICES=2)` over PyTorch's rows of distances", GLOBULE.speedup(tiles, rows))]


TABLES = {
    "setup": setup(*CAPSID.values(), GLOBULE, STEPS, FACTORIAL),
    "rates": grid(["bounds of", "profile of", "reciprocal roots, G/s", "multiply-adds, TFLOP/s"], _rates),
    "aims": aims(
        Aim("K0, of its bound", lambda: K0.bound(BEST), least=85, unit="%"),
        Aim("K0, of its bound (VERTICES=8, UNROLL=8)", lambda: K0.bound(WIDER), least=85, unit="%"),
        Aim(
            "K0, largest error, in 1e-6 of the largest sum of magnitudes",
            lambda: Value(K0.row(BEST)["max_abs"] / K0.row(BEST)["tol"]),
            most=1,
        ),
        *(
            Aim(
                f"{form} ({FORMS[form]}), of its bound",
                lambda form=form: CAPSID[form].bound(BEST_OF[form]),
                least=75,
                unit="%",
            )
            for form in ("K1", "K2", "K3", "K3-salt")
        ),
        Aim("K0, whole call with transfers", lambda: K0.ms(CALL) * 1e-3, most=0.2, unit="s"),
    ),
    "capsid": several(
        [(rows, _configurations(form)) for form, rows in CAPSID.items()],
        [MS, PAIRS, BOUND, BOUND_BY, of_field("runner-up, %", "pct_next", digits=3), Column("largest error", _error)],
        "form: configuration",
    ),
    "squares": grid(
        ["form", "expanded squares over differences, times as fast"],
        lambda: [
            (form, rows.speedup("tiled(DISTANCE=2, STAGED=1, RSQRT=2, UNROLL=4, VERTICES=2)", PLAIN))
            for form, rows in CAPSID.items()
        ],
    ),
    "steps": lambda: ladder(
        STEPS,
        [("`basic`", gains.BASIC), *gains.presets(STEPS)],
        [MS, PAIRS, faster("times as fast [95 % CI]", gains.BASIC), printed("paper, HD 5870")],
        "the paper's optimizations",
    )(),
    "styles": grid(["", "times as fast [95 % CI]"], _styles),
    "counts": gains.counts(FACTORIAL),
    "stacking": gains.stacking(FACTORIAL, 12),
    "best": gains.best_cells(FACTORIAL, 3),
    "ways": gains.ways(FACTORIAL),
    "peers": grid(["", "times as fast [95 % CI]"], _peers),
    "tried": tried(_tried),
}
