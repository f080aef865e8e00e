"""A study as a plain table, and as files of other programs."""

from __future__ import annotations

import csv
import json
import sys
from pathlib import Path

import pytest

import study_rows
from gpuopt.files import WriteError
from gpuopt.lab.report import Study
from gpuopt.lab.rows.groups import is_baseline
from gpuopt.lab.rows.schema import ResultsError
from gpuopt.lab.rows.store import Store
from gpuopt.lab.show import tidy


@pytest.fixture
def study() -> Study:
    return Study(study_rows.rows(), study_rows.INFO)


def test_a_verdict_across_clocks_is_none_as_in_the_table(study: Study) -> None:
    rows = [{**row, "clock": "wall", "method": None} if row["role"] == "peer" else row for row in study.rows]
    held = [row for row in rows if row["role"] == "peer" and row["verdict"]]
    assert held
    assert "~" in Study(rows).to_text(120)
    assert [line["verdict"] for line in tidy.lines(Study(rows)) if line["role"] == "peer"] == [None] * len(held)


def test_a_line_says_what_the_row_says(study: Study) -> None:
    group = study.groups()[0]
    lines = tidy.lines(study)
    assert [line["name"] for line in lines] == [group.label(row) for row in group.rows]
    assert {tuple(line) for line in lines} == {tidy.COMPARED}
    for line, row in zip(lines, group.rows, strict=True):
        assert (line["time_ms"], line["time_lo_ms"], line["time_hi_ms"]) == (
            row["median_ms"],
            row["ci_lo_ms"],
            row["ci_hi_ms"],
        )
        assert (line["role"], line["status"], line["verdict"]) == (row["role"], row["status"], row["verdict"])
        if is_baseline(row, row):
            assert (line["speedup"], line["speedup_lo"], line["speedup_hi"]) == (None, None, None)
        elif row["ratio"]:
            assert line["speedup"] == pytest.approx(1 / row["ratio"])
            assert line["speedup_lo"] == pytest.approx(1 / row["ratio_hi"])
            assert line["speedup_hi"] == pytest.approx(1 / row["ratio_lo"])
            assert line["speedup_lo"] <= line["speedup"] <= line["speedup_hi"]
    assert any(line["speedup"] for line in lines)


def test_points_have_columns_of_their_own() -> None:
    point = study_rows.rows()[0] | {
        "kind": "point",
        "role": "variant",
        "family": "types",
        "sizes": {"bytes": 4096},
        "gb_s": 12.5,
        "gflop_s": None,
        "flags": ["drift"],
        "row_id": "p",
    }
    lines = tidy.lines(Study([point]))
    assert [tuple(line) for line in lines] == [tidy.ASKED]
    assert (lines[0]["rate"], lines[0]["unit"], lines[0]["bytes"], lines[0]["flags"]) == (12.5, "GB/s", 4096, "drift")


def test_files_hold_the_table(study: Study, tmp_path: Path) -> None:
    lines = tidy.lines(study)
    with open(study.to_csv(tmp_path / "table.csv"), newline="", encoding="utf-8") as file:
        found = list(csv.DictReader(file))
    assert found == [{name: "" if cell is None else str(cell) for name, cell in line.items()} for line in lines]
    assert json.loads(study.to_json(tmp_path / "table.json").read_text()) == lines
    assert json.loads(Study([]).to_json(tmp_path / "none.json").read_text()) == []
    assert Study([]).to_csv(tmp_path / "none.csv").read_text() == ",".join(tidy.COMPARED) + "\n"


def test_what_is_no_number_is_null() -> None:
    rows = [row | {"ratio": 1e-320} for row in study_rows.rows()]  # whose inverse is infinite
    lines = json.loads(tidy.as_json(tidy.lines(Study(rows))))
    assert {line["speedup"] for line in lines} == {None}


def test_pandas_has_the_same_columns(study: Study) -> None:
    pandas = pytest.importorskip("pandas")
    frame = study.to_pandas()
    assert tuple(frame.columns) == tidy.COMPARED
    assert len(frame) == len(study.summary)
    assert frame["speedup"].dtype == float
    assert pandas.isna(frame.loc[frame.name == "no such", "speedup"]).empty


def test_columns_of_numbers_that_are_all_missing_are_numbers() -> None:
    pandas = pytest.importorskip("pandas")
    row = {"kind": "summary", "role": "variant", "status": "crash", "variant": "a", "problem": "p", "device": "d"}
    frame = Study([row]).to_pandas()
    for name in ("time_ms", "speedup", "speedup_lo", "bound_pct"):
        assert frame[name].dtype == "float64", name
        assert pandas.isna(frame[name][0]), name


def test_a_file_that_cannot_be_written_is_told(study: Study, tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="nowhere"):
        study.to_csv(tmp_path / "nowhere" / "table.csv")


def test_a_table_does_not_replace_rows(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    Store(path).append({"kind": "search", "status": "ok", "variant": "naive", "median_ms": 3.0})
    for write in (study.to_csv, study.to_json):
        with pytest.raises(WriteError, match=r"rows\.jsonl holds rows of a study, which would be lost; name another"):
            write(path)
    assert len(Store(path).rows()) == 1


def test_parquet_comes_back(study: Study, tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    pandas.testing.assert_frame_equal(pandas.read_parquet(study.to_parquet(tmp_path / "t.parquet")), study.to_pandas())


def test_names_that_are_no_text(tmp_path: Path) -> None:
    """A lone surrogate, as in the name of a file that is no UTF-8; and a name of nothing but blanks."""
    pytest.importorskip("pyarrow")
    row = {"kind": "summary", "role": "variant", "status": "ok", "median_ms": 2.0}
    odd = Study([row | {"variant": "\ud800"}, row | {"variant": " "}])
    assert "?" in odd.to_csv(tmp_path / "t.csv").read_text()
    assert list(odd.to_pandas()["name"]) == ["?", "' '"]
    odd.to_parquet(tmp_path / "t.parquet")
    assert "' '" in str(Study([row | {"variant": " "}]))


def test_a_time_beyond_64_bits(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    pandas = pytest.importorskip("pandas")
    row = {"kind": "summary", "role": "variant", "status": "ok", "variant": "naive", "median_ms": 2**70}
    path = Study([row]).to_parquet(tmp_path / "t.parquet")
    assert pandas.read_parquet(path)["time_ms"].tolist() == [2.0**70]


def test_a_dataset_has_the_names_as_coordinates(study: Study) -> None:
    pytest.importorskip("xarray")
    data = study.to_xarray()
    row = study.groups()[0].rows[0]
    assert tuple(data.sizes) == tidy.INDEX
    one = data.sel(name=study.groups()[0].label(row), role=row["role"]).time_ms
    assert one.item() == row["median_ms"]
    with pytest.raises(ResultsError, match="points"):
        Study([study_rows.rows()[0] | {"kind": "point", "row_id": "p"}]).to_xarray()


def test_a_missing_extra_is_named(study: Study, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for module, call in (
        ("pandas", lambda: study.to_pandas()),
        ("xarray", lambda: study.to_xarray()),
        ("pyarrow", lambda: study.to_parquet(tmp_path / "t.parquet")),
    ):
        with monkeypatch.context() as patch:
            patch.setitem(sys.modules, module, None)
            with pytest.raises(ResultsError, match="pip install"):
                call()


def test_ends_of_lines_within_a_name_are_quoted(tmp_path: Path) -> None:
    row = {"kind": "summary", "role": "variant", "status": "ok", "problem": "p", "median_ms": 1.0}
    names = ["a\rb", "c\nd", "e\r\nf", 'g"h', "i,j", "k"]
    study = Study([row | {"variant": name} for name in names])
    for newline in ("", None):
        with open(study.to_csv(tmp_path / "t.csv"), newline=newline, encoding="utf-8") as file:
            found = [line["name"] for line in csv.DictReader(file)]
        assert found == (names if newline == "" else [name.replace("\r\n", "\n").replace("\r", "\n") for name in names])
