"""What the CPU runtimes here compiled, read from their own binaries; and binaries that are none."""

from __future__ import annotations

import random
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import gpuopt
from gpuopt import _core, pocl
from gpuopt.lab.compiled import intel_cpu, pocl_cpu, tools, x86
from gpuopt.lab.compiled.listing import Listing, ListingError, counts

SUMS = """
kernel void sums(global const float* a, global float* out, int n) {
    const int i = get_global_id(0);
    float sum = 0;
    for (int k = 0; k < n; ++k) sum = fma(a[k * 64 + i], a[i], sum);
    out[i] = sum;
}
kernel void turned(global const float* a, global float* out, int n) {
    local float held[64];
    held[get_local_id(0)] = 3 * a[get_global_id(0)];
    barrier(CLK_LOCAL_MEM_FENCE);
    out[get_global_id(0)] = fma(held[(get_local_id(0) + n) & 7], 2.0f, a[get_global_id(0)]);
}
"""


def device_of(platform: str) -> gpuopt.Device:
    if not tools.find(*x86.TOOLS):
        pytest.skip("no objdump is installed")
    found = [device for device in gpuopt.devices() if platform in device.platform and device.type == "cpu"]
    return found[0] if found else pytest.skip(f"{platform} is not installed")


def built(device: gpuopt.Device, kernel: str, local_size: Sequence[int]) -> tuple[bytes, str]:
    """The binary and the log of the program, after the kernel ran."""
    program = _core.build_program(device, SUMS, "sums.cl", "")
    a, out = (gpuopt.to_device(np.ones(64 * 64, np.float32), device) for _ in range(2))
    step = (program, kernel, [64], local_size, [a, out, np.int32(5).tobytes()])
    plan = _core.prepare_own(device, [step], 0, 1.0, {})
    plan.run()
    code: Any = plan.code(0)
    return code["binary"], plan.kernels[0]["log"]


def check_sums(found: Listing) -> None:
    """The product stands in a loop, in the kernel under its own name."""
    assert found.kernel == "sums"
    inside = counts(found.inside(found.innermost))
    assert inside.fma >= 1
    assert inside.fetch >= 1
    assert inside.branch >= 1
    assert found.code_bytes is not None
    assert found.code_bytes > len(found.instructions)


def test_pocl_has_a_function_for_each_local_size() -> None:
    device = device_of(pocl.PLATFORM)
    listings = {}
    for size in (16, 64):
        binary, _ = built(device, "sums", [size])
        listings[size] = pocl_cpu.listing(binary, "sums", [size])
        check_sums(listings[size])
    assert re.match(r"the work-group function 64-1-1\b", listings[64].notes[0])
    with pytest.raises(ListingError, match=r"holds no sums for work-groups of 3 x 2: run it there once"):
        pocl_cpu.listing(binary, "sums", [3, 2])
    with pytest.raises(ListingError, match="holds no other"):
        pocl_cpu.listing(binary, "other", [64])


def test_pocl_with_another_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    binary, _ = built(device_of(pocl.PLATFORM), "sums", [64])
    monkeypatch.setenv("POCL_CACHE_DIR", str(tmp_path))
    with pytest.raises(ListingError, match="holds no sums"):
        pocl_cpu.listing(binary, "sums", [64])
    damaged = tmp_path / pocl_cpu.build_hash_of(binary) / "sums" / "64-1-1-goffs0" / "sums.so"
    damaged.parent.mkdir(parents=True)
    damaged.write_bytes(b"\x7fELF" + bytes(100))
    with pytest.raises(tools.ToolError, match="objdump"):
        pocl_cpu.listing(binary, "sums", [64])


def test_intel_without_barriers_is_one_function() -> None:
    binary, log = built(device_of("Intel"), "sums", [64])
    found = intel_cpu.listing(binary, "sums", log, [64])
    check_sums(found)
    said = re.search(r'"sums" was successfully vectorized \((\d+)\)', log)
    if said:
        assert found.notes[0] == f"vectorized: {said[1]} work-items at once"
        assert counts(found.instructions).widest >= 128
    with pytest.raises(ListingError, match="no function other"):
        intel_cpu.listing(binary, "other", log)


def test_intel_with_barriers_runs_what_divides_the_group() -> None:
    """Seen by writing a trap into one of the two functions: with 12 work-items the other one runs."""
    binary, log = built(device_of("Intel"), "turned", [64])
    several = intel_cpu.listing(binary, "turned", log, [64])
    single = intel_cpu.listing(binary, "turned", log, [1])
    if "was not vectorized" in log:
        pytest.skip("this processor's vectors are too short for it")
    assert counts(several.instructions).widest >= 128 > counts(single.instructions).widest
    assert any("the function for" in note for note in several.notes)
    assert any("one work-item at a time" in note for note in single.notes)
    assert intel_cpu.listing(binary, "turned", log).instructions == several.instructions


def test_without_a_disassembler_the_reason_is_told(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    binary, log = built(device_of("Intel"), "sums", [64])
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.raises(tools.ToolError, match="objdump is not on PATH"):
        intel_cpu.listing(binary, "sums", log)


@pytest.mark.parametrize("binary", [b"", b"junk", b"\x7fELF", b"poclbin\0", b"poclbin\0" + bytes(300)])
def test_binaries_that_are_none(binary: bytes) -> None:
    for read in (lambda: intel_cpu.listing(binary, "k", ""), lambda: pocl_cpu.listing(binary, "k", [1])):
        with pytest.raises(ListingError):
            read()


POCL = b"poclbin\0" + bytes(28) + b"OG/" + b"A" * 37 + b"\0"


def test_the_hash_is_read_from_the_head_alone(tmp_path: Path) -> None:
    assert pocl_cpu.build_hash_of(POCL) == "OG/" + "A" * 37
    for wrong in (b"../" + b"A" * 37, b"OG/" + b"A" * 36, b"OG/" + b"A" * 38, b"og/" + b"a" * 37):
        with pytest.raises(ListingError, match="does not name its folder"):
            pocl_cpu.build_hash_of(b"poclbin\0" + bytes(28) + wrong + b"\0")
    with pytest.raises(ListingError):
        pocl_cpu.build_hash_of(b"poclbin\0" + bytes(300) + POCL)


@pytest.mark.parametrize("kernel", ["", "..", "../k", "/etc/passwd", "k\0", "k/k", "kärnel", "k" * 300, "k\n"])
def test_names_that_would_lead_elsewhere(kernel: str, tmp_path: Path) -> None:
    with pytest.raises(ListingError, match="no name of a kernel"):
        pocl_cpu.object_files(POCL, kernel, [1], tmp_path)
    with pytest.raises(ListingError, match=r"no name of a kernel|no ELF"):
        intel_cpu.listing(b"", kernel, "")


def test_local_sizes_that_are_none(tmp_path: Path) -> None:
    for size in ([], [0], [-1], [1, 1, 1, 1], [2**40], ["../x"], [1.5]):
        with pytest.raises(ListingError, match="is no local size"):
            pocl_cpu.object_files(POCL, "k", size, tmp_path)  # type: ignore[arg-type]


def test_several_functions_for_one_local_size(tmp_path: Path) -> None:
    folder = tmp_path / pocl_cpu.build_hash_of(POCL) / "k"
    for name in ("64-1-1-goffs0-smallgrid", "64-1-1-goffs0", "0-0-0", "64-64-1"):
        (folder / name).mkdir(parents=True)
        (folder / name / "k.so").write_bytes(b"")
    assert {path.parent.name for path in pocl_cpu.object_files(POCL, "k", (64,), tmp_path)} == {
        "64-1-1-goffs0-smallgrid",
        "64-1-1-goffs0",
    }
    assert pocl_cpu.object_files(POCL, "k", (32,), tmp_path) == []


def test_links_out_of_the_cache_are_refused(tmp_path: Path) -> None:
    outside, cache = tmp_path / "outside", tmp_path / "cache"
    outside.mkdir()
    (outside / "k.so").write_bytes(b"")
    folder = cache / pocl_cpu.build_hash_of(POCL) / "k"
    folder.mkdir(parents=True)
    (folder / "8-1-1").symlink_to(outside)
    with pytest.raises(ListingError, match="leads out of PoCL's cache"):
        pocl_cpu.object_files(POCL, "k", [8], cache)


def test_damaged_binaries_raise_nothing_else() -> None:
    binary, log = built(device_of("Intel"), "sums", [64])
    chance = random.Random(3)
    for _ in range(12):
        data = bytearray(binary)
        for _ in range(30):
            data[chance.randrange(len(data))] = chance.randrange(256)
        try:
            intel_cpu.listing(bytes(data[: chance.randrange(len(data))]), "sums", log)
        except (ListingError, tools.ToolError):
            pass
