"""What tools said of a program: kept, read again, and made again where what was kept cannot be believed."""

from __future__ import annotations

import errno
import json
import os
import subprocess
import sys
import threading
import zlib
from pathlib import Path

import pytest

from gpuopt import files, sealed
from gpuopt.lab.compiled import kept, nvidia, nvidia_gpu, tools, x86
from gpuopt.lab.compiled.tools import ToolError


@pytest.fixture(autouse=True)
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("GPUOPT_CACHE_DIR", str(tmp_path))
    return tmp_path / kept.FOLDER


class Tool:
    """Counts how often it is asked."""

    def __init__(self, *said: str) -> None:
        self.said, self.asked = said, 0

    def __call__(self) -> list[str]:
        self.asked += 1
        return list(self.said)


def test_a_second_process_reads_what_the_first_was_told(cache: Path) -> None:
    tool = Tool("Größe\n\0\ud800", "", "sm_90a")
    for _ in range(3):
        assert kept.texts([b"\0program", "sm_90"], ["tool 1.0"], tool) == list(tool.said)
    assert tool.asked == 1
    assert cache.stat().st_mode & 0o077 == 0
    reader = """from gpuopt.lab.compiled import kept
print(ascii(kept.texts([b"\\0program", "sm_90"], ["tool 1.0"], lambda: ["made"])))"""
    told = subprocess.run([sys.executable, "-c", reader], capture_output=True, text=True, check=True).stdout
    assert told.strip() == ascii(list(tool.said))


def test_another_program_machine_or_tool_is_asked_for_again() -> None:
    asked = [
        (["ab", "c"], ["tool 1.0"]),
        (["a", "bc"], ["tool 1.0"]),
        (["ab", "c"], ["tool 1.1"]),
        (["ab"], ["tool 1.0"]),
        (["ab", "d"], ["tool 1.0"]),
        (["ab", b"c\0"], ["tool 1.0"]),
    ]
    for number, (about, by) in enumerate(asked):
        assert kept.texts(about, by, Tool(str(number))) == [str(number)]
    for number, (about, by) in enumerate(asked):
        assert kept.texts(about, by, Tool("again")) == [str(number)]


def test_a_tool_without_a_version_is_asked_each_time(cache: Path) -> None:
    tool = Tool("said")
    assert kept.tool("/usr/bin/no-such-tool-at-all") == ""
    for _ in range(2):
        assert kept.texts(["program"], [kept.tool("/usr/bin/no-such-tool-at-all")], tool) == ["said"]
    assert tool.asked == 2
    assert not cache.exists()
    assert kept.tool(sys.executable).startswith(f"{Path(sys.executable).name} 3.")


def test_a_failure_is_not_kept() -> None:
    def refuses() -> list[str]:
        raise ToolError("it refuses")

    with pytest.raises(ToolError, match="it refuses"):
        kept.texts(["program"], ["tool 1.0"], refuses)
    assert kept.texts(["program"], ["tool 1.0"], Tool("said")) == ["said"]


def one_file(cache: Path) -> Path:
    assert kept.texts(["program"], ["tool 1.0"], Tool("x" * 5000, "y")) == ["x" * 5000, "y"]
    (path,) = cache.iterdir()
    return path


def sealed_content(path: Path, **changed: object) -> bytes:
    held = json.loads(zlib.decompress(path.read_bytes())) | changed
    return zlib.compress(json.dumps(held | {"sha256": sealed.digest(held)}).encode())


def test_what_is_damaged_is_made_again(cache: Path) -> None:
    path = one_file(cache)
    good = path.read_bytes()
    unsealed = {name: value for name, value in json.loads(zlib.decompress(good)).items() if name != "sha256"}
    damaged = [
        b"",
        b"no zlib at all",
        good[:-1],
        good[: len(good) // 2],
        good[:20] + bytes([good[20] ^ 1]) + good[21:],
        zlib.compress(zlib.decompress(good).replace(b"xy", b"yx").replace(b"xxx", b"xyx")),
        zlib.compress(b"{}"),
        zlib.compress(b"[" * 100_000),
        zlib.compress(json.dumps(unsealed).encode()),
        zlib.compress(b" " * (sealed.MOST_BYTES + 1)),
        sealed_content(path, key="0" * 64),
        sealed_content(path, texts=["x", 1]),
        sealed_content(path, texts="x"),
        sealed_content(path, schema=kept.SCHEMA + 1),
    ]
    for content in damaged:
        path.write_bytes(content)
        assert kept.texts(["program"], ["tool 1.0"], Tool("made")) == ["made"]
        assert kept.texts(["program"], ["tool 1.0"], Tool("again")) == ["made"]


def test_what_others_may_have_written_is_not_read(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = one_file(cache)
    path.chmod(0o666)
    assert kept.texts(["program"], ["tool 1.0"], Tool("not others'")) == ["not others'"]
    good = path.read_bytes()
    path.unlink()
    other = cache.parent / "other"
    other.write_bytes(good)
    path.symlink_to(other)
    assert kept._read(path.name) is None
    path.unlink()
    os.mkfifo(path)
    assert kept._read(path.name) is None
    path.unlink()
    path.write_bytes(good)
    path.chmod(0o600)
    assert kept._read(path.name) == ["not others'"]
    monkeypatch.setattr(os, "geteuid", lambda: os.getuid() + 1)
    assert kept._read(path.name) is None


def test_a_folder_that_is_no_folder_of_ours_is_not_used(cache: Path) -> None:
    elsewhere = cache.parent / "elsewhere"
    elsewhere.mkdir()
    cache.symlink_to(elsewhere)
    tool = Tool("said")
    for _ in range(2):
        assert kept.texts(["program"], ["tool 1.0"], tool) == ["said"]
    assert tool.asked == 2
    assert list(elsewhere.iterdir()) == []
    cache.unlink()
    cache.write_bytes(b"")
    assert kept.texts(["program"], ["tool 1.0"], tool) == ["said"]


def test_a_full_disk_ends_nothing(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, parts: list[bytes]) -> None:
        raise files.refused(path, OSError(errno.ENOSPC, "No space left on device"), files.OTHER_CACHE)

    monkeypatch.setattr(files, "write", full)
    tool = Tool("said")
    for _ in range(2):
        assert kept.texts(["program"], ["tool 1.0"], tool) == ["said"]
    assert tool.asked == 2
    assert list(cache.iterdir()) == []


def test_too_much_is_not_kept(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "LARGEST", 100)
    noise = os.urandom(500).hex()
    assert kept.texts(["program"], ["tool 1.0"], Tool(noise)) == [noise]
    assert not cache.exists()
    monkeypatch.setattr(kept, "LARGEST", 10_000)
    monkeypatch.setattr(sealed, "MOST_BYTES", 900)
    assert kept.texts(["program"], ["tool 1.0"], Tool(noise)) == [noise]
    assert not cache.exists()


def test_those_used_least_recently_go(cache: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kept, "MOST_FILES", 3)
    for number in range(3):
        kept.texts([str(number)], ["tool 1.0"], Tool(str(number)))
    for at, path in enumerate(sorted(cache.iterdir(), key=lambda each: each.stat().st_mtime_ns)):
        os.utime(path, (at, at))
    assert kept.texts(["0"], ["tool 1.0"], Tool("again")) == ["0"]  # used now
    kept.texts(["3"], ["tool 1.0"], Tool("3"))
    assert len(list(cache.iterdir())) == 3
    assert [kept._read(kept._key([str(number), "tool 1.0"])) for number in range(4)] == [["0"], None, ["2"], ["3"]]
    monkeypatch.setattr(kept, "MOST_BYTES", 1)
    kept.texts(["4"], ["tool 1.0"], Tool("4"))
    assert [path.name for path in cache.iterdir()] == [kept._key(["4", "tool 1.0"])]


def test_many_writers_leave_whole_files(cache: Path) -> None:
    wrong: list[list[str]] = []

    def write() -> None:
        for turn in range(10):
            text = f"{turn % 3} " * 20_000
            if (got := kept.texts([str(turn % 3)], ["tool 1.0"], Tool(text))) != [text]:
                wrong.append(got)

    threads = [threading.Thread(target=write) for _ in range(6)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
    assert len(list(cache.iterdir())) == 3


def test_an_object_file_is_disassembled_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    asked: list[str] = []

    def run(command: list[str], **_: object) -> str:
        asked.append(command[-1])
        return "objdump 2.42" if command[-1] == "--version" else Path(command[-1]).read_text()

    monkeypatch.setattr(tools, "run", run)
    monkeypatch.setattr(tools, "needed", lambda *names: sys.executable)
    monkeypatch.setattr(tools, "version", lambda path: "2.42")
    for name, text in (("a.o", "one"), ("b.o", "one"), ("a.o", "two")):
        (tmp_path / name).write_text(text)
        assert x86.disassembled(tmp_path / name) == (text, f"{Path(sys.executable).name} 2.42")
    assert asked == [str(tmp_path / "a.o")] * 2
    with pytest.raises(ToolError, match="cannot be read: No such file"):
        x86.disassembled(tmp_path / "c.o")


def test_ptx_is_assembled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    listings = Path(__file__).parent / "listings"
    ptx, sass, log = ((listings / f"h200_{name}").read_text() for name in ("driver.ptx", "nvdisasm.txt", "ptxas.txt"))
    asked: list[str] = []

    def assemble(text: str, machine: str) -> nvidia.Assembled:
        asked.append(machine)
        return nvidia.Assembled(sass, log, "sm_90a")

    monkeypatch.setattr(nvidia, "assemble", assemble)
    monkeypatch.setattr(tools, "find", lambda *names: sys.executable)
    found = [nvidia_gpu.compiled(ptx, machine) for machine in ("sm_90", "sm_90", "sm_80", "sm_90")]
    assert asked == ["sm_90", "sm_80"]
    assert all(each == found[0] for each in found)
    assert (found[0][0], found[0][2]) == ("sm_90a", f"ptxas {tools.version(sys.executable)}")
