"""The table of a survey's points: what it says of rates that are no level's, and of times that do not double."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from gpuopt.lab.report import Study
from gpuopt.lab.rows.schema import KEY_FIELDS, Row, new_row
from gpuopt.lab.show.points import headline


def point(variant: str, family: str, moved: str, doubled: float, **fields: Any) -> Row:
    given: Any = dict.fromkeys(KEY_FIELDS) | {"kind": "point", "role": "variant", "status": "ok", "workload": "spmv"}
    given |= {"variant": variant, "configuration": variant, "family": family, "dtype": "float32", "median_ms": 1.0}
    given |= {"gb_s": 5.0, "bytes": {moved: 5e6}, "doubled": doubled, "device": "A card", "protocol": "quick"}
    return new_row(**(given | fields))


def said(*rows: Row) -> str:
    return " ".join(Study(rows).explain(200).split())


def test_data_that_a_cache_holds_in_part_are_no_folded_loop() -> None:
    text = said(point("reread", "cached", "global", 1.6, flags=["suspicious"]))
    assert "folded" not in text
    assert "reread float 1.60x" in text
    assert "the later trips were served from nearer than the first" in text


def test_a_folded_loop_is_called_so_whatever_it_reads() -> None:
    for moved in ("global", "dram"):
        text = said(point("fma", "flops", moved, 1.01, flags=["suspicious"]))
        assert "the trips cost next to no time: a folded loop" in text


def test_other_reasons_for_a_time_that_does_not_double() -> None:
    text = said(
        point("read", "read", "dram", 1.8, flags=["suspicious"]), point("x", "read", "dram", 2.4, flags=["suspicious"])
    )
    assert "read float 1.80x" in text
    assert "a part of the time does not grow with the trips" in text
    assert "x float 2.40x" in text
    assert "clocks that fell" in text


def test_what_rates_of_repeated_reads_count() -> None:
    text = said(point("reread", "cached", "global", 2.0), point("read", "read", "dram", 2.0))
    assert "of cached: bytes that work-items ask for, whichever level serves them" in text
    assert "bytes that work-items ask for" not in said(point("read", "read", "dram", 2.0))


def test_a_sweep_and_a_survey_in_one_study_are_both_shown(tmp_path: Path) -> None:
    sweep = new_row(kind="summary", role="variant", status="ok", variant="naive", problem="p", median_ms=3.0)
    both = Study.joined([Study([sweep]), Study([point("copy", "copy", "dram", 2.0)])])
    assert "naive" in both.to_text(100)
    assert "copy" in both.to_text(100)
    lines = both.to_csv(tmp_path / "both.csv").read_text().splitlines()
    assert len(lines) == 3
    assert lines[0].endswith("verdict,bound_pct,bound_by,family,bytes,rate,unit,flags")
    assert "naive" in lines[1]
    assert "copy" in lines[2]


def test_of_a_point_before_and_after_an_edit_the_last_stands() -> None:
    before, after = point("read", "read", "dram", 2.0), point("read", "read", "dram", 2.0, source_sha256="b", gb_s=3.0)
    other = point("read", "read", "dram", 2.0, dtype="int8")
    study = Study([before, other, after])
    assert study.points == Study([after, other]).points
    assert "Fastest: read float 3.00 GB/s" in " ".join(Study([before, after]).headline(200).split())


def test_the_best_of_several_devices_is_told_with_its_own() -> None:
    cards = [point("copy", "copy", "dram", 2.0, gb_s=rate, device=f"card {rate:.0f}") for rate in (5.0, 7.0)]
    alone, both = (dict(headline(Study(rows)))["Fastest"] for rows in (cards[1:], cards))
    assert (alone, both) == ("copy float 7.00 GB/s.", "copy float 7.00 GB/s on card 7.")
