"""Folders of Python installations in which an OpenCL runtime may be, since no system's loader looks there."""

from __future__ import annotations

import csv
import os
import site
import sys
from collections.abc import Iterator
from pathlib import Path

from gpuopt.signals import exists, let_through

VENDORS = Path("etc", "OpenCL", "vendors")
_WHEEL = "intel_opencl_rt-"  # of the extra `cpu`; how the folders of its metadata begin


def search_prefixes() -> list[str]:
    """Return the prefixes to look into, in this order: the environment's, the user's, that of the Python below a
    virtual environment, and those in which the files on ``sys.path`` say that Intel's runtime was installed.

    A prefix is left out where its runtimes are all in an earlier one: two copies of one library do not go together.
    """
    places = [sys.prefix, site.USER_BASE or "", sys.base_prefix, *_of_wheels()]
    kept: dict[str, str] = {}
    seen: set[str] = set()
    for place in filter(None, places):
        named = _libraries(Path(place))
        if not named or not named.keys() <= seen:
            kept.setdefault(os.path.realpath(place), place)
        seen |= {library for library, there in named.items() if there}
    return list(kept.values())


def _libraries(prefix: Path) -> dict[str, bool]:
    """The file names of the libraries that the prefix's .icd files name, and whether each is there."""
    found: dict[str, bool] = {}
    try:
        files = sorted((prefix / VENDORS).glob("*.icd"))
    except OSError as error:  # a name that is too long
        let_through(error)
        return found
    for file in files:
        try:
            named = Path(file.read_text(errors="replace").partition("\n")[0].strip())
        except OSError as error:  # not ours to read
            let_through(error)
            continue
        # Wheels name a folder of the machine that made them: only the file name counts.
        places = [prefix / lib / named.name for lib in ("lib", "lib64")]
        found[named.name] = any(map(exists, [named, *places] if named.is_absolute() else places))
    return found


def _of_wheels() -> Iterator[str]:
    """Prefixes of the wheels whose metadata lie on ``sys.path``, as where a .pth file joins another environment.

    The list of a wheel's files is read here: importlib.metadata would make every import of gpuopt some 20 ms longer.
    """
    for entry in filter(os.path.isabs, sys.path):
        try:
            folders = sorted(name for name in os.listdir(entry) if name.startswith(_WHEEL) and name.endswith("-info"))
        except OSError as error:  # a zip file, or no folder any more
            let_through(error)
            continue
        for folder in folders:
            try:
                with open(Path(entry, folder, "RECORD"), encoding="utf-8", newline="") as record:
                    files = [row[0] for row in csv.reader(record) if row and row[0].endswith(".icd")]
            except (OSError, ValueError, csv.Error) as error:  # no wheel's
                let_through(error)
                continue
            for file in files:
                above = Path(os.path.normpath(Path(entry, file))).parent
                if above.parts[-len(VENDORS.parts) :] == VENDORS.parts:
                    yield str(above.parents[len(VENDORS.parts) - 1])
            yield entry  # pip install --target keeps what lies beside the packages there
