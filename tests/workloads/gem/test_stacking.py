"""Hill climbing and elimination on gains with a known answer, and on rows of a whole design."""

from __future__ import annotations

from itertools import permutations, product
from math import factorial, prod
from typing import Any

import pytest

from study_rows import Row

pytest.importorskip("matplotlib")

from figures import outside, overlaps, words
from gpuopt import ParameterError
from gpuopt.lab.report import Study
from gpuopt.workloads.gem import pictures as gem_plots
from gpuopt.workloads.gem.optimizations import AXES, configuration, levels_of, names_of, together
from gpuopt.workloads.gem.stacking import Gains, Point, elimination, hill_climbing, replayed
from workloads.gem.made_rows import BASIC, pairs

AXES_2 = {"splitting": ("", "KS"), "vertex": ("", "LM", "RP")}
AXES_3 = {**AXES_2, "threads": ("", "MT")}


def gains_of(
    alone: dict[str, float], together: dict[tuple[str, ...], float], axes: dict[str, tuple[str, ...]]
) -> Gains:
    """Gains that multiply, but for those of ``together``."""
    found: dict[Point, float] = {}
    for point in product(*axes.values()):
        names = tuple(filter(None, point))
        found[point] = together.get(names, prod(alone[name] for name in names))
    return found


def test_names_and_levels_say_the_same() -> None:
    for point in product(*AXES.values()):
        levels = together(point)
        if levels is None:
            assert "IM" in point
            assert {"VASM2", "VAVM2"} & set(point)
            assert configuration(point) is None
            continue
        names = names_of(levels)
        merged = {parameter: level for name in names for parameter, level in levels_of(name).items()}
        assert merged == levels
        assert set(names) == set(filter(None, point)) - ({"VASM4"} if "IM" in point else set())
    assert names_of({"LOCAL": 256, "ATOMS": 5, "VECTOR": 4}) == ("IM", "atoms in LM", "LOCAL=256")
    assert names_of({"ATOMS": 3, "VECTOR": 4, "MATH": 1}) == ("VAVM4", "atoms in LM", "IM of one row")


def test_where_gains_multiply_every_order_finds_the_best() -> None:
    gains = gains_of({"KS": 2.0, "LM": 1.5, "RP": 1.2, "MT": 0.9}, {}, AXES_3)
    climbing = hill_climbing(gains, AXES_3)
    (end,) = climbing.ends
    assert (end.found.names, end.orders) == (("KS", "LM"), 6)
    assert end.found.gain == pytest.approx(3.0)
    assert end.found.product == pytest.approx(3.0)
    found = replayed(gains, AXES_3)
    assert (found.best, found.cells) == (end.found, 12)
    assert found.beside_splitting.end == found.by_gains_alone.end == end.found


def test_hill_climbing_fails_where_the_better_one_alone_is_the_worse_together() -> None:
    """As in the paper: local memory wins alone, register preloading beside kernel splitting."""
    gains = gains_of({"KS": 1.7, "LM": 2.3, "RP": 1.6}, {("KS", "LM"): 2.5, ("KS", "RP"): 3.2}, AXES_2)
    climbing = hill_climbing(gains, AXES_2)
    assert [(end.found.names, end.orders, end.order) for end in climbing.ends] == [
        (("KS", "RP"), 1, ("splitting", "vertex")),
        (("KS", "LM"), 1, ("vertex", "splitting")),
    ]
    assert climbing.share_from(3.2) == 0.5
    assert elimination(gains, AXES_2).end.names == ("KS", "RP")
    alone = elimination(gains, AXES_2, alone=True)
    assert [found.names for found in alone.kept] == [("KS",), ("KS", "LM")]
    said = str(replayed(gains, AXES_2))
    assert "Fastest of all 6 combinations: KS + RP, 3.20x (2.72x if gains multiplied)." in said
    assert "50 % of the 2 orders end within the noise (0.0 %) of the fastest." in said
    assert "The worst order (vertex, splitting) ends at KS + LM, 2.50x (3.91x if gains multiplied): 78 % of" in said


def test_no_order_finds_what_only_pays_together() -> None:
    gains = gains_of({"KS": 0.9, "LM": 0.8, "RP": 0.8, "MT": 0.9}, {("KS", "RP", "MT"): 5.0}, AXES_3)
    climbing = hill_climbing(gains, AXES_3)
    assert [(end.found.names, end.found.gain, end.orders) for end in climbing.ends] == [((), 1.0, 6)]
    found = replayed(gains, AXES_3)
    assert found.best.gain == 5.0
    assert found.share(climbing.median.found) == pytest.approx(0.2)
    assert found.beside_splitting.end.names == ("KS",)


def test_orders_are_counted_exactly() -> None:
    """Against a walk along every order, on gains without rhyme."""
    values = {point: 1 + (7 * i * i + 3 * i) % 31 for i, point in enumerate(product(*AXES.values()))}
    gains = {point: float(value) for point, value in values.items() if together(point) is not None}
    names, counted = list(AXES), {}
    for order in permutations(range(len(names))):
        point: Point = ("",) * len(names)
        for axis in order:
            near = [(*point[:axis], level, *point[axis + 1 :]) for level in AXES[names[axis]]]
            point = max([point, *(other for other in near if other in gains)], key=gains.__getitem__)
        key = names_of(together(point) or {})
        counted[key] = counted.get(key, 0) + 1
    climbing = hill_climbing(gains, AXES)
    assert {end.found.names: end.orders for end in climbing.ends} == counted
    assert climbing.orders == factorial(len(AXES))
    for end in (climbing.ends[0], climbing.ends[-1]):
        assert sorted(end.order) == sorted(names)


def test_elimination_goes_the_papers_way() -> None:
    """With the paper's own numbers it ends at the paper's own set."""
    alone = {"MT": 1.3, "KS": 1.7, "RA": 1.3, "LM": 2.3, "RP": 1.6, "IM": 1.2, "VASM2": 1.1, "VASM4": 1.05}
    alone |= {"VAVM2": 3.0, "VAVM4": 2.0, "LU2": 1.1, "LU4": 1.2}
    gains: dict[Point, float] = {}
    for point in product(*AXES.values()):
        if (levels := together(point)) is None:
            continue
        names = names_of(levels)
        spoils = {"VASM2", "VASM4", "VAVM2", "VAVM4", "LU2", "LU4", "LM", "RA"} & set(names) and "KS" in names
        gain = prod(alone[name] for name in names)
        gains[point] = min(gain, 1.65) if spoils else 0.9 * gain if len(names) > 1 else gain
    found = elimination(gains, AXES)
    assert [one.names for one in found.kept] == [("KS",), ("KS", "RP"), ("KS", "RP", "IM"), ("MT", "KS", "RP", "IM")]
    assert found.looked_at == 1 + 9 + 2  # splitting, each of a kind beside it, then images and threads
    assert elimination(gains, AXES, alone=True).end.names != found.end.names


def test_images_take_the_place_of_loads_that_they_do_not_go_with() -> None:
    axes = {"splitting": ("", "KS"), "image": ("", "IM"), "loads and math": ("", "VAVM2")}
    gains: Gains = {("", "", ""): 1.0, ("KS", "", ""): 2.0, ("", "IM", ""): 1.2, ("", "", "VAVM2"): 1.4}
    gains = {**gains, ("KS", "", "VAVM2"): 2.5, ("KS", "IM", ""): 2.6}
    found = elimination(gains, axes)
    assert [one.names for one in found.kept] == [("KS",), ("KS", "VAVM2"), ("KS", "IM")]


# ---------------------------------------------------------------- rows


def test_a_replay_of_rows(whole: Study) -> None:
    found = gem_plots.replay(whole)
    assert (found.cells, found.climbing.orders) == (504, 5040)
    good = [row for row in whole.summary if row["status"] == "ok" and row["variant"] == "pairs"]
    assert found.best.gain == pytest.approx(max(1 / row["ratio"] for row in good if row["params"]["ATOMS"] % 2 == 0))
    figure = gem_plots.ways(whole)
    said = words(figure)
    assert "Fastest of all 504 combinations" in said
    assert "of 5,040 orders" in said
    assert outside(figure) == []
    assert overlaps(figure) == []


def test_a_cell_that_cannot_run_is_no_end(whole: Study) -> None:
    best = gem_plots.replay(whole).best
    rows = []
    for row in whole.rows:
        if row["params"] and names_of(_changed(row)) == best.names:
            if row["kind"] != "summary":
                continue
            row = row | {"status": "compile", "reason": "out of registers"}
        rows.append(row)
    found = gem_plots.replay(Study(rows))
    assert found.cells == 503
    assert best.names not in [found.best.names, *(end.found.names for end in found.climbing.ends)]


@pytest.mark.parametrize(
    ("axes", "says"),
    [
        ({"splitting": ("KS",)}, "axes: 'splitting' lacks the basic kernel's own level"),
        ({"splitting": ()}, "axes: 'splitting' lacks"),
        ({"splitting": ("", "FOO")}, "axes: 'splitting' has 'FOO', which is no optimization; give some of MT, KS"),
    ],
)
def test_axes_of_other_names_are_refused(study: Study, axes: Any, says: str) -> None:
    for ask in (gem_plots.replay, gem_plots.ways):
        with pytest.raises(ParameterError, match=f"^{says}"):
            ask(study, axes)


def test_no_optimizations_do_not_stack(study: Study) -> None:
    with pytest.raises(ParameterError, match=r"^size: 0 is no number of optimizations"):
        gem_plots.stacking(study, 0)


def test_a_design_with_gaps_is_refused(study: Study) -> None:
    with pytest.raises(ValueError, match=r"no row of \d+ combinations; sweep them"):
        gem_plots.replay(study)
    found = gem_plots.replay(study, {"splitting": ("", "KS"), "threads": ("", "MT")})
    assert found.cells == 4


def _changed(row: Row) -> dict[str, int]:
    return {name: level for name, level in row["params"].items() if name in BASIC and level != BASIC[name]}


def test_gains_over_two_codes_of_the_basic_kernel_are_not_multiplied_block_by_block() -> None:
    """The basic kernel is edited to half its time; it and two optimizations together are measured again."""

    def sitting(code: str, faster: float, *of: dict[str, int]) -> list[Row]:
        rows: list[Row] = []
        for order, params in enumerate([{}, *of]):
            made = pairs(params, None if params else "paper:basic")
            told = {"env_hash": "e", "order": order, "source_sha256": code, "method": "rank"}
            own = {key: made[0][key] * (1 if params else 1 / faster) for key in ("median_ms",)}
            ratio = made[-1]["ratio"] * (faster if params else 1.0)
            rows += [row | told | own | {"ratio": ratio, "ratio_lo": ratio, "ratio_hi": ratio} for row in made]
        return sorted(rows, key=lambda row: (row["kind"], row["block"] or 0, row["order"]))

    splitting, product_ = levels_of("KS"), levels_of("RP")
    before = sitting("a", 1.0, splitting, product_, splitting | product_)
    (alone,) = gem_plots.stacking(Study(before))
    (edited,) = gem_plots.stacking(Study([*before, *sitting("b", 2.0, splitting | product_)]))
    assert (alone.share.blocks, edited.share.blocks) == (16, 0)
    # Each gain is half of what it was, and a product of two a quarter; no block tells so, for none has all of them.
    assert (edited.share.mid, edited.share.verdict) == (pytest.approx(alone.share.mid / 2, rel=0.01), None)
