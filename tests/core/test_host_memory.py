"""What is free on made-up machines and in made-up containers, and on this one."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

import gpuopt
from gpuopt import _core, host_memory

MEMINFO = "MemTotal:  1000 kB\nMemFree: 1 kB\nMemAvailable:   400 kB\n"


@pytest.fixture
def machine(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Writes the files of a machine: its groups, and text by path below /sys/fs/cgroup."""
    monkeypatch.setattr(host_memory, "_ROOT", tmp_path)

    def write(cgroup: str = "", files: dict[str, str] | None = None, meminfo: str = MEMINFO) -> None:
        texts = {"proc/meminfo": meminfo, "proc/self/cgroup": cgroup}
        texts |= {f"sys/fs/cgroup/{name}": text for name, text in (files or {}).items()}
        for name, text in texts.items():
            path = tmp_path / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text)

    return write


def free_bytes() -> int | None:
    """By both readers: Python's, and that of the check before memory of a CPU device is taken."""
    free = host_memory.free_bytes()
    assert _core.host_free_bytes(str(host_memory._ROOT)) == free
    return free


def test_here() -> None:
    free, total = host_memory.free_bytes(), host_memory.total_bytes()
    assert free is not None
    assert total is not None
    assert 0 < free <= total


def test_a_machine_without_groups(machine: Callable[..., None]) -> None:
    machine()
    assert (host_memory.total_bytes(), host_memory.available_bytes()) == (1024_000, 409_600)
    assert (host_memory.limit_bytes(), free_bytes()) == (None, 409_600)


@pytest.mark.parametrize("limited", ["", "box/", "box/job/"])
def test_every_group_on_the_way_up_counts(machine: Callable[..., None], limited: str) -> None:
    files = {f"{limited}memory.max": "300000\n", f"{limited}memory.current": "100000\n"}
    machine("0::/box/job\n", {"box/job/memory.current": "5\n", **files})
    assert (host_memory.limit_bytes(), free_bytes()) == (300_000, 200_000)


def test_the_least_counts_and_nothing_is_below_none(machine: Callable[..., None]) -> None:
    files = {"a/memory.max": "300000", "a/memory.current": "50000", "a/b/memory.max": "90", "a/b/memory.current": "100"}
    machine("0::/a/b\n", files)
    assert (host_memory.limit_bytes(), free_bytes()) == (90, 0)


def test_groups_of_version_1(machine: Callable[..., None]) -> None:
    no_limit = {"memory/memory.limit_in_bytes": "9223372036854771712\n", "memory/memory.usage_in_bytes": "7\n"}
    machine("4:memory:/box\n1:name=systemd:/\n", no_limit)
    assert (host_memory.limit_bytes(), free_bytes()) == (None, 409_600)
    own = {"memory/box/memory.limit_in_bytes": "3000\n", "memory/box/memory.usage_in_bytes": "1000\n"}
    machine("4:memory:/box\n1:name=systemd:/\n", own)
    assert (host_memory.limit_bytes(), free_bytes()) == (3000, 2000)


def test_a_container_that_sees_its_group_as_the_root(machine: Callable[..., None]) -> None:
    """Its /proc still names the group by its path outside, which is not there."""
    files = {"memory/memory.limit_in_bytes": "3000", "memory/memory.usage_in_bytes": "1000"}
    machine("4:memory:/docker/0123\n", files)
    assert free_bytes() == 2000


def test_groups_that_say_nothing_of_use(machine: Callable[..., None]) -> None:
    machine("0::/\n", {"memory.max": "max\n", "memory.current": "1\n"})
    assert (host_memory.limit_bytes(), free_bytes()) == (None, 409_600)
    machine("0::/\n", {"memory.max": "300\n"})
    (host_memory._ROOT / "sys/fs/cgroup/memory.current").unlink()
    assert (host_memory.limit_bytes(), free_bytes()) == (300, 409_600)


@pytest.mark.parametrize("total", ["", "total_"])
def test_pages_of_files_are_free(machine: Callable[..., None], total: str) -> None:
    """Whoever has read large files in a container had no memory left."""
    stat = f"anon 5\n{total}inactive_file 60000\n{total}active_file 20000\n{total}slab_reclaimable 10000\n"
    machine("0::/box\n", {"box/memory.max": "300000", "box/memory.current": "100000", "box/memory.stat": stat})
    assert free_bytes() == 290_000
    machine("0::/box\n", {"box/memory.stat": "inactive_file 100001\n"})
    assert free_bytes() == 300_000


def test_systems_without_proc_count_their_free_pages(machine: Callable[..., None]) -> None:
    machine(meminfo="")
    assert (host_memory.total_bytes(), host_memory.available_bytes()) == (None, None)
    assert host_memory.free_bytes()


LIMITED = """
import resource, sys
import numpy as np
import gpuopt
device = gpuopt.devices()[{index}]
kept = [gpuopt.to_device(np.ones(5_000_000, np.float32), device)]
kept[0] + kept[0]
pages = open("/proc/self/statm").read().split()
used = int(pages[{column}]) * resource.getpagesize()
resource.setrlimit(resource.{limit}, (used + 600_000_000,) * 2)
try:
    for _ in range(40):
        kept.append(kept[0] + kept[0])
except MemoryError as error:
    print(type(error).__name__, isinstance(error, gpuopt.Error), (kept[-1].to_numpy() == 2).all())
"""


@pytest.mark.parametrize(("limit", "column"), [("RLIMIT_AS", 0), ("RLIMIT_DATA", 5)])
def test_a_limit_of_the_process_is_heeded(device: gpuopt.Device, limit: str, column: int) -> None:
    """PoCL takes memory when it is first used, and ended the process where there was none."""
    program = LIMITED.format(index=device.index, limit=limit, column=column)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "DeviceMemoryError True True\n"), ran.stderr


COPIED = """
import resource
import numpy as np
import gpuopt
array = gpuopt.to_device(np.ones(75_000_000, np.float32), {index})
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + 200_000_000,) * 2)
for copy in (array.to_numpy, lambda: np.asarray(array)):
    try:
        copy()
    except gpuopt.Error as error:
        print(type(error).__name__, isinstance(error, MemoryError))
"""


def test_a_copy_that_the_host_does_not_hold_is_an_error_of_ours(device: gpuopt.Device) -> None:
    program = COPIED.format(index=device.index)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "HostMemoryError True\n" * 2), ran.stderr


PINNED = """
import resource
import numpy as np
import gpuopt
x = gpuopt.to_device(np.ones(9, np.float32), {index})
x + 1
size = int(open("/proc/self/statm").read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (size + (700 << 20),) * 2)
for count in (75_000_000, 125_000_000, 75_000_000):
    print(gpuopt.pinned_empty(count, np.float32, {index}).nbytes)
"""


def test_what_is_kept_for_later_calls_gives_way_to_arrays(device: gpuopt.Device) -> None:
    program = PINNED.format(index=device.index)
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120)
    assert (ran.returncode, ran.stdout) == (0, "300000000\n500000000\n300000000\n"), ran.stderr
