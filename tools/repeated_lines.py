"""How many lines of the code stand again in another file: runs of at least six lines, equal but for white space.

    repeated_lines.py [--most N] [--show]

Prints the figure; exits 1 where it is above N. Blank lines, comments, imports and lines of punctuation alone do not
count, and runs inside one file neither. The kernels of the casebook are left out: a bug and its fix stand whole beside
each other, so that the lines that differ can be seen.
"""

from __future__ import annotations

import argparse
import re
import sys
from collections import defaultdict
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
FOLDERS = {"src": (".cpp", ".hpp"), "kernels": (".cl",), "python": (".py",), "tests": (".py",), "tools": (".py",)}
RUN = 6  # lines
LEFT_OUT = ROOT / "kernels" / "casebook"
THIN = re.compile(r"(#|//|/\*|\*|import |from |#include|using |__all__|@)|[\W_]*$")


def lines_of(path: Path) -> list[tuple[int, str]]:
    """The lines that count, with their numbers, white space folded."""
    found, in_import = [], False
    for number, line in enumerate(path.read_text("utf-8").splitlines(), 1):
        folded = " ".join(line.split())
        in_import = in_import or (folded.startswith("from ") and folded.endswith("import ("))
        if not in_import and not THIN.match(folded):
            found.append((number, folded))
        in_import = in_import and folded != ")"
    return found


def repeated(files: list[Path]) -> tuple[dict[Path, set[int]], int]:
    """The line numbers of each file that stand in another one as well, and the number of all lines that count."""
    content = {path: lines_of(path) for path in files}
    places: dict[tuple[str, ...], list[tuple[Path, int]]] = defaultdict(list)
    for path, lines in content.items():
        for start in range(len(lines) - RUN + 1):
            places[tuple(line for _, line in lines[start : start + RUN])].append((path, start))
    found: dict[Path, set[int]] = defaultdict(set)
    for where in places.values():
        if len({path for path, _ in where}) > 1:
            for path, start in where:
                found[path] |= {number for number, _ in content[path][start : start + RUN]}
    return found, sum(map(len, content.values()))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--most", type=int, default=sys.maxsize)
    parser.add_argument("--show", action="store_true", help="the files and lines, most first")
    given = parser.parse_args()
    files = [p for folder, ends in FOLDERS.items() for p in sorted((ROOT / folder).rglob("*")) if p.suffix in ends]
    files = [path for path in files if LEFT_OUT not in path.parents]
    found, total = repeated(files)
    count = sum(map(len, found.values()))
    if given.show:
        for path, numbers in sorted(found.items(), key=lambda item: -len(item[1])):
            print(f"{path.relative_to(ROOT)}: {len(numbers)}: {', '.join(map(str, sorted(numbers)))}")
    print(f"{count} of {total} lines stand in two files ({100 * count / total:.2f} %)", end="")
    print(f", {given.most} are allowed" if given.most < sys.maxsize else "")
    sys.exit(count > given.most)


if __name__ == "__main__":
    main()
