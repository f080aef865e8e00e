"""Tables of what a device itself can do, which its pages share: a column or several for each place."""

from collections.abc import Sequence

from .tables import Aim, Cell, Line, Table, aims, grid
from .values import Points, Profile, Value, significant

Places = dict[str, Points]
Asked = tuple[str, str, str, dict[str, object]]  # text shown, name of a point, field of its rate, other fields
Profiles = dict[str, tuple[Profile, Profile]]

SHAPES = ((16, 16), (32, 8), (8, 32), (32, 16), (32, 32), (64, 4), (256, 1))
TYPES = {"char": "int8", "short": "int16", "int": "int32", "float": "float32", "double": "float64"}

ALIGNMENTS: list[Asked] = [
    ("aligned", "unaligned(OFFSET=0)", "gb_s", {}),
    ("aligned, through a tile", "unaligned_tile(OFFSET=0)", "gb_s", {}),
    ("unaligned", "unaligned(OFFSET=1)", "gb_s", {}),
    ("unaligned, through a tile", "unaligned_tile(OFFSET=1)", "gb_s", {}),
    ("random gather", "random", "gb_s", {}),
]
PATTERNS: list[Asked] = [
    ("rows summed by a work-item each", "row", "gb_s", {}),
    ("rows summed through a tile", "row_tile", "gb_s", {}),
    ("adjacent floats, 2 scalars", "adjacent(SPAN=2)", "gb_s", {}),
    ("adjacent floats, a `float2`", "adjacent_vector(SPAN=2)", "gb_s", {}),
    ("adjacent floats, 4 scalars", "adjacent(SPAN=4)", "gb_s", {}),
    ("adjacent floats, a `float4`", "adjacent_vector(SPAN=4)", "gb_s", {}),
    ("shared by neighbours", "shared", "gb_s", {}),
    ("shared by neighbours, through a tile", "shared_tile", "gb_s", {}),
    *ALIGNMENTS,
]
MEMORIES: list[Asked] = [
    ("local memory, `float4`, GB/s", "local(STRIDE=1, WIDTH=4)", "gb_s", {}),
    ("constant memory, `float4` of one address, GB/s", "constant(UNIFORM=1, WIDTH=4)", "gb_s", {}),
    ("constant memory, `float4` of addresses apart, GB/s", "constant(UNIFORM=0, WIDTH=4)", "gb_s", {}),
    ("constant memory, `float` of addresses apart, GB/s", "constant(UNIFORM=0, WIDTH=1)", "gb_s", {}),
    ("1-D image of RGBA, GB/s", "image1d", "gb_s", {}),
    ("2-D image of RGBA, nearest, GB/s", "image2d(CHANNELS=4, LINEAR=0)", "gb_s", {}),
    ("2-D image of RGBA, linear, GB/s", "image2d(CHANNELS=4, LINEAR=1)", "gb_s", {}),
    ("2-D image of RGBA, linear, G fetches/s", "image2d(CHANNELS=4, LINEAR=1)", "gop_s", {}),
    ("2-D image of one channel, linear, G fetches/s", "image2d(CHANNELS=1, LINEAR=1)", "gop_s", {}),
]


def ceilings(profiles: Profiles, lines: Sequence[tuple[str, str, float]]) -> Table:
    """Each (text shown with its unit, ceiling, factor) by two profiles, and how far the lower lies below the higher."""

    def made() -> list[Line]:
        return [
            (text, *(cell for pair in profiles.values() for cell in _two(*pair, name, factor)))
            for text, name, factor in lines
        ]

    heads = [f"{place}{what}" for place in map(_led, profiles) for what in ("first", "second", "apart, %")]
    return grid(["ceiling", *heads], made)


def _two(first: Profile, again: Profile, name: str, factor: float = 1.0) -> tuple[Cell, Cell, Cell]:
    one, other = (_told(profile, name, factor) for profile in (first, again))
    apart = difference(first, again, name)
    return one, other, None if apart is None else f"{apart:.1f}"


def _told(profile: Profile, name: str, factor: float) -> Cell:
    if profile.has(name):
        return profile.ceiling(name) * factor
    doubted = profile.doubted(name)
    return "none found" if doubted is None else f"about {significant(doubted * factor, 3)}, not kept"


def difference(first: Profile, again: Profile, name: str) -> float | None:
    """By how many % the lower of the two lies below the higher; None where one has it not, or did not keep its own."""
    if not (first.has(name) and again.has(name)):
        return None
    one, other = first.ceiling(name).mid, again.ceiling(name).mid
    return 100 * (1 - min(one, other) / max(one, other))


def within(first: Profile, again: Profile, percent: float) -> tuple[int, int]:
    """How many of the ceilings that both kept agree so well, and how many there are."""
    apart = [found for name in first.held["ceilings"] if (found := difference(first, again, name)) is not None]
    return sum(one <= percent for one in apart), len(apart)


def agreement(profiles: Profiles) -> Table:
    """The aim that two profiles of a device agree, and of how many ceilings it is."""

    def aim(place: str, pair: tuple[Profile, Profile]) -> Aim:
        near, all_of_them = within(*pair, 10)
        text = f"{_led(place)}ceilings on which two profiles agree within 10 %: {near} of {all_of_them} that both kept"
        return Aim(text, lambda: Value(100 * near / all_of_them), least=100, unit="%")

    return lambda: aims(*(aim(place, pair) for place, pair in profiles.items()))()


def levels(profiles: dict[str, Profile]) -> Table:
    """The cache levels that the sweep of working sets shows."""

    def made() -> list[tuple[str, str, str]]:
        found = []
        for name, profile in profiles.items():
            for level in profile.levels:
                size = f"{level['bytes'] / 1e6:.3g} MB" if level["bytes"] else "beyond"
                found.append((name, size, significant(level["rate_gb_s"])))
        return found

    return grid(["profile", "up to", "GB/s"], made)


def types(places: Places, *, packed: bool = True) -> Table:
    """Copies by data type: plain, and the paper's mend, which packs small types (left out without ``packed``) and
    stages structs in local memory."""

    def made() -> list[Line]:
        lines: list[Line] = []
        for shown, dtype in TYPES.items():
            cells: list[Cell] = []
            for points in places.values():
                cells.append(points.rate("copy(STRUCT=0, WIDTH=1, AHEAD=1)", dtype=dtype))
                cells.append(points.rate("copy_packed(BYTES=16)", dtype=dtype) if packed else None)
            lines.append((shown, *cells))
        for width in (5, 32):
            cells = []
            for points in places.values():
                cells.append(points.rate(f"copy(STRUCT=1, WIDTH={width})"))
                cells.append(points.rate(f"copy_staged(WIDTH={width})"))
            lines.append((f"struct of {width} floats", *cells))
        return lines

    heads = [
        f"{place}{what}, GB/s"
        for place in map(_led, places)
        for what in ("plain", "packed or staged" if packed else "staged")
    ]
    return grid(["copy of", *heads], made)


def _led(place: str) -> str:
    return f"{place}, " if place else ""


def rates(places: Places, lines: Sequence[Asked], first: str) -> Table:
    """Rates of points, a column a place."""

    def made() -> list[Line]:
        return [
            (text, *(points.rate(name, field, **fields) for points in places.values()))
            for text, name, field, fields in lines
        ]

    return grid([first, *(place or "rate" for place in places)], made)


def shapes(places: Places, *, products: bool = True) -> Table:
    """Shapes of work-groups: a 2-D copy, and products with and without tiles in local memory."""
    names = [("copy2d", "gb_s", "copy, GB/s")]
    if products:
        names += [
            ("tiled", "gflop_s", "tiled product, GFLOP/s"),
            ("cache_reuse", "gflop_s", "product by caches, GFLOP/s"),
        ]
    form = {"cache_reuse": ", MATH=0"}

    def made() -> list[Line]:
        return [
            (
                f"{x} x {y}",
                *(
                    points.rate(f"{name}(LOCAL_X={x}, LOCAL_Y={y}{form.get(name, '')})", field)
                    for points in places.values()
                    for name, field, _ in names
                ),
            )
            for x, y in SHAPES
        ]

    return grid(["work-group", *(f"{place}{text}" for place in map(_led, places) for _, _, text in names)], made)


def working_sets(places: Places, name: str, sizes: Sequence[int]) -> Table:
    """Reading sets of growing size again and again."""

    def made() -> list[Line]:
        return [(_bytes(size), *(points.rate(name, bytes=size) for points in places.values())) for size in sizes]

    return grid(["working set", *(f"{place}GB/s" for place in map(_led, places))], made)


def _bytes(size: int) -> str:
    return f"{size / 1e6:.3g} MB" if size >= 1e6 else f"{size / 1e3:.3g} kB"
