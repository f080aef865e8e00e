"""Studies: files, frames, several in one."""

from __future__ import annotations

import itertools
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
import study_rows
from gpuopt.lab.report import Study
from gpuopt.lab.rows import schema
from gpuopt.lab.rows.store import Store
from study_rows import timed


def test_load_reads_what_a_store_wrote(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    lines = [json.dumps(r | {"key": f"k{i}", "row_id": f"k{i}"}) for i, r in enumerate(study.rows)]
    path.write_text("\n".join(lines) + '\n{"torn')
    loaded = Study.load(path)
    assert [r["variant"] for r in loaded.summary] == [r["variant"] for r in study.summary]
    assert any("unfinished last line" in note for note in loaded.notes)
    assert loaded.sentences() == study.sentences()


def test_load_names_a_missing_file(tmp_path: Path) -> None:
    with pytest.raises(schema.ResultsError, match=r"no results file at .*nowhere\.jsonl"):
        Study.load(tmp_path / "nowhere.jsonl")


@pytest.mark.parametrize(
    ("fields", "told"),
    [
        ({"variant": ["a"]}, r"the variant of row 1 is \['a'\], of another type"),
        ({"kind": ["summary"]}, r"the kind of row 1 is \['summary'\]"),
        ({"sizes": [1]}, "the sizes of row 1"),
        ({"row_id": [1]}, "the row_id of row 1"),
        ({"flags": 3}, "the flags of row 1"),
        ({"median_ms": "3"}, "the median_ms of row 1 is '3'"),
        ({"samples_ms": [1.0, float("nan")]}, "the samples_ms of row 1"),
        ({"median_ms": 0.0}, r"of row 1, its median_ms is 0\.0, and nothing runs in no time"),
        ({"median_ms": -1.5}, r"of row 1, its median_ms is -1\.5"),
        ({"median_ms": np.float64(0)}, "of row 1, its median_ms is 0"),
        ({"median_ms": 1e300}, r"of row 1, its median_ms is 1e\+300, which nothing takes"),
        ({"median_ms": 1e-300}, "of row 1, its median_ms is 1e-300, which nothing takes"),
    ],
)
def test_rows_that_are_none_are_refused(fields: dict[str, Any], told: str) -> None:
    row: dict[str, Any] = {"kind": "summary", "role": "variant", "status": "ok", "variant": "naive", "median_ms": 3.0}
    with pytest.raises(schema.ResultsError, match=told):
        Study([row, row | {"variant": "tlp"} | fields])


def test_rows_may_hold_numpys_values_and_fields_of_other_versions() -> None:
    row = {"kind": "summary", "role": "variant", "status": "ok", "sizes": {"n": np.int64(3)}, "later": [object]}
    study = Study([row | {"variant": "naive", "median_ms": np.float32(3), "local_size": (64, 1)}])
    assert study.rows[0]["sizes"] == {"n": 3}
    assert study.rows[0]["local_size"] == [64, 1]
    assert type(study.rows[0]["median_ms"]) is float
    assert "naive" in str(study)


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("name", ["ci_lo_ms", "ratio", "ratio_lo", "net_j"])
def test_numbers_that_are_none_count_as_not_given(value: float, name: str, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    rows = [row | {"net_j": 2.0} for row in study_rows.rows()]
    study = Study([row | {name: value} if row["variant"] == "sliced" else row for row in rows], study_rows.INFO)
    assert all(row[name] is None for row in study.rows if row["variant"] == "sliced")  # type: ignore[literal-required]
    assert all(path.is_file() for path in study.save_plots(tmp_path))
    assert json.loads(study.to_json(tmp_path / "table.json").read_text())


@pytest.mark.parametrize("value", [np.nan, np.inf, None])
def test_a_good_row_without_a_time_is_told(value: float | None, tmp_path: Path) -> None:
    row = {"kind": "summary", "role": "variant", "status": "ok"}
    study = Study([row | {"variant": "naive", "median_ms": 3.0}, row | {"variant": "tlp", "median_ms": value}])
    assert [line["time_ms"] for line in json.loads(study.to_json(tmp_path / "table.json").read_text())] == [3.0, None]
    for use in (str, Study.explain, lambda study: study.speedup("tlp", "naive")):
        with pytest.raises(schema.ResultsError, match="the row of tlp has no median_ms: its status is ok"):
            use(study)


def test_files_are_read_without_times_that_are_none(study: Study, tmp_path: Path) -> None:
    path = tmp_path / "rows.jsonl"
    rows = [row | {"key": f"k{i}", "row_id": f"k{i}"} for i, row in enumerate(study.rows)]
    lines = [row | {"median_ms": 0.0} if row["variant"] == "sliced" else row for row in rows]
    path.write_text("\n".join(map(json.dumps, lines)) + "\n")
    loaded = Study.load(path)
    assert {row["variant"] for row in loaded.rows} == {row["variant"] for row in study.rows} - {"sliced"}
    assert any("its median_ms is 0.0" in note for note in loaded.notes)
    assert str(loaded)


def test_an_edit_that_was_taken_back_is_the_last_that_was_measured(tmp_path: Path) -> None:
    """The row of the first source is written anew: it counts from then on, not from where its id first stood."""
    row: Any = {"kind": "summary", "role": "variant", "variant": "kk", "problem": "n=64", "device": "D"}

    def measured(name: str, *of: tuple[str, float | None]) -> Study:
        store = Store(tmp_path / name)
        for source, time in of:
            told = {"status": "ok", "median_ms": time} if time else {"status": "wrong", "reason": "is off"}
            store.append(row | {"source_sha256": source} | told)
        return Study.load(store.path)

    timed = measured("timed", ("x", 1.0), ("y", 50.0), ("x", 1.1))
    assert [row["median_ms"] for row in timed.summary] == [1.1]
    assert [row["median_ms"] for row in timed.rows] == [50.0, 1.1]
    store = Store(tmp_path / "timed")
    store.append(row | {"variant": "other", "status": "ok", "median_ms": 2.0})
    store.append(row | {"source_sha256": "y", "status": "ok", "median_ms": 49.0})
    assert [row["median_ms"] for row in Study.load(store.path).summary] == [49.0, 2.0]  # as tables had them
    assert not measured("right", ("x", 1.0), ("y", None), ("x", 1.0)).failures()
    wrong = measured("off", ("x", None), ("y", 1.0), ("x", None))
    assert [row["status"] for row in wrong.failures()] == ["wrong"]
    assert wrong.best() is None


def test_what_failed_in_the_last_sitting_is_a_failure_in_any_order() -> None:
    def sitting(minute: int, status: str, *names: str) -> Study:
        rows: list[Any] = []
        for name in names:
            row = {"role": "variant", "variant": "kk", "configuration": name, "problem": "p", "status": status}
            visit = row | {"kind": "block", "block": 0, "median_ms": 1.0, "time_utc": f"2026-11-29T06:0{minute}:00Z"}
            end = row | {"kind": "summary", "time_utc": f"2026-11-29T06:0{minute}:09Z"}
            rows += [visit, end | {"median_ms": 1.0}] if status == "ok" else [end | {"reason": "off"}]
        return Study(rows)

    sittings = [
        sitting(1, "ok", "k(W=1)"),
        sitting(2, "ok", "k(W=1)", "k(W=4)"),
        sitting(3, "wrong", "k(W=1)", "k(W=4)"),
    ]
    for order in itertools.permutations(sittings):
        found = Study.joined(order)
        assert {row["configuration"] for row in found.failures()} == {"k(W=1)", "k(W=4)"}
        assert {row["status"] for row in found.summary} == {"wrong"}
    again = Study.joined([*sittings, sitting(4, "ok", "k(W=4)")])
    assert [row["configuration"] for row in again.failures()] == ["k(W=1)"]


def test_to_pandas_picks_a_kind(study: Study) -> None:
    pytest.importorskip("pandas")
    assert len(study.to_pandas(full=True)) == len(study.rows)
    frame = study.to_pandas("summary")
    assert len(frame) == 6
    assert frame.loc[frame.variant == "sliced", "params.SLICE"].item() == 64
    assert frame.loc[frame.variant == "basic", "bytes.dram"].item() == pytest.approx(85.9e6)


def test_to_pandas_has_environments_where_they_are_asked_for(study: Study) -> None:
    pytest.importorskip("pandas")
    environment = study_rows.row("environment", "", environment={"gpuopt": "0.1.0", "cpu": {"name": "A CPU"}})
    whole = Study([environment, *study.rows])
    frame = whole.to_pandas("environment")
    assert frame["environment.gpuopt"].tolist() == ["0.1.0"]
    assert len(whole.to_pandas(full=True)) == len(study.rows)


def test_studies_are_joined() -> None:
    other = [r | {"problem": "another"} for r in study_rows.rows()]
    first = Study(study_rows.rows(), study_rows.INFO | {"wall_s": 3.0, "harness_s": 0.5}, ["a note", "one"])
    second = Study(other, study_rows.INFO | {"name": "another", "wall_s": 4.0, "harness_s": 1.0}, ["a note"])
    joined = Study.joined([first, second])
    assert [group.problem for group in joined.groups()] == [first.groups()[0].problem, "another"]
    assert joined.harness == (1.5, 7.0)
    assert "name" not in joined.problem_info
    assert joined.problem_info["flops_counted"] == study_rows.INFO["flops_counted"]
    assert joined.notes == ["a note", "one"]
    assert not joined.interrupted
    assert len(joined.of_problem("another")) == len(other)


def test_of_joined_studies_the_later_sitting_is_shown() -> None:
    """Whatever the order, which stays that of the problems; without times the last study's rows stand."""
    times = {"2026-11-23T08:00:00.000Z": 2.0, "2026-11-27T08:00:00.000Z": 1.0}
    early, late = (
        Study([timed("summary", "basic", ms, problem="one", time_utc=time), timed("summary", "sliced", 3.0, **place)])
        for place, (time, ms) in zip(({"problem": "one"}, {"problem": "two"}), times.items(), strict=True)
    )
    for both in ([early, late], [late, early]):
        best = Study.joined(both).groups()[0].rows
        assert [(row["variant"], row["median_ms"]) for row in best] == [("basic", 1.0), ("sliced", 3.0)]
    bare = [Study([timed("summary", "basic", ms)]) for ms in (2.0, 1.0)]
    assert [Study.joined(both).summary[0]["median_ms"] for both in (bare, bare[::-1])] == [1.0, 2.0]


def test_pictures_of_several_problems_are_files_of_their_own(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    other = [r | {"problem": "another"} for r in study_rows.rows()]
    made = Study([*study_rows.rows(), *other]).save_plots(tmp_path)
    assert len(made) == 2
    assert made[1].name == "ladder-another.png"
    assert all(path.is_file() for path in made)


def test_pictures_stay_in_their_folder_whatever_rows_call_a_problem(tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    names = ["x/../../../kept", "x-..-..-..-kept", "x\0y", "..", "", "c" * 300, "image 5x5 r=2"]
    (tmp_path / "kept.png").write_bytes(b"kept")
    rows = [timed("summary", "basic", 1.0, problem=name) for name in names]
    made = Study(rows).save_plots(tmp_path / "a" / "b")
    assert [path.parent for path in made] == [tmp_path / "a" / "b"] * len(names)
    assert sorted(path.name for path in (tmp_path / "a" / "b").iterdir()) == sorted(path.name for path in made)
    assert made[0].name == "ladder-x-..-..-..-kept.png"
    assert made[1].name == "ladder-x-..-..-..-kept-2.png"
    assert made[-1].name == "ladder-image 5x5 r=2.png"
    assert (tmp_path / "kept.png").read_bytes() == b"kept"


def test_errors_stand_beside_speeds_of_products() -> None:
    facts = {"workload": "gemm", "l2_rel": 1.63e-6, "max_of_tol": 0.1234}
    text = Study(
        [timed("summary", "a", 2.0, **facts), timed("summary", "b", 1.0, **facts | {"max_of_tol": None})]
    ).to_text(120)
    assert "1.6e-06 (12 %)" in text
    assert "Frobenius" in text
    assert "Frobenius" not in Study([timed("summary", "a", 2.0, l2_rel=1e-6)]).to_text(120)


def test_precisions_of_products_have_their_names() -> None:
    split = {"TYPE": 2, "PRODUCTS": 3, "PROMOTE": 1}
    kinds = {"tf32x3": split, "tf32x3 in the unit": split | {"PROMOTE": 0}, "bf16x6": {"TYPE": 1, "PRODUCTS": 6}}
    rows = [
        timed("summary", "tensor", 1.0, workload="gemm", configuration=name, params=params, accuracy="TYPE=2")
        for name, params in kinds.items()
    ]
    (group,) = Study(rows).groups()
    assert [group.label(made) for made in group.rows] == [f"tensor {name}" for name in kinds]
    assert "ours, other precisions" in Study(rows).to_text(120)
    twins = [r | {"params": r["params"] | {"TILE": n}, "configuration": f"{n}"} for r in rows[:1] for n in (64, 128)]
    (group,) = Study(twins).groups()
    assert [group.label(made) for made in group.rows] == ["tensor tf32x3(TILE=64)", "tensor tf32x3(TILE=128)"]


def test_great_rates_are_told_in_tera() -> None:
    rows = [timed("summary", name, 2.0, flops=1e11, gflop_s=rate) for name, rate in (("a", 51_000.0), ("b", 900.0))]
    text = Study(rows).to_text(120)
    assert "TFLOP/s" in text
    assert "51.0" in text
    assert "0.900" in text
    assert "51.0 TFLOP/s" in Study(rows).sentences()[0]
    assert "TFLOP/s" not in Study(rows[1:]).to_text(120)


def test_pictures_in_a_folder_that_cannot_be_made_are_an_error_that_names_it() -> None:
    with pytest.raises(gpuopt.Error, match=r"/proc/none cannot be written: .*name another folder"):
        Study(study_rows.rows(), study_rows.INFO).save_plots("/proc/none")


def test_a_level_that_differs_is_not_said_to_be_everywhere() -> None:
    """Two rows that differ in two levels are told apart by one of them."""
    row: dict[str, Any] = {"kind": "summary", "role": "variant", "status": "ok", "workload": "mine", "variant": "k"}
    levels = [{"A": n, "B": n, "C": 7} for n in (1, 2)]
    texts = [f"k({', '.join(f'{name}={level}' for name, level in own.items())})" for own in levels]
    made = [
        row | {"problem": "n=64", "configuration": text, "params": own, "median_ms": float(own["A"])}
        for text, own in zip(texts, levels, strict=True)
    ]
    text = Study(made).to_text(100)
    assert "k(B=1)" in text
    assert "everywhere C=7; A differs, see --explain" in text
