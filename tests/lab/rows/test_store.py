"""The results file: damage, two writers, full disks, kill -9."""

from __future__ import annotations

import errno
import json
import os
import signal
import subprocess
import sys
import textwrap
from pathlib import Path

import numpy as np
import pytest

from gpuopt.lab.rows import frames, schema
from gpuopt.lab.rows.recorder import Recorder
from gpuopt.lab.rows.schema import ResultsError, new_row, resume_key
from gpuopt.lab.rows.store import Store
from stored_rows import SPEC, make


def test_store_round_trip_and_last_row_wins(tmp_path):
    store = Store(tmp_path / "new folder" / "rows.jsonl")
    assert store.rows() == []
    assert not store.path.exists()  # opening writes nothing
    key = resume_key(SPEC)
    first = store.append(make(block=0, median_ms=1.0, device="Ω ® \udc80", params={}))
    store.append(make(block=1))
    store.append(make(block=1, median_ms=2.0))
    again = Store(store.path)
    assert again.rows() == store.rows()
    assert again.rows()[0] == first
    assert set(first) == set(schema.FIELDS)
    assert "null" not in store.path.read_text()  # what does not apply is left out
    assert [row["median_ms"] for row in again.latest()] == [1.0, 2.0]
    assert again.problems == []
    assert again.done(key, 1)
    assert not again.done(key, 2)
    assert not again.done(key)
    assert again.done(first["key"], 0)


def test_rows_outside_blocks_and_sentinels_keep_apart(tmp_path):
    store = Store(tmp_path / "rows.jsonl")
    store.append(make(kind="search"))
    store.append(make(kind="summary"))
    for order in (0, 8, 16):
        store.append(make(block=0, role="sentinel", order=order))
    store.append(make(block=0, role="variant", order=3))
    store.append(new_row(kind="environment", status="ok", env_hash="ab", environment={"cpu": {"cores": 2}}))
    assert len(store.latest()) == 7
    assert store.done(resume_key(SPEC))
    assert store.done(resume_key(SPEC), kind="summary")


def test_rows_with_words_and_fields_of_earlier_versions_are_read(tmp_path):
    path = tmp_path / "rows.jsonl"
    old = make(kind="search", status="runtime", reason="10 s") | {"status": "timeout", "net_j": None, "flags": ["odd"]}
    path.write_text(json.dumps(old) + "\n")
    store = Store(path)
    assert store.problems == []
    assert (store.latest()[0]["status"], store.latest()[0]["flags"]) == ("timeout", ["odd"])
    assert store.done(old["key"])


@pytest.mark.parametrize("tail", [b'{"schema": 1, "worklo', b"\0" * 4096, b'{"a": 1, "b' + b"x" * 200_000])
def test_a_torn_last_line_is_dropped_by_the_writer_alone(tmp_path, tail):
    path = tmp_path / "rows.jsonl"
    Store(path).append(make(block=0))
    whole = path.read_bytes()
    path.write_bytes(whole + tail)
    store = Store(path)
    assert len(store.rows()) == 1
    assert [problem.line for problem in store.problems] == [2]
    assert "rows.jsonl:2: unfinished" in str(store.problems[0])
    assert path.read_bytes() == whole + tail
    store.append(make(block=1))
    lines = path.read_bytes().splitlines()
    assert [json.loads(line)["block"] for line in lines] == [0, 1]
    assert len(store.problems) == 1


def test_a_last_row_that_lacks_only_its_newline_is_kept(tmp_path):
    path = tmp_path / "rows.jsonl"
    Store(path).append(make(block=0))
    path.write_bytes(path.read_bytes()[:-1])
    store = Store(path)
    assert len(store.rows()) == 1
    assert store.problems == []
    store.append(make(block=1))
    assert [row["block"] for row in Store(path).rows()] == [0, 1]


def test_damage_in_the_middle_is_kept_and_named(tmp_path):
    path = tmp_path / "rows.jsonl"
    store = Store(path)
    store.append(make(block=0))
    damage = b'{"schema": 1, "bl\n\n\xff\xfe\n[1, 2]\n{"workload": "spmv"}\n' + b"[" * 50_000 + b"\n"
    with open(path, "ab") as file:
        file.write(damage)
    Store(path).append(make(block=1))
    store = Store(path)
    assert [row["block"] for row in store.rows()] == [0, 1]
    assert [problem.line for problem in store.problems] == [2, 4, 5, 6, 7]
    assert str(store.problems[0]) == f"{path}:2: no valid JSON"
    assert damage in path.read_bytes()


@pytest.mark.parametrize(
    ("name", "value"),
    [
        *(
            ("sizes", "x"),
            ("sizes", {"M": "x"}),
            ("sizes", [1]),
            ("median_ms", "abc"),
            ("median_ms", True),
            ("block", 0.5),
        ),
        *(("flags", "drift"), ("flags", [1]), ("samples_ms", [1.0, None]), ("samples_ms", 1.0), ("params", 3)),
        *(
            ("device", 5),
            ("key", ["a"]),
            ("row_id", {}),
            ("kind", 1),
            ("status", ["ok"]),
            ("role", {}),
            ("canary_ok", 1),
        ),
        *(("environment", "none"), ("bytes", {"dram": [1]}), ("options", 7), ("time_utc", 2026)),
    ],
)
def test_a_value_of_another_type_is_damage(tmp_path, name, value):
    path = tmp_path / "rows.jsonl"
    good = Store(path).append(make(block=0))
    with open(path, "a") as file:
        file.write(json.dumps({**good, "block": 1, "row_id": None, name: value}) + "\n")
    store = Store(path)
    assert [row["row_id"] for row in store.rows()] == [good["row_id"]]
    assert str(store.problems[0]) == f"{path}:2: its {name} is of another type than rows have there"


@pytest.mark.parametrize("number", ["1e999", "-1e999", "9" * 400])
def test_a_number_beyond_floats_is_damage(tmp_path, number):
    path = tmp_path / "rows.jsonl"
    path.write_text(f'{{"schema": 1, "kind": "search", "status": "ok", "median_ms": {number}}}\n')
    store = Store(path)
    assert store.rows() == []
    assert "median_ms" in store.problems[0].reason


def test_nan_of_another_writer_is_null(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"schema": 1, "kind": "search", "status": "ok", "median_ms": NaN, "later_field": 1}\n')
    (row,) = Store(path).rows()
    assert row["median_ms"] is None
    assert row["flags"] == []
    assert row["row_id"]


def test_a_newer_schema_is_refused(tmp_path):
    path = tmp_path / "rows.jsonl"
    path.write_text('{"schema": 7}\n')
    with pytest.raises(ResultsError, match=r"rows\.jsonl has rows of schema 7.*upgrade"):
        Store(path)


@pytest.mark.parametrize(
    "text",
    [
        "The introduction\nends without a newline",
        "The introduction\nends with one\n",
        "\n\nkernel void f() {}\n",
        '{"cache": {"1,2": {"time": 0.5}}}',
        '{"cache": {"1,2": {"time": 0.5}}}\n',
        "[1, 2]",
        "5",
        '{"schema":"http://json-schema.org/","type":"object"}',
    ],
)
def test_a_file_that_is_not_ours_is_left_alone(tmp_path, text):
    path = tmp_path / "thesis.txt"
    path.write_text(text)
    store = Store(path)
    assert store.problems
    with pytest.raises(ResultsError, match=r"thesis\.txt holds something, but no rows"):
        store.append(make())
    with pytest.raises(ResultsError, match="no results file"):
        Recorder(path)
    assert path.read_text() == text


@pytest.mark.parametrize("text", ["{", '{"schema":', '{"schema": 1'])
def test_what_may_be_the_beginning_of_a_row_gives_way_to_one(tmp_path, text):
    path = tmp_path / "rows.jsonl"
    path.write_text(text)
    Store(path).append(make())
    assert len(Store(path).rows()) == 1


def test_text_behind_rows_is_left_alone(tmp_path):
    store = Store(tmp_path / "rows.jsonl")
    store.append(make(block=0))
    with open(store.path, "a") as file:
        file.write("The introduction")
    with pytest.raises(ResultsError, match=r"rows\.jsonl ends in text"):
        Store(store.path).append(make(block=1))
    assert store.path.read_text().endswith("The introduction")


def test_a_folder_is_no_results_file(tmp_path):
    with pytest.raises(ResultsError, match="cannot read"):
        Store(tmp_path)


def test_a_full_device_keeps_the_row():
    store = Store("/dev/full")
    store.problems.clear()
    with pytest.raises(ResultsError, match=r"bytes to /dev/full: No space left.*Free some space"):
        store.append(make(block=0))
    assert [row["block"] for row in store.unsaved] == [0]
    assert [row["block"] for row in store.latest()] == [0]


def test_a_half_written_row_is_cut_off_and_written_later(tmp_path, monkeypatch):
    store = Store(tmp_path / "rows.jsonl")
    store.append(make(block=0))
    before = store.path.read_bytes()
    write = os.write
    monkeypatch.setattr(os, "write", lambda fd, data: write(fd, data[:100]))
    for block in (1, 2):
        with pytest.raises(ResultsError, match="only 100 bytes fitted"):
            store.append(make(block=block))
        assert store.path.read_bytes() == before
    assert len(store.unsaved) == 2
    assert len(Store(store.path).rows()) == 1
    monkeypatch.undo()
    store.reload()
    assert [row["block"] for row in store.rows()] == [0, 1, 2]
    store.append(make(block=3))
    assert store.unsaved == []
    assert [row["block"] for row in Store(store.path).rows()] == [0, 1, 2, 3]


def test_a_failed_sync_keeps_the_row(tmp_path, monkeypatch):
    store = Store(tmp_path / "rows.jsonl")

    def fail(fd):
        raise OSError(errno.EDQUOT, "Disk quota exceeded")

    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(ResultsError, match="quota"):
        store.append(make(block=0))
    monkeypatch.undo()
    assert store.path.read_bytes() == b""
    store.flush()
    assert len(Store(store.path).rows()) == 1


def python(code, *arguments, **options):
    """A process that runs `code` after a preamble that makes `store` (argv[1]) and `make(block=...)`."""
    preamble = """
        import os, resource, sys
        from gpuopt.lab.rows.schema import KEY_FIELDS, ResultsError, new_row
        from gpuopt.lab.rows.store import Store
        store = Store(sys.argv[1])
        def make(**fields):
            return new_row(kind="block", status="ok", **dict.fromkeys(KEY_FIELDS), **fields)
    """
    source = textwrap.dedent(preamble) + textwrap.dedent(code)
    return subprocess.Popen([sys.executable, "-c", source, *map(str, arguments)], text=True, **options)


def test_a_real_file_size_limit(tmp_path):
    process = python(
        """
        store.append(make(block=0))
        size = os.path.getsize(store.path)
        resource.setrlimit(resource.RLIMIT_FSIZE, (size + 300, resource.RLIM_INFINITY))
        try:
            store.append(make(block=1))
        except ResultsError as error:
            print(error)
        assert os.path.getsize(store.path) == size and len(store.unsaved) == 1
        resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        store.flush()
        """,
        tmp_path / "rows.jsonl",
        stdout=subprocess.PIPE,
    )
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0
    assert "only 300 bytes fitted" in output
    assert [row["block"] for row in Store(tmp_path / "rows.jsonl").rows()] == [0, 1]


def test_two_processes_and_two_threads_each_append(tmp_path):
    path = tmp_path / "rows.jsonl"
    code = """
        import threading
        def work(name):
            for block in range(25):
                store.append(make(block=block, reason=f"{sys.argv[2]}{name}", samples_ms=[0.1] * 3000))
        threads = [threading.Thread(target=work, args=(name,)) for name in "ab"]
        [thread.start() for thread in threads]
        [thread.join() for thread in threads]
    """
    processes = [python(code, path, name) for name in "12"]
    assert [process.wait(60) for process in processes] == [0, 0]
    store = Store(path)
    assert store.problems == []
    assert sorted({row["reason"] for row in store.rows()}) == ["1a", "1b", "2a", "2b"]
    assert len(store.rows()) == 100
    assert len(store.latest()) == 25


@pytest.mark.parametrize("after", [1, 8, 20])
def test_kill_9_loses_at_most_the_row_in_hand(tmp_path, after):
    path = tmp_path / "rows.jsonl"
    process = python(
        """
        for block in range(100_000):
            store.append(make(block=block, samples_ms=[0.123456789] * 20_000))
            print(block, flush=True)
        """,
        path,
        stdout=subprocess.PIPE,
    )
    assert process.stdout is not None
    for _ in range(after):
        process.stdout.readline()
    process.send_signal(signal.SIGKILL)
    acknowledged = after + len(process.stdout.read().splitlines())
    process.stdout.close()
    process.wait(60)
    store = Store(path)
    blocks = [row["block"] for row in store.rows()]
    assert blocks == list(range(len(blocks)))
    assert len(blocks) in (acknowledged, acknowledged + 1)
    assert len(store.problems) <= 1
    store.append(make(block=len(blocks)))
    assert [row["block"] for row in Store(path).rows()] == list(range(len(blocks) + 1))
    assert Store(path).problems == []


def test_flat_table(tmp_path):
    pytest.importorskip("pandas")
    rows = [
        make(block=0, median_ms=1.5, bytes={"dram": 8.0}, flags=["drift", "bimodal"], local_size=[8, 8]),
        make(block=1, params={"SLICE": 32}),
    ]
    table = frames.to_pandas(rows)
    assert len(table) == 2
    assert list(table["params.SLICE"].fillna(0)) == [0, 32]
    assert list(table["params.ITEMS"].fillna(0)) == [64, 0]
    assert table["bytes.dram"][0] == 8.0
    assert table["median_ms"].dtype == np.float64
    assert list(table["local_size"]) == ["8x8", "64"]
    assert table["flags"][0] == "drift bimodal"
    assert not {"params", "bytes", "environment"} & set(table.columns)
    names = [name.split(".")[0] for name in table.columns]
    assert sorted(names, key=schema.FIELDS.index) == names
    assert list(frames.to_pandas([]).columns) == []


def test_names_that_are_no_text_are_shown_with_question_marks():
    table = frames.to_pandas([make(problem="affinity_\udcff\u00e9"), make(problem="plain")])
    assert list(table.problem) == ["affinity_?\u00e9", "plain"]


def test_a_user_who_is_not_known_is_a_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert Store("~nobody-of-this-name/rows.jsonl").path == tmp_path / "~nobody-of-this-name" / "rows.jsonl"
