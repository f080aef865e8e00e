"""Effects of factors and pairs, against numbers worked by hand and simulated studies."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence
from pathlib import Path

import numpy as np
import pytest

from gpuopt import ParameterError, lab
from gpuopt.lab.rows.study_rows import StudyRows
from gpuopt.lab.show.stacking import Effect, Stacking


def study(
    speedups: Mapping[tuple[int, ...], float], blocks: int = 12, noise: float = 0.001, seed: int = 0
) -> StudyRows:
    """Rows of a kernel with a parameter for each place of the key, off at 1 and on at 2."""
    random = np.random.default_rng(seed)
    rows = []
    for block in range(blocks):
        drift = math.exp(0.05 * random.standard_normal())
        for on, speed in speedups.items():
            params = {"ABCDEF"[place]: 1 + one for place, one in enumerate(on)}
            time = drift * math.exp(noise * random.standard_normal()) / speed
            row = {"kind": "block", "role": "variant", "status": "ok", "variant": "made", "params": params}
            rows.append(row | {"block": block, "median_ms": time, "configuration": str(params)})
    return StudyRows(rows, {"name": "made", "workload": "made"}, [])


GOLDEN = {(0, 0): 1.0, (1, 0): 1.3, (0, 1): 1.7, (1, 1): 1.8}


def test_the_gains_that_daga_2011_prints() -> None:
    """More threads 1.3, kernel splitting 1.7, both 1.8: they overlap."""
    found = lab.stacking(study(GOLDEN, noise=1e-6))
    effects = {effect.factors: effect for effect in found.effects}
    assert effects["A",].times == pytest.approx(1.1732, abs=1e-3)
    assert effects["B",].times == pytest.approx(1.5342, abs=1e-3)
    assert effects["A", "B"].times == pytest.approx(0.8145, abs=1e-3)
    assert effects["A", "B"].verdict == "less than the product"
    assert found.shares == pytest.approx({"A": 0.1598, "B": 0.4280}, abs=1e-3)
    assert found.together == pytest.approx(1.8, abs=1e-3)
    assert found.product == pytest.approx(2.21, abs=1e-2)
    assert found.left_out("A") == pytest.approx(1.8 / 1.7, abs=1e-3)
    assert found.climbs() == {1.0: 2}
    said = str(found)
    assert "A with B: 0.814x" in said
    assert "All together: 1.80x; if the gains of each alone multiplied: 2.21x." in said


def made_of(factors: int, pair: float, seed: int) -> Stacking:
    gains = [1.0, 1.2, 1.4, 1.0][:factors]
    cells = {}
    for on in itertools.product((0, 1), repeat=factors):
        speed = math.prod(gain for gain, one in zip(gains, on, strict=True) if one)
        cells[on] = speed * (pair if on[0] and on[1] else 1.0)
    return lab.stacking(study(cells, blocks=10, noise=0.02, seed=seed))


def test_what_does_nothing_is_undecided_and_what_multiplies_does_not_overlap() -> None:
    """Over 60 studies of four factors, one of which does nothing, and a pair that brings a fifth more."""
    false, seen, covered = 0, 0, 0
    for seed in range(60):
        effects = {effect.factors: effect for effect in made_of(4, 1.2, seed).effects}
        truths = {("C", "D"): 1.0, ("B", "C"): 1.0, ("D",): 1.0, ("A", "B"): 1.2}
        covered += sum(effects[term].lo <= truth <= effects[term].hi for term, truth in truths.items())
        false += any(effects[term].verdict != "undecided" for term, truth in truths.items() if truth == 1.0)
        seen += effects["A", "B"].verdict == "more than the product"
    assert false <= 6
    assert seen >= 54
    assert covered >= 0.9 * 240


def test_cells_that_are_missing_are_named() -> None:
    cells = {on: 1.0 + sum(on) for on in itertools.product((0, 1), repeat=3)}
    del cells[1, 1, 1], cells[1, 1, 0]
    found = lab.stacking(study(cells))
    assert len(found.missing) == 2
    assert ("A", "B") in found.unknown
    assert found.shares is None
    assert str(found).endswith("Not told, for cells are missing: A, B, A with B")


def test_hill_climbing_may_miss_the_best() -> None:
    found = lab.stacking(study({(0, 0): 1.0, (1, 0): 0.9, (0, 1): 0.9, (1, 1): 2.0}, noise=0))
    assert found.climbs() == {0.5: 2}
    assert "Hill climbing reaches 50 % of the best, the best itself in 0 of 2 orders." in str(found)
    assert repr(found) == str(found)


def test_the_base_may_be_named() -> None:
    found = lab.stacking(study(GOLDEN), base={"B": 2})
    assert found.alone("B") == pytest.approx(1 / 1.7, abs=1e-2)


def test_times_of_two_environments_are_not_held_against_each_other() -> None:
    slow = [row | {"env_hash": "slow", "median_ms": 2 * row["median_ms"]} for row in study(GOLDEN, blocks=6).rows]
    fast = [row | {"env_hash": "fast"} for row in study(GOLDEN, blocks=8, seed=1).rows]
    both = [row for row in slow if row["params"]["A"] == 1] + [row for row in fast if row["params"]["A"] == 2]
    with pytest.raises(ParameterError, match=r"^study: its combinations are of 2 environments, whose times are not"):
        lab.stacking(StudyRows(both))
    found = lab.stacking(StudyRows([*slow, *fast]))  # each block has its number twice
    assert found.together == pytest.approx(1.8, abs=0.01)
    summaries = [row | {"kind": "summary", "method": "rank"} for row in fast if row["block"] == 0]
    found = lab.stacking(StudyRows([*slow, *fast, *summaries]))  # what the slow one has, no summary tells of
    assert len(found.blocks[frozenset()]) == 8


def test_cells_of_two_passes_are_held_against_each_other_by_their_ratios() -> None:
    """Nothing helps; a second sweep into the file, on a slower clock, measured the baseline again and what the first
    one lacked."""
    rows = []
    for slower, cells in ((1.0, [(1, 0)]), (1.5, [(0, 0), (0, 1), (1, 1)])):
        for row in study(dict.fromkeys(cells, 1.0), noise=0.001, seed=int(slower)).rows:
            made = row | {"baseline": "{'A': 1, 'B': 1}", "env_hash": "e", "ratio": 1 + 1e-3 * (row["block"] % 3)}
            rows.append(made | {"median_ms": slower * row["median_ms"]})
    found = lab.stacking(StudyRows(rows))
    assert found.alone("A") == pytest.approx(1, abs=0.01)
    assert {effect.verdict for effect in found.effects} == {"undecided"}


def test_what_is_wrong_by_now_has_no_gain() -> None:
    fields = {"problem": "p", "device": "D"}
    wrong = {"kind": "summary", "role": "variant", "status": "wrong", "reason": "after timing: y[3] is 0, not 1"}
    rows = [row | fields for row in study(GOLDEN).rows]
    last = next(row for row in rows if row["params"] == {"A": 2, "B": 2})
    found = lab.stacking(StudyRows([*rows, wrong | fields | {key: last[key] for key in ("variant", "configuration")}]))
    assert (found.together, found.missing) == (None, (frozenset({"A", "B"}),))
    assert found.alone("B") == pytest.approx(1.7, abs=0.01)


def test_what_is_off_in_a_baseline_that_is_wrong_by_now_stays_off() -> None:
    fields = {"problem": "p", "device": "D"}
    wrong = {"kind": "summary", "role": "variant", "status": "wrong", "reason": "after timing: y[3] is 0, not 1"}
    rows = [row | fields | {"baseline": str({"A": 1, "B": 1})} for row in study(GOLDEN).rows]
    first = next(row for row in rows if row["params"] == {"A": 1, "B": 1})
    rows += [wrong | fields | {key: first[key] for key in ("variant", "configuration", "params")}]
    with pytest.raises(ParameterError, match="the configuration with all parameters off is not in each block"):
        lab.stacking(StudyRows(rows))


def beside_a_failed_baseline(cells: Sequence[Mapping[str, int]], *baselines: Mapping[str, int]) -> StudyRows:
    """Combinations that ran right, held against baselines that are wrong by now."""
    rows = []
    for block, (number, params) in itertools.product(range(12), enumerate(cells)):
        row = {"kind": "block", "role": "variant", "status": "ok", "variant": "made", "block": block, "params": params}
        row |= {"median_ms": 8.0 / (1 + number), "baseline": str(baselines[block % len(baselines)])}
        rows.append(row | {"configuration": str(params)})
    wrong = {"kind": "summary", "role": "variant", "status": "wrong", "reason": "is off", "variant": "made"}
    rows += [wrong | {"params": params, "configuration": str(params)} for params in baselines]
    return StudyRows(rows)


@pytest.mark.parametrize(
    ("cells", "baseline", "told"),
    [
        ([(1, 0), (1, 1), (2, 0), (2, 1)], {"A": 9, "B": 0}, {"A": (1, 2), "B": (0, 1)}),
        ([(1, 0), (1, 1), (2, 0), (2, 1)], {"A": 9, "B": 1}, {"A": (1, 2), "B": (1, 0)}),
        ([(1, 0), (1, 1)], {"A": 9, "B": 0}, {"B": (0, 1)}),
        ([(1, 0), (1, 1)], {"A": 1, "B": 2}, {"B": (0, 1)}),
        ([(1, 0), (1, 1)], {"C": 3}, {"B": (0, 1)}),
    ],
)
def test_levels_that_a_failed_baseline_alone_has_are_none(
    cells: list[tuple[int, int]], baseline: dict[str, int], told: dict[str, tuple[int, int]]
) -> None:
    measured = [dict(zip("AB", cell, strict=True)) for cell in cells]
    rows = beside_a_failed_baseline(measured, baseline)
    assert lab.stacking(rows).levels == told
    base = {name: off for name, (off, _) in told.items()}
    assert lab.stacking(rows, base={"A": 1, **base}).levels == told
    with pytest.raises(ParameterError, match=r"^base: (A=9 was not measured|there is no parameter 'C'; there are A)"):
        lab.stacking(rows, base={"C": 3} if "C" in baseline else {"A": 9})


def test_of_two_failed_baselines_the_first_level_that_was_measured_is_off() -> None:
    cells = [{"A": level, "B": 0} for level in (3, 2)]
    for first, second in ((1, 2), (2, 3), (2, 1)):
        baselines = [{"A": level, "B": 1} for level in (first, second)]
        assert lab.stacking(beside_a_failed_baseline(cells, *baselines)).levels == {"A": (2, 3)}
    with pytest.raises(ParameterError, match=r"^study: no parameter has two levels"):
        lab.stacking(beside_a_failed_baseline(cells[:1], {"A": 1}))


@pytest.mark.parametrize("changed", ["source_sha256", "plan"])
def test_cells_of_before_an_edit_are_held_against_those_of_their_own_blocks(changed: str) -> None:
    """Of two cells that are equally fast, one is measured again, in fewer blocks, beside a faster baseline."""

    def visits(code: str, base_ms: float, on: Sequence[int], blocks: int) -> list[dict]:
        made: list[dict] = []
        for block in range(blocks):
            cells = [("base", {}, base_ms), *((f"made(A={level})", {"A": level}, 5.0) for level in on)]
            for order, (name, params, time) in enumerate(cells):
                row = {"kind": "block", "role": "variant", "status": "ok", "variant": name[:4], "params": params}
                row |= {"block": block, "order": order, "median_ms": time, "ratio": time / base_ms, "baseline": "base"}
                row |= {"configuration": name, "env_hash": "e", "source_sha256": "made"}
                made.append(row | ({changed: code} if name == "base" else {}))
        return made

    before, after = visits("a", 10.0, (1, 2), 16), visits("b", 2.0, (1,), 10)
    kept = [row for row in before if row["configuration"] != "made(A=1)" or row["block"] >= 10]
    found = lab.stacking(StudyRows([*kept, *after]), "made")
    assert (found.alone("A"), len(found.blocks[frozenset()])) == (pytest.approx(1), 6)
    with pytest.raises(ParameterError, match=r"^study: its combinations were held against a baseline of several codes"):
        lab.stacking(StudyRows([*(row for row in kept if row["configuration"] != "made(A=1)"), *after]), "made")


def test_what_is_off_is_off_in_the_baseline() -> None:
    """Blocks visit configurations in any order, so the first one says nothing."""
    rows = [row | {"baseline": "{'A': 2, 'B': 1}"} for row in study(GOLDEN).rows]
    found = lab.stacking(StudyRows(rows, {}, []))
    assert found.levels == {"A": (2, 1), "B": (1, 2)}
    assert found.alone("A") == pytest.approx(1 / 1.3, abs=1e-2)


def test_where_verdicts_are_refused_nothing_is_decided() -> None:
    """Effects of noise alone look sure where blocks drift; the table's refusal holds for them too."""
    sure = study(GOLDEN)
    assert {one.verdict for one in lab.stacking(sure).effects} == {"helps", "less than the product"}
    why = {"kind": "summary", "refused": "the baseline differed from itself by 39 %", "block": None}
    found = lab.stacking(StudyRows([*sure.rows, *(row | why for row in sure.rows[:1])], {}, []))
    assert {one.verdict for one in found.effects} == {"undecided"}
    assert str(found).startswith("NO VERDICTS: the baseline differed from itself by 39 %")
    pytest.importorskip("matplotlib")
    from figures import words

    shown = words(found.picture())
    assert "NO VERDICTS: the baseline differed from itself by 39 %" in shown
    assert "pair: undecided" in shown
    assert "pair: less than the product" not in shown


def test_a_picture_has_all_gains_with_their_intervals(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    from figures import outside, overlaps, words

    cells = {on: math.prod(1.0 + gain for gain, one in zip((0.3, 0.7, 4.0), on, strict=True) if one) for on in EIGHT}
    found = lab.stacking(study(cells, noise=0.02))
    picture = found.picture()
    shown = words(picture)
    for text in ("Stacking · made", "A 1 -> 2", "B with C", "all", "times as fast", "all together, as measured"):
        assert text in shown
    assert "medians of 12 blocks" in shown
    gains, pairs = [ax for part in picture.subfigs for ax in part.axes]
    assert len(gains.containers) == 3 * 3 + 2
    assert len(pairs.containers) == 3
    first = gains.containers[0]
    assert first.lines[0].get_xdata() == pytest.approx([1.3], rel=0.05)
    low, high = first.lines[2][0].get_segments()[0][:, 0]
    assert low < 1.3 < high
    assert not overlaps(picture)
    assert not outside(picture)
    lab.stacking(study({(0,): 1.0, (1,): 1.1}, blocks=3)).picture().savefig(
        tmp_path / "few.png"
    )  # no intervals, no pairs


def test_a_picture_of_all_off_alone_has_no_marks(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    alone = Stacking("made", ("A", "B"), {"A": (0, 1), "B": (0, 1)}, {frozenset(): 1.0}, effects=())
    picture = alone.picture()
    picture.savefig(tmp_path / "none.png")
    (ax,) = [ax for part in picture.subfigs for ax in part.axes]
    assert not ax.containers


def test_points_are_of_the_same_blocks_as_their_intervals() -> None:
    """In each block one of two gains alone is 4 and the other 1, or both are 1: the median of their products is 4 and
    the product of their medians 1. Likewise of all over all but one."""
    swings = ([4.0, 4.0, 1.0, 1.0, 1.0] * 4, [1.0, 1.0, 4.0, 4.0, 1.0] * 4, [2.0] * 20)
    blocks = dict(zip([frozenset("A"), frozenset("B"), frozenset("AB")], map(tuple, swings), strict=True))
    blocks[frozenset()] = (1.0,) * 20
    speedups = {on: float(np.median(times)) for on, times in blocks.items()}
    levels = {"A": (0, 1), "B": (0, 1)}
    found = Stacking("made", ("A", "B"), levels, speedups, (), blocks=blocks)
    assert found.product == pytest.approx(4.0)
    assert found.left_out("A") == pytest.approx(2.0)
    assert "All together: 2.00x; if the gains of each alone multiplied: 4.00x." in str(found)
    gain = found._gain([frozenset("A"), frozenset("B")])
    assert gain is not None
    assert gain.lo is not None
    assert gain.hi is not None
    assert gain.lo <= gain.times <= gain.hi
    assert Stacking("made", ("A", "B"), levels, speedups, ()).product == 1.0  # there are no blocks


EIGHT = list(itertools.product((0, 1), repeat=3))
PLAIN = {"variant": "v", "factors": ("A",), "levels": {"A": (0, 1)}, "speedups": {frozenset(): 1.0}, "effects": ()}


@pytest.mark.parametrize(
    ("change", "says"),
    [
        (dict.fromkeys(PLAIN), "^variant: it is None"),
        ({"factors": ()}, "^factors: there are none"),
        ({"levels": {}}, "^levels: A has none"),
        ({"speedups": {}}, "^speedups: there is none of all factors off"),
        ({"speedups": {frozenset(): 1.0, frozenset("B"): 2.0}}, "^speedups: there is no factor 'B'; there are A"),
        ({"speedups": {frozenset(): 0.0}}, "^speedups: 0.0 with all off"),
        ({"effects": (Effect(("C",), 1.0, 0.9, 1.1, "undecided"),)}, "^effects: there is no factor 'C'"),
        ({"speedups": {frozenset(): 2.0}}, "^speedups: 2.0 with all off, which they are over"),
        (
            {"blocks": {frozenset(): (1.0, 1.0), frozenset("A"): (2.0,)}},
            "^blocks: those with A are 1, not as many as others",
        ),
        ({"blocks": {frozenset(): ()}}, "^blocks: those with all off are not all above 0"),
        ({"blocks": {frozenset(): (1.0, -1.0)}}, "^blocks: those with all off are not all above 0"),
        ({"blocks": {frozenset(): (1.5, 1.5)}}, "^blocks: those with all off have the median 1.5"),
        ({"blocks": {frozenset("A"): (1.5, 1.5)}}, "^blocks: those with A have the median 1.5"),
    ],
)
def test_fields_that_contradict_each_other(change: dict, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        Stacking(**(PLAIN | change))


def test_unknown_factors_are_named() -> None:
    found = Stacking(**PLAIN)
    assert found.alone("A") is None
    assert found.shares is None
    assert found.climbs() == {1.0: 1}
    for ask in (found.alone, found.left_out):
        with pytest.raises(ParameterError, match=r"^name: there is no factor 'x'; there are A"):
            ask("x")
    with pytest.raises(ParameterError, match=r"^name: it is None"):
        found.alone(None)
    with pytest.raises(ParameterError, match=r"^seed: "):
        found.climbs(seed="x")


@pytest.mark.parametrize(
    ("rows", "given", "says"),
    [
        (study(GOLDEN, blocks=2), {}, "2 blocks"),
        (study({(0, 0): 1.0}), {}, "no parameter has two levels"),
        (study({(0,): 1.0, (1,): 2.0, (2,): 3.0}), {}, "A has the levels"),
        (study({(1, 0): 1.0, (0, 1): 2.0, (1, 1): 2.0}), {"base": {"A": 1, "B": 1}}, "all parameters off"),
        (study(GOLDEN), {"variant": "other"}, "no blocks of 'other'"),
        (study(GOLDEN), {"base": {"Q": 1}}, "no parameter 'Q'"),
        (study(GOLDEN), {"base": {"A": 7}}, "A=7 was not measured"),
        (StudyRows([], {}, []), {}, "variant: the study has none"),
        (
            StudyRows([row | {"device": name} for name in ("a", "b") for row in study(GOLDEN).rows], {}, []),
            {},
            "of several devices",
        ),
    ],
)
def test_a_study_that_does_not_tell(rows: StudyRows, given: dict, says: str) -> None:
    with pytest.raises(ParameterError, match=says):
        lab.stacking(rows, **given)
