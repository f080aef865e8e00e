"""Tables of docs/results/tomography-cpu.md."""

from .tables import Aim, Cell, Line, aims, compared, grid, setup
from .values import Lines, Profile, Row, Rows, Value, rate, small

RUNTIMES = {"PoCL": "pocl", "Intel": "intel"}
STUDIES = {name: f"results/cpu-2core/{key}-tomography/rows.jsonl" for name, key in RUNTIMES.items()}
CASES = {case: {name: Rows(path, case) for name, path in STUDIES.items()} for case in ("I1", "I2", "cube64", "slice")}
TAPS = {name: Lines(f"results/cpu-2core/{key}-tomography-taps.jsonl") for name, key in RUNTIMES.items()}
FBP = {name: Lines(f"results/cpu-2core/{key}-tomography-fbp.jsonl") for name, key in RUNTIMES.items()}
ALGORITHMS = {name: Lines(f"results/cpu-2core/{key}-tomography-algorithms.jsonl") for name, key in RUNTIMES.items()}

PROFILES = {name: Profile(f"results/cpu-2core/{key}-profile-tomography.json") for name, key in RUNTIMES.items()}

OURS = ["image", "buffer", "buffer_vectors"]
COLUMNS = "columns(ACROSS=16, VIEWS=64, WIDTH=16, Z=128)"
VECTORS = "buffer_vectors(LOCAL_Y=1, VIEWS=64, WIDTH=16, Z=8)"
MEASURED = [
    ("`columns`, 96^3 voxels, 62 views of 120 x 156", f"cube96 {COLUMNS}"),
    ("`buffer_vectors`, the same", f"cube96 {VECTORS}"),
    ("`columns`, 128^3, 62 views of 240 x 312", f"cube128 {COLUMNS}"),
    ("`buffer_vectors`, the same", f"cube128 {VECTORS}"),
    ("`columns`, I1", f"I1_4views {COLUMNS}"),
    ("`buffer_vectors`, I1", f"I1_4views {VECTORS}"),
]


def _updates(rows: Rows, row: Row) -> Cell:
    return rate(row, "gop_s")


def _of_taps(name: str, kernel: str) -> Value:
    return TAPS[name].value("of_taps", kernel=kernel) * 100


def _of_profile(name: str, variant: str = "columns") -> Value:
    """A rate over the profile's ceiling, which was not measured in the same blocks, in %."""
    return CASES["cube64"][name].rate(variant, "gop_s") * (100 / PROFILES[name].ceiling("taps").mid)


def _cube() -> list[Line]:
    lines: list[Line] = []
    for variant in ("columns", "buffer_vectors", "buffer", "image"):
        cells: list[Cell] = []
        for name, rows in CASES["cube64"].items():
            # Images are read by fetches: the ceiling of loads is none of theirs.
            cells += [rows.rate(variant, "gop_s"), None if variant == "image" else _of_profile(name, variant)]
        lines.append((f"`{variant}`", *cells))
    return lines


def _rates(case: str) -> list[Line]:
    lines: list[Line] = []
    for name in [*OURS, *(["columns"] if case == "I1" else [])]:
        lines.append((f"`{name}`", *(cell for rows in CASES[case].values() for cell in _over_buffer(rows, name))))
    return lines


def _over_buffer(rows: Rows, name: str) -> tuple[Cell, Cell]:
    return rows.rate(name, "gop_s"), "1" if name == "buffer" else rows.speedup(name, "buffer")


def _taps() -> list[Line]:
    lines: list[Line] = []
    for text, kernel in MEASURED:
        cells: list[Cell] = []
        for name, taps in TAPS.items():
            cells += [taps.value("g_s", kernel=kernel).bare, _of_taps(name, kernel)]
        lines.append((text, *cells))
    return lines


def _fbp() -> list[Line]:
    return [
        (
            name,
            lines.value("gpuopt.tomo.fbp").bare,
            lines.value("scikit-image 0.25.2 iradon").bare,
            lines.value("ratio"),
        )
        for name, lines in FBP.items()
    ]


def _algorithms() -> list[Line]:
    names = [line["algorithm"] for line in next(iter(ALGORITHMS.values())).all()]
    return [
        (
            name,
            *(
                cell
                for lines in ALGORITHMS.values()
                for cell in (float(lines.line(algorithm=name)["seconds"]), small(lines.line(algorithm=name)["apart"]))
            ),
        )
        for name in names
    ]


def _two(heading: str, other: str) -> list[str]:
    return [f"{name}, {text}" for name in RUNTIMES for text in (heading, other)]


TABLES = {
    "setup": setup(*CASES["I1"].values(), *PROFILES.values()),
    "aims": aims(
        *(
            Aim(
                f"{name}: `columns`, 96^3, of the ceiling of four loads a value",
                lambda name=name: _of_taps(name, f"cube96 {COLUMNS}"),
                least=80,
                unit="%",
            )
            for name in RUNTIMES
        ),
        *(
            Aim(
                f"{name}: `columns`, 64^3, of the profile's ceiling",
                lambda name=name: _of_profile(name),
                least=80,
                unit="%",
            )
            for name in RUNTIMES
        ),
        *(
            Aim(f"{name}: FBP, times as fast as `iradon`", lambda lines=lines: lines.value("ratio"), least=3)
            for name, lines in FBP.items()
        ),
    ),
    "I1": grid(["I1", *_two("G updates/s", "times `buffer`")], lambda: _rates("I1")),
    "I2": grid(["I2", *_two("G updates/s", "times `buffer`")], lambda: _rates("I2")),
    "cube64": grid(["64^3, 31 views", *_two("G updates/s", "% of the profile's ceiling")], _cube),
    "slice": compared(
        {f"{name}, G updates/s": rows for name, rows in CASES["slice"].items()},
        [*OURS, "iradon"],
        _updates,
        "256^2, 180 views",
    ),
    "taps": grid(["in turns with the ceiling", *_two("G updates/s", "% of the ceiling")], _taps),
    "fbp": grid(["FBP of 256 x 256, 180 views", "gpuopt, ms", "`iradon`, ms", "times as fast [95 % CI]"], _fbp),
    "algorithms": grid(["algorithm, 32^3", *_two("s", "apart from fp64")], _algorithms),
}
