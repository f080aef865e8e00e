"""Tables and pictures of somebody's own kernel: called by its name, and silent about papers and gpuopt's own."""

from __future__ import annotations

import pytest

from gpuopt.lab.report import Study
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.show import headline
from study_rows import timed


def rows(count: int) -> list[Row]:
    """Configurations of a kernel `mine`, the first of which is the baseline."""
    common = {"workload": "mine", "problem": "n=4096, a=1.5", "sizes": {"n": 4096}, "baseline": "mine(WG=64, WIDTH=1)"}
    out = []
    for number in range(count):
        params = {"WG": 64, "WIDTH": 1 + number}
        name = f"mine(WG=64, WIDTH={1 + number})"
        given = common | {"configuration": name, "params": params, "ratio": 1.0 / (1 + number), "blocks": 10}
        out.append(timed("summary", "mine", 5.0 / (1 + number), **given))
    return out


def test_the_headline_has_no_line_on_papers() -> None:
    assert [label for label, _ in headline.lines(Study(rows(3)))] == ["Fastest", "How sure"]
    failed = [row | {"status": "compile", "reason": "no"} for row in rows(2)]
    assert [label for label, _ in headline.lines(Study(failed))] == ["Fastest", "How sure"]


def test_tables_call_it_by_its_name() -> None:
    study = Study(rows(3))
    shown = study.to_text(100)
    assert "mine · n=4096, a=1.5 · float32" in shown
    assert "ours" not in shown + study.explain(100)
    assert "\nmine\n" in shown


def test_a_study_that_is_sure_says_how_to_tune_it() -> None:
    sure = [row | {"verdict": "FAST", "ratio_lo": row["ratio"], "ratio_hi": row["ratio"]} for row in rows(3)]
    told = dict(headline.lines(Study([row | {"profile": "2026-11-20"} for row in sure])))["How sure"]
    assert told.endswith("Next: `gpuopt tune` with its file keeps the fastest for plain calls.")


def test_a_picture_of_it() -> None:
    pytest.importorskip("matplotlib")
    from figures import outside, overlaps, words
    from gpuopt.lab.show import ladder

    picture = ladder.ladder(Study(rows(3)))
    shown = words(picture).splitlines()
    assert "mine" in shown  # in the legend
    assert "WIDTH=2" in shown  # WG is the same everywhere
    assert not {"ours", "the paper's steps"} & set(shown)
    assert not overlaps(picture)
    assert not outside(picture)


def test_a_picture_of_many_configurations_has_the_fastest() -> None:
    pytest.importorskip("matplotlib")
    from figures import words
    from gpuopt.lab.show import ladder

    picture = ladder.ladder(Study(rows(60)))
    assert picture.get_size_inches()[1] < 10
    shown = words(picture)
    assert "WIDTH=60" in shown
    assert "WIDTH=2\n" not in shown
    assert "52 slower or failed rows are left out" in shown
