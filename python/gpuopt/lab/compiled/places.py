"""Where instructions stem from: the `.file` and `.loc` lines that compilers write into listings."""

from __future__ import annotations

import re

_FILE = re.compile(r'\.file\s+(\d{1,9})\s+(?:"([^"]*)"\s+)?"([^"]*)"')
_LOCATION = re.compile(r"\.loc\s+(\d{1,9})\s+(\d{1,9})")


class Places:
    """Follows a listing line by line; ``now`` is the place of what stands next, such as ``spmv/banded.cl:42``, None
    where the compiler does not say one."""

    def __init__(self) -> None:
        self.now: str | None = None
        self._files: dict[str, str] = {}

    def read(self, line: str) -> bool:
        """Whether the line told of a place; ``line`` begins with a dot."""
        if found := _LOCATION.match(line):
            name = self._files.get(found[1], "")
            self.now = f"{name}:{found[2]}" if found[2] != "0" else None
            return True
        if found := _FILE.match(line):
            self._files[found[1]] = found[3]
            return True
        return False
