"""Files that are written in one step: what stands there after a failure, who may read them, and what errors say."""

from __future__ import annotations

import errno
import os
import stat
import tracemalloc
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from gpuopt import Error, ParameterError, files


def content(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def full(*_: Any) -> None:
    raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def test_a_file_appears_whole(tmp_path: Path) -> None:
    files.write(tmp_path / "a", [b"one ", b"two"])
    files.write(str(tmp_path / "deep" / "er" / "b"), iter([b"three"]), make_folder=True)
    assert (tmp_path / "a").read_bytes() == b"one two"
    assert content(tmp_path / "deep" / "er") == {"b": b"three"}


@pytest.mark.parametrize("name", ["a" * 255, "\u20ac" * 85, "a\udcff" * 100])
def test_names_as_long_as_names_may_be(tmp_path: Path, name: str) -> None:
    files.write(tmp_path / name, [b"one"])
    assert content(tmp_path) == {name: b"one"}


@pytest.mark.parametrize(("call", "aside"), [("fsync", False), ("replace", False), ("fsync", True), ("replace", True)])
def test_a_full_disk_loses_nothing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, call: str, aside: bool) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"old")
    monkeypatch.setattr(os, call, full)
    with pytest.raises(files.WriteError, match=r"a cannot be written: No space left .* buy a disk") as caught:
        files.write(path, [b"new"], aside=tmp_path / "b" if aside else None, way_out="buy a disk")
    assert isinstance(caught.value, Error)
    assert isinstance(caught.value, OSError)
    assert caught.value.errno == errno.ENOSPC
    assert list(content(tmp_path).values()) == [b"old"]


def test_what_was_never_there_is_not_said_to_stand(tmp_path: Path) -> None:
    for path, stands in ((tmp_path / "none" / "a", False), (tmp_path / "a", True)):
        if stands:
            path.write_bytes(b"old")
        error = files.refused(path, OSError(errno.ENOSPC, "full"), "buy a disk")
        assert ("what it held stands" in str(error)) == stands


def test_parts_that_fail_leave_the_old_file(tmp_path: Path) -> None:
    def parts() -> Iterator[bytes]:
        yield b"new"
        raise ParameterError("no more")

    path = tmp_path / "a"
    path.write_bytes(b"old")
    with pytest.raises(ParameterError, match="no more"):
        files.write(path, parts())
    assert content(tmp_path) == {"a": b"old"}


@pytest.mark.parametrize("links", [True, False])
def test_what_stood_there_is_kept_aside(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool) -> None:
    path, replace = tmp_path / "a", os.replace

    def last(source: Path, target: Path) -> None:
        assert content(tmp_path) == {"a": b"old", "b": b"old", source.name: b"new"}, "a reader found no file"
        replace(source, target)

    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", last)
    if not links:
        monkeypatch.setattr(os, "link", full)
    files.write(path, [b"new"], aside=tmp_path / "b")
    assert content(tmp_path) == {"a": b"new", "b": b"old"}


@pytest.mark.parametrize("links", [True, False])
@pytest.mark.parametrize("replaced", [True, False])
def test_an_interruption_keeps_one_of_the_old(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: bool, replaced: bool
) -> None:
    path, replace = tmp_path / "a", os.replace

    def interrupted(source: Path, target: Path) -> None:
        if replaced:
            replace(source, target)
        raise KeyboardInterrupt

    path.write_bytes(b"old")
    monkeypatch.setattr(os, "replace", interrupted)
    if not links:
        monkeypatch.setattr(os, "link", full)
    with pytest.raises(KeyboardInterrupt):
        files.write(path, [b"new"], aside=tmp_path / "b")
    assert content(tmp_path) == ({"a": b"new", "b": b"old"} if replaced else {"a": b"old"})


def test_what_stands_aside_already_stays(tmp_path: Path) -> None:
    for name in "ab":
        (tmp_path / name).write_bytes(name.encode())
    with pytest.raises(files.WriteError, match="File exists"):
        files.write(tmp_path / "a", [b"new"], aside=tmp_path / "b")
    assert content(tmp_path) == {"a": b"a", "b": b"b"}


def test_modes_are_the_users_and_then_the_files(tmp_path: Path) -> None:
    path = tmp_path / "a"
    plain = tmp_path / "plain"
    plain.write_bytes(b"")
    files.write(path, [b"1"])
    assert stat.S_IMODE(path.stat().st_mode) == stat.S_IMODE(plain.stat().st_mode)
    path.chmod(0o640)
    files.write(path, [b"2"])
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_links_are_followed_and_odd_places_refused(tmp_path: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(tmp_path / "target")
    files.write(link, [b"x"])
    assert link.is_symlink()
    assert (tmp_path / "target").read_bytes() == b"x"
    with pytest.raises(ParameterError, match="no regular file"):
        files.write(tmp_path, [b"x"])
    with pytest.raises(ParameterError, match=r"^path: .*is no path"):
        files.write(f"{tmp_path}/a\0b", [b"x"])
    with pytest.raises(files.WriteError, match=r"No such file or directory.*make the folder"):
        files.write(tmp_path / "absent" / "a", [b"x"])


ROW = '{"schema":1,"kind":"block","status":"ok"}\n'


@pytest.mark.parametrize(
    ("text", "is_rows"),
    [
        (ROW, True),
        (f"\ufeff{ROW}", True),
        (f'\n{{"schema":1,"kind":"blo\n{ROW}', True),
        (ROW.replace("1", "3"), True),  # of a later version
        ('{"schema":2,"shared":"9f","fields":{}}\n{"like":"9f","block":3}\n', True),
        (f'{{\n "schema": 4,\n "rows": [\n  {ROW} ]\n}}\n', False),  # a profile
        ('{"schema": 1, "records": []}\n', False),
        ('{"kind":"block"}\n{"schema":"1","kind":"block"}\n{"schema":' + "[" * 9999 + "\n", False),
        ("", False),
    ],
)
def test_rows_of_a_study_are_replaced_by_rows_alone(tmp_path: Path, text: str, is_rows: bool) -> None:
    """A table, a picture or a profile that is given their name would be all that is left of them."""
    path, link = tmp_path / "a", tmp_path / "link"
    path.write_text(text)
    link.symlink_to(path)
    for call in (
        lambda: files.check_file(link),
        lambda: files.write(link, [b"new"]),
        lambda: files.write_together({tmp_path / "b": b"new", path: b"new"}),
    ):
        if is_rows:
            with pytest.raises(files.WriteError, match="holds rows of a study, which would be lost; name another file"):
                call()
            assert content(tmp_path) == {"a": text.encode(), "link": text.encode()}, "something was written"
        else:
            call()
    files.check_file(path, over_rows=True)
    files.write(path, [ROW.encode()], over_rows=True)
    assert path.read_text() == ROW


def test_threads_that_write_one_file_do_not_meet(tmp_path: Path) -> None:
    path = tmp_path / "a"
    texts = [bytes([65 + n]) * 100_000 for n in range(16)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(lambda text: files.write(path, [text[:50_000], text[50_000:]]), texts))
    assert path.read_bytes() in texts
    assert list(content(tmp_path)) == ["a"]


def test_a_file_is_read_with_no_more_memory_than_it_has(tmp_path: Path) -> None:
    path = tmp_path / "a"
    path.write_bytes(b"abc" * 100)
    tracemalloc.start()
    try:
        for most, size in ((1 << 30, 300), (300, 300), (200, 201), (0, 1)):
            with open(path, "rb") as file:
                assert files.read_up_to(file, most) == (b"abc" * 100)[:size]
        assert tracemalloc.get_traced_memory()[1] < 1 << 20
    finally:
        tracemalloc.stop()
