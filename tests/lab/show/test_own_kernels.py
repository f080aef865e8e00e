"""Tables and pictures of somebody's own kernel: called by its name, and silent about papers and gpuopt's own."""

from __future__ import annotations

import itertools
import re

import pytest

from gpuopt import ParameterError, lab
from gpuopt.lab.report import Study
from gpuopt.lab.rows.schema import Row
from gpuopt.lab.rows.short_names import short_names
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


STENCIL = ("block_size_x", "block_size_y", "tile_size_x", "tile_size_y", "use_local")


def many_levels() -> Study:
    """All combinations of two levels each of five parameters with long names."""
    made = []
    for levels in itertools.product((16, 128), (1, 2), (1, 2), (1, 4), (0, 1)):
        params = dict(zip(STENCIL, levels, strict=True))
        name = f"blurred({', '.join(f'{name}={level}' for name, level in params.items())})"
        given = {"workload": "blurred", "configuration": name, "params": params, "verdict": "AMBIGUOUS", "blocks": 9}
        made.append(timed("summary", "blurred", 5.0 + len(made) / 64, **given, flags=["drift"]))
    return Study(made)


@pytest.mark.parametrize("width", [60, 80, 100, 120])
def test_names_of_many_levels_are_whole_unique_and_explained(width: int) -> None:
    text = many_levels().to_text(width).partition("\nblurred\n")[2]
    assert max(map(len, text.splitlines())) <= width
    table, _, legend = text.partition("\n---")
    named = re.sub(r"\s+", " ", re.sub(r"(?<=[,)])( \*)?  .*", "", table, flags=re.MULTILINE))  # the first column alone
    found = re.findall(r"blurred\(bsx=\d+, bsy=\d, tsx=\d, tsy=\d, ul=\d\)", named)
    assert len(set(found)) == 32
    assert "bsx is block_size_x, bsy is block_size_y, tsx is tile_size_x, tsy is tile_size_y" in " ".join(
        legend.split()
    )
    assert "…" not in text


def test_short_names_are_not_those_of_others() -> None:
    assert short_names(["TILE_M", "TILE_N", "WG"]) == {"TILE_M": "TM", "TILE_N": "TN", "WG": "WG"}
    assert short_names(["LOAD", "LOCAL", "UNROLL"]) == {"LOAD": "LOAD", "LOCAL": "LOCAL", "UNROLL": "U"}
    assert short_names(["W", "WIDTH"]) == {"W": "W", "WIDTH": "WIDTH"}
    assert short_names(["blockSizeX", "UNROLL2"]) == {"blockSizeX": "bSX", "UNROLL2": "U2"}


def test_levels_that_no_name_tells_stand_below_the_table() -> None:
    text = Study(rows(2)).to_text(120)
    assert "everywhere WG=64" in text
    assert "where a name does not say it" not in text  # WIDTH stands in each name


def test_names_do_not_depend_on_a_kernel_that_is_declared_later() -> None:
    """Of a notebook in which the levels were edited since."""
    study, names = Study(rows(2)), []
    for widths in ([1, 2], [2, 1]):
        later = lab.Kernel(
            "kernel void mine(global float* z) {}",
            "mine",
            parameters={"WIDTH": widths, "WG": [64]},
            arguments=[lab.output("z", 8)],
            launch=lab.launch(items=8),
            reference=lambda: None,
        )
        later.configurations()
        names.append(list(Study(study.rows).to_pandas()["name"]))
    assert names[0] == names[1] == ["mine(WIDTH=1)", "mine(WIDTH=2)"]


def test_names_in_sentences_keep_the_commas_of_their_levels() -> None:
    told = dict(headline.lines(many_levels()))["Fastest"]
    assert "block_size_x=16, block_size_y=1, tile_size_x=1" in told
    close = [row | {"verdict": "AMBIGUOUS", "ratio_lo": 0.9, "ratio_hi": 1.1} for row in rows(2)]
    assert "(not told from mine(WIDTH=1))" in dict(headline.lines(Study(close)))["Fastest"]


def test_a_picture_of_many_levels_shows_them_all() -> None:
    pytest.importorskip("matplotlib")
    from figures import outside, overlaps, words
    from gpuopt.lab.show import ladder

    picture = ladder.ladder(many_levels())
    shown = words(picture)
    assert "tsx=2, tsy=4, ul=1" in shown.replace("\n", " ")
    assert "tsx is tile_size_x" in shown.replace("\n", " ")
    assert not overlaps(picture)
    assert not outside(picture)
    labels = [
        label.get_text() for part in picture.subfigs[0].subfigs for ax in part.axes for label in ax.get_yticklabels()
    ]
    assert len({label for label in labels if label}) == 32


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
    assert "52 slower or failed rows are left out" in shown.replace("\n", " ")


def test_kernels_of_one_size_in_one_file_are_not_held_against_each_other() -> None:
    names, (row,) = ("one", "other"), rows(1)
    both = [row | {"workload": name, "configuration": name, "variant": name} for name in names]
    peers = [row | {"workload": name, "configuration": "NumPy", "variant": "NumPy", "role": "peer"} for name in names]
    study = Study([*both, *peers])
    assert len(study.groups()) == 2
    assert [row["workload"] for row in study.summary if row["role"] == "peer"] == ["one", "other"]
    with pytest.raises(ParameterError, match="was never measured beside"):
        study.speedup("one", "other")
