"""Which of a configuration's rows stand for it: after failures, edits, edits taken back, in joined studies."""

from __future__ import annotations

import itertools
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from gpuopt.lab.report import Study
from gpuopt.lab.rows.compact import compact_file
from gpuopt.lab.rows.store import Store


def made(kind: str, status: str, minute: int | None = None, code: str = "x", ms: float = 1.0, **fields: Any) -> Any:
    """A row of a kernel with one parameter."""
    row = {"kind": kind, "role": "variant", "variant": "kk", "configuration": "kk(W=1)", "problem": "p"}
    row |= {"status": status, "source_sha256": code, "block": 0 if kind == "block" else None}
    row |= {"median_ms": ms} if status == "ok" else {"reason": "is off"}
    return row | ({"time_utc": f"2026-11-29T06:{minute:02}:00Z"} if minute is not None else {}) | fields


def both_ways(folder: Path, name: str, *rows: Any) -> list[Study]:
    """The study of a file of these rows, and of its compact copy."""
    store = Store(folder / f"{name}.jsonl")
    for row in rows:
        store.append(row)
    return [Study.load(store.path), Study.load(compact_file(store.path).target)]


def test_tables_and_failures_tell_the_same_whatever_came_after_what() -> None:
    each = list(itertools.product(("search", "block", "summary"), ("ok", "wrong")))
    for rows in itertools.chain.from_iterable(itertools.product(each, repeat=count) for count in range(5)):
        study = Study([made(*row) for row in rows])
        assert [row["status"] for row in study.summary] == [row[1] for row in rows[-1:]], rows
        assert [row["status"] for row in study.failures()] == [row[1] for row in rows[-1:] if row[1] != "ok"], rows


def test_the_code_that_was_written_last_counts_whatever_came_before(tmp_path: Path) -> None:
    """Rows of two codes of a configuration, some written again as after an edit that was taken back: in memory, in a
    file, in a compact one."""
    each = list(itertools.product(("search", "block", "summary"), ("ok", "wrong"), ("x", "y")))
    draw = np.random.default_rng(20)
    for turn in range(150):
        rows = [
            made(*each[one][:2], minute=place, code=each[one][2], ms=1.0 + place, key=f"{one}")
            for place, one in enumerate(draw.integers(len(each), size=draw.integers(1, 8)))
        ]
        again = [rows[place] for place in draw.integers(len(rows), size=draw.integers(3))]
        store = Store(tmp_path / f"{turn}.jsonl")
        for row in [*rows, *again]:
            store.append(row)
        last, studies = [*rows, *again][-1], [Study.load(store.path), Study.load(compact_file(store.path).target)]
        studies += [] if again else [Study(rows)]
        for study in studies:
            (shown,) = study.summary
            assert [row["status"] for row in study.failures()] == [last["status"]] * (last["status"] != "ok")
            assert (shown["status"], shown["source_sha256"]) == (last["status"], last["source_sha256"])
            kinds = [
                row["kind"] for row in rows if row["status"] == "ok" and row["source_sha256"] == last["source_sha256"]
            ]
            if last["status"] == "ok":
                assert shown["kind"] == max(kinds, key=["search", "block", "summary"].index)


def test_a_configuration_that_was_searched_after_an_edit_stays_in_the_table() -> None:
    """Its earlier comparison is of another code; others of the variant were not searched again."""
    rows = [
        made("summary", "ok"),
        made("summary", "ok", configuration="kk(W=2)"),
        made("search", "ok", configuration="kk(W=3)"),
    ]
    study = Study([*rows, made("search", "ok", code="y", ms=3.0)])
    assert {row["configuration"]: row["kind"] for row in study.summary} == {"kk(W=1)": "search", "kk(W=2)": "summary"}
    assert len(study.unconfirmed) == 1


def test_of_an_edited_kernel_whose_comparison_is_to_come_the_best_of_all_searched_stands() -> None:
    """Not of those alone that the earlier code's comparison was of."""
    rows = [made("search", "ok", configuration=f"kk(W={w})", ms=float(w)) for w in range(1, 9)]
    rows += [made("summary", "ok", configuration=f"kk(W={w})", ms=float(w)) for w in range(1, 6)]
    edited = [made("search", "ok", code="y", configuration=f"kk(W={w})", ms=9.0 - w) for w in range(1, 9)]
    for count in range(9):
        study = Study([*rows, *edited[:count]])
        times = {row["configuration"]: row["median_ms"] for row in study.summary}
        if count < 5:  # the others stay as they were
            assert times == {f"kk(W={w})": 9.0 - w if w <= count else float(w) for w in range(1, 6)}
        else:
            assert times == {f"kk(W={count})": 9.0 - count}


def test_a_study_of_a_studys_rows_tells_the_same(tmp_path: Path) -> None:
    """Of rows written again, and of joined ones."""
    first = [made("search", "ok", 1, key="a"), made("block", "ok", 2, key="b"), made("summary", "ok", 3, key="c")]
    edited = [made("search", "ok", 4, "y", key="d"), made("block", "ok", 5, "y", ms=2.0, key="e")]
    store = Store(tmp_path / "rows.jsonl")
    for row in [*first, *edited, first[0]]:  # the edit was taken back, and the sweep killed
        store.append(row)
    loaded = Study.load(store.path)
    joined = [Study.joined(both) for both in itertools.permutations([Study(first), Study(edited)])]
    for study, code in ((loaded, "x"), *((one, "y") for one in joined)):
        for again in (study, Study(study.rows), Study(study.of_problem("p")), Study.joined([study])):
            assert [row["source_sha256"] for row in again.summary] == [code]
    assert [row["kind"] for row in loaded.summary] == ["summary"]


def test_rows_that_are_added_count() -> None:
    study = Study([made("summary", "ok")])
    assert not study.failures()
    study.rows.append(study.rows[0] | {"status": "wrong", "reason": "is off"})
    assert len(study.failures()) == 1
    assert study.groups()[0].rows[0]["status"] == "wrong"


def test_what_came_right_after_a_failed_comparison_stands_in_its_place() -> None:
    """The kernel was mended, and its next comparison is under way, or ended early."""
    before = [made("search", "ok"), *(made("block", "ok", ms=9.0, block=number) for number in range(3))]
    failed = [*before, made("summary", "wrong")]
    blocks = [made("block", "ok", code="y", ms=ms, block=number) for number, ms in enumerate((3.0, 1.0, 2.0))]
    searched = made("search", "ok", code="y", ms=4.0)
    for after, kind, ms in ((blocks, "block", 2.0), ([searched], "search", 4.0), ([searched, *blocks], "block", 2.0)):
        study = Study([*failed, *after])
        assert [(row["kind"], row["median_ms"]) for row in study.summary] == [(kind, ms)]
        assert len(study.unconfirmed) == 1
        assert study.best() == study.summary[0] is not None
    other = {"configuration": "kk(W=2)"}
    both = Study([*failed, made("summary", "wrong", **other), *blocks])
    assert [row["status"] for row in both.summary] == ["ok", "wrong"]
    assert [row["configuration"] for row in both.failures()] == ["kk(W=2)"]
    (row,) = Study([*failed, *blocks, made("summary", "ok", code="y", ms=2.5)]).summary
    assert (row["kind"], row["median_ms"]) == ("summary", 2.5)


def test_a_failure_of_an_earlier_sitting_is_none_of_a_later_one_that_was_killed(tmp_path: Path) -> None:
    """In whatever order they are joined, of raw and of compact files."""

    stored = partial(both_ways, tmp_path)
    wrong = {at: stored(f"wrong{at}", made("search", "ok", at), made("summary", "wrong", at)) for at in (1, 5)}
    killed = stored("killed", made("search", "ok", 2, "y"), *(made("block", "ok", 3, "y", block=b) for b in range(4)))
    right = stored("right", made("block", "ok", 3, "y"), made("summary", "ok", 4, "y"))
    for at, good in itertools.product(wrong, (killed, right)):
        for pair in itertools.product(wrong[at], good):
            for both in itertools.permutations(pair):
                found = Study.joined(both)
                assert {row["status"] for row in found.summary} == {"ok" if at == 1 else "wrong"}
                assert [row["status"] for row in found.failures()] == ([] if at == 1 else ["wrong"])
                assert found.summary[0]["kind"] == ("block" if (at, good) == (1, killed) else "summary")

    anew = [made("block", "ok", 1), made("search", "wrong", 2), made("block", "ok", 3)]  # of one id: one place
    for found in stored("anew", *anew):
        assert [(row["kind"], row["time_utc"][14:16]) for row in found.summary] == [("block", "03")]
        assert not found.failures()


def test_tables_keep_their_order_where_a_file_goes_on_or_an_edit_is_taken_back(tmp_path: Path) -> None:
    """Blocks of a pass are in an order by chance, and some were measured after the summaries."""

    def rows(kind: str, at: int, code: str = "x", order: tuple[int, ...] = (1, 2, 3), **fields: Any) -> list[Any]:
        return [
            made(kind, "ok", at, code, configuration=f"kk(W={w})", key=f"{kind}{w}{code}{at}", **fields) for w in order
        ]

    first = [*rows("search", 1), *rows("block", 2, order=(3, 1, 2)), *rows("summary", 3)]
    further = rows("block", 4, order=(2, 3, 1), block=1)
    edited = [
        *rows("search", 5, "y"),
        *rows("block", 6, "y", order=(3, 2, 1)),
        made("search", "wrong", 7, "y", key="z"),
    ]
    taken_back = [row for row in first if row["kind"] != "block"]
    for number, written in enumerate(([*first, *further], [*first, *further, *edited, *taken_back])):
        store = Store(tmp_path / f"{number}.jsonl")
        for row in written:
            store.append(row)
        for study in (Study.load(store.path), Study.load(compact_file(store.path).target)):
            for again in (study, Study(study.rows), Study.joined([study])):
                assert [row["configuration"] for row in again.summary] == ["kk(W=1)", "kk(W=2)", "kk(W=3)"]
                assert {(row["kind"], row["source_sha256"]) for row in again.summary} == {("summary", "x")}


def test_of_joined_studies_the_blocks_that_were_measured_last_count_too(tmp_path: Path) -> None:
    """One file went on with other configurations after the edit was measured in another; of raw and compact files."""

    stored = partial(both_ways, tmp_path)
    other = {"configuration": "kk(W=2)"}
    went_on = [
        made("block", "ok", 1),
        made("summary", "ok", 2),
        made("block", "ok", 8, **other),
        made("summary", "ok", 9, **other),
    ]
    for status in ("ok", "wrong"):
        edited = stored(f"edited {status}", made("search", "ok", 4, "y"), made("block", status, 5, "y"))
        for pair in itertools.product(stored(f"went on {status}", *went_on), edited):
            for both in itertools.permutations(pair):
                found = Study.joined(both)
                shown = {row["configuration"]: (row["status"], row["source_sha256"]) for row in found.summary}
                assert shown == {"kk(W=1)": (status, "y"), "kk(W=2)": ("ok", "x")}
                assert len(found.failures()) == (status != "ok")

    begun = stored(
        "begun again", made("summary", "ok", 1), made("block", "ok", 6, env_hash="f")
    )  # blocks of the same key
    for one in begun:
        for both in itertools.permutations([one, Study([made("summary", "ok", 3, "y")])]):
            assert [row["source_sha256"] for row in Study.joined(both).summary] == ["x"]
