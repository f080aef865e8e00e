"""The host's memory: what there is, what is free, and what the process's control groups leave of it.

A container's limit lies below what /proc/meminfo says. Unknown is None.
"""

from __future__ import annotations

import os
import re
import resource
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from gpuopt.signals import let_through

_KEPT = 64 * 2**20
_ROOT = Path("/")  # tests put a made-up /proc and /sys here


def total_bytes() -> int | None:
    """The memory of the machine."""
    return _meminfo("MemTotal")


def available_bytes() -> int | None:
    """What programs can still take on the machine before it swaps."""
    return _meminfo("MemAvailable")


def limit_bytes() -> int | None:
    """The least memory limit of the process's control groups, None without any."""
    return min((limit for limit, _ in _limits()), default=None)


def free_bytes() -> int | None:
    """What this process can still take: of the machine, of each of its control groups and of its own limits of
    addresses and data (``ulimit -v``), the least."""
    available = available_bytes()
    free = [_free_pages() if available is None else available]
    free += [limit - used for limit, used in _limits() if used is not None]
    free += _left_of_limits()
    known = [count for count in free if count is not None]
    return max(0, min(known)) if known else None


def control_groups() -> Iterator[Path]:
    """The folders of the process's control groups and of those above them, of version 1 or 2."""
    yield from _folders_of(text_of(_ROOT / "proc/self/cgroup") or "", _ROOT / "sys/fs/cgroup")


@lru_cache(maxsize=4)
def _folders_of(groups: str, root: Path) -> tuple[Path, ...]:
    found: list[Path] = []
    for line in groups.splitlines():
        _, controllers, path = line.split(":", 2)
        for mount in ("", "unified") if not controllers else (controllers, *controllers.split(",")):
            at = root / mount / path.lstrip("/")
            found += [at, *(folder for folder in at.parents if folder.is_relative_to(root))]
    return tuple(found)


def _limits() -> Iterator[tuple[int, int | None]]:
    """Limit and use, in bytes, of each control group that has a limit. Pages of files, and what the system knows
    of them, are no use: it gives them up where memory is short."""
    for folder in control_groups():
        for limit, used in (("memory.max", "memory.current"), ("memory.limit_in_bytes", "memory.usage_in_bytes")):
            most = _whole(folder / limit)
            if most and most < 2**60:  # version 1 says 2^63 less a page for none
                held = _whole(folder / used)
                yield most, None if held is None else max(0, held - _pages_of_files(folder))


def _pages_of_files(folder: Path) -> int:
    stat = text_of(folder / "memory.stat") or ""
    found: dict[str, str] = dict(re.findall(r"^(\w+) (\d+)$", stat, re.MULTILINE))
    names = ("inactive_file", "active_file", "slab_reclaimable")
    # Of version 1 these are the group's own; with "total_" before them they are those of the groups below, too.
    return sum(int(found.get(f"total_{name}", found.get(name, "0"))) for name in names)


def _left_of_limits() -> list[int]:
    """What ``ulimit`` leaves; some is kept for drivers, which do not look whether they got what they take."""
    pages = (text_of(_ROOT / "proc/self/statm") or "").split()
    if len(pages) < 6:
        return []
    limits = ((resource.RLIMIT_AS, pages[0]), (resource.RLIMIT_DATA, pages[5]))
    found = ((resource.getrlimit(which)[0], int(used) * os.sysconf("SC_PAGE_SIZE")) for which, used in limits)
    return [limit - used - _KEPT for limit, used in found if limit != resource.RLIM_INFINITY]


def _meminfo(name: str) -> int | None:
    match = re.search(rf"^{name}:\s*(\d+) kB", text_of(_ROOT / "proc/meminfo") or "", re.MULTILINE)
    return int(match[1]) * 1024 if match else None


def _free_pages() -> int | None:
    """What systems without /proc say."""
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError) as error:
        let_through(error)
        return None


def _whole(path: Path) -> int | None:
    text = text_of(path) or ""
    return int(text) if text.isdecimal() else None  # "max": no limit


def text_of(path: Path) -> str | None:
    """What a file of /proc or /sys says; None where it cannot be read."""
    try:
        return path.read_text(errors="replace").strip()
    except OSError as error:
        let_through(error)
        return None
